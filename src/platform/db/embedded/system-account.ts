import { execFile } from 'node:child_process';
import { chmod, lstat, mkdir, realpath, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { runningAsRoot } from './folder.ts';

const run = promisify(execFile);

export type Account = { uid: number; gid: number };

const newName = 'ars-postgres';

/**
 * Finds the account for PostgreSQL, which refuses to run as root; null if the service does not run as root. The owner
 * of an existing cluster comes first, because only that account can open the cluster's files.
 * @throws Error if there is no account and none can be made
 */
export async function accountFor(cluster: string): Promise<Account | null> {
  if (!runningAsRoot()) return null;
  const owner = await stat(cluster).catch(() => null);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const known = (await lookUp('postgres')) ?? (await lookUp(newName));
  if (known) return known;
  const create = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', newName];
  await run('useradd', create).catch(() => null);
  const made = await lookUp(newName);
  if (made) return made;
  throw new Error(
    'PostgreSQL refuses to run as root, and its system user could not be created. ' +
      'Add a user named "postgres", start the service as an ordinary user, or set DATABASE_URL.',
  );
}

async function lookUp(name: string): Promise<Account | null> {
  const idOf = async (flag: string) => Number((await run('id', [flag, name])).stdout);
  return Promise.all([idOf('-u'), idOf('-g')]).then(
    ([uid, gid]) => ({ uid, gid }),
    () => null,
  );
}

/** Whether the account may enter the folder, or run the program. */
export async function reaches(account: Account, path: string): Promise<boolean> {
  return run('test', ['-x', path], { ...account, cwd: '/' }).then(
    () => true,
    ({ code, message }: { code?: unknown; message: string }) => {
      if (code === 1) return false;
      throw new Error(
        `The service cannot change from root to PostgreSQL's system user (${message}): ` +
          'start it as an ordinary user, or set DATABASE_URL.',
      );
    },
  );
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
    return isOurs && (await reaches(account, path)) ? await realpath(path) : null;
  } catch {
    return null;
  }
}
