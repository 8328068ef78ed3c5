import pg from 'pg';
import { connectionTo, withClient, distributedSettings, sessionSettings } from './connection.ts';
import { DatabaseUnavailable } from './unavailable.ts';
import { isDistributedOn } from '../citus/distributed.ts';
import { advisoryLocks } from '../locks.ts';
import type { Settings } from '../../config/settings.ts';

type Addresses = Pick<Settings, 'databaseUrl' | 'databaseDirectUrl'>;

class PoolerUnfit extends Error {}

/** The longest wait for an answer. A paused pooler accepts connections but does not run their statements. */
const answerMs = 5000;

const needsDirect = () =>
  new PoolerUnfit(
    'An address of the database leads through a pooler. Set DATABASE_DIRECT_URL to the same database past it (docs/operate/database.md, "Behind PgBouncer", has the lines).',
  );

/** Whether the client is connected to a pooler, which reports other process IDs than PostgreSQL. */
async function isPooled(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  return rows[0].pid !== (client as unknown as { processID: number }).processID;
}

/**
 * Proves that both URLs lead to the same database: one connection takes a lock, and the other must be refused the
 * lock. Other proofs may need a superuser.
 * @throws PoolerUnfit
 */
async function proveSame(client: pg.Client, directUrl: string): Promise<void> {
  await withClient(connectionTo(directUrl, false), async (direct) => {
    if (await isPooled(direct)) throw needsDirect();
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
  });
}

/**
 * Proves that both URLs lead to the same database, for commands that use only one of them.
 * @throws PoolerUnfit, DatabaseUnavailable
 */
export async function proveOneDatabase({ databaseUrl, databaseDirectUrl }: Addresses): Promise<void> {
  if (databaseUrl === undefined || databaseDirectUrl === undefined) return;
  const config = { ...connectionTo(databaseUrl, true), query_timeout: answerMs };
  await withClient(config, (client) => proveSame(client, databaseDirectUrl)).catch((error: unknown) => {
    throw error instanceof PoolerUnfit ? error : new DatabaseUnavailable(error);
  });
}

async function missingSettings(client: pg.Client): Promise<string[]> {
  const wanted = (await isDistributedOn(client)) ? distributedSettings : sessionSettings;
  // Only the first part of a setting is compared, because the order of day and month in DateStyle makes no difference.
  const { rows } = await client.query(
    `select s.name, s.wanted, quote_ident(current_user) || ' in database ' || quote_ident(current_database()) as role
       from (select * from json_each_text($1) union all select 'datestyle', 'ISO') as s(name, wanted)
      where split_part(current_setting(s.name), ', ', 1) <> s.wanted`,
    [JSON.stringify(wanted)],
  );
  return rows.map((row) => `alter role ${row.role} set ${row.name} = '${row.wanted}'`);
}

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

/** @throws PoolerUnfit, DatabaseUnavailable */
export async function provePooler(url: string, directUrl: string | undefined): Promise<void> {
  const pooled = directUrl !== undefined;
  await withClient(connectionTo(url, pooled), async (client) => {
    if (!pooled) {
      if (await isPooled(client)) throw needsDirect();
      return;
    }
    await proveSame(client, directUrl);
    const missing = await missingSettings(client);
    if (missing.length > 0)
      throw new PoolerUnfit(
        `A pooler doesn't pass on the settings of the service's connections; the role must have them: ${missing.join('; ')}. Then restart the pooler's connections.`,
      );
    if (!(await knowsStatements(url)))
      throw new PoolerUnfit(
        'The pooler of DATABASE_URL forgets prepared statements: set max_prepared_statements = 1000 (PgBouncer 1.21 or later).',
      );
  }).catch((error: unknown) => {
    if (error instanceof PoolerUnfit) throw error;
    // PostgreSQL accepts all startup parameters of the service, so a pooler must have refused one.
    const { code, message } = error as { code?: string; message?: string };
    if (code === '08P01' && /startup parameter/.test(message ?? '')) throw needsDirect();
    throw new DatabaseUnavailable(error);
  });
}
