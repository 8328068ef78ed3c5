import { createHash } from 'node:crypto';
import { chmod, chown, lstat, mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemRandom } from '../../crypto/random.ts';
import { runningAsRoot } from './folder.ts';

/**
 * The server listens on a Unix socket, because no other program can take its path. On Windows it listens on a port,
 * because Node lacks Unix sockets there.
 */
export type Address = { host: string; port: number };

export const isWindows = process.platform === 'win32';

/** This number is only part of the socket's name. No program listens on the port. */
const socketPort = 5432;
const socketName = `.s.PGSQL.${socketPort}`;
/** The longest path of a socket. Linux allows 107 bytes, and macOS allows 103. */
const maxSocketBytes = 100;

/** The socket's folder is next to the data, or in /tmp if that path is too long for a socket. */
function socketFolder(cluster: string): string {
  const beside = join(dirname(cluster), 'socket');
  if (Buffer.byteLength(join(beside, socketName)) <= maxSocketBytes) return beside;
  return `/tmp/ars-${createHash('sha256').update(cluster).digest('hex').slice(0, 16)}`;
}

/** @param keptPort the port of an earlier start. A start fails if another program has the port. */
export const addressOf = (cluster: string, keptPort: number | null): Address =>
  isWindows
    ? { host: '127.0.0.1', port: keptPort ?? 49_152 + (systemRandom.bytes(2).readUInt16BE() >> 2) }
    : { host: socketFolder(cluster), port: socketPort };

export const listening = ({ host }: Address): Record<string, string> =>
  isWindows
    ? { listen_addresses: host, unix_socket_directories: '' }
    : { listen_addresses: '', unix_socket_directories: host };

/** Makes the folder of the socket for the owner of the data. @throws Error if another user could put a socket there */
export async function makeSocketFolder(cluster: string, { host }: Address): Promise<void> {
  if (isWindows) return;
  const { uid, gid } = await stat(cluster);
  try {
    await mkdir(host);
    await chmod(host, 0o711);
    if (runningAsRoot()) await chown(host, uid, gid);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const entry = await lstat(host);
  if (!entry.isDirectory() || entry.uid !== uid || (entry.mode & 0o022) !== 0)
    throw new Error(`${host} must be a folder that only PostgreSQL's user may write to: remove it, then start again.`);
}

/**
 * A killed server leaves this file. PostgreSQL refuses to start if another process now has the process ID in the file.
 */
export const removeSocketLock = ({ host }: Address): Promise<void> =>
  rm(join(host, `${socketName}.lock`), { force: true });

export const removeSocketFolder = (cluster: string): Promise<void> =>
  isWindows ? Promise.resolve() : rm(socketFolder(cluster), { recursive: true, force: true });

/** The address as `DATABASE_URL`, which psql and pg_dump read as well. */
export function databaseUrl(user: string, password: string, database: string, { host, port }: Address): string {
  if (isWindows) return `postgres://${user}:${password}@${host}:${port}/${database}`;
  const folder = encodeURIComponent(host).replaceAll('%2F', '/');
  return `postgres://${user}:${password}@localhost:${port}/${database}?host=${folder}`;
}
