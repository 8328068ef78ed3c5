import pg from 'pg';
import { connectionTo } from './connection.ts';
import { DatabaseUnavailable } from './unavailable.ts';
import { distributedSettings, sessionSettings } from './session-settings.ts';
import { isDistributedOn } from './distributed.ts';
import { advisoryLocks } from './locks.ts';
import type { Settings } from '../settings.ts';

type Addresses = Pick<Settings, 'databaseUrl' | 'databaseDirectUrl'>;

/** The address doesn't lead to where the service can work, with what to do about it. */
class PoolerUnfit extends Error {}

/** A pooler that is paused takes connections, and lets what they ask wait. */
const answerMs = 5000;

const guide = 'docs/operator.md, "Behind PgBouncer", has the lines';

/** What a server process keeps of a session is seen by whoever asks again, unless it is another process by then. */
async function sharesSessions(url: string, pooled: boolean): Promise<boolean> {
  const first = new pg.Client(connectionTo(url, pooled));
  const others: pg.Client[] = [];
  const pidOf = async (client: pg.Client): Promise<number> =>
    (await client.query('select pg_backend_pid() as pid')).rows[0].pid as number;
  try {
    await first.connect();
    const pid = await pidOf(first);
    // Who holds a transaction gets the process that the first one has just used, if that isn't its own.
    for (let i = 0; i < 3; i++) {
      const other = new pg.Client(connectionTo(url, pooled));
      others.push(other);
      await other.connect();
      await other.query('begin');
      if ((await pidOf(other)) === pid) return true;
      if ((await pidOf(first)) !== pid) return true;
    }
    return false;
  } finally {
    await Promise.all([first, ...others].map((client) => client.end().catch(() => {})));
  }
}

/**
 * Only a pooler refuses what PostgreSQL takes.
 * @throws DatabaseUnavailable for everything else
 */
function refusesSettings(error: unknown): true {
  const { code, message } = error as { code?: string; message?: string };
  if (code === '08P01' && /startup parameter/.test(message ?? '')) return true;
  throw new DatabaseUnavailable(error);
}

/**
 * A lock that is taken on one address keeps the other from taking it only where both lead to the same database, by
 * whatever name. Behind a pooler nothing else tells: what says which server it is may be for superusers only.
 * @throws PoolerUnfit where they don't
 */
async function proveSame(client: pg.Client, directUrl: string): Promise<void> {
  const direct = new pg.Client(connectionTo(directUrl, false));
  try {
    await direct.connect();
    await direct.query('begin');
    const { rows } = await direct.query(
      `select pg_backend_pid() as pid, current_database() as database, pg_advisory_xact_lock($1, pg_backend_pid())`,
      [advisoryLocks.addresses],
    );
    const [{ pid, database }] = rows as [{ pid: number; database: string }];
    const tried = await client.query(
      'select pg_try_advisory_xact_lock($1, $2) as free, current_database() as database',
      [advisoryLocks.addresses, pid],
    );
    if (tried.rows[0].free === true)
      throw new PoolerUnfit(
        `DATABASE_URL and DATABASE_DIRECT_URL lead to two databases (${tried.rows[0].database}, ${database}): both must name the same one, and after a restore the restored one.`,
      );
  } finally {
    await direct.end().catch(() => {});
  }
}

/**
 * For what works on one of the two addresses only: whatever is done there must be done where the service works.
 * @throws PoolerUnfit, DatabaseUnavailable
 */
export async function proveOneDatabase({ databaseUrl, databaseDirectUrl }: Addresses): Promise<void> {
  if (databaseUrl === undefined || databaseDirectUrl === undefined) return;
  const client = new pg.Client({ ...connectionTo(databaseUrl, true), query_timeout: answerMs });
  try {
    await client.connect();
    await proveSame(client, databaseDirectUrl);
  } catch (error) {
    throw error instanceof PoolerUnfit ? error : new DatabaseUnavailable(error);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Which of the settings that every connection needs don't hold, as the statement that sets them. */
async function missingSettings(client: pg.Client): Promise<string[]> {
  const wanted = (await isDistributedOn(client)) ? distributedSettings : sessionSettings;
  // How days and months stand in what is read makes no difference: 'ISO, DMY' is right, too.
  const { rows } = await client.query(
    `select s.name, s.wanted, quote_ident(current_user) || ' in database ' || quote_ident(current_database()) as role
       from (select * from json_each_text($1) union all select 'datestyle', 'ISO') as s(name, wanted)
      where split_part(current_setting(s.name), ', ', 1) <> s.wanted`,
    [JSON.stringify(wanted)],
  );
  return rows.map((row) => `alter role ${row.role} set ${row.name} = '${row.wanted}'`);
}

/** A statement that is prepared once is known wherever a pooler sends it later. */
async function knowsStatements(url: string): Promise<boolean> {
  const [one, two] = [new pg.Client(connectionTo(url, true)), new pg.Client(connectionTo(url, true))];
  const probe = { name: 'pooler.probe', text: 'select 1' };
  try {
    await Promise.all([one.connect(), two.connect()]);
    await one.query(probe);
    await two.query('begin');
    await two.query('select 1');
    await one.query(probe);
    await two.query(probe);
    return true;
  } catch (error) {
    if (['26000', '42P05'].includes((error as { code?: string }).code ?? '')) return false;
    throw error;
  } finally {
    await Promise.all([one, two].map((client) => client.end().catch(() => {})));
  }
}

/**
 * Says at the start what isn't right about a pooler: nothing is found out later, by a statement that fails.
 * @throws PoolerUnfit with one sentence
 */
export async function provePooler(url: string, directUrl: string | undefined): Promise<void> {
  const pooled = directUrl !== undefined;
  const client = new pg.Client(connectionTo(url, pooled));
  try {
    await client.connect();
    // A pooler gives its clients numbers of its own.
    const { rows } = await client.query('select pg_backend_pid() as pid');
    const behind = rows[0].pid !== (client as unknown as { processID: number }).processID;
    if (!behind && !pooled) return;
    if (!pooled && (await sharesSessions(url, false)))
      throw new PoolerUnfit(
        `DATABASE_URL leads through a pooler that shares sessions: set DATABASE_DIRECT_URL to the same database past it (${guide}).`,
      );
    if (pooled && (await sharesSessions(directUrl, false).catch(refusesSettings)))
      throw new PoolerUnfit('DATABASE_DIRECT_URL leads through a pooler that shares sessions: it must go past it.');
    if (pooled) await proveSame(client, directUrl);
    const missing = await missingSettings(client);
    if (missing.length > 0)
      throw new PoolerUnfit(
        `A pooler doesn't pass on the settings of the service's connections; the role must have them: ${missing.join('; ')}. Then restart the pooler's connections.`,
      );
    if (pooled && !(await knowsStatements(url)))
      throw new PoolerUnfit(
        'The pooler of DATABASE_URL forgets prepared statements: set max_prepared_statements = 1000 (PgBouncer 1.21 or later).',
      );
  } catch (error) {
    if (error instanceof PoolerUnfit) throw error;
    refusesSettings(error);
    throw new PoolerUnfit(
      `DATABASE_URL leads through a pooler that refuses the service's settings: set DATABASE_DIRECT_URL to the same database past it (${guide}).`,
    );
  } finally {
    await client.end().catch(() => {});
  }
}
