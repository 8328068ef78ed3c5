import { open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SettingsError } from '../platform/config/settings.ts';
import { syncFolder } from '../platform/formats/sync-folder.ts';
import { isUuid } from '../platform/crypto/uuid.ts';

/**
 * The list of who was erased, and which organisations were deleted, kept outside the database and its backups
 * (`ARS_ERASURES_FILE`), so that a restore can't bring anybody back: a line of JSON for each, in ids. A line may stand twice.
 */
export type ListedErasure = {
  organisation_id: string;
  /** Null: the whole organisation was deleted. */
  learner_id: string | null;
};

const lineOf = ({ organisation_id, learner_id }: ListedErasure): string =>
  JSON.stringify(learner_id === null ? { organisation_id, deleted: 'whole' } : { organisation_id, learner_id });

/**
 * Returns once it is on the disk. A line that was broken off, as by a loss of power, is ended first. The caller holds
 * `lockErasures`.
 */
export async function appendErasures(path: string, erasures: readonly ListedErasure[]): Promise<void> {
  const file = await open(path, 'a+', 0o600);
  try {
    const { size } = await file.stat();
    const last = Buffer.alloc(1);
    if (size > 0) await file.read(last, 0, 1, size - 1);
    const lines = erasures.map((one) => `${lineOf(one)}\n`).join('');
    await file.appendFile(`${size > 0 && last[0] !== 0x0a ? '\n' : ''}${lines}`);
    await file.datasync();
    if (size === 0) await syncFolder(dirname(path));
  } finally {
    await file.close();
  }
}

function readLine(line: string): ListedErasure | null {
  try {
    const { organisation_id, learner_id, deleted } = JSON.parse(line) as Record<
      'organisation_id' | 'learner_id' | 'deleted',
      string
    >;
    if (!isUuid(organisation_id)) return null;
    if (deleted === 'whole') return { organisation_id, learner_id: null };
    return isUuid(learner_id) ? { organisation_id, learner_id } : null;
  } catch {
    return null;
  }
}

/**
 * @returns null when there is no such file
 * @throws SettingsError for a line that says something else; the beginning of a line that was broken off is passed over,
 * because its erasure was not done then
 */
export async function readErasures(path: string): Promise<ListedErasure[] | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new SettingsError(`ARS_ERASURES_FILE must name a file that can be read (${error.code}).`);
  });
  if (text === null) return null;
  // Lists that were put together on other systems begin with a mark, and end their lines in two characters.
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((line, i) => {
      const read = readLine(line);
      if (read !== null) return [read];
      // Some file systems fill with zeros what a loss of power kept from the disk.
      if (/^(\{("[^"]{0,60}"?[:,]?){0,4})?\0*$/.test(line)) return [];
      throw new SettingsError(
        `Line ${i + 1} of ARS_ERASURES_FILE is no erasure, and who it was can't be known: put the file back from a copy.`,
      );
    });
}

/**
 * Erasures will be written to it.
 * @throws SettingsError when they can't be
 */
export async function proveWritable(path: string): Promise<void> {
  const file = await open(path, 'a').catch((error: NodeJS.ErrnoException) => {
    throw new SettingsError(`ARS_ERASURES_FILE must name a file that can be written to (${error.code}).`);
  });
  await file.close();
}
