import { Readable } from 'node:stream';
import type { App } from '../../platform/app.ts';
import { type Fault, RecordRefused } from '../results/result-fields.ts';
import { type Tx, statement, query } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { type JobRow, type Stepped, added, jobsOf } from '../../feed/jobs/jobs.ts';
import { findErasedSince, isSame } from '../learners/erased.ts';
import { type ErasureGuard, openErasureGuard } from '../learners/erasure-guard.ts';
import { isJsonObject } from '../../platform/formats/json.ts';
import { limits } from '../../platform/config/limits.ts';
import { readOrganisation } from '../../organisations/organisations.ts';
import { UnreadableFile } from '../../platform/formats/lines.ts';
import { importFile } from './file.ts';
import { importRecords } from './import.ts';
import { openResults } from './lines.ts';
import { type Dates, type ReadyRecord, readyRecord } from './record.ts';

/**
 * An import in the console. A dry run shows faults by line, and valid lines are stored until a person confirms the
 * import. Rejected lines may contain data that must not be stored, so they are not stored.
 */
type Input = { dates: Dates; events: boolean };
type Progress = {
  fresh: number;
  changed: number;
  same: number;
  faulty: number;
  faults: LineFault[];
  imported: number;
  updated: number;
  unchanged: number;
  rejected: number;
  cancelled_because: 'overdue' | 'restored' | null;
};
export type ImportRun = JobRow & Input & Progress;

export const importRuns = jobsOf<Input, Progress>({
  kind: 'import_run',
  kept: { which: 'ended', ms: limits.importRunsKeptMs },
  step: writeBatch,
  forget: ({ tx }, run) => tx.query(dropRows, [run.organisation_id, run.run_id]),
  cancelled: {
    action: 'results import',
    after: (run) => `${run.imported + run.updated + run.unchanged + run.rejected} lines`,
  },
});

/** A fault of a line. `isImported`: the line is imported although it has this fault. */
export type LineFault = Fault & { line: number; isImported?: true };

const insertRows = statement('import_run.insert_rows')`
  insert into import_run_row (organisation_id, run_id, row_no, record)
  select $1, $2, r.row_no, r.record from unnest($3::int4[], $4::text[]) as r(row_no, record)`;
const dropRows = statement('import_run.drop_rows')`
  delete from import_run_row where organisation_id = $1 and run_id = $2`;
const nextRows = query<[organisationId: number, runId: string, limit: number], { row_no: number; record: string }>(
  'import_run.next',
  'select row_no, record from import_run_row where organisation_id = $1 and run_id = $2 order by row_no limit $3',
);
const deleteRows = query<[organisationId: number, runId: string, rows: number[]]>(
  'import_run.done',
  'delete from import_run_row where organisation_id = $1 and run_id = $2 and row_no = any($3)',
);
const forget = statement('import_run.forget')`
  delete from import_run_row
   where organisation_id = $1
     and (record::jsonb #>> '{learner,ref}' = any($2)
          or (record::jsonb #>> '{learner,ref}' is null and lower(record::jsonb #>> '{learner,full_name}') = lower($3)))`;

export type DryRunResult = Pick<Progress, 'fresh' | 'changed' | 'same' | 'faulty' | 'faults'> & {
  before: ErasureGuard;
  rows: { line: number; record: string }[];
};

/** Reads the learner of a line whose record may be invalid. */
function learnerIn(value: unknown): { ref: string | null; name: string | null } {
  const learner = isJsonObject(value) && isJsonObject(value.learner) ? value.learner : {};
  const textOf = (field: unknown) => (typeof field === 'string' ? field : null);
  return { ref: textOf(learner.ref), name: textOf(learner.full_name) };
}

const damagedName = {
  field: 'learner.full_name',
  expected: 'a name with all its letters',
  example: 'Zoë Marsh',
};

export class DryRunsBusy extends Error {}

const trials = new WeakMap<App, number>();

/** Imports a file in a dry run, which writes nothing. @throws UnreadableFile, DryRunsBusy */
export async function dryRunImport(...input: Parameters<typeof dryRun>): Promise<DryRunResult> {
  const [app] = input;
  const others = trials.get(app) ?? 0;
  if (others >= limits.importTrialsAtOnce) throw new DryRunsBusy();
  trials.set(app, others + 1);
  try {
    return await dryRun(...input);
  } finally {
    trials.set(app, trials.get(app)! - 1);
  }
}

async function dryRun(
  app: App,
  organisation: { organisationId: number; publicId: string },
  bytes: Buffer,
  dates: Dates,
): Promise<DryRunResult> {
  const format = /^(\xef\xbb\xbf)?\s*\{/.test(bytes.toString('latin1', 0, 200)) ? 'ndjson' : 'csv';
  let lines = 0;
  for (const byte of bytes) if (byte === 10) lines++;
  if (lines > limits.importFormLines)
    throw new UnreadableFile(`there are more than ${limits.importFormLines.toLocaleString('en-GB')} lines in it`);
  const faults: LineFault[] = [];
  const damaged: LineFault[] = [];
  const refused = new Set<number>();
  const read: DryRunResult['rows'] = [];
  const withoutRef: string[] = [];
  for await (const { line, value, faults: unreadable } of (await openResults(Readable.from([bytes]), format)).lines) {
    if (unreadable !== undefined) continue;
    read.push({ line, record: JSON.stringify(value) });
    const { ref, name } = learnerIn(value);
    if (ref === null && name !== null) withoutRef.push(name);
  }
  const before = await openErasureGuard(app.db, organisation.organisationId, { names: withoutRef, emails: [] });
  const { imported, updated, unchanged, rejected } = await importFile(app, Readable.from([bytes]), {
    organisationId: organisation.organisationId,
    organisationPublicId: organisation.publicId,
    events: false,
    actor: '',
    format,
    dates,
    dryRun: true,
    onRejected: (one) => {
      refused.add(one.line);
      if (faults.length < limits.importFaultsShown)
        faults.push(...one.faults.map((fault) => ({ ...fault, line: one.line })));
    },
    onDamaged: (line) => {
      if (damaged.length < limits.importFaultsShown) damaged.push({ ...damagedName, line, isImported: true });
    },
    onProgress: () => {},
  });
  faults.sort((x, y) => x.line - y.line);
  return {
    before,
    fresh: imported,
    changed: updated,
    same: unchanged,
    faulty: rejected,
    faults: [...faults.slice(0, limits.importFaultsShown), ...damaged.filter(({ line }) => !refused.has(line))],
    rows: read.filter(({ line }) => !refused.has(line)),
  };
}

/**
 * Stores the valid lines of a dry run until a person confirms the import. Lines of learners that were erased after the
 * dry run began are left out.
 */
export async function keepImport(
  work: UnitOfWork,
  organisationId: number,
  input: { runId: string; by: string; dates: Dates; events: boolean; trial: DryRunResult },
): Promise<void> {
  const { runId, by, dates, events, trial } = input;
  const { fresh, changed, same, faulty, faults } = trial;
  const counts = { imported: 0, updated: 0, unchanged: 0, rejected: 0, cancelled_because: null };
  const progress = { fresh, changed, same, faulty, faults, ...counts };
  if (work.again) await lockFeed(work, organisationId);
  const draft = { runId, by, status: 'draft', input: { dates, events }, progress } as const;
  if (!(await importRuns.order(work, organisationId, draft))) return;
  const lines = trial.rows.map((row) => row.line);
  await work.tx.query(insertRows, [organisationId, runId, lines, trial.rows.map((row) => row.record)]);
  // If the feed were locked first, other writers would wait while thousands of lines are stored.
  await lockFeed(work, organisationId);
  const erased = await findErasedSince(work, organisationId, trial.before);
  if (erased === null) return;
  const isTheirs = (record: string) => {
    const { ref, name } = learnerIn(JSON.parse(record));
    return ref === null ? erased.persons.some((one) => isSame(name, one.full_name)) : erased.hadRef(ref);
  };
  const theirs = trial.rows.filter(({ record }) => isTheirs(record)).map((row) => row.line);
  await deleteRows(work.tx, organisationId, runId, theirs);
}

/** @returns false if the import is not a draft any more */
export async function beginImport(work: UnitOfWork, organisationId: number, runId: string): Promise<boolean> {
  const run = await importRuns.lock(work, organisationId, runId);
  if (run?.status !== 'draft') return false;
  await importRuns.save(work, run, { status: 'running' });
  return true;
}

async function writeBatch(work: UnitOfWork, run: ImportRun): Promise<Stepped<Progress>> {
  const { organisation_id: organisationId, run_id: runId } = run;
  const rows = await nextRows(work.tx, organisationId, runId, limits.importRunBatch);
  if (rows.length === 0) return { status: 'finished' };
  const { public_id: namespace } = await readOrganisation(work.tx, organisationId);
  const faults: LineFault[] = [];
  const ready: { line: number; record: ReadyRecord }[] = [];
  const counts = { imported: 0, updated: 0, unchanged: 0, rejected: 0 };
  const refuse = (line: number, found: Fault[]) => {
    counts.rejected++;
    faults.push(...found.map((fault) => ({ ...fault, line })));
  };
  for (const { row_no: line, record } of rows)
    try {
      ready.push({ line, record: readyRecord(JSON.parse(record), namespace, work.nowMs, run.dates) });
    } catch (error) {
      if (!(error instanceof RecordRefused)) throw error;
      refuse(line, error.faults);
    }
  const outcomes = await importRecords(
    work,
    organisationId,
    ready.map((one) => one.record),
    { events: run.events, actor: run.created_by },
  );
  for (const [i, outcome] of outcomes.entries())
    if (outcome.outcome === 'rejected') refuse(ready[i]!.line, outcome.faults);
    else counts[outcome.outcome]++;
  await deleteRows(
    work.tx,
    organisationId,
    runId,
    rows.map((row) => row.row_no),
  );
  const shown = run.faults.filter((one) => one.isImported !== true).length;
  const more = faults.slice(0, Math.max(0, limits.importFaultsShown - shown));
  return { progress: { ...added(run, counts), faults: [...run.faults, ...more] } };
}

/** Why the service cancelled an import; null if it did not. */
export function whyCancelled({ cancelled_because: because }: ImportRun): string | null {
  if (because === 'overdue')
    return `The service cancelled it ${limits.importRunMs / 86_400_000} days after the check of the file, because lines contain names and results.`;
  if (because === 'restored')
    return 'The service cancelled it after a restore, because a line may contain a learner who was erased since the backup. Import the other lines again: imported lines are skipped.';
  return null;
}

/** Cancels imports that took too long, even of suspended organisations, and deletes old runs (docs/decisions/0024). */
export async function pruneImports(app: App): Promise<void> {
  await importRuns.cancelOld(app, 'draft', limits.importKeptMs);
  await importRuns.cancelOld(app, 'running', limits.importRunMs, 'overdue');
  await importRuns.prune(app);
}

/**
 * Deletes an erased person's lines from unfinished imports. Lines with another reference stay, even if the name is the
 * same.
 */
export async function forgetImportRows(
  tx: Tx,
  organisationId: number,
  { refs, fullName }: { refs: readonly string[]; fullName: string },
): Promise<void> {
  await tx.query(forget, [organisationId, refs, fullName]);
}
