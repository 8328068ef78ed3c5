import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { App } from '../../platform/app.ts';
import { auditAct } from '../../platform/audit/act.ts';
import { type UnitOfWork, feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { damageOf } from '../../platform/validation/person-name.ts';
import { limits } from '../../platform/config/limits.ts';
import { type SourceLine, type Line, openResults } from './lines.ts';
import { type Dates, type ReadyRecord, readyRecord } from './record.ts';
import type { ImportOutcome } from './compare.ts';
import { importRecords } from './import.ts';
import { emptyLearnerCache } from './learner-cache.ts';
import { openDryRun } from './dry-run.ts';
import { type Fault, RecordRefused } from '../results/result-fields.ts';

export type ImportCounts = { imported: number; updated: number; unchanged: number; rejected: number };

/**
 * A rejected record, in bytes for a file that a person corrects and imports again. `head` returns the first line of
 * that file, and `again` is the record's line.
 */
export type Rejected = { line: number; faults: Fault[]; head(): Buffer; again: Buffer };

export type ImportOptions = {
  organisationId: number;
  organisationPublicId: string;
  events: boolean;
  actor: string;
  format: 'ndjson' | 'csv';
  dates?: Dates;
  /** Imports into copies that are dropped afterwards. The counts equal those of a real import. */
  dryRun?: boolean;
  onRejected(rejected: Rejected): void | Promise<void>;
  /** Called for a line whose name looks damaged (person-name.ts). The import keeps the line and its name. */
  onDamaged?(line: number): void;
  onProgress(counts: ImportCounts): void;
  signal?: AbortSignal;
};

/** The parsed value would double the memory of a batch, so only the source is kept with the record. */
type Entry = { line: SourceLine; record: ReadyRecord };

class DryRunOver extends Error {}

/**
 * Imports a file in batches; each batch is one transaction with its own row in the audit log. A stopped import can be
 * run again, because it skips results that are imported already.
 * @throws UnreadableFile
 */
export async function importFile(app: App, input: Readable, options: ImportOptions): Promise<ImportCounts> {
  const { organisationId } = options;
  if (options.dryRun !== true) {
    const memory = emptyLearnerCache();
    return importLines(app, input, options, (records) =>
      withUnitOfWork(app, feedQueue(organisationId), async (work) => {
        const outcomes = await importRecords(work, organisationId, records, { ...options, memory });
        await auditBatch(work, options, outcomes);
        return outcomes;
      }),
    );
  }
  let counts: ImportCounts | undefined;
  try {
    // A dry run takes no lock that another writer waits for, so it needs no queue.
    await withUnitOfWork(app, null, async (work) => {
      const rehearsal = await openDryRun(work, organisationId);
      counts = await importLines(app, input, options, async (records) => {
        await rehearsal.copyFor(records);
        return importRecords(work, organisationId, records, { ...options, events: false });
      });
      throw new DryRunOver();
    });
  } catch (error) {
    if (!(error instanceof DryRunOver)) throw error;
  }
  return counts!;
}

async function auditBatch(work: UnitOfWork, options: ImportOptions, outcomes: ImportOutcome[]): Promise<void> {
  const numberOf = (outcome: ImportOutcome['outcome']) => outcomes.filter((one) => one.outcome === outcome).length;
  await auditAct(work, options.organisationId, {
    actor: options.actor,
    action: 'results import',
    resource: `${numberOf('imported')} imported, ${numberOf('updated')} updated, ${numberOf('unchanged')} unchanged, ${numberOf('rejected')} rejected`,
  });
}

const grownTables = ['learner', 'learner_feed', 'membership', 'assessment', 'assessment_feed', 'review'];

/**
 * After an import has filled tables, PostgreSQL must replace its plans for small tables. Tables that were larger than
 * the import are skipped, because analysing them takes seconds and changes no plan.
 */
async function analyseGrown(app: App, imported: number): Promise<void> {
  const grown = await app.db.query<{ name: string }>(
    'select oid::regclass::text as name from pg_class where oid = any($1::regclass[]) and reltuples < $2',
    [grownTables, imported],
  );
  if (grown.length > 0)
    await app.db.query(`analyze ${grown.map(({ name }) => `${name} (organisation_id, learner_id)`).join()}`);
}

/** Yields batches of records that can be imported. All other lines go to `reject`. */
async function* batchesOf(
  app: App,
  lines: AsyncIterable<Line>,
  options: ImportOptions,
  reject: (line: SourceLine, faults: Fault[]) => Promise<void>,
): AsyncGenerator<Entry[]> {
  let batch: Entry[] = [];
  let bytes = 0;
  let read = 0;
  for await (const { line, source, value, faults, bytes: lineBytes } of lines) {
    if (options.signal?.aborted === true) break;
    // Reading lines does not yield to the event loop. A pause after every 16 lines lets the database connection work.
    if (++read % 16 === 0) await setImmediate();
    if (faults !== undefined) {
      await reject({ line, source }, faults);
      continue;
    }
    try {
      const record = readyRecord(value, options.organisationPublicId, app.clock.nowMs(), options.dates);
      if (damageOf(record.fullName) !== null) options.onDamaged?.(line);
      batch.push({ line: { line, source }, record });
    } catch (error) {
      if (!(error instanceof RecordRefused)) throw error;
      await reject({ line, source }, error.faults);
      continue;
    }
    bytes += lineBytes;
    if (batch.length < limits.importBatch && bytes < limits.importBatchBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

async function importLines(
  app: App,
  input: Readable,
  options: ImportOptions,
  outcomesOf: (records: ReadyRecord[]) => Promise<ImportOutcome[]>,
): Promise<ImportCounts> {
  const counts: ImportCounts = { imported: 0, updated: 0, unchanged: 0, rejected: 0 };
  let working: Promise<void> = Promise.resolve();
  let batches = 0;
  let nextAnalyze = 1;
  let analysing: Promise<unknown> = Promise.resolve();
  const file = await openResults(input, options.format);

  const reject = async (line: SourceLine, faults: Fault[]) => {
    counts.rejected++;
    await options.onRejected({ line: line.line, faults, head: file.head, again: file.refused(line, faults) });
  };
  const commit = async (entries: Entry[]) => {
    const outcomes = await outcomesOf(entries.map((entry) => entry.record));
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.outcome === 'rejected') await reject(entries[i]!.line, outcome.faults);
      else counts[outcome.outcome]++;
    }
    if (++batches === nextAnalyze && options.dryRun !== true) {
      nextAnalyze *= 10;
      analysing = analyseGrown(app, counts.imported);
      analysing.catch(() => {});
    }
    options.onProgress(counts);
  };
  try {
    for await (const batch of batchesOf(app, file.lines, options, reject)) {
      await working;
      working = commit(batch);
      // The next await reports an error of this batch. Until then, Node.js must not treat the error as unhandled.
      working.catch(() => {});
    }
    await working;
    await analysing;
  } finally {
    await Promise.allSettled([working, analysing]);
  }
  return counts;
}
