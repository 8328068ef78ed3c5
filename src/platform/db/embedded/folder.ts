import { chownSync, statSync } from 'node:fs';
import { mkdir, stat, statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

const why: Record<string, string> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of it is a file',
  EEXIST: 'it is a file',
  ENOENT: 'no folder can be made there',
  ENAMETOOLONG: 'the name is too long',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  ELOOP: 'its links lead in a circle',
};

export type Purpose = { what: string; advice: string };
const forData: Purpose = { what: 'data folder', advice: 'set ARS_DATA_DIR' };
export const forOutput: Purpose = { what: 'folder', advice: 'give another one by --out' };

/** Describes a failure to use a folder in one sentence. Other errors are returned as they are. */
export function folderFailure(path: string, error: unknown, { what, advice } = forData): unknown {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (!Object.hasOwn(why, code)) return error;
  return new Error(`The ${what} ${path} can't be used, because ${why[code]!} (${code}): ${advice}.`);
}

/**
 * Makes a folder and its parents. Node's own recursive mkdir never returns on file systems such as /proc.
 * @returns the topmost folder that was made
 */
export async function makeFolder(path: string, purpose = forData, mode = 0o777): Promise<string | undefined> {
  const make = async (folder: string): Promise<string | undefined> => {
    const found = await stat(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (found !== undefined && !found.isDirectory()) throw Object.assign(new Error(), { code: 'EEXIST' });
    if (found !== undefined) return;
    const made = await make(dirname(folder));
    await mkdir(folder, mode).catch(async (error: NodeJS.ErrnoException) => {
      // Another process may have made the folder. If the name is a dangling link instead, `stat` throws.
      if (error.code !== 'EEXIST') throw error;
      await stat(folder);
    });
    return made ?? folder;
  };
  return make(resolve(path)).catch((error: unknown) => {
    throw folderFailure(path, error, purpose);
  });
}

export const runningAsRoot = (): boolean => process.getuid?.() === 0;

/** Gives a file that root made to the owner of the folder. */
export function handToOwnerOf(folder: string, path: string): void {
  if (!runningAsRoot()) return;
  const { uid, gid } = statSync(folder);
  chownSync(path, uid, gid);
}

/** PostgreSQL needs room for one WAL segment after a crash. */
const neededBytes = 16 * 1024 * 1024;

export async function isDiskFull(dataDir: string): Promise<boolean> {
  const disk = await statfs(join(dataDir, 'postgres', 'cluster')).catch(() => null);
  return disk !== null && disk.bavail * disk.bsize < neededBytes;
}
