import type { Dirent } from 'node:fs';
import { open, readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { readEvidenceName } from '../../records/evidence/export.ts';

/** The folder that an organisation is returned in holds nothing else: what an earlier export left there is taken over, or goes. */

/** Who wants to return something there must look into the folder first. */
export class OtherFolder extends Error {}

/** The file that says whose the folder is: it is written first. */
const ownFile = 'organisation.ndjson';

const withPart = (names: string[]) => names.flatMap((name) => [name, `${name}.part`]);
const lockNames = (name: string) => [name, `${name}-journal`];
const insideEvidence = new Set([
  ...withPart(['manifest.csv', 'manifest.json']),
  'evidence.pdf.part',
  ...lockNames('export.lock'),
]);

/** What is in a folder; nothing where there is none. Links are followed nowhere. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
}

/** The first line of a file; null where there is no such file. */
async function firstLine(path: string): Promise<string | null> {
  const handle = await open(path).catch(() => null);
  if (handle === null) return null;
  try {
    for await (const line of handle.readLines({ autoClose: false })) return line;
    return '';
  } finally {
    await handle.close();
  }
}

async function ownerOf(folder: string): Promise<string | null> {
  const line = await firstLine(join(folder, ownFile));
  try {
    return line === null ? null : String((JSON.parse(line) as { public_id?: string }).public_id);
  } catch {
    return '';
  }
}

/** When the export that is there was made, or begun where it was broken off; null where there is none. */
async function madeAt(folder: string): Promise<Date | null> {
  const manifest = await readFile(join(folder, 'manifest.json'), 'utf8').catch(() => null);
  try {
    if (manifest !== null) return new Date(String((JSON.parse(manifest) as { made_at?: string }).made_at));
  } catch {
    // Not whole: then the file that was begun with says it.
  }
  return (await stat(join(folder, ownFile)).catch(() => null))?.mtime ?? null;
}

/**
 * @param restoredAt when the database was last restored; null: never
 * @throws OtherFolder where an export from before it is there: what came after the backup stands nowhere else, and would be
 *   taken for deleted
 */
export async function refuseEarlierHistory(folder: string, restoredAt: Date | null): Promise<void> {
  const made = await madeAt(folder);
  if (made === null || restoredAt === null || made.getTime() >= restoredAt.getTime()) return;
  throw new OtherFolder(
    `${folder} holds an export from before the restore that was found at ${restoredAt.toISOString()}, with what the restore took back: keep it, and give a new folder`,
  );
}

/**
 * @param files names of the files of lines that are written
 * @throws OtherFolder where anything else is in it, or files that aren't known to be of an export of this organisation: they
 *   are written over, and evidence that is out of date is deleted
 */
export async function refuseOthers(folder: string, publicId: string, files: string[]): Promise<void> {
  const locks = lockNames('organisation.lock');
  const known = new Set([...withPart([...files, 'manifest.json']), ...locks]);
  const entries = await entriesOf(folder);
  const isEvidence = (entry: Dirent) => entry.name === 'evidence' && entry.isDirectory();
  const evidence = entries.some(isEvidence) ? await entriesOf(join(folder, 'evidence')) : [];
  const foreign = [
    ...entries.filter((entry) => !isEvidence(entry) && !(entry.isFile() && known.has(entry.name))),
    ...evidence.filter(
      (entry) => !(entry.isFile() && (readEvidenceName(entry.name) !== null || insideEvidence.has(entry.name))),
    ),
  ].map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  if (foreign.length > 0) {
    const more = foreign.length > 1 ? ` and ${foreign.length - 1} more` : '';
    throw new OtherFolder(`${folder} holds something else (${foreign.sort()[0]}${more}): give a folder of its own`);
  }
  // Killed at its beginning, an export leaves no more than this.
  const begun = new Set([...locks, `${ownFile}.part`, 'evidence']);
  const holdsFiles = evidence.length > 0 || entries.some((entry) => !begun.has(entry.name));
  const owner = await ownerOf(folder);
  if (owner === null ? holdsFiles : owner !== publicId)
    throw new OtherFolder(
      `${folder} holds files that are not of an export of this organisation: give a folder of its own`,
    );
}
