import { readFile, readdir } from 'node:fs/promises';
import type { Database } from './database.ts';
import type { Clock } from '../clock.ts';
import { formatMs } from '../clock.ts';
import { advisoryLocks } from './locks.ts';

const folder = new URL('./migrations/', import.meta.url);

/** The database is newer than this code. */
export class SchemaTooNew extends Error {}

/**
 * Brings the schema up to date, each numbered file in a transaction of its own, forward only. Any number of processes
 * may call it at once.
 * @returns the numbers of the migrations that this call applied
 */
export async function migrate(db: Database, clock: Clock): Promise<number[]> {
  const files = (await readdir(folder)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).sort();
  const applied: number[] = [];
  for (const name of files) {
    const number = Number(name.slice(0, 4));
    await db.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [advisoryLocks.migration]);
      // Within the lock: "if not exists" by itself doesn't keep two sessions from making the table at once.
      await tx.query(
        'create table if not exists migration (number int4 primary key, name text not null, applied_at timestamptz not null)',
      );
      const done = await tx.query<{ number: number }>('select number from migration order by number');
      const newest = done.at(-1)?.number ?? 0;
      if (newest > Number(files.at(-1)!.slice(0, 4))) {
        throw new SchemaTooNew(
          `The database has migration ${newest}, which this version of the service does not know: start a version at least as new as the one that made it.`,
        );
      }
      if (done.some((row) => row.number === number)) return;
      await tx.query("select set_config('ars.now', $1, true)", [formatMs(clock.nowMs())]);
      await tx.query(await readFile(new URL(name, folder), 'utf8'));
      await tx.query('insert into migration values ($1, $2, $3)', [number, name, new Date(clock.nowMs())]);
      applied.push(number);
    });
  }
  return applied;
}
