import { chown, mkdir, readdir, readFile, realpath, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { systemRandom } from '../../crypto/random.ts';
import { syncFolder } from '../../formats/sync-folder.ts';
import {
  clusterMajor,
  discardPlace,
  handToOwnerOf,
  makeBase,
  placeCluster,
  refuseHalfRestored,
  restoringName,
} from './cluster.ts';
import { credentialsPath, type EmbeddedDatabase } from './embedded.ts';
import { folderFailure, forOutput, makeFolder, type Purpose } from './folder.ts';
import { packagedVersion, packageFolder } from './binaries.ts';
import { type CopiedFile, copyFile, copyOnline } from './online-copy.ts';
import { accountFor } from './system-account.ts';

/**
 * A backup of the embedded database contains `cluster/`, a data folder of PostgreSQL, and `own/`, the service's own
 * files. `manifest.json` is written last and lists every file with its hash.
 */

type Manifest = {
  format: 1;
  made_at: string;
  postgres: string;
  folders: string[];
  files: CopiedFile[];
};

const manifestName = 'manifest.json';
/** This file is in the data folder after a restore, until the service has detected the restore. */
const markName = 'restored';

const ownFiles = (dataDir: string): { name: string; path: string }[] => [
  { name: 'server.json', path: credentialsPath(join(dataDir, 'postgres')) },
  { name: 'secret', path: join(dataDir, 'secret') },
];

async function isEmpty(folder: string, purpose?: Purpose): Promise<boolean> {
  const found = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw folderFailure(folder, error, purpose);
  });
  return found.length === 0;
}

async function realPlace(path: string): Promise<string> {
  const absolute = resolve(path);
  const above = dirname(absolute);
  return realpath(absolute).catch(async () =>
    above === absolute ? absolute : join(await realPlace(above), basename(absolute)),
  );
}

/** `onCopied` receives the number of bytes copied so far. `signal` stops the copy, and the partial copy is removed. */
type CopyOptions = { onCopied(bytes: number): void; signal: AbortSignal };

/** Backs up a database in use. @throws Error with one sentence, or the signal's reason */
export async function backUp(
  embedded: EmbeddedDatabase,
  dataDir: string,
  out: string,
  options: CopyOptions & { madeAt: string },
): Promise<{ files: number; bytes: number }> {
  if (!(await isEmpty(out, forOutput))) throw new Error('--out must name a folder that is empty or is not there yet');
  const place = `${await realPlace(out)}/`;
  for (const own of [join(dataDir, 'postgres'), join(dataDir, 'postgres', 'cluster')])
    if (place.startsWith(`${await realPlace(own)}/`))
      throw new Error('--out must name a folder outside that of the database');
  const made = await makeFolder(out, forOutput);
  const unusable = (error: unknown) => {
    throw folderFailure(out, error, forOutput);
  };
  await mkdir(join(out, 'own'), { mode: 0o700 }).catch(unusable);
  return copyInto(out, embedded, dataDir, options).catch(async (error: NodeJS.ErrnoException) => {
    // A partial copy is removed, because it contains personal data and may fill the disk.
    for (const name of ['cluster', 'own', `${manifestName}.new`, manifestName])
      await rm(join(out, name), { recursive: true, force: true });
    if (made !== undefined) await rmdir(out).catch(() => {});
    options.signal.throwIfAborted();
    return isFull(error) ? unusable(error) : Promise.reject(error);
  });
}

const isFull = (error: unknown) => ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');

async function copyInto(
  out: string,
  embedded: EmbeddedDatabase,
  dataDir: string,
  { madeAt, onCopied, signal }: CopyOptions & { madeAt: string },
): Promise<{ files: number; bytes: number }> {
  const slot = `ars_backup_${systemRandom.bytes(6).toString('hex')}`;
  const { copied, postgres } = await embedded.administer(async (client, folder) => ({
    copied: await copyOnline(client, folder, join(out, 'cluster'), { slot, onCopied, signal }),
    postgres: (await clusterMajor(folder))!,
  }));
  const files = copied.files.map((file) => ({ ...file, path: `cluster/${file.path}` }));
  for (const { name, path } of ownFiles(dataDir)) {
    const found = await copyFile(path, join(out, 'own', name), signal);
    if (found !== null) files.push({ path: `own/${name}`, ...found });
  }
  const folders = ['cluster', 'own', ...copied.folders.map((path) => `cluster/${path}`)];
  const manifest: Manifest = { format: 1, made_at: madeAt, postgres, folders, files };
  for (const folder of folders) await syncFolder(join(out, folder));
  await writeFile(join(out, `${manifestName}.new`), JSON.stringify(manifest), { mode: 0o600, flush: true });
  await rename(join(out, `${manifestName}.new`), join(out, manifestName));
  await syncFolder(out);
  return { files: files.length, bytes: files.reduce((sum, file) => sum + file.bytes, 0) };
}

async function readManifest(from: string): Promise<Manifest> {
  const text = await readFile(join(from, manifestName), 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new Error(`--from must name a whole backup: there is no ${manifestName} in it`);
    throw new Error(`--from must name a backup that can be read (${code})`);
  });
  const damaged = () => new Error(`${manifestName} of the backup is damaged`);
  let manifest: Manifest;
  try {
    manifest = JSON.parse(text) as Manifest;
    if (typeof manifest.format !== 'number') throw damaged();
  } catch {
    throw damaged();
  }
  if (manifest.format !== 1) throw new Error('the backup was made by a newer version of the service');
  const { major } = await packagedVersion(packageFolder());
  if (manifest.postgres !== major)
    throw new Error(
      `the backup is of PostgreSQL ${manifest.postgres}, and this version of the service has ${major}: restore it with the version that made it`,
    );
  if (!Array.isArray(manifest.folders) || !Array.isArray(manifest.files)) throw damaged();
  for (const path of [...manifest.folders, ...manifest.files.map((file) => file?.path)])
    if (!/^(cluster|own)(\/|$)/.test(path) || path.split('/').includes('..')) throw damaged();
  return manifest;
}

/**
 * Restores a backup into an empty data folder, and compares every file with its hash. The service detects the restore
 * at its next start.
 * @param options `secret`: the service's secret is set elsewhere
 * @throws Error with one sentence, or the signal's reason
 */
export async function restoreBackup(
  dataDir: string,
  from: string,
  { onCopied, signal, secret }: CopyOptions & { secret: boolean },
): Promise<{ madeAt: string; files: number }> {
  const manifest = await readManifest(from);
  if (!secret && !manifest.files.some((file) => file.path === 'own/secret'))
    throw new Error(
      "the service's secret is not in the backup: set ARS_SECRET as the service had it, and restore again",
    );
  await refuseHalfRestored(dataDir);
  if (!(await isEmpty(dataDir))) throw new Error('ARS_DATA_DIR must be empty: a restore replaces nothing');
  await makeFolder(dataDir);
  const restoring = join(dataDir, restoringName);
  await writeFile(restoring, '', { mode: 0o600, flush: true });
  try {
    await putInPlace(dataDir, from, manifest, { onCopied, signal });
    await rm(restoring);
    await syncFolder(dataDir);
  } catch (error) {
    await discardPlace(join(dataDir, 'postgres'));
    for (const place of [join(dataDir, 'postgres'), join(dataDir, 'secret'), join(dataDir, markName), restoring])
      await rm(place, { recursive: true, force: true });
    signal.throwIfAborted();
    throw isFull(error) ? folderFailure(dataDir, error) : error;
  }
  return { madeAt: manifest.made_at, files: manifest.files.length };
}

async function putInPlace(
  dataDir: string,
  from: string,
  manifest: Manifest,
  { onCopied, signal }: CopyOptions,
): Promise<void> {
  const base = await makeBase(dataDir);
  // Files get the owner of the folder, who runs the service and cannot open files of root.
  const account = await accountFor(base);
  const path = await placeCluster(base, account);
  const draft = `${path}.new`;
  const own = new Map(ownFiles(dataDir).map((file) => [`own/${file.name}`, file.path]));
  const placeOf = (name: string) => own.get(name) ?? join(draft, name.slice('cluster/'.length));
  const hand = async (made: string) => {
    if (account !== null) await chown(made, account.uid, account.gid);
  };
  await mkdir(draft, { mode: 0o700 });
  await hand(draft);
  for (const folder of manifest.folders.filter((one) => one.startsWith('cluster/')).sort()) {
    await mkdir(placeOf(folder), { mode: 0o700 });
    await hand(placeOf(folder));
  }
  let bytes = 0;
  for (const file of manifest.files) {
    const found = await copyFile(join(from, file.path), placeOf(file.path), signal);
    if (found?.sha256 !== file.sha256) throw new Error(`${file.path} of the backup is missing or damaged`);
    if (own.has(file.path)) handToOwnerOf(dataDir, placeOf(file.path));
    else await hand(placeOf(file.path));
    onCopied((bytes += found.bytes));
  }
  const mark = `${manifest.made_at} ${systemRandom.uuid()}\n`;
  await writeFile(join(dataDir, markName), mark, { mode: 0o600, flush: true });
  handToOwnerOf(dataDir, join(dataDir, markName));
  for (const folder of manifest.folders.filter((one) => one.startsWith('cluster'))) await syncFolder(placeOf(folder));
  await rename(draft, path);
  // These folders must be on the disk before the mark of an unfinished restore is removed.
  for (const folder of [dirname(path), dirname(dirname(path)), base, dataDir]) await syncFolder(folder);
}

/** The ID of a restore that the service has not detected yet; null if there is none. */
export async function restoredMark(dataDir: string): Promise<string | null> {
  return (await readFile(join(dataDir, markName), 'utf8').catch(() => null))?.trim() ?? null;
}

export async function forgetRestored(dataDir: string): Promise<void> {
  await rm(join(dataDir, markName), { force: true });
}
