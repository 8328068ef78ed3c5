import { execFile, spawn } from 'node:child_process';
import { chmodSync, chownSync, closeSync, openSync, readFileSync, statSync } from 'node:fs';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
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
import { systemRandom } from '../../random.ts';
import { syncFolder } from '../../sync-folder.ts';
import type { Address } from './address.ts';
import { listening, removeSocketLock } from './address.ts';
import type { Binaries } from './binaries.ts';
import { makeFolder } from './folder.ts';
import { placeFor, reaches, runningAsRoot } from './system-account.ts';
import type { Account } from './system-account.ts';

const run = promisify(execFile);

/**
 * A PostgreSQL data folder and what is needed to run a server on it. `path` is real: processes are recognised by it.
 */
export type Cluster = { base: string; path: string; account: Account | null; binaries: Binaries };

/** What a running server says about itself in its `postmaster.pid`. */
export type Postmaster = { pid: number; ready: boolean };

export const superuser = 'postgres';

const stopSeconds = 600;
const pollMs = 10;
const serverLogMaxBytes = 8 * 1024 * 1024;

const MiB = 1024 * 1024;

/** Written into `postgresql.conf` when the cluster is made, so an operator can change them. */
async function tunedSettings({ libraries }: Binaries): Promise<Record<string, string>> {
  const memoryMiB = (process.constrainedMemory() || totalmem()) / MiB;
  const within = (low: number, value: number, high: number) => `${Math.floor(Math.min(Math.max(low, value), high))}MB`;
  // With a library that isn't there, nothing would start.
  const prewarms = (await readdir(libraries)).some((file) => file.startsWith('pg_prewarm.'));
  return {
    max_connections: '200',
    shared_buffers: within(32, Math.min(memoryMiB, totalmem() / MiB) / 16, 1024),
    effective_cache_size: within(64, Math.min(memoryMiB, totalmem() / MiB) / 2, 16_384),
    work_mem: '8MB',
    maintenance_work_mem: '128MB',
    // Imports write much log; a checkpoint every few seconds would write every page twice.
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    random_page_cost: '1.1',
    jit: 'off',
    // What was in memory is read again at a start, in the order of the disk: page by page it would be by chance.
    ...(prewarms ? { shared_preload_libraries: 'pg_prewarm' } : {}),
    autovacuum_naptime: '5s',
    // Parallel plans take cores from the service beside them, and shared memory that containers limit to 64 MB.
    max_parallel_workers_per_gather: '0',
    max_parallel_maintenance_workers: '0',
    timezone: 'UTC',
    log_timezone: 'UTC',
  };
}

/** Given at every start, because promises rest on them: durability, and no personal data in the server's log. */
const fixedSettings: Record<string, string> = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  autovacuum: 'on',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  log_min_error_statement: 'panic',
  // In this setting "log" ranks above "error", whose text can quote a row's values.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
};

/**
 * The environment without the variables by which PostgreSQL's programs would take settings from the operator's shell.
 */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PG') && !name.startsWith('LC_'));
  return { ...Object.fromEntries(kept), LANG: 'C', LC_ALL: 'C' };
}

function spawnOptions(cluster: Cluster) {
  return { cwd: dirname(cluster.path), env: environment(), windowsHide: true, ...cluster.account };
}

/** Gives what root made in an operator's folder to that operator. */
export function handToOwnerOf(folder: string, path: string): void {
  const owner = statSync(folder);
  if (runningAsRoot() && statSync(path).uid !== owner.uid) chownSync(path, owner.uid, owner.gid);
}

/** Makes `${dataDir}/postgres` and returns its real path. */
export async function makeBase(dataDir: string): Promise<string> {
  const base = join(dataDir, 'postgres');
  const made = await makeFolder(base);
  // PostgreSQL's user must pass through, but needs to list nothing.
  if (made && runningAsRoot()) {
    const real = await realpath(made);
    for (let folder = await realpath(base); folder.startsWith(real); folder = dirname(folder))
      await chmod(folder, 0o711);
  }
  if (made) handToOwnerOf(dataDir, base);
  return realpath(base);
}

/**
 * Where the data are. Usually `${base}/cluster`; when PostgreSQL's user cannot get there (root's home, a private
 * folder), a link of that name points to a folder under /var/lib/ars.
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
  const open = await placeFor(account, ['/var/lib/ars']);
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
  await writeFile(join(home, 'origin'), `${base}\n`, { mode: 0o600 });
  return join(home, 'cluster');
}

/** Removes where the data of the base are if they stand elsewhere (placeCluster), and were put there for it. */
export async function discardPlace(base: string): Promise<void> {
  const target = await readlink(join(base, 'cluster')).catch(() => null);
  if (target === null) return;
  const home = dirname(target);
  const origin = await readFile(join(home, 'origin'), 'utf8').catch(() => '');
  if (origin === `${await realpath(base)}\n`) await rm(home, { recursive: true, force: true });
}

/** The major version of the cluster's files, or null when there is none yet. */
export async function clusterMajor(path: string): Promise<string | null> {
  return (await readFile(join(path, 'PG_VERSION'), 'utf8').catch(() => null))?.trim() ?? null;
}

/**
 * Runs initdb beside the final place and renames, so that a cluster is either whole or absent.
 * @throws Error with initdb's own last line
 */
export async function createCluster(cluster: Cluster, password: string): Promise<void> {
  const { path, account } = cluster;
  const draft = `${path}.new`;
  const passwordFile = `${path}.password`;
  await rm(draft, { recursive: true, force: true });
  await rm(passwordFile, { force: true });
  try {
    await mkdir(draft, { mode: 0o700 });
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: 'wx' });
    if (account) for (const made of [draft, passwordFile]) await chown(made, account.uid, account.gid);
    const settings = Object.entries(await tunedSettings(cluster.binaries)).flatMap(([name, value]) => [
      '--set',
      `${name}=${value}`,
    ]);
    await run(
      cluster.binaries.initdb,
      [
        '--pgdata',
        draft,
        '--username',
        superuser,
        '--pwfile',
        passwordFile,
        '--auth',
        'scram-sha-256',
        // The order of text must not depend on the machine.
        '--encoding',
        'UTF8',
        '--locale',
        'C',
        '--locale-provider',
        'builtin',
        '--builtin-locale',
        'C.UTF-8',
        '--no-instructions',
        ...settings,
      ],
      spawnOptions(cluster),
    );
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

/** What `postmaster.pid` says, or null when there is no such file or no server that could have written it. */
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
 * Whether process `pid` is a PostgreSQL server on the cluster. The number alone proves nothing: after a crash another
 * process may have it, in a container even the same small number, and PostgreSQL itself would then refuse to start.
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

/** The server ended before it was ready. */
export class LaunchError extends Error {
  /** A server that was killed has children that end: another attempt may do. */
  readonly isMemoryHeld: boolean;
  constructor(message: string, isMemoryHeld: boolean) {
    super(message);
    this.isMemoryHeld = isMemoryHeld;
  }
}

/**
 * Starts a server that outlives this process, and resolves when it accepts connections.
 * @throws LaunchError
 */
export async function launch(cluster: Cluster, address: Address): Promise<Postmaster> {
  const { base, path } = cluster;
  // No process of this cluster holds that number (the caller looked), but PostgreSQL would only see that it is in use.
  await rm(join(path, 'postmaster.pid'), { force: true });
  await removeSocketLock(address);
  const logPath = join(base, 'server.log');
  const logSize = (await stat(logPath).catch(() => null))?.size ?? 0;
  if (logSize > serverLogMaxBytes) await rename(logPath, `${logPath}.1`);
  const logFile = openSync(logPath, 'a', 0o600);
  chmodSync(logPath, 0o600);
  handToOwnerOf(base, logPath);
  const logStart = statSync(logPath).size;
  const given = { ...fixedSettings, ...listening(address) };
  const settings = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(cluster.binaries.postgres, ['-D', path, '-p', String(address.port), ...settings], {
    ...spawnOptions(cluster),
    // A session of its own: an interrupt typed at the service's terminal must not reach the database.
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
      const seen = readPostmaster(path);
      if (seen && seen.pid === child.pid && seen.ready) return seen;
      await delay(pollMs);
    }
  } finally {
    child.unref();
  }
  const written = (await readFile(logPath)).subarray(logStart).toString('utf8');
  const fatal = /FATAL:\s+(.*)/.exec(written)?.[1] ?? written.split('\n')[0];
  throw new LaunchError(
    `The embedded PostgreSQL did not start (${fatal || ended}): see ${logPath}, or set DATABASE_URL.`,
    /pre-existing shared memory block/.test(written),
  );
}

/** Ends the server in good order (open transactions are rolled back) and waits for it. */
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
