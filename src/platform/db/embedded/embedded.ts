import { readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setInterval, setTimeout as delay } from 'node:timers/promises';
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
  isPostmaster,
  launch,
  makeBase,
  placeCluster,
  readPostmaster,
  refuseHalfRestored,
  shutDown,
  superuser,
} from './cluster.ts';
import { type FileLock, tryLock, waitForLock } from './file-lock.ts';
import { folderFailure, handToOwnerOf } from './folder.ts';
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
/** The longest wait for a starting server. After a crash, the server first replays up to a few gigabytes of WAL. */
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
  const base = await makeBase(dataDir);
  const locked = async (name: string, mode: 'shared' | 'exclusive'): Promise<FileLock> => {
    const path = join(base, name);
    try {
      const lock = await waitForLock(path, mode);
      handToOwnerOf(base, path);
      return lock;
    } catch (error) {
      throw folderFailure(base, error);
    }
  };
  // A process takes the turn lock to start or stop the server, and shares the users' lock while it uses the server.
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    const turn = await locked('turn.lock', 'exclusive');
    return work().finally(() => turn.release());
  };

  const { cluster, share, ...first } = await inTurn(async () => {
    const account = await accountFor(join(base, 'cluster'));
    const path = await placeCluster(base, account);
    const binaries = await prepareBinaries(source, account, join(base, 'binaries'));
    const cluster: Cluster = { base, path, account, binaries };
    const running = await ensureRunning(cluster, log, true);
    const share = await locked(usersLock, 'shared');
    return { cluster, share, ...running };
  });

  let { server } = first;
  let failure = '';
  const left = new AbortController();
  const watch = async () => {
    for await (const _ of setInterval(watchMs, undefined, { ref: false, signal: left.signal })) {
      if (isPostmaster(server.pid, cluster.path)) continue;
      if (failure === '') log('The embedded PostgreSQL has ended unexpectedly and is started again.');
      await inTurn(() => ensureRunning(cluster, log, false)).then(
        (running) => ([server, failure] = [running.server, '']),
        ({ message }: Error) => {
          if (message !== failure) log(message);
          failure = message;
        },
      );
    }
  };
  const watching = watch().catch(() => {});
  const leave = async (): Promise<void> => {
    left.abort();
    await watching;
    await inTurn(async () => {
      share.release();
      const last = tryLock(join(base, usersLock), 'exclusive');
      if (!last) return;
      await shutDown(cluster).finally(() => last.release());
      log('The embedded PostgreSQL has stopped.');
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

/** @throws Error if there is no database; the data folder or DATABASE_URL is then probably wrong */
async function refuseNew(dataDir: string): Promise<void> {
  const base = join(dataDir, 'postgres');
  if ((await clusterMajor(join(base, 'cluster'))) !== null || (await readCredentials(base)) !== null) return;
  throw new Error(
    `There is no database in the data folder ${resolve(dataDir)}: set ARS_DATA_DIR or DATABASE_URL as the service has it.`,
  );
}

/** Deletes a data folder after stopping its unused server. @returns false if a process uses the folder */
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
  const { password, superuserPassword } = credentials;
  const address = addressOf(cluster.path, credentials.port ?? null);
  await makeSocketFolder(cluster.path, address);
  let adopted = true;
  let server = readPostmaster(cluster.path);
  try {
    let client: pg.Client | null;
    for (;;) {
      // A server that a killed process was stopping ends, and another is started.
      if (server === null) {
        server = await launch(cluster, address);
        adopted = false;
      }
      client = await connectAsSuperuser(address, superuserPassword).catch((error: Error & { code?: string }) => {
        const isLate = systemClock.monotonicMs() > began + answerMaxMs;
        if (!isLate && (notYet.has(error.code ?? '') || readPostmaster(cluster.path) === null)) return null;
        throw unusable(cluster, server!.pid, error);
      });
      if (client !== null) break;
      await delay(pollMs);
      server = readPostmaster(cluster.path);
    }
    await ensureRoleAndDatabase(client, password).finally(() => client.end());
  } catch (error) {
    // If this process started the server, no other process knows the server. So this process stops it.
    if (!adopted) await shutDown(cluster);
    throw error;
  }
  if (credentials.host !== address.host || credentials.port !== address.port)
    await writeCredentials(cluster.base, { ...credentials, ...address });
  const tookMs = Math.round(systemClock.monotonicMs() - began);
  log(`The embedded PostgreSQL ${adopted ? 'was running already' : 'has started'} (${tookMs} ms).`);
  return { server, address, adopted, password };
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
      `PostgreSQL ${major} made the data in ${path}, and the embedded version is ${binaries.major}. ` +
        'Set DATABASE_URL to a server of the old version, or move the data with its pg_dump.',
    );
  }
  if (major === null && (known || !mayCreate)) {
    throw new Error(
      `The data of the embedded database is missing from ${path}. Restore the data, or remove ${base} to start with an empty database.`,
    );
  }
  if (known) return known as Credentials;
  log('The embedded PostgreSQL is set up for the first time.');
  const credentials: Credentials = { password: newPassword(), superuserPassword: newPassword() };
  // The passwords must be on the disk before the cluster, because a cluster without its passwords is unusable.
  await createCluster(cluster, credentials.superuserPassword, () => writeCredentials(base, credentials));
  return credentials;
}

/** Answers of a server that starts or stops. */
const notYet = new Set(['57P03', '57P01', 'ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EAGAIN']);
const wrongPassword = '28P01';
/** The role or the database exists. */
const isThere = new Set(['42710', '42P04']);

const unusable = ({ base }: Cluster, pid: number, { code, message }: Error & { code?: string }) =>
  new Error(
    code === wrongPassword
      ? `The embedded PostgreSQL refuses the password in ${credentialsPath(base)}: restore that file from the backup of the data folder.`
      : `The embedded PostgreSQL cannot be used (${message}): see ${join(base, 'server.log')}, end its process ${pid}, then start again.`,
  );

async function connectAsSuperuser(address: Address, password: string): Promise<pg.Client> {
  const client = new pg.Client({ ...address, user: superuser, database: superuser, password, ssl: false });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** Every start checks the role and the database, because the first start may have been killed between the two. */
async function ensureRoleAndDatabase(client: pg.Client, password: string): Promise<void> {
  const create = [
    `create role ${role} login createdb password '${password}' in role pg_monitor, pg_checkpoint`,
    `create database ${database} owner ${role}`,
  ];
  for (const sql of create)
    await client.query(sql).catch((error: { code?: string }) => {
      if (!isThere.has(error.code ?? '')) throw error;
    });
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
