import { readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { systemClock } from '../../time/clock.ts';
import { systemRandom } from '../../crypto/random.ts';
import { type Address, addressOf, databaseUrl, makeSocketFolder, removeSocketFolder } from './address.ts';
import { packageFolder, prepareBinaries } from './binaries.ts';
import {
  type Cluster,
  clusterMajor,
  createCluster,
  discardPlace,
  handToOwnerOf,
  isPostmaster,
  launch,
  makeBase,
  placeCluster,
  readPostmaster,
  refuseHalfRestored,
  shutDown,
  superuser,
} from './cluster.ts';
import { tryLock, waitForLock } from './file-lock.ts';
import { folderFailure } from './folder.ts';
import { accountFor } from './system-account.ts';

/**
 * A server that all processes with the same data folder share. `stop` ends the server if no other process uses it.
 * `url`: signs in as the role `ars`, which owns the database `ars` and may create other databases.
 * `adopted`: the server was running before this process joined it.
 */
export type EmbeddedDatabase = {
  readonly url: string;
  stop(): Promise<void>;
  readonly adopted: boolean;
  administer<T>(inside: (client: pg.Client, folder: string) => Promise<T>): Promise<T>;
};

/** The content of `server.json`, which only its owner can read. `host` and `port` are for people who use psql. */
type Credentials = { password: string; superuserPassword: string } & Partial<Address>;

type Log = (line: string) => void;

const role = 'ars';
const database = 'ars';
const usersLock = 'users.lock';

const watchMs = 1_000;
const pollMs = 10;
/** The longest wait for the server, which replays at most a few gigabytes of WAL after a crash. */
const answerMaxMs = 600_000;

/**
 * Starts PostgreSQL on `${dataDir}/postgres`, or joins the server that runs there. A missing cluster is created, and a
 * server that dies is started again at the same address.
 * @param options `mustExist`: fails if there is no cluster
 * @throws Error with one sentence that says what to do
 */
export async function startEmbedded(options: {
  dataDir: string;
  log?: Log;
  mustExist?: boolean;
}): Promise<EmbeddedDatabase> {
  const { dataDir, log = () => {} } = options;
  const source = packageFolder();
  await refuseHalfRestored(dataDir);
  if (options.mustExist === true) await refuseNew(dataDir);
  const base = await makeBase(dataDir).catch((error: unknown) => {
    throw folderFailure(dataDir, error);
  });
  // A process takes the turn lock to start or stop the server, and shares the users' lock while it uses the server.
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    const turn = await lockIn(base, 'turn.lock', (path) => waitForLock(path, 'exclusive'));
    try {
      return await work();
    } finally {
      turn.release();
    }
  };

  const { cluster, share, ...first } = await inTurn(async () => {
    const account = await accountFor(join(base, 'cluster'));
    const path = await placeCluster(base, account);
    const binaries = await prepareBinaries(source, account, join(base, 'binaries'));
    const cluster: Cluster = { base, path, account, binaries };
    const running = await ensureRunning(cluster, log, true);
    const share = await lockIn(base, usersLock, async (path) => tryLock(path, 'shared'));
    if (!share) throw new Error(`Another program holds ${join(base, usersLock)}: end it, then start again.`);
    return { cluster, share, ...running };
  });

  let { server } = first;
  let revival: Promise<void> | null = null;
  let complained = false;
  const watch = setInterval(() => {
    if (revival || isPostmaster(server.pid, cluster.path)) return;
    revival = inTurn(async () => {
      log('The embedded PostgreSQL has ended unexpectedly and is started again.');
      server = (await ensureRunning(cluster, log, false)).server;
      complained = false;
    })
      .catch((error: Error) => {
        if (!complained) log(error.message);
        complained = true;
      })
      .finally(() => {
        revival = null;
      });
  }, watchMs);
  watch.unref();

  const leave = async (): Promise<void> => {
    clearInterval(watch);
    await revival;
    await inTurn(async () => {
      share.release();
      const last = tryLock(join(base, usersLock), 'exclusive');
      if (!last) return;
      try {
        await shutDown(cluster);
        log('The embedded PostgreSQL has stopped.');
      } finally {
        last.release();
      }
    });
  };
  let leaving: Promise<void> | null = null;
  return {
    url: databaseUrl(role, first.password, database, first.address),
    adopted: first.adopted,
    async administer(inside) {
      const { superuserPassword } = (await readCredentials(base))!;
      const client = await connectAsSuperuser(first.address, superuserPassword!);
      try {
        return await inside(client, cluster.path);
      } finally {
        await client.end();
      }
    },
    stop: () => (leaving ??= leave()),
  };
}

/** @throws Error if there is no database, because ARS_DATA_DIR or DATABASE_URL is probably wrong */
async function refuseNew(dataDir: string): Promise<void> {
  const base = join(dataDir, 'postgres');
  if ((await clusterMajor(join(base, 'cluster'))) !== null || (await readCredentials(base)) !== null) return;
  throw new Error(
    `There is no database in the data folder ${resolve(dataDir)}: set ARS_DATA_DIR or DATABASE_URL as the service has it.`,
  );
}

/** Deletes a data folder, and stops a server that outlived its users. @returns false if a process uses the folder */
export async function discardEmbedded(dataDir: string): Promise<boolean> {
  const base = join(dataDir, 'postgres');
  const path = await realpath(join(base, 'cluster')).catch(() => null);
  if (path !== null) {
    if (readPostmaster(path) !== null) await (await startEmbedded({ dataDir })).stop();
    if (readPostmaster(path) !== null) return false;
    await removeSocketFolder(path);
  }
  await discardPlace(base);
  await rm(dataDir, { recursive: true, force: true });
  return true;
}

/**
 * Callers must hold the turn lock. `mayCreate` is false after a server died, so that a deleted data folder stays
 * deleted.
 */
async function ensureRunning(cluster: Cluster, log: Log, mayCreate: boolean) {
  const began = systemClock.monotonicMs();
  const credentials = await ensureCluster(cluster, log, mayCreate);
  const address = await addressOf(cluster.path, credentials.port ?? null);
  await makeSocketFolder(cluster.path, address);
  for (;;) {
    const found = readPostmaster(cluster.path);
    const server = found ?? (await launch(cluster, address));
    try {
      const client = await connectWhenReady(cluster, server.pid, address, credentials);
      // If the server was stopping, the loop starts another.
      if (!client) continue;
      await ensureRoleAndDatabase(client, credentials.password).finally(() => client.end());
    } catch (error) {
      // No other process knows a server that this process started, so this process stops it.
      if (!found) await shutDown(cluster);
      throw error;
    }
    if (credentials.host !== address.host || credentials.port !== address.port)
      await writeCredentials(cluster.base, { ...credentials, ...address });
    const tookMs = Math.round(systemClock.monotonicMs() - began);
    log(`The embedded PostgreSQL ${found ? 'was running already' : 'has started'} (${tookMs} ms).`);
    return { server, address, adopted: found !== null, password: credentials.password };
  }
}

const newPassword = (): string => systemRandom.bytes(24).toString('base64url');

async function ensureCluster(cluster: Cluster, log: Log, mayCreate: boolean): Promise<Credentials> {
  const { path, base, binaries } = cluster;
  const known = await readCredentials(base);
  const major = await clusterMajor(path);
  if (major !== null && !known) {
    throw new Error(`The embedded database's password is missing from ${credentialsPath(base)}: restore that file.`);
  }
  if (major !== null && major !== binaries.major) {
    throw new Error(
      `The data in ${path} were made by PostgreSQL ${major} and the embedded one is ${binaries.major}: ` +
        'set DATABASE_URL to a server of that version, or move the data across with its pg_dump.',
    );
  }
  if (major === null && (known || !mayCreate)) {
    throw new Error(
      `The embedded database's data are missing from ${path}: restore them, or remove ${base} to begin anew.`,
    );
  }
  if (known) return known as Credentials;
  log('The embedded PostgreSQL is set up for the first time.');
  const credentials: Credentials = { password: newPassword(), superuserPassword: newPassword() };
  // The passwords must be on the disk before the cluster, because a cluster without its passwords is unusable.
  await createCluster(cluster, credentials.superuserPassword, () => writeCredentials(base, credentials));
  return credentials;
}

const wrongPassword = '28P01';
const notYet = new Set(['57P03', '57P01', 'ECONNREFUSED', 'ECONNRESET', 'EAGAIN']);

/** Connects as the superuser; null if the server ended before it answered. */
async function connectWhenReady(
  cluster: Cluster,
  pid: number,
  address: Address,
  { superuserPassword }: Credentials,
): Promise<pg.Client | null> {
  const deadline = systemClock.monotonicMs() + answerMaxMs;
  while (systemClock.monotonicMs() < deadline) {
    const server = readPostmaster(cluster.path);
    if (!server || server.pid !== pid) return null;
    if (server.ready) {
      try {
        return await connectAsSuperuser(address, superuserPassword);
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        if (code === wrongPassword) {
          throw new Error(
            `The embedded PostgreSQL refuses the password in ${credentialsPath(cluster.base)}: ` +
              'restore that file from the backup of the data folder.',
          );
        }
        if (code === undefined || !notYet.has(code)) {
          throw new Error(
            `The embedded PostgreSQL cannot be used (${message}): end its process ${pid}, then start again.`,
          );
        }
      }
    }
    await delay(pollMs);
  }
  throw new Error(`The embedded PostgreSQL (process ${pid}) does not answer: see ${join(cluster.base, 'server.log')}.`);
}

async function connectAsSuperuser(address: Address, password: string): Promise<pg.Client> {
  const client = new pg.Client({
    ...address,
    user: superuser,
    database: superuser,
    password,
    ssl: false,
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** This runs at every start, because the first start may have been killed between the two statements. */
async function ensureRoleAndDatabase(client: pg.Client, password: string): Promise<void> {
  const { rows } = await client.query<{ roles: number; databases: number }>(
    `select (select count(*)::int from pg_roles where rolname = $1) as roles,
            (select count(*)::int from pg_database where datname = $2) as databases`,
    [role, database],
  );
  if (!rows[0]!.roles) {
    await client.query(`create role ${role} login createdb password '${password}' in role pg_monitor, pg_checkpoint`);
  }
  if (!rows[0]!.databases) await client.query(`create database ${database} owner ${role}`);
}

export const credentialsPath = (base: string): string => join(base, 'server.json');

async function readCredentials(base: string): Promise<Partial<Credentials> | null> {
  const path = credentialsPath(base);
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Partial<Credentials>;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new Error(
      `The embedded PostgreSQL's password cannot be read from ${path}: run as the user who runs the service.`,
    );
  }
}

/** The new file is renamed into place, so that a reader finds complete content even after a crash. */
async function writeCredentials(base: string, credentials: Credentials): Promise<void> {
  const path = credentialsPath(base);
  await writeFile(`${path}.new`, `${JSON.stringify(credentials)}\n`, { mode: 0o600, flush: true });
  handToOwnerOf(base, `${path}.new`);
  await rename(`${path}.new`, path);
}

async function lockIn<T>(base: string, name: string, take: (path: string) => Promise<T>): Promise<T> {
  const path = join(base, name);
  const lock = await take(path).catch((error: unknown) => {
    throw folderFailure(base, error);
  });
  handToOwnerOf(base, path);
  return lock;
}
