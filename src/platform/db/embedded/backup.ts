import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { systemRandom } from '../../crypto/random.ts';
import { syncFolder } from '../../formats/sync-folder.ts';
import { packagedVersion, packageFolder } from './binaries.ts';
import { clusterMajor, discardPlace, makeBase, placeCluster, refuseHalfRestored, restoringName } from './cluster.ts';
import { credentialsPath, type EmbeddedDatabase } from './embedded.ts';
import { folderFailure, forOutput, handToOwnerOf, makeFolder, type Purpose } from './folder.ts';
import { type CopiedFile, copyFile, copyOnline, type CopyOptions } from './online-copy.ts';
import { accountFor } from './system-account.ts';

/**
 * A backup of the embedded database contains `cluster/`, a data folder of PostgreSQL, and `own/`, the service's own
 * files. `manifest.json` is written last and lists every file with its hash.
 */

type Manifest = { format: 1; made_at: string; postgres: string; folders: string[]; files: CopiedFile[] };

const manifestName = 'manifest.json';
/** This file is in the data folder after a restore, until the service has detected the restore. */
const markName = 'restored';

const ownFiles = (dataDir: string) => ({
  'own/server.json': credentialsPath(join(dataDir, 'postgres')),
  'own/secret': join(dataDir, 'secret'),
});

async function isEmpty(folder: string, purpose?: Purpose): Promise<boolean> {
  const found = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw folderFailure(folder, error, purpose);
  });
  return found.length === 0;
}

/** The sentence about a full disk, or the error as it is. */
const ofFullDisk = (folder: string, error: unknown, purpose?: Purpose) =>
  ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')
    ? folderFailure(folder, error, purpose)
    : error;

/** Backs up a database in use. A partial copy is removed. @throws Error with one sentence, or the signal's reason */
export async function backUp(
  embedded: EmbeddedDatabase,
  dataDir: string,
  out: string,
  options: CopyOptions & { madeAt: string },
): Promise<{ files: number; bytes: number }> {
  if (!(await isEmpty(out, forOutput))) throw new Error('--out must name a folder that is empty or is not there yet');
  const made = await makeFolder(out, forOutput);
  const remove = async () => {
    if (made !== undefined) return rm(made, { recursive: true, force: true });
    for (const name of await readdir(out)) await rm(join(out, name), { recursive: true, force: true });
  };
  try {
    const place = `${await realpath(out)}/`;
    for (const own of [join(dataDir, 'postgres'), join(dataDir, 'postgres', 'cluster')])
      if (place.startsWith(`${await realpath(own)}/`))
        throw new Error('--out must name a folder outside that of the database');
    return await copyInto(out, embedded, dataDir, options);
  } catch (error) {
    await remove();
    options.signal.throwIfAborted();
    throw ofFullDisk(out, error, forOutput);
  }
}

async function copyInto(
  out: string,
  embedded: EmbeddedDatabase,
  dataDir: string,
  { madeAt, ...options }: CopyOptions & { madeAt: string },
): Promise<{ files: number; bytes: number }> {
  await mkdir(join(out, 'own'), { mode: 0o700 }).catch((error: unknown) => {
    throw folderFailure(out, error, forOutput);
  });
  const { copied, postgres } = await embedded.administer(async (client, folder) => ({
    copied: await copyOnline(client, folder, join(out, 'cluster'), options),
    postgres: (await clusterMajor(folder))!,
  }));
  const files = copied.files.map((file) => ({ ...file, path: `cluster/${file.path}` }));
  for (const [path, from] of Object.entries(ownFiles(dataDir))) {
    const found = await copyFile(from, join(out, path), options.signal);
    if (found !== null) files.push({ path, ...found });
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
      throw new Error(`--from must name a complete backup. The folder contains no ${manifestName}`);
    throw new Error(`--from must name a backup that can be read (${code})`);
  });
  const isInside = (path: unknown) =>
    typeof path === 'string' && /^(cluster|own)(\/|$)/.test(path) && !path.split('/').includes('..');
  let manifest: Manifest;
  try {
    manifest = JSON.parse(text) as Manifest;
    const { format, folders, files } = manifest;
    if (!(format > 1) && ![...folders, ...files.map((file) => file.path)].every(isInside)) throw new Error();
  } catch {
    throw new Error(`${manifestName} of the backup is damaged`);
  }
  if (manifest.format !== 1) throw new Error('the backup was made by a newer version of the service');
  const { major } = await packagedVersion(packageFolder());
  if (manifest.postgres !== major)
    throw new Error(
      `the backup is of PostgreSQL ${manifest.postgres}, and this version of the service has ${major}: restore it with the version that made it`,
    );
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
  { secret, ...options }: CopyOptions & { secret: boolean },
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
    await putInPlace(dataDir, from, manifest, options);
    await rm(restoring);
    await syncFolder(dataDir);
  } catch (error) {
    await discardPlace(join(dataDir, 'postgres'));
    for (const name of ['postgres', 'secret', markName, restoringName])
      await rm(join(dataDir, name), { recursive: true, force: true });
    options.signal.throwIfAborted();
    throw ofFullDisk(dataDir, error);
  }
  return { madeAt: manifest.made_at, files: manifest.files.length };
}

async function putInPlace(
  dataDir: string,
  from: string,
  { folders, files, made_at: madeAt }: Manifest,
  { onCopied, signal }: CopyOptions,
): Promise<void> {
  const base = await makeBase(dataDir);
  // Files get the owner of the folder, who runs the service and cannot open files of root.
  const account = await accountFor(base);
  const path = await placeCluster(base, account);
  const draft = `${path}.new`;
  const own: Record<string, string> = ownFiles(dataDir);
  const placeOf = (name: string) => own[name] ?? join(draft, name.slice('cluster'.length));
  const ofCluster = folders.filter((one) => one.startsWith('cluster')).sort();
  for (const folder of ofCluster) await mkdir(placeOf(folder), { mode: 0o700 });
  let bytes = 0;
  for (const file of files) {
    const found = await copyFile(join(from, file.path), placeOf(file.path), signal);
    if (found?.sha256 !== file.sha256) throw new Error(`${file.path} of the backup is missing or damaged`);
    if (own[file.path] !== undefined) handToOwnerOf(dataDir, placeOf(file.path));
    onCopied((bytes += found.bytes));
  }
  await writeFile(join(dataDir, markName), `${madeAt} ${systemRandom.uuid()}\n`, { mode: 0o600, flush: true });
  handToOwnerOf(dataDir, join(dataDir, markName));
  if (account !== null) await promisify(execFile)('chown', ['-R', `${account.uid}:${account.gid}`, draft]);
  for (const folder of ofCluster) await syncFolder(placeOf(folder));
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
