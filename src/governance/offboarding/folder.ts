import type { Dirent } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { readEvidenceName } from '../../records/evidence/export.ts';

/** An export replaces or deletes the files of its folder, so the folder must not contain other files. */

/** The export would overwrite or delete files, so the operator has to check the folder first. */
export class OtherFolder extends Error {}

/** This file shows which organisation the folder belongs to. It is written first. */
const ownFile = 'organisation.ndjson';

const withPart = (names: string[]) => names.flatMap((name) => [name, `${name}.part`]);
const lockNames = (name: string) => [name, `${name}-journal`];
const insideEvidence = new Set([
  ...withPart(['manifest.csv', 'manifest.json']),
  'evidence.pdf.part',
  ...lockNames('export.lock'),
]);

/** @returns the folder's entries; none if the folder does not exist. Symbolic links are not followed. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}

/**
 * @returns the public ID of the organisation that the folder belongs to. Null: the folder has no export. Empty: the
 *   file is unreadable.
 */
async function ownerOf(folder: string): Promise<string | null> {
  const line = await readFile(join(folder, ownFile), 'utf8').catch(() => null);
  try {
    return line === null ? null : String((JSON.parse(line) as { public_id?: string }).public_id);
  } catch {
    return '';
  }
}

/** When the export in a folder was made, or when an incomplete export began. Null: the folder has no export. */
async function madeAt(folder: string): Promise<Date | null> {
  const manifest = await readFile(join(folder, 'manifest.json'), 'utf8').catch(() => null);
  try {
    if (manifest !== null) return new Date(String((JSON.parse(manifest) as { made_at?: string }).made_at));
  } catch {
    // The manifest is incomplete: use the time of the first file.
  }
  return (await stat(join(folder, ownFile)).catch(() => null))?.mtime ?? null;
}

/**
 * @param restoredAt when the database was last restored, or null
 * @throws OtherFolder if the folder contains an export from before the restore, which may be the only copy of changes
 *   that the restore removed
 */
export async function refuseEarlierHistory(folder: string, restoredAt: Date | null): Promise<void> {
  const made = await madeAt(folder);
  if (made === null || restoredAt === null || made.getTime() >= restoredAt.getTime()) return;
  throw new OtherFolder(
    `${folder} contains an export from before the restore at ${restoredAt.toISOString()}, with data that the restore lost. Keep it, and name a new folder`,
  );
}

/**
 * @param files names of the files that will be written
 * @throws OtherFolder if the folder contains another file, or files of another organisation
 */
export async function refuseOthers(folder: string, publicId: string, files: string[]): Promise<void> {
  const locks = lockNames('organisation.lock');
  const expected = new Set([...withPart([...files, 'manifest.json']), ...locks]);
  const entries = await entriesOf(folder);
  const isEvidence = (entry: Dirent) => entry.name === 'evidence' && entry.isDirectory();
  const evidence = entries.some(isEvidence) ? await entriesOf(join(folder, 'evidence')) : [];
  const foreign = [
    ...entries.filter((entry) => !isEvidence(entry) && !(entry.isFile() && expected.has(entry.name))),
    ...evidence.filter(
      (entry) => !(entry.isFile() && (readEvidenceName(entry.name) !== null || insideEvidence.has(entry.name))),
    ),
  ].map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  if (foreign.length > 0) {
    const more = foreign.length > 1 ? ` and ${foreign.length - 1} more` : '';
    throw new OtherFolder(`${folder} holds something else (${foreign.sort()[0]}${more}): give a folder of its own`);
  }
  // An export that was killed early may have left only these files.
  const begun = new Set([...locks, `${ownFile}.part`, 'evidence']);
  const holdsFiles = evidence.length > 0 || entries.some((entry) => !begun.has(entry.name));
  const owner = await ownerOf(folder);
  if (owner === null ? holdsFiles : owner !== publicId)
    throw new OtherFolder(
      `${folder} holds files that are not of an export of this organisation: give a folder of its own`,
    );
}
