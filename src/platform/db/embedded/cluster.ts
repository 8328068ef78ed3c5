import { execFile, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import {
  chmod,
  chown,
  mkdir,
  open,
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
import { systemRandom } from '../../crypto/random.ts';
import { syncFolder } from '../../formats/sync-folder.ts';
import { type Address, isWindows, listening, removeSocketLock } from './address.ts';
import type { Binaries } from './binaries.ts';
import { handToOwnerOf, makeFolder } from './folder.ts';
import { type Account, placeFor, reaches } from './system-account.ts';

const run = promisify(execFile);

/**
 * A data folder of PostgreSQL and what its server needs. `path` contains no links, because a server process is
 * recognised by its path.
 */
export type Cluster = { base: string; path: string; account: Account | null; binaries: Binaries };

type Postmaster = { pid: number };

export const superuser = 'postgres';

/** The longest wait for a start or a stop. After a crash the server replays at most a few gigabytes of WAL. */
const maxSeconds = '600';
const serverLogMaxBytes = 8 * 1024 * 1024;

const MiB = 1024 * 1024;

/** `initdb` writes these settings into `postgresql.conf`, so that operators can change them. */
function settings(): Record<string, string> {
  const memoryMiB = Math.min(process.constrainedMemory() || Infinity, totalmem()) / MiB;
  const within = (low: number, value: number, high: number) => `${Math.floor(Math.min(Math.max(low, value), high))}MB`;
  return {
    max_connections: '200',
    shared_buffers: within(32, memoryMiB / 16, 1024),
    effective_cache_size: within(64, memoryMiB / 2, 16_384),
    work_mem: '8MB',
    maintenance_work_mem: '128MB',
    // Imports write much WAL. With a lower limit, frequent checkpoints would write every page twice.
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    random_page_cost: '1.1',
    jit: 'off',
    shared_preload_libraries: 'pg_prewarm',
    autovacuum_naptime: '5s',
    // Parallel plans would take the service's cores and need shared memory, which containers limit to 64 MB.
    max_parallel_workers_per_gather: '0',
    max_parallel_maintenance_workers: '0',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // These settings keep personal data out of the log. "log" leaves out errors, whose text can contain a row's values.
    log_min_error_statement: 'panic',
    log_min_messages: 'log',
    log_error_verbosity: 'terse',
  };
}

function spawnOptions(cluster: Cluster) {
  // The operator's locale must not change messages or the order of text.
  const env = { ...process.env, LANG: 'C', LC_ALL: 'C', PGDATA: cluster.path };
  return { cwd: dirname(cluster.path), env, windowsHide: true, ...cluster.account };
}

export async function makeBase(dataDir: string): Promise<string> {
  const base = join(dataDir, 'postgres');
  const made = await makeFolder(base);
  if (made) handToOwnerOf(dataDir, base);
  return realpath(base);
}

/** Returns `${base}/cluster`, or the place to which it links because PostgreSQL's user cannot reach `base`. */
export async function placeCluster(base: string, account: Account | null): Promise<string> {
  const path = join(base, 'cluster');
  const target = await readlink(path).catch(() => null);
  if (target !== null) return target;
  if (account === null || (await reaches(account, base))) return path;
  const place = existsSync(path) ? null : await placeFor(account);
  if (place === null) {
    throw new Error(
      `PostgreSQL cannot run as root, and its system user cannot reach ${path}. ` +
        'Set ARS_DATA_DIR to a folder that other users can pass through (chmod o+x), or set DATABASE_URL.',
    );
  }
  const home = join(place, 'clusters', systemRandom.bytes(8).toString('hex'));
  await mkdir(home, { recursive: true, mode: 0o711 });
  await chmod(dirname(home), 0o711);
  await symlink(join(home, 'cluster'), path);
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
 * @param prepared runs before the rename
 * @throws Error with initdb's own message
 */
export async function createCluster(cluster: Cluster, password: string, prepared = async () => {}): Promise<void> {
  const { path, account } = cluster;
  // Each attempt has a draft of its own, because the initdb of a killed process still writes into another.
  const draft = `${path}.new-${systemRandom.bytes(6).toString('hex')}`;
  const passwordFile = `${draft}.password`;
  try {
    for (const name of await readdir(dirname(path)))
      if (name.startsWith(`${basename(path)}.new`))
        await rm(join(dirname(path), name), { recursive: true, force: true }).catch(() => {});
    await mkdir(draft, { mode: 0o700 });
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
    if (account) for (const made of [draft, passwordFile]) await chown(made, account.uid, account.gid);
    const set = Object.entries(settings()).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
    const text = '--encoding UTF8 --locale C --locale-provider builtin --builtin-locale C.UTF-8'.split(' ');
    const access = ['--username', superuser, '--pwfile', passwordFile, '--auth', 'scram-sha-256'];
    const args = ['--pgdata', draft, ...access, ...text, '--no-instructions', ...set];
    await run(cluster.binaries.initdb, args, spawnOptions(cluster));
    await prepared();
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
  const { stderr = '', message } = error as { stderr?: string; message: string };
  const line = stderr.split('\n').find((one) => /error|fatal|could not|cannot/i.test(one));
  return (line ?? message).replace(/^\S*initdb: /, '').trim();
}

/** Finds the server that runs on a cluster; null if none runs. */
export function readPostmaster(path: string): Postmaster | null {
  try {
    const pid = Number.parseInt(readFileSync(join(path, 'postmaster.pid'), 'utf8'), 10);
    return isPostmaster(pid, path) ? { pid } : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Whether the process is a PostgreSQL server on this cluster. After a crash another process often has the same ID,
 * especially in containers.
 */
export function isPostmaster(pid: number, path: string): boolean {
  try {
    if (process.platform !== 'linux') return process.kill(pid, 0);
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const folder = args.includes('-D') ? args[args.indexOf('-D') + 1]! : '';
    return basename(args[0]!) === 'postgres' && (folder === path || !isAbsolute(folder));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Child processes of a killed server hold its shared memory for 1 or 2 seconds. */
const memoryHeld = /pre-existing shared memory block/;
const maxLaunches = 5;

/** Starts a server that outlives this process, and waits until it is ready. */
export async function launch(cluster: Cluster, address: Address, attempt = 1): Promise<Postmaster> {
  const { base, path, binaries } = cluster;
  // PostgreSQL would refuse to start if any process had the ID in a leftover `postmaster.pid`. No server runs now, so
  // the file can be deleted.
  await rm(join(path, 'postmaster.pid'), { force: true });
  await removeSocketLock(address);
  const logPath = join(base, 'server.log');
  const found = await stat(logPath).catch(() => null);
  if (found !== null && found.size > serverLogMaxBytes) await rename(logPath, `${logPath}.1`);
  const log = await open(logPath, 'a', 0o600);
  handToOwnerOf(base, logPath);
  const { size: logStart } = await log.stat();
  const args = ['start', '-w', '-s', '-t', maxSeconds, '-o', serverOptions(path, address)];
  const options = { ...spawnOptions(cluster), stdio: ['ignore', log.fd, log.fd] as StdioOptions };
  const ended = await once(spawn(binaries.pgCtl, args, options), 'exit').then(([code]) => `code ${code}`, reasonOf);
  await log.close();
  // This is the server that pg_ctl has started, or that of a process which was killed while it started one.
  const server = readPostmaster(path);
  if (server !== null) return server;
  const written = (await readFile(logPath)).subarray(logStart).toString('utf8');
  if (memoryHeld.test(written) && attempt < maxLaunches) {
    await delay(1000);
    return launch(cluster, address, attempt + 1);
  }
  const reason = /FATAL:\s+(.*)/.exec(written)?.[1] ?? (written.split('\n')[0] || ended);
  throw new Error(`The embedded PostgreSQL did not start (${reason}): see ${logPath}, or set DATABASE_URL.`);
}

/** The options of the server as one text, which pg_ctl passes to a shell. */
function serverOptions(path: string, address: Address): string {
  const quoted = (text: string) => (isWindows ? `"${text}"` : `'${text.replaceAll("'", "'\\''")}'`);
  const texts = Object.entries(listening(address)).map(([name, value]) => `-c ${quoted(`${name}=${value}`)}`);
  return [`-D ${quoted(path)} -p ${address.port}`, ...texts].join(' ');
}

export async function shutDown(cluster: Cluster): Promise<void> {
  const { path, binaries } = cluster;
  if (readPostmaster(path) === null) return;
  const args = ['stop', '-m', 'fast', '-w', '-s', '-t', maxSeconds];
  await run(binaries.pgCtl, args, spawnOptions(cluster)).catch((error: unknown) => {
    if (readPostmaster(path) !== null) throw new Error(`The embedded PostgreSQL did not stop (${reasonOf(error)}).`);
  });
}

/** This file is in the data folder during a restore. */
export const restoringName = 'restoring';

/** @throws Error if a restore is unfinished */
export async function refuseHalfRestored(dataDir: string): Promise<void> {
  if (!existsSync(join(dataDir, restoringName))) return;
  const elsewhere = await readlink(join(dataDir, 'postgres', 'cluster')).catch(() => null);
  const also = elsewhere === null ? '' : `remove ${dirname(elsewhere)}, `;
  throw new Error(
    `A backup is being put into ${dataDir}, or that was broken off: wait for its end, or ${also}empty the folder and restore again.`,
  );
}
