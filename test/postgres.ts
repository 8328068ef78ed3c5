import { createHash } from 'node:crypto';
import { chmod, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../src/clock.ts';
import type { Database } from '../src/db/database.ts';
import { openDatabase } from '../src/db/database.ts';
import { distribute } from '../src/db/distribute.ts';
import { startEmbedded } from '../src/db/embedded/embedded.ts';
import { migrate } from '../src/db/migrate.ts';
import { streamLog } from '../src/log.ts';
import { systemRandom } from '../src/random.ts';
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

/** The server that the environment names (test/run.ts does), or an embedded one in a folder that goes with it. */
export async function testServer(): Promise<TestServer> {
  if (citus !== null) return { url: citus, disposable: false, stop: async () => {} };
  const given = process.env.ARS_TEST_DATABASE_URL;
  if (given !== undefined && given !== '')
    return { url: given, disposable: process.env.ARS_TEST_DATABASE_DISPOSABLE === 'yes', stop: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), 'ars-test-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    // Started by root, PostgreSQL runs as a system user, who has to get through to its data.
    await chmod(folder, 0o755);
    const server = await startEmbedded({ dataDir: folder });
    return {
      url: server.url,
      disposable: true,
      stop: async () => {
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

function inDatabase(url: string, name: string): string {
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

export const onCitus = citus !== null;

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

async function makeTemplate(server: TestServer): Promise<string> {
  const folder = new URL('../src/db/migrations/', import.meta.url);
  const digest = createHash('sha256');
  for (const file of (await readdir(folder)).sort()) digest.update(file).update(await readFile(new URL(file, folder)));
  const name = `ars_template_${digest.digest('hex').slice(0, 12)}`;
  const draft = `${name}_draft`;
  await withDatabase(server.url, (db) =>
    db.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [templateLock]);
      if ((await tx.query('select from pg_database where datname = $1', [name])).length > 0) return;
      // Databases can't be made inside a transaction.
      await withDatabase(server.url, async (outside) => {
        await outside.query(`drop database if exists ${draft} with (force)`);
        await outside.query(`create database ${draft}`);
        await withDatabase(inDatabase(server.url, draft), (fresh) => migrate(fresh, systemClock));
        await outside.query(`alter database ${draft} rename to ${name}`);
      });
    }),
  );
  return name;
}

type Node = { nodename: string; nodeport: number; groupid: number };

/** A database on every node of the cluster; templates can't be distributed. */
async function spreadDatabase(coordinator: string, migrated: boolean): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `ars_test_${systemRandom.bytes(8).toString('hex')}`;
  const nodes = await withDatabase(coordinator, (db) =>
    db.query<Node>('select nodename, nodeport, groupid from pg_dist_node order by groupid'),
  );
  const address = ({ nodename, nodeport }: Node, database: string) => {
    const url = new URL(coordinator);
    [url.hostname, url.port, url.pathname] = [nodename, String(nodeport), `/${database}`];
    return url.href;
  };
  const whole = new URL(coordinator).pathname.slice(1);
  for (const node of nodes) {
    await withDatabase(address(node, whole), (db) => db.query(`create database ${name}`));
    await withDatabase(address(node, name), (db) => db.query('create extension citus'));
  }
  const url = address(nodes[0]!, name);
  await withDatabase(url, async (db) => {
    await db.query('select citus_set_coordinator_host($1, $2)', [nodes[0]!.nodename, nodes[0]!.nodeport]);
    for (const node of nodes.slice(1)) await db.query('select citus_add_node($1, $2)', [node.nodename, node.nodeport]);
    if (!migrated) return;
    await migrate(db, systemClock);
    await distribute(db, nodes.length, new AbortController().signal, () => {});
  });
  return {
    url,
    async drop() {
      for (const node of nodes)
        await withDatabase(address(node, whole), (db) => db.query(`drop database if exists ${name} with (force)`));
    },
  };
}

/** A fresh database, migrated unless asked otherwise; `drop` removes it. */
export async function freshDatabase(
  server: TestServer,
  options: { migrated?: boolean } = {},
): Promise<{ url: string; drop(): Promise<void> }> {
  if (citus !== null) return spreadDatabase(citus, options.migrated !== false);
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
