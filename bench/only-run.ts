import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';

/** What the databases of benchmarks begin with. */
export const databasePrefix = 'ars_bench_';
const mark = 'ars bench';

/**
 * A connection that marks a server as measured on until it is ended. Throws where somebody else is at it: another run, what
 * one has left, or anybody who is connected to a database of a benchmark. No lock, because a benchmark may restart PostgreSQL,
 * which would free it; what is connected to its database still shows then.
 * @param patienceMs what was interrupted just now may take a moment to end
 */
export async function beOnlyRun(connectionString: string, patienceMs = 10_000): Promise<pg.Client> {
  const db = new pg.Client({ connectionString, application_name: mark });
  db.on('error', () => {});
  await db.connect();
  const endMs = performance.now() + patienceMs;
  for (;;) {
    // Without a role: autovacuum.
    const { rows } = await db.query<{ datname: string; pids: string }>(
      `select datname, string_agg(pid::text, ', ' order by pid) as pids from pg_stat_activity
        where usesysid is not null and pid <> pg_backend_pid() and (application_name = $1 or starts_with(datname, $2))
        group by datname order by datname`,
      [mark, databasePrefix],
    );
    if (rows.length === 0) return db;
    if (performance.now() > endMs) {
      await db.end();
      const who = rows.map(({ datname, pids }) => `${datname} (backend ${pids})`).join(', ');
      throw new Error(`another run is at this server, or left something that still runs; connected to: ${who}`);
    }
    await wait(200);
  }
}
