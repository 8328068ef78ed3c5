import { execFile, spawn } from 'node:child_process';
import { chmodSync, chownSync, closeSync, openSync, readFileSync, statSync } from 'node:fs';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { totalmem } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { systemRandom } from '../../crypto/random.ts';
import { syncFolder } from '../../formats/sync-folder.ts';
import { type Address, listening, removeSocketLock } from './address.ts';
import type { Binaries } from './binaries.ts';
import { makeFolder } from './folder.ts';
import { type Account, placeFor, reaches, runningAsRoot } from './system-account.ts';

const run = promisify(execFile);

/**
 * A data folder of PostgreSQL and what its server needs. `path` contains no links, because a server process is
 * recognised by its path.
 */
export type Cluster = { base: string; path: string; account: Account | null; binaries: Binaries };

export type Postmaster = { pid: number; ready: boolean };

export const superuser = 'postgres';

const stopSeconds = 600;
const pollMs = 10;
const serverLogMaxBytes = 8 * 1024 * 1024;

const MiB = 1024 * 1024;

/** These settings are written into `postgresql.conf` only once, so that operators can change them. */
function tunedSettings(): Record<string, string> {
  const memoryMiB = Math.min(process.constrainedMemory() || Infinity, totalmem()) / MiB;
  const within = (low: number, value: number, high: number) => `${Math.floor(Math.min(Math.max(low, value), high))}MB`;
  return {
    max_connections: '200',
    shared_buffers: within(32, memoryMiB / 16, 1024),
    effective_cache_size: within(64, memoryMiB / 2, 16_384),
    work_mem: '8MB',
    maintenance_work_mem: '128MB',
    // Imports write much WAL. With less room, a checkpoint every few seconds would write every page twice.
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    random_page_cost: '1.1',
    jit: 'off',
    shared_preload_libraries: 'pg_prewarm',
    autovacuum_naptime: '5s',
    // Parallel plans would use the service's cores, and shared memory, which containers limit to 64 MB.
    max_parallel_workers_per_gather: '0',
    max_parallel_maintenance_workers: '0',
    timezone: 'UTC',
    log_timezone: 'UTC',
  };
}

/** These settings apply at every start. They keep data durable and personal data out of the server's log. */
const fixedSettings: Record<string, string> = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  autovacuum: 'on',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  log_min_error_statement: 'panic',
  // In this setting, "log" leaves out errors, whose text can contain a row's values.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
};

function spawnOptions(cluster: Cluster) {
  // The operator's locale must not change messages or the order of text.
  const env = { ...process.env, LANG: 'C', LC_ALL: 'C' };
  return { cwd: dirname(cluster.path), env, windowsHide: true, ...cluster.account };
}

/** Gives a file that root made to the owner of the folder. */
export function handToOwnerOf(folder: string, path: string): void {
  const owner = statSync(folder);
  if (runningAsRoot() && statSync(path).uid !== owner.uid) chownSync(path, owner.uid, owner.gid);
}

/** Makes `${dataDir}/postgres` and returns its real path. */
export async function makeBase(dataDir: string): Promise<string> {
  const base = join(dataDir, 'postgres');
  const made = await makeFolder(base);
  if (made) handToOwnerOf(dataDir, base);
  return realpath(base);
}

/**
 * Returns `${base}/cluster`. If PostgreSQL's user cannot reach it, the name becomes a link, and the link's target is
 * returned.
 */
export async function placeCluster(base: string, account: Account | null): Promise<string> {
  const path = join(base, 'cluster');
  const entry = await lstat(path).catch(() => null);
  if (entry?.isSymbolicLink()) {
    const target = await readlink(path);
    await mkdir(dirname(target), { recursive: true, mode: 0o711 });
    return join(await realpath(dirname(target)), basename(target));
  }
  if (account === null || (await reaches(account, base))) return path;
  if (entry) {
    throw new Error(
      `PostgreSQL's system user cannot reach ${path}: open the folders above it (chmod o+x), or move the data folder ` +
        'to a place that other users can pass through.',
    );
  }
  const open = await placeFor(account);
  if (open === null) {
    throw new Error(
      `PostgreSQL cannot run as root, and its system user reaches neither ${base} nor /var/lib/ars: ` +
        'set ARS_DATA_DIR to a folder that other users can pass through, or set DATABASE_URL.',
    );
  }
  const home = join(open, 'clusters', systemRandom.bytes(8).toString('hex'));
  await symlink(join(home, 'cluster'), path);
  await mkdir(home, { recursive: true, mode: 0o711 });
  await chmod(dirname(home), 0o711);
  return join(home, 'cluster');
}

export async function discardPlace(base: string): Promise<void> {
  const target = await readlink(join(base, 'cluster')).catch(() => null);
  if (target !== null) await rm(dirname(target), { recursive: true, force: true });
}

export async function clusterMajor(path: string): Promise<string | null> {
  return (await readFile(join(path, 'PG_VERSION'), 'utf8').catch(() => null))?.trim() ?? null;
}

/**
 * Runs initdb in a draft folder that is renamed at the end, so a cluster is complete or absent.
 * @param beforeItIsThere runs before the rename
 * @throws Error with initdb's own message
 */
export async function createCluster(
  cluster: Cluster,
  password: string,
  beforeItIsThere = async () => {},
): Promise<void> {
  const { path, account } = cluster;
  const draft = `${path}.new`;
  const passwordFile = `${path}.password`;
  await rm(draft, { recursive: true, force: true });
  await rm(passwordFile, { force: true });
  try {
    await mkdir(draft, { mode: 0o700 });
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' });
    if (account) for (const made of [draft, passwordFile]) await chown(made, account.uid, account.gid);
    const settings = Object.entries(tunedSettings()).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
    const text = '--encoding UTF8 --locale C --locale-provider builtin --builtin-locale C.UTF-8'.split(' ');
    const access = ['--username', superuser, '--pwfile', passwordFile, '--auth', 'scram-sha-256'];
    const args = ['--pgdata', draft, ...access, ...text, '--no-instructions', ...settings];
    await run(cluster.binaries.initdb, args, spawnOptions(cluster));
    await beforeItIsThere();
    await rename(draft, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw new Error(
      `The embedded PostgreSQL could not be set up (${reasonOf(error)}): correct that, or set DATABASE_URL.`,
    );
  } finally {
    await rm(passwordFile, { force: true });
  }
}

function reasonOf(error: unknown): string {
  const { stderr, message, code } = error as { stderr?: string; message: string; code?: string | number };
  if (code === 'EPERM') return 'no permission to change to its system user';
  const lines = (stderr ?? '').split('\n').filter((line) => /error|fatal|could not|cannot/i.test(line));
  return (lines[0] ?? message).replace(/^\S*initdb: /, '').trim();
}

/** Finds the server that runs on a cluster; null if none runs. */
export function readPostmaster(path: string): Postmaster | null {
  let lines: string[];
  try {
    lines = readFileSync(join(path, 'postmaster.pid'), 'utf8').split('\n');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const pid = Number(lines[0]);
  if (!isPostmaster(pid, path)) return null;
  return { pid, ready: lines[7]?.trim() === 'ready' };
}

/**
 * Whether the process is a PostgreSQL server on this cluster. After a crash another process often has the same ID,
 * especially in containers.
 */
export function isPostmaster(pid: number, path: string): boolean {
  if (!Number.isInteger(pid) || pid <= 1) return false;
  if (process.platform === 'linux') {
    let args: string[];
    try {
      args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    } catch {
      return false;
    }
    if (basename(args[0] ?? '') !== 'postgres') return false;
    const folder = args[args.indexOf('-D') + 1];
    return !args.includes('-D') || folder === path || !isAbsolute(folder ?? '');
  }
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const launchAttempts = 5;
/**
 * The pause before another launch, because child processes of a killed server hold its shared memory for 1 or 2
 * seconds.
 */
const memoryPauseMs = 1000;

/** Starts a server that outlives this process, and waits until it accepts connections. */
export async function launch(cluster: Cluster, address: Address, attempt = 1): Promise<Postmaster> {
  const { base, path } = cluster;
  // The server does not run, so its process file can go. PostgreSQL would refuse to start if any process had the ID in
  // the file.
  await rm(join(path, 'postmaster.pid'), { force: true });
  await removeSocketLock(address);
  const logPath = join(base, 'server.log');
  const logSize = (await stat(logPath).catch(() => null))?.size ?? 0;
  if (logSize > serverLogMaxBytes) await rename(logPath, `${logPath}.1`);
  const logFile = openSync(logPath, 'a', 0o600);
  chmodSync(logPath, 0o600);
  handToOwnerOf(base, logPath);
  const logStart = statSync(logPath).size;
  const settings = Object.entries({ ...fixedSettings, ...listening(address) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const child = spawn(cluster.binaries.postgres, ['-D', path, '-p', String(address.port), ...settings], {
    ...spawnOptions(cluster),
    // Ctrl-C in the service's terminal must not reach the database.
    detached: true,
    stdio: ['ignore', logFile, logFile],
  });
  closeSync(logFile);
  let ended: string | null = null;
  child.once('error', (error) => {
    ended = reasonOf(error);
  });
  child.once('exit', (code, signal) => {
    ended ??= `it ended with ${signal ?? code}`;
  });
  try {
    while (ended === null) {
      const server = readPostmaster(path);
      if (server?.pid === child.pid && server?.ready) return server;
      await delay(pollMs);
    }
  } finally {
    child.unref();
  }
  const written = (await readFile(logPath)).subarray(logStart).toString('utf8');
  if (/pre-existing shared memory block/.test(written) && attempt < launchAttempts) {
    await delay(memoryPauseMs);
    return launch(cluster, address, attempt + 1);
  }
  const fatal = /FATAL:\s+(.*)/.exec(written)?.[1] ?? written.split('\n')[0];
  throw new Error(`The embedded PostgreSQL did not start (${fatal || ended}): see ${logPath}, or set DATABASE_URL.`);
}

/** Stops the server, which rolls back open transactions. */
export async function shutDown(cluster: Cluster): Promise<void> {
  if (readPostmaster(cluster.path) === null) return;
  await run(
    cluster.binaries.pgCtl,
    ['stop', '-D', cluster.path, '-m', 'fast', '-w', '-s', '-t', String(stopSeconds)],
    spawnOptions(cluster),
  ).catch((error: unknown) => {
    if (readPostmaster(cluster.path) !== null)
      throw new Error(`The embedded PostgreSQL did not stop (${reasonOf(error)}).`);
  });
}

/** This file is in the data folder during a restore. */
export const restoringName = 'restoring';

/** @throws Error if a restore is unfinished */
export async function refuseHalfRestored(dataDir: string): Promise<void> {
  const found = await stat(join(dataDir, restoringName)).catch(() => null);
  if (found === null) return;
  const elsewhere = await readlink(join(dataDir, 'postgres', 'cluster')).catch(() => null);
  const also = elsewhere === null ? '' : `remove ${dirname(elsewhere)}, `;
  throw new Error(
    `A backup is being put into ${dataDir}, or that was broken off: wait for its end, or ${also}empty the folder and restore again.`,
  );
}
