import { execFile } from 'node:child_process';
import { chmod, lstat, mkdir, realpath, stat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The system user that PostgreSQL runs as. */
export type Account = { uid: number; gid: number };

export const runningAsRoot = (): boolean => process.getuid?.() === 0;

const existingNames = ['postgres', 'ars-postgres'];
const newName = 'ars-postgres';

// The two families of user tools: shadow (Debian, Fedora and most others) and BusyBox (Alpine).
const waysToCreate: [string, string[]][] = [
  ['useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', newName]],
  ['adduser', ['-S', '-D', '-H', '-s', '/sbin/nologin', newName]],
];

/**
 * The account for PostgreSQL, which refuses to run as root: null unless we are root. The owner of an existing cluster
 * goes first, because nobody else can open its files.
 * @throws Error when there is no such user and none can be made
 */
export async function accountFor(cluster: string): Promise<Account | null> {
  if (!runningAsRoot()) return null;
  const owner = await stat(cluster).catch(() => null);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of existingNames) {
    const account = await lookUp(name);
    if (account) return account;
  }
  for (const [tool, args] of waysToCreate) {
    await run(tool, args).catch(() => null);
    const account = await lookUp(newName);
    if (account) return account;
  }
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

function permits(entry: Stats, account: Account, bit: 1 | 4): boolean {
  const shift = entry.uid === account.uid ? 6 : entry.gid === account.gid ? 3 : 0;
  return (entry.mode & (bit << shift)) !== 0;
}

/**
 * Whether the account can pass through every folder down to `path` and open what is there; access lists are not read.
 */
export async function reaches(account: Account, path: string, use: 'enter' | 'read' = 'enter'): Promise<boolean> {
  const real = await realpath(path);
  if (use === 'read' && !permits(await stat(real), account, 4)) return false;
  let folder = use === 'read' ? dirname(real) : real;
  for (;;) {
    if (!permits(await stat(folder), account, 1)) return false;
    if (dirname(folder) === folder) return true;
    folder = dirname(folder);
  }
}

/**
 * The first of the folders that is (or can be made) root's own, closed to other writers and open to the account:
 * anything else could be exchanged under us by another user of the machine.
 */
export async function placeFor(account: Account, candidates: readonly string[]): Promise<string | null> {
  for (const path of candidates) {
    try {
      const made = await mkdir(path, { recursive: true, mode: 0o755 });
      if (made) await chmod(path, 0o755);
      const entry = await lstat(path);
      if (!entry.isDirectory() || entry.uid !== 0 || (entry.mode & 0o022) !== 0) continue;
      if (await reaches(account, path)) return path;
    } catch {
      continue;
    }
  }
  return null;
}
