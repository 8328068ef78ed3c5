import { createHash } from 'node:crypto';
import { chmod, mkdtemp, readFile, readdir, rm, statfs } from 'node:fs/promises';
import type { NetConnectOpts } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/platform/time/clock.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { distribute } from '../../src/platform/db/citus/distribute.ts';
import { readPostmaster } from '../../src/platform/db/embedded/cluster.ts';
import { startEmbedded } from '../../src/platform/db/embedded/embedded.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { streamLog } from '../../src/platform/observability/log.ts';
import { systemRandom } from '../../src/platform/crypto/random.ts';
import { keepPassed } from './passed-statements.ts';

/** PostgreSQL for tests: a server, and databases on it that are copies of a migrated one. */

keepPassed();

/** The coordinator of a Citus cluster, as a role that may make databases and extensions: every database is distributed. */
const citus = process.env.CITUS_URL ?? null;

export type TestServer = {
  url: string;
  /** Whether the server goes with the run: then its databases needn't be dropped, each of which costs a checkpoint. */
  disposable: boolean;
  stop(): Promise<void>;
};

const roomyBytes = 8 * 2 ** 30;

/** In memory, where a machine has much of it. Hundreds of databases are made in a run. */
async function roomyFolder(): Promise<string> {
  const memory = '/dev/shm';
  const found = await statfs(memory).catch(() => null);
  return found !== null && found.bavail * found.bsize > roomyBytes ? memory : tmpdir();
}

/** The server that the environment names (test/run.ts does), or an embedded one in a folder that goes with it. */
export async function testServer(): Promise<TestServer> {
  if (citus !== null) return { url: citus, disposable: false, stop: async () => {} };
  const given = process.env.ARS_TEST_DATABASE_URL;
  if (given !== undefined && given !== '')
    return { url: given, disposable: process.env.ARS_TEST_DATABASE_DISPOSABLE === 'yes', stop: async () => {} };
  const folder = await mkdtemp(join(await roomyFolder(), 'ars-test-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    // Started by root, PostgreSQL runs as a system user, who has to get through to its data.
    await chmod(folder, 0o755);
    const first = await startEmbedded({ dataDir: folder });
    let cluster = '';
    await first.administer(async (client, path) => {
      cluster = path;
      // Three files at a time, each with several services, and the mutations' beside them.
      await client.query('alter system set max_connections = 500');
      // Nobody pulls this machine's plug, and hundreds of databases every five seconds would keep a core busy.
      await client.query('alter role all set synchronous_commit = off');
      await client.query("alter system set autovacuum_naptime = '1min'");
    });
    await first.stop();
    const server = await startEmbedded({ dataDir: folder });
    return {
      url: server.url,
      disposable: true,
      stop: async () => {
        // At once: a checkpoint of what is removed anyway takes twenty seconds.
        process.kill(readPostmaster(cluster)!.pid, 'SIGQUIT');
        await server.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

const silent = streamLog(systemClock, 'none', { write: () => true });

/** What `connect` of node:net takes to reach the server of this address: a socket's path, or host and port. */
export function serverOf(url: string): NetConnectOpts {
  const { hostname, port, searchParams } = new URL(url);
  const folder = searchParams.get('host');
  if (folder?.startsWith('/')) return { path: join(folder, `.s.PGSQL.${port || '5432'}`) };
  return { host: hostname, port: Number(port || '5432') };
}

/** The same database through a port of this machine. */
export function atPort(url: string, port: number): string {
  const address = new URL(url);
  address.searchParams.delete('host');
  [address.hostname, address.port] = ['127.0.0.1', String(port)];
  return address.href;
}

function inDatabase(url: string, name: string): string {
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

export const onCitus = citus !== null;

/** Statements of this database that wait for a lock; on several nodes whoever waits does so where the row is. */
export const waitForLocks = onCitus
  ? 'select from citus_lock_waits'
  : `select from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())
     union all
     select from pg_locks l join pg_stat_activity a using (pid)
      where not l.granted and l.locktype in ('transactionid', 'tuple') and a.datname = current_database()`;

/**
 * Statements that wait for a lock on a table of this database. Databases are copies of one template: without the second
 * condition, those that wait for the same table of another test's would be taken for them.
 */
export const waitForTable = (table: string): string =>
  `select from pg_locks where not granted and relation = '${table}'::regclass
      and database = (select oid from pg_database where datname = current_database())`;

/** Opens a database for the length of a call. */
export async function withDatabase<T>(url: string, inside: (db: Database) => Promise<T>): Promise<T> {
  const db = openDatabase(url, silent, 2, undefined, citus !== null);
  try {
    return await inside(db);
  } finally {
    await db.close();
  }
}

/** Advisory lock under which one process of the run makes the template. */
const templateLock = 7_301_117;

const templates = new Map<string, Promise<string>>();

/** A migrated database to copy, made once for each state of the migrations. */
function templateOn(server: TestServer): Promise<string> {
  let template = templates.get(server.url);
  if (template === undefined) templates.set(server.url, (template = makeTemplate(server)));
  return template;
}

/** The name of the template for this state of the migrations. */
async function templateName(): Promise<string> {
  const folder = new URL('../../src/platform/db/migrations/', import.meta.url);
  const digest = createHash('sha256');
  for (const file of (await readdir(folder)).sort()) digest.update(file).update(await readFile(new URL(file, folder)));
  return `ars_template_${digest.digest('hex').slice(0, 12)}`;
}

/** One process of the run makes what isn't there yet. Databases can't be made inside a transaction. */
async function madeOnce(url: string, name: string, make: (outside: Database) => Promise<void>): Promise<string> {
  await withDatabase(url, (db) =>
    db.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [templateLock]);
      if ((await tx.query('select from pg_database where datname = $1', [name])).length > 0) return;
      await withDatabase(url, make);
    }),
  );
  return name;
}

async function makeTemplate(server: TestServer): Promise<string> {
  const name = await templateName();
  const draft = `${name}_draft`;
  return madeOnce(server.url, name, async (outside) => {
    await outside.query(`drop database if exists ${draft} with (force)`);
    await outside.query(`create database ${draft}`);
    await withDatabase(inDatabase(server.url, draft), (fresh) => migrate(fresh, systemClock));
    await outside.query(`alter database ${draft} rename to ${name}`);
  });
}

/** A node of a cluster, its coordinator first. */
type Node = { nodename: string; nodeport: number; groupid: number };

function addressOn(coordinator: string, { nodename, nodeport }: Node, database: string): string {
  const url = new URL(coordinator);
  [url.hostname, url.port, url.pathname] = [nodename, String(nodeport), `/${database}`];
  return url.href;
}

/** Carries something out in one database of every node, the coordinator's last: what is there is everywhere. */
async function onEveryNode(
  coordinator: string,
  nodes: Node[],
  database: string,
  inside: (db: Database) => Promise<unknown>,
): Promise<void> {
  for (const node of nodes.toReversed()) await withDatabase(addressOn(coordinator, node, database), inside);
}

/** Migrates a database of a cluster, as an older release may have left it, and distributes it. */
export async function spread(url: string): Promise<void> {
  await withDatabase(url, async (db) => {
    const [nodes] = await db.query<{ count: number }>('select count(*)::int4 as count from pg_dist_node');
    await migrate(db, systemClock);
    await distribute(db, nodes!.count, new AbortController().signal, () => {});
  });
}

async function makeCluster(coordinator: string, nodes: Node[], name: string, whole: string): Promise<void> {
  await onEveryNode(coordinator, nodes, whole, (db) => db.query(`create database ${name}`));
  await onEveryNode(coordinator, nodes, name, (db) => db.query('create extension citus'));
  await withDatabase(addressOn(coordinator, nodes[0]!, name), async (db) => {
    await db.query('select citus_set_coordinator_host($1, $2)', [nodes[0]!.nodename, nodes[0]!.nodeport]);
    for (const node of nodes.slice(1)) await db.query('select citus_add_node($1, $2)', [node.nodename, node.nodeport]);
  });
}

/** A distributed database on every node that nobody connects to: copied on every node, it is another one. */
function spreadTemplateOn(coordinator: string, nodes: Node[], whole: string): Promise<string> {
  let template = templates.get(coordinator);
  if (template === undefined) templates.set(coordinator, (template = makeSpreadTemplate(coordinator, nodes, whole)));
  return template;
}

async function makeSpreadTemplate(coordinator: string, nodes: Node[], whole: string): Promise<string> {
  const name = `${await templateName()}_spread`;
  const draft = `${name}_draft`;
  return madeOnce(coordinator, name, async () => {
    await onEveryNode(coordinator, nodes, whole, async (db) => {
      for (const left of [draft, name]) await db.query(`drop database if exists ${left} with (force)`);
    });
    await makeCluster(coordinator, nodes, draft, whole);
    await spread(addressOn(coordinator, nodes[0]!, draft));
    // Citus's daemon would come back to a database that takes connections.
    await onEveryNode(coordinator, nodes, whole, (db) => db.query(`alter database ${draft} allow_connections false`));
    await onEveryNode(coordinator, nodes, whole, async (db) => {
      const left = () => db.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [draft]);
      while ((await left()).length > 0);
      await db.query(`alter database ${draft} rename to ${name}`);
    });
  });
}

/** A database on every node of the cluster. */
async function clusterDatabase(
  coordinator: string,
  migrated: boolean,
): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `ars_test_${systemRandom.bytes(8).toString('hex')}`;
  const nodes = await withDatabase(coordinator, (db) =>
    db.query<Node>('select nodename, nodeport, groupid from pg_dist_node order by groupid'),
  );
  const whole = new URL(coordinator).pathname.slice(1);
  if (migrated) {
    const template = await spreadTemplateOn(coordinator, nodes, whole);
    await onEveryNode(coordinator, nodes, whole, (db) => db.query(`create database ${name} template ${template}`));
  } else await makeCluster(coordinator, nodes, name, whole);
  return {
    url: addressOn(coordinator, nodes[0]!, name),
    drop: () =>
      onEveryNode(coordinator, nodes, whole, (db) => db.query(`drop database if exists ${name} with (force)`)),
  };
}

/** A fresh database, migrated unless asked otherwise; `drop` removes it. */
export async function freshDatabase(
  server: TestServer,
  options: { migrated?: boolean } = {},
): Promise<{ url: string; drop(): Promise<void> }> {
  if (citus !== null) return clusterDatabase(citus, options.migrated !== false);
  const from = options.migrated === false ? 'template0' : await templateOn(server);
  const name = `ars_test_${systemRandom.bytes(8).toString('hex')}`;
  await withDatabase(server.url, (db) => db.query(`create database ${name} template ${from}`));
  return {
    url: inDatabase(server.url, name),
    async drop() {
      if (!server.disposable)
        await withDatabase(server.url, (db) => db.query(`drop database if exists ${name} with (force)`));
    },
  };
}
