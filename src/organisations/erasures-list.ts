import { open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { SettingsError } from '../platform/config/settings.ts';
import { syncFolder } from '../platform/formats/sync-folder.ts';
import { isUuid } from '../platform/crypto/random.ts';

/**
 * `ARS_ERASURES_FILE` is outside the database. It lists erased learners and deleted organisations, so that a restore
 * can't bring them back. Each line is JSON with IDs. Lines may repeat.
 */
export type ListedErasure = {
  organisation_id: string;
  /** Null: the whole organisation was deleted. */
  learner_id: string | null;
};

const lineOf = ({ organisation_id, learner_id }: ListedErasure): string =>
  JSON.stringify(learner_id === null ? { organisation_id, deleted: 'whole' } : { organisation_id, learner_id });

/**
 * Appends lines, and returns when they are on the disk. If a loss of power has cut the last line, a line break first
 * ends that line. The caller holds `lockErasures`.
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
 * Ignores a line that a loss of power has cut, because its erasure was not carried out.
 * @returns null if there is no file
 * @throws SettingsError for any other line that is no erasure
 */
export async function readErasures(path: string): Promise<ListedErasure[] | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new SettingsError(`ARS_ERASURES_FILE must name a file that can be read (${error.code}).`);
  });
  if (text === null) return null;
  // Other systems may write a byte order mark, and end lines with CR LF.
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((line, i) => {
      const read = readLine(line);
      if (read !== null) return [read];
      // After a loss of power, some file systems contain zeros in place of the last bytes.
      if (/^(\{("[^"]{0,60}"?[:,]?){0,4})?\0*$/.test(line)) return [];
      throw new SettingsError(
        `Line ${i + 1} of ARS_ERASURES_FILE is no erasure, and who it was can't be known: put the file back from a copy.`,
      );
    });
}

/** @throws SettingsError if the file can't be written to */
export async function proveWritable(path: string): Promise<void> {
  const file = await open(path, 'a').catch((error: NodeJS.ErrnoException) => {
    throw new SettingsError(`ARS_ERASURES_FILE must name a file that can be written to (${error.code}).`);
  });
  await file.close();
}
