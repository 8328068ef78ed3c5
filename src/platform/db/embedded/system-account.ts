import { execFile } from 'node:child_process';
import { chmod, lstat, mkdir, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type Account = { uid: number; gid: number };

export const runningAsRoot = (): boolean => process.getuid?.() === 0;

const existingNames = ['postgres', 'ars-postgres'];
const newName = 'ars-postgres';

const create = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', newName];

/**
 * The account that runs PostgreSQL, which refuses to run as root; null if the service does not run as root. The owner
 * of an existing cluster comes first, because only that account can open its files.
 * @throws Error if there is no account and none can be made
 */
export async function accountFor(cluster: string): Promise<Account | null> {
  if (!runningAsRoot()) return null;
  const owner = await stat(cluster).catch(() => null);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of existingNames) {
    const account = await lookUp(name);
    if (account) return account;
  }
  await run('useradd', create).catch(() => null);
  const made = await lookUp(newName);
  if (made) return made;
  throw new Error(
    'PostgreSQL refuses to run as root and no system user could be made for it: ' +
      'add a user named "postgres", start the service as an ordinary user, or set DATABASE_URL.',
  );
}

async function lookUp(name: string): Promise<Account | null> {
  try {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, name])).stdout)),
    );
    return uid && gid ? { uid, gid } : null;
  } catch {
    return null;
  }
}

/** Whether the account can enter every folder down to `path`. Access lists are ignored. */
export async function reaches({ uid, gid }: Account, path: string): Promise<boolean> {
  for (let folder = await realpath(path); ; folder = dirname(folder)) {
    const entry = await stat(folder);
    const shift = entry.uid === uid ? 6 : entry.gid === gid ? 3 : 0;
    if ((entry.mode & (1 << shift)) === 0) return false;
    if (dirname(folder) === folder) return true;
  }
}

/**
 * A folder for the account's files; null if there is none. Only root may write to the folder, because another user
 * could replace the files.
 */
export async function placeFor(account: Account): Promise<string | null> {
  const path = '/var/lib/ars';
  try {
    if (await mkdir(path, { recursive: true, mode: 0o755 })) await chmod(path, 0o755);
    const entry = await lstat(path);
    const isOurs = entry.isDirectory() && entry.uid === 0 && (entry.mode & 0o022) === 0;
    return isOurs && (await reaches(account, path)) ? path : null;
  } catch {
    return null;
  }
}
