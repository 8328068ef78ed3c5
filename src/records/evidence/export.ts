import { hash } from 'node:crypto';
import { type FileHandle, open, opendir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../../platform/app.ts';
import { type Statement, statement } from '../../platform/db/database.ts';
import { tryLock } from '../../platform/db/embedded/file-lock.ts';
import { forOutput, makeFolder } from '../../platform/db/embedded/folder.ts';
import { formatPosition } from '../../feed/time.ts';
import { readReport } from './store.ts';
import { isUuid, nilUuid } from '../../platform/crypto/random.ts';

const pageSize = 200;
const page = statement('evidence.export_page')`
  select assessment_id, assessed_at, report_sha256 from assessment
   where organisation_id = $1 and body is not null and assessed_at >= $2 and (assessed_at, assessment_id) > ($3::int8, $4::uuid)
   order by assessed_at, assessment_id limit ${pageSize}`;
const countSince = statement('evidence.export_count')`
  select count(*) as count from assessment where organisation_id = $1 and body is not null and assessed_at >= $2`;
const supersededPage = statement('evidence.superseded_page')`
  with editions as (
    select assessment_id, edition, sha256, pdf is not null as is_stored from evidence
     where organisation_id = $1 and (assessment_id, edition) > ($3::uuid, $4::int4)
     order by assessment_id, edition limit ${pageSize})
  select s.assessment_id, s.edition, s.sha256, a.assessed_at,
         coalesce(s.is_stored and a.body is not null and a.assessed_at >= $2 and s.sha256 is distinct from a.report_sha256, false) as wanted
    from editions s left join assessment a on a.organisation_id = $1 and a.assessment_id = s.assessment_id
   order by s.assessment_id, s.edition`;
const supersededFile = statement('evidence.superseded_file')`
  select pdf from evidence where organisation_id = $1 and assessment_id = $2 and edition = $3 and pdf is not null`;
const filesIn = 'select g.file from unnest($2::text[], $3::uuid[], $4::int4[]) as g(file, id, edition)';
// The folder may contain files of other organisations, so only results of this organisation count.
const withdrawn = statement('evidence.withdrawn')`
  ${filesIn}
   where g.edition = 0 and exists (
     select from assessment a where a.organisation_id = $1 and a.assessment_id = g.id and a.body is null)`;
const stale = statement('evidence.stale')`
  ${filesIn}
   where not exists (
     select from assessment a where a.organisation_id = $1 and a.assessment_id = g.id and a.body is not null
        and (g.edition = 0 or exists (
          select from evidence e where e.organisation_id = $1 and e.assessment_id = g.id and e.edition = g.edition and e.pdf is not null
             and e.sha256 is distinct from a.report_sha256)))`;

/** One line of the manifest, which contains no learner's name. */
type ManifestEntry = { assessment_id: string; assessed_at: string; file: string; sha256: string; bytes: number };

const csvHead = 'assessment_id,assessed_at,file,sha256,bytes\n';

/** Evidence is personal data, so only the user who exports it may read it. */
const ownerOnly = { mode: 0o600 };

/**
 * Evidence is written under this temporary name first. After a killed export, the next export deletes the file.
 */
const partName = 'evidence.pdf.part';

export type ExportCounts = {
  exported: number;
  /** Files that already had the right bytes. */
  unchanged: number;
  /** Files whose results were withdrawn since an earlier export. A full copy deletes these files. */
  withdrawn: string[];
};

/**
 * Writes the evidence of each live result assessed at or after `sinceUs`, then a manifest as CSV and JSON. A killed
 * export can be repeated and continues, because only complete files have their final names.
 * @param isFullCopy the folder contains only this organisation's files, so superseded editions are written and stale
 *   evidence files are deleted
 */
export async function exportEvidence(
  app: App,
  organisationId: number,
  sinceUs: number,
  folder: string,
  onProgress: (done: number, total: number) => void,
  signal: AbortSignal,
  isFullCopy = false,
): Promise<ExportCounts> {
  const leave = await enter(folder);
  const counts: ExportCounts = { exported: 0, unchanged: 0, withdrawn: [] };
  try {
    // A killed export leaves a temporary file. The file may show a learner who was erased after that export.
    await rm(join(folder, partName), { force: true });
    const values = [organisationId, sinceUs];
    const [{ count: total } = { count: 0 }] = await app.db.query<{ count: number }>(countSince, values);
    const manifest = await openManifest(folder);
    try {
      for await (const items of itemsOf(app, organisationId, sinceUs, isFullCopy)) {
        for (const item of items) {
          if (signal.aborted) return counts;
          const written = await write(folder, item);
          if (written === null) continue;
          const { isNew, ...entry } = written;
          counts[isNew ? 'exported' : 'unchanged']++;
          manifest.add(entry);
          if (item.isCurrent) onProgress(counts.exported + counts.unchanged, total);
        }
        await manifest.write();
      }
      await manifest.finish();
    } finally {
      await manifest.close();
    }
    counts.withdrawn = await filesBy(isFullCopy ? stale : withdrawn, app, organisationId, folder);
    if (isFullCopy) for (const file of counts.withdrawn) await rm(join(folder, file), { force: true });
    return counts;
  } finally {
    await leave();
  }
}

/**
 * Makes the folder and locks it, so that only one export at a time writes to it. @returns a function that unlocks it
 */
async function enter(folder: string): Promise<() => Promise<void>> {
  await makeFolder(folder, forOutput, 0o700);
  const lockFile = join(folder, 'export.lock');
  const lock = tryLock(lockFile, 'exclusive');
  if (lock === null) throw new Error(`another export is writing into ${folder}`);
  return async () => {
    await rm(lockFile, { force: true });
    lock.release();
  };
}

/**
 * Opens a new temporary file. A file that a killed export left is deleted, because its permissions may be different.
 */
export async function openPart(path: string): Promise<FileHandle> {
  await rm(path, { force: true });
  return open(path, 'wx', ownerOnly.mode);
}

/** Opens the manifest as CSV and JSON. Each file gets its name only when it is complete. */
async function openManifest(folder: string) {
  const [csv, json] = [join(folder, 'manifest.csv'), join(folder, 'manifest.json')];
  for (const file of [csv, json]) await rm(file, { force: true });
  const handles: FileHandle[] = [];
  for (const file of [csv, json]) handles.push(await openPart(`${file}.part`));
  const [lines, entries] = handles as [FileHandle, FileHandle];
  let [newLines, newEntries, separator] = [csvHead, '[', ''];
  async function flush(): Promise<void> {
    await lines.write(newLines);
    await entries.write(newEntries);
    [newLines, newEntries] = ['', ''];
  }
  async function close(): Promise<void> {
    for (const handle of handles) await handle.close();
  }
  return {
    add(entry: ManifestEntry): void {
      newLines += `${Object.values(entry).join(',')}\n`;
      newEntries += `${separator}\n${JSON.stringify(entry)}`;
      separator = ',';
    },
    write: flush,
    async finish(): Promise<void> {
      newEntries += '\n]\n';
      await flush();
      await close();
      for (const file of [csv, json]) await rename(`${file}.part`, file);
    },
    close,
  };
}

/** A file to write. `sha256` is null if the report has not been made yet. */
type Item = {
  assessment_id: string;
  assessed_at: number;
  file: string;
  sha256: string | null;
  isCurrent: boolean;
  read(): Promise<{ pdf: Buffer; sha256: string } | undefined>;
};

async function* pagesOf<Row>(
  app: App,
  sql: Statement,
  values: unknown[],
  first: unknown[],
  keyOf: (row: Row) => unknown[],
): AsyncGenerator<Row[]> {
  for (let after = first; ;) {
    const rows = await app.db.query<Row>(sql, [...values, ...after]);
    yield rows;
    if (rows.length < pageSize) return;
    after = keyOf(rows.at(-1)!);
  }
}

/** Yields pages of current reports. For a full copy, pages of superseded editions follow. */
async function* itemsOf(
  app: App,
  organisationId: number,
  sinceUs: number,
  isFullCopy: boolean,
): AsyncGenerator<Item[]> {
  const values = [organisationId, sinceUs];
  type Result = { assessment_id: string; assessed_at: number; report_sha256: string | null };
  const first = [-Number.MAX_SAFE_INTEGER, nilUuid];
  for await (const rows of pagesOf<Result>(app, page, values, first, (row) => [row.assessed_at, row.assessment_id]))
    yield rows.map(({ report_sha256: sha256, ...row }) => ({
      ...row,
      file: `${row.assessment_id}.pdf`,
      sha256,
      isCurrent: true,
      read: () => readReport(app, organisationId, row.assessment_id),
    }));
  if (!isFullCopy) return;
  type Edition = { assessment_id: string; edition: number; sha256: string; assessed_at: number; wanted: boolean };
  const keyOf = (row: Edition) => [row.assessment_id, row.edition];
  // Superseded editions are few. The statement therefore reads pages of all editions, and marks the superseded editions
  // as `wanted`.
  for await (const rows of pagesOf<Edition>(app, supersededPage, values, [nilUuid, 0], keyOf))
    yield rows
      .filter((row) => row.wanted)
      .map(({ edition, ...row }) => ({
        ...row,
        file: `${row.assessment_id}-${edition}.pdf`,
        isCurrent: false,
        read: async () => {
          const key = [organisationId, row.assessment_id, edition];
          const [found] = await app.db.query<{ pdf: Buffer }>(supersededFile, key);
          return found && { pdf: found.pdf, sha256: row.sha256 };
        },
      }));
}

/** Writes a file unless it already has the right bytes. @returns null if the evidence was deleted in the meantime */
async function write(folder: string, item: Item): Promise<(ManifestEntry & { isNew: boolean }) | null> {
  const { assessment_id, file, sha256 } = item;
  const entry = { assessment_id, assessed_at: formatPosition(item.assessed_at), file };
  const path = join(folder, file);
  const present = sha256 === null ? null : await readFile(path).catch(() => null);
  if (present !== null && hash('sha256', present, 'hex') === sha256)
    return { ...entry, sha256, bytes: present.length, isNew: false };
  const report = await item.read();
  if (report === undefined) return null;
  const part = join(folder, partName);
  await writeFile(part, report.pdf, ownerOnly);
  await rename(part, path);
  return { ...entry, sha256: report.sha256, bytes: report.pdf.length, isNew: true };
}

/**
 * Reads the ID and edition from the name of an exported file; null for any other name. Edition 0 is the current
 * edition.
 */
export function readEvidenceName(name: string): { id: string; edition: number } | null {
  const [, id, edition] = /^([0-9a-f-]{36})(?:-([1-9]\d{0,8}))?\.pdf$/.exec(name) ?? [];
  return id === undefined || !isUuid(id) ? null : { id, edition: Number(edition ?? 0) };
}

/** Finds the exported files in the folder for which the statement returns a row. */
async function filesBy(sql: Statement, app: App, organisationId: number, folder: string): Promise<string[]> {
  const found: string[] = [];
  let files: { name: string; id: string; edition: number }[] = [];
  const select = async () => {
    const columns = (['name', 'id', 'edition'] as const).map((key) => files.map((file) => file[key]));
    found.push(...(await app.db.query<{ file: string }>(sql, [organisationId, ...columns])).map((row) => row.file));
    files = [];
  };
  for await (const { name } of await opendir(folder)) {
    const read = readEvidenceName(name);
    if (read === null) continue;
    files.push({ name, ...read });
    if (files.length === pageSize) await select();
  }
  await select();
  return found.sort();
}
