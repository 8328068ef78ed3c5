import { createHash } from 'node:crypto';
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../../platform/app.ts';
import { proofLines } from '../../platform/audit/export.ts';
import type { Row } from '../../platform/db/database.ts';
import { tryLock } from '../../platform/db/embedded/file-lock.ts';
import { forOutput, makeFolder } from '../../platform/db/embedded/folder.ts';
import { shown } from '../subject-access/export.ts';
import { exportEvidence, openPart } from '../../records/evidence/export.ts';
import { readFeed } from '../../feed/position.ts';
import type { Organisation } from '../../organisations/organisations.ts';
import { findSuspension } from '../../organisations/suspension.ts';
import { listMembers } from '../../organisations/users/members.ts';
import { refuseOthers } from './folder.ts';
import { files, isReturned, leftOut } from './returned.ts';
import { type OwnTable, ownTables } from './tables.ts';

/**
 * The outcome of an export: a file of JSON lines for each table, the evidence files, the audit log with its proof, and
 * a manifest with hashes.
 * `madeAt`: when the export began; later changes may be missing.
 */
export type Exported = {
  files: number;
  rows: number;
  evidence: number;
  /** How many evidence files of an earlier export were removed, because their results are withdrawn or erased. */
  evidenceRemoved: number;
  madeAt: Date;
  /** The feed's state before the results were read. If the state has changed since, the export may lack changes. */
  feedState: number;
  sha256: string;
};

type WrittenFile = { file: string; says: string; rows: number; bytes: number; sha256: string };

const pageSize = 1000;
const chunkChars = 256 * 1024;

/**
 * Reads a table page by page, in the order of its key. Keys are read as text, because JavaScript numbers and dates lose
 * digits.
 */
async function* rowsOf(app: App, organisationId: number, table: OwnTable): AsyncGenerator<Row> {
  const rest = table.key.slice(1);
  const columns = Object.keys(table.columns).filter((column) => isReturned(column, table.columns[column]!));
  const order = rest.map((column) => `t."${column}"`).join(', ');
  const cursor = rest.map((column, i) => `$${i + 2}::text::${table.columns[column]!}`).join(', ');
  const picked = [
    ...columns.map((column) => `t."${column}"`),
    ...rest.map((column, i) => `t."${column}"::text as "key ${i}"`),
  ].join(', ');
  const where = rest.length === 0 ? '' : ` and ($2::text is null or (${order}) > (${cursor}))`;
  const end = rest.length === 0 ? '' : ` order by ${order} limit ${pageSize}`;
  const page = `select ${picked} from "${table.name}" t where t.organisation_id = $1${where}${end}`;
  let last: (string | null)[] = rest.map(() => null);
  for (;;) {
    const rows = await app.db.query<{ row: Row; key: string[] }>(
      `select to_jsonb(p) - $${rest.length + 2}::text[] as row, array[${rest.map((_, i) => `p."key ${i}"`).join(', ')}]::text[] as key from (${page}) p`,
      [organisationId, ...last, rest.map((_, i) => `key ${i}`)],
    );
    for (const { row } of rows) yield shown(table.name, row);
    if (rest.length === 0 || rows.length < pageSize) return;
    last = rows.at(-1)!.key;
  }
}

/** Writes to a `.part` file and renames it at the end, so that an incomplete file never has the final name. */
async function writeWhole(
  path: string,
  chunks: AsyncIterable<string> | string[],
): Promise<{ bytes: number; sha256: string }> {
  const handle = await openPart(`${path}.part`);
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      const buffer = Buffer.from(chunk);
      await handle.write(buffer);
      hash.update(buffer);
      bytes += buffer.length;
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${path}.part`, path);
  return { bytes, sha256: hash.digest('hex') };
}

async function writeLines(
  folder: string,
  file: string,
  says: string,
  values: AsyncIterable<unknown>,
  signal: AbortSignal,
): Promise<WrittenFile> {
  let rows = 0;
  async function* chunks() {
    let text = '';
    for await (const value of values) {
      signal.throwIfAborted();
      text += `${JSON.stringify(value)}\n`;
      rows++;
      if (text.length < chunkChars) continue;
      yield text;
      text = '';
    }
    yield text;
  }
  const written = await writeWhole(join(folder, file), chunks());
  return { file, says, rows, ...written };
}

async function* peopleOf(app: App, organisationId: number): AsyncGenerator<unknown> {
  for (const { user_id, full_name, email, role, created_at } of await listMembers(app.db, organisationId))
    yield { user_id, full_name, email, role, created_at };
}

/**
 * @throws Error if another export writes to the folder
 * @throws OtherFolder if the folder contains anything else
 * @throws the reason of `signal` if it aborts
 */
export async function exportOrganisation(
  app: App,
  organisation: Organisation,
  folder: string,
  onProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<Exported> {
  const { organisation_id: id } = organisation;
  await makeFolder(folder, forOutput, 0o700);
  const lockFile = join(folder, 'organisation.lock');
  const lock = tryLock(lockFile, 'exclusive');
  if (lock === null) throw new Error(`another export is writing into ${folder}`);
  try {
    const tables = await returnedTables(app);
    await refuseOthers(folder, organisation.public_id, ['people.ndjson', 'audit.ndjson', ...tables.keys()]);
    await rm(join(folder, 'manifest.json'), { force: true });
    const madeAt = new Date(app.clock.nowMs());
    const suspension = await findSuspension(app.db, id);
    const written: WrittenFile[] = [];
    const write = async (file: string, says: string, values: AsyncIterable<unknown>) => {
      onProgress(file);
      written.push(await writeLines(folder, file, says, values, signal));
    };
    // The organisation's file comes first, because it shows to which organisation the folder belongs.
    const [[first, own]] = [...tables] as [[string, ReturnedTable]];
    await write(first, own.says, rowsOf(app, id, own.table));
    const { evidence, feedState } = await writeAllEvidence(app, id, folder, onProgress, signal);
    for (const [file, { table, says }] of tables) if (file !== first) await write(file, says, rowsOf(app, id, table));
    await write('people.ndjson', 'The people who use the console, by name and address.', peopleOf(app, id));
    await write(
      'audit.ndjson',
      'The audit log: each block with its hash and the hash before, then its rows (ars audit verify).',
      proofLines(app, id, { from: null, to: null }),
    );
    const manifest = {
      format: 'organisation-export/1',
      organisation_id: organisation.public_id,
      name: organisation.name,
      made_at: madeAt.toISOString(),
      suspended: suspension !== null && (await findSuspension(app.db, id)) !== null,
      files: written,
      evidence: evidence.written,
      left_out: leftOut,
    };
    const text = `${JSON.stringify(manifest, null, 2)}\n`;
    const { sha256 } = await writeWhole(join(folder, 'manifest.json'), [text]);
    return {
      files: written.length,
      rows: written.reduce((sum, one) => sum + one.rows, 0),
      evidence: evidence.written.files,
      evidenceRemoved: evidence.removed,
      madeAt,
      feedState,
      sha256,
    };
  } finally {
    await rm(lockFile, { force: true });
    lock.release();
  }
}

/**
 * Writes the evidence before the results, because making an evidence file changes its result.
 * `feedState`: the state of the feed that the files show
 */
async function writeAllEvidence(...input: Parameters<typeof writeEvidence>) {
  const [{ db }, organisationId] = input;
  const { state: before } = await readFeed(db, organisationId);
  const evidence = await writeEvidence(...input);
  const { state: feedState } = await readFeed(db, organisationId);
  if (feedState === before) return { evidence, feedState };
  // The second pass is short, because it writes only evidence that changed during the first pass.
  const again = await writeEvidence(...input);
  return { evidence: { ...again, removed: evidence.removed + again.removed }, feedState };
}

type ReturnedTable = { table: OwnTable; says: string };

async function returnedTables(app: App): Promise<Map<string, ReturnedTable>> {
  const tables = (await ownTables(app.db)).filter((table) => !Object.hasOwn(leftOut, table.name));
  const isOwn = (table: OwnTable) => Number(table.name === 'organisation');
  return new Map(
    tables
      .toSorted((a, b) => isOwn(b) - isOwn(a))
      .map((table) => {
        const { file, says } = files[table.name] ?? {
          file: table.name.replaceAll('_', '-'),
          says: `Rows of ${table.name}.`,
        };
        return [`${file}.ndjson`, { table, says }];
      }),
  );
}

async function writeEvidence(
  app: App,
  organisationId: number,
  folder: string,
  onProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<{ written: { folder: string; files: number; manifest: string; sha256: string }; removed: number }> {
  const inside = join(folder, 'evidence');
  const fromUs = -Number.MAX_SAFE_INTEGER;
  const progress = (done: number, total: number) => onProgress(`${done} of ${total} evidence files`);
  const counts = await exportEvidence(app, organisationId, fromUs, inside, progress, signal, true);
  signal.throwIfAborted();
  const manifest = await readFile(join(inside, 'manifest.json'));
  const written = {
    folder: 'evidence',
    files: counts.exported + counts.unchanged,
    manifest: 'evidence/manifest.json',
    sha256: createHash('sha256').update(manifest).digest('hex'),
  };
  return { written, removed: counts.withdrawn.length };
}
