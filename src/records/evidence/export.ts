import { hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { open, opendir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { App } from '../../platform/app.ts';
import { statement } from '../../platform/db/database.ts';
import { tryLock } from '../../platform/db/embedded/file-lock.ts';
import { forOutput, makeFolder } from '../../platform/db/embedded/folder.ts';
import { formatPosition } from '../../feed/time.ts';
import { readReport } from './store.ts';
import { isUuid, nilUuid } from '../../platform/crypto/random.ts';

const pageSize = 200;
const page = statement(
  'evidence.export_page',
  `
  select assessment_id, assessed_at, report_sha256 from assessment
   where organisation_id = $1 and body is not null and assessed_at >= $2 and (assessed_at, assessment_id) > ($3::int8, $4::uuid)
   order by assessed_at, assessment_id limit ${pageSize}`,
);
const countSince = statement(
  'evidence.export_count',
  `
  select count(*) as count from assessment where organisation_id = $1 and body is not null and assessed_at >= $2`,
);
// Files of another organisation, or of another database, are none of this export's business.
const withdrawn = statement(
  'evidence.withdrawn',
  `
  select g.id from unnest($2::uuid[]) as g(id)
   where exists (select from assessment a where a.organisation_id = $1 and a.assessment_id = g.id and a.body is null)`,
);

const supersededPage = statement(
  'evidence.superseded_page',
  `
  with editions as (
    select assessment_id, edition, sha256, pdf is not null as is_stored from evidence
     where organisation_id = $1 and (assessment_id, edition) > ($3::uuid, $4::int4)
     order by assessment_id, edition limit ${pageSize})
  select s.assessment_id, s.edition, s.sha256, a.assessed_at,
         coalesce(s.is_stored and a.body is not null and a.assessed_at >= $2 and s.sha256 is distinct from a.report_sha256, false) as wanted
    from editions s left join assessment a on a.organisation_id = $1 and a.assessment_id = s.assessment_id
   order by s.assessment_id, s.edition`,
);
const supersededFile = statement(
  'evidence.superseded_file',
  'select pdf from evidence where organisation_id = $1 and assessment_id = $2 and edition = $3 and pdf is not null',
);
// Edition 0 stands for the file without a number, the current one.
const stale = statement(
  'evidence.stale',
  `
  select g.file from unnest($2::text[], $3::uuid[], $4::int4[]) as g(file, id, edition)
   where not exists (
     select from assessment a where a.organisation_id = $1 and a.assessment_id = g.id and a.body is not null
        and (g.edition = 0 or exists (
          select from evidence e where e.organisation_id = $1 and e.assessment_id = g.id and e.edition = g.edition and e.pdf is not null
             and e.sha256 is distinct from a.report_sha256)))`,
);

/** One line of the manifest. No name: the file says whose it is. */
type ManifestEntry = { assessment_id: string; assessed_at: string; file: string; sha256: string; bytes: number };

const csvHead = 'assessment_id,assessed_at,file,sha256,bytes\n';

/** The evidence is personal data: only the one who exports it may read it. */
const ownerOnly = { mode: 0o600 };

/** One name for whatever is being written: a killed export leaves at most this file, and the next one deletes it. */
const partName = 'evidence.pdf.part';

export type ExportCounts = {
  /** Files written, and files that were there with the right bytes. */
  exported: number;
  unchanged: number;
  /** Files of an earlier export whose results have been withdrawn since; they are named, and deleted only where `whole`. */
  withdrawn: string[];
};

/**
 * Writes the evidence of every live result assessed at or after `since`, one file each, and a manifest as CSV and JSON.
 * Killed and run again it continues: a file that is there with the right bytes is not written again, and every file
 * appears under its name whole or not at all. The manifests of an earlier export go at the beginning and new ones
 * appear at the end. Holds one page of ids and one PDF at a time. Two exports into one folder would mix their files, so
 * the second is refused.
 * @param whole the folder is this organisation's alone: superseded editions are written as well, and whatever else has a
 *   name as evidence has is deleted
 */
export async function exportEvidence(
  app: App,
  organisationId: number,
  sinceUs: number,
  folder: string,
  onProgress: (done: number, total: number) => void,
  signal: AbortSignal,
  whole = false,
): Promise<ExportCounts> {
  const leave = await enter(folder);
  const counts: ExportCounts = { exported: 0, unchanged: 0, withdrawn: [] };
  try {
    // Of a killed export: it may be evidence of somebody who was erased since.
    await rm(join(folder, partName), { force: true });
    const [{ count: total } = { count: 0 }] = await app.db.query<{ count: number }>(countSince, [
      organisationId,
      sinceUs,
    ]);
    const manifest = await openManifest(folder);
    try {
      for await (const rows of pagesSince(app, organisationId, sinceUs)) {
        for (const row of rows) {
          if (signal.aborted) return counts;
          const written = await writeOne(app, organisationId, row, folder);
          if (written === null) continue;
          const { isNew, ...entry } = written;
          if (isNew) counts.exported++;
          else counts.unchanged++;
          manifest.add(entry);
          onProgress(counts.exported + counts.unchanged, total);
        }
        await manifest.write();
      }
      for await (const rows of whole ? supersededSince(app, organisationId, sinceUs) : []) {
        for (const row of rows) {
          if (signal.aborted) return counts;
          const written = await writeSuperseded(app, organisationId, row, folder);
          if (written === null) continue;
          const { isNew, ...entry } = written;
          if (isNew) counts.exported++;
          else counts.unchanged++;
          manifest.add(entry);
        }
        await manifest.write();
      }
      await manifest.finish();
    } finally {
      await manifest.close();
    }
    counts.withdrawn = await (whole ? removeStale : findWithdrawn)(app, organisationId, folder);
    return counts;
  } finally {
    await leave();
  }
}

/** Makes the folder, and keeps every other export out of it. @returns what lets others in again */
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

type ResultRow = { assessment_id: string; assessed_at: number; report_sha256: string | null };

async function* pagesSince(app: App, organisationId: number, sinceUs: number): AsyncGenerator<ResultRow[]> {
  let [lastAt, lastId] = [-Number.MAX_SAFE_INTEGER, nilUuid];
  for (;;) {
    const rows = await app.db.query<ResultRow>(page, [organisationId, sinceUs, lastAt, lastId]);
    yield rows;
    if (rows.length < pageSize) return;
    ({ assessed_at: lastAt, assessment_id: lastId } = rows.at(-1)!);
  }
}

/** Whatever a killed export left under that name goes, with its rights. */
export async function openPart(path: string): Promise<FileHandle> {
  await rm(path, { force: true });
  return open(path, 'wx', ownerOnly.mode);
}

/** The manifest as CSV and JSON, each under its name only once it is whole. */
async function openManifest(folder: string) {
  const [csv, json] = [join(folder, 'manifest.csv'), join(folder, 'manifest.json')];
  for (const file of [csv, json]) await rm(file, { force: true });
  const handles: FileHandle[] = [];
  for (const file of [csv, json]) handles.push(await openPart(`${file}.part`));
  const [lines, entries] = handles as [FileHandle, FileHandle];
  let [newLines, newEntries, separator] = [csvHead, '[', ''];
  async function write(): Promise<void> {
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
    write,
    async finish(): Promise<void> {
      newEntries += '\n]\n';
      await write();
      await close();
      for (const file of [csv, json]) await rename(`${file}.part`, file);
    },
    close,
  };
}

async function writeOne(
  app: App,
  organisationId: number,
  row: ResultRow,
  folder: string,
): Promise<(ManifestEntry & { isNew: boolean }) | null> {
  const file = `${row.assessment_id}.pdf`;
  const entry = { assessment_id: row.assessment_id, assessed_at: formatPosition(row.assessed_at), file };
  const bytes = row.report_sha256 === null ? null : await bytesThere(folder, file, row.report_sha256);
  if (bytes !== null) return { ...entry, sha256: row.report_sha256!, bytes, isNew: false };
  const report = await readReport(app, organisationId, row.assessment_id);
  if (report === undefined) return null;
  await place(folder, file, report.pdf);
  return { ...entry, sha256: report.sha256, bytes: report.pdf.length, isNew: true };
}

/** The length of a file that is there with the right bytes. */
async function bytesThere(folder: string, file: string, sha256: string): Promise<number | null> {
  const there = await readFile(join(folder, file)).catch(() => null);
  return there !== null && hash('sha256', there, 'hex') === sha256 ? there.length : null;
}

async function place(folder: string, file: string, pdf: Buffer): Promise<void> {
  const part = join(folder, partName);
  await writeFile(part, pdf, ownerOnly);
  await rename(part, join(folder, file));
}

type EditionRow = { assessment_id: string; edition: number; sha256: string; assessed_at: number; wanted: boolean };

/** Pages go along all editions, of which few were superseded: each takes the same time. */
async function* supersededSince(app: App, organisationId: number, sinceUs: number): AsyncGenerator<EditionRow[]> {
  let [lastId, lastEdition] = [nilUuid, 0];
  for (;;) {
    const rows = await app.db.query<EditionRow>(supersededPage, [organisationId, sinceUs, lastId, lastEdition]);
    yield rows.filter((row) => row.wanted);
    if (rows.length < pageSize) return;
    ({ assessment_id: lastId, edition: lastEdition } = rows.at(-1)!);
  }
}

async function writeSuperseded(
  app: App,
  organisationId: number,
  { assessment_id: id, edition, sha256, assessed_at: at }: EditionRow,
  folder: string,
): Promise<(ManifestEntry & { isNew: boolean }) | null> {
  const file = `${id}-${edition}.pdf`;
  const entry = { assessment_id: id, assessed_at: formatPosition(at), file, sha256 };
  const bytes = await bytesThere(folder, file, sha256);
  if (bytes !== null) return { ...entry, bytes, isNew: false };
  const [row] = await app.db.query<{ pdf: Buffer }>(supersededFile, [organisationId, id, edition]);
  // Emptied meanwhile.
  if (row === undefined) return null;
  await place(folder, file, row.pdf);
  return { ...entry, bytes: row.pdf.length, isNew: true };
}

/** What a file's name says that it is; edition 0 is the current one. Null for what no export has named. */
export function readEvidenceName(name: string): { id: string; edition: number } | null {
  const [, id, edition] = /^([0-9a-f-]{36})(?:-([1-9]\d{0,8}))?\.pdf$/.exec(name) ?? [];
  return id === undefined || !isUuid(id) ? null : { id, edition: Number(edition ?? 0) };
}

/** Deletes files of an earlier export of what has been withdrawn, erased or deleted since. @returns their names */
async function removeStale(app: App, organisationId: number, folder: string): Promise<string[]> {
  const removed: string[] = [];
  let some: { name: string; id: string; edition: number }[] = [];
  const look = async () => {
    const rows = await app.db.query<{ file: string }>(stale, [
      organisationId,
      some.map((one) => one.name),
      some.map((one) => one.id),
      some.map((one) => one.edition),
    ]);
    for (const { file } of rows) await rm(join(folder, file), { force: true });
    removed.push(...rows.map((row) => row.file));
    some = [];
  };
  for await (const { name } of await opendir(folder)) {
    const read = readEvidenceName(name);
    if (read === null) continue;
    some.push({ name, ...read });
    if (some.length === pageSize) await look();
  }
  await look();
  return removed.sort();
}

async function findWithdrawn(app: App, organisationId: number, folder: string): Promise<string[]> {
  const found: string[] = [];
  let ids: string[] = [];
  const ask = async () => {
    found.push(...(await app.db.query<{ id: string }>(withdrawn, [organisationId, ids])).map(({ id }) => `${id}.pdf`));
    ids = [];
  };
  for await (const { name } of await opendir(folder)) {
    const id = basename(name, '.pdf');
    if (name === id || !isUuid(id)) continue;
    ids.push(id);
    if (ids.length === pageSize) await ask();
  }
  await ask();
  return found.sort();
}
