import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { App } from '../../platform/app.ts';
import { auditAct } from '../../platform/audit/act.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { damageOf } from '../../platform/validation/person-name.ts';
import { limits } from '../../platform/config/limits.ts';
import type { Given } from './lines.ts';
import { openResults } from './lines.ts';
import type { Dates, ReadyRecord } from './record.ts';
import { readyRecord } from './record.ts';
import type { ImportOutcome } from './compare.ts';
import { importRecords } from './import.ts';
import { emptyMemory } from './learner-cache.ts';
import { openRehearsal } from './dry-run.ts';
import type { Fault } from '../results/result-fields.ts';
import { RecordRefused } from '../results/result-fields.ts';

export type ImportCounts = { imported: number; updated: number; unchanged: number; rejected: number };

/** A record that was refused, with all that is wrong with it. */
export type Rejected = {
  line: number;
  faults: Fault[];
  /** What a file of such records begins with, and the record as it stands in one, to be mended and imported again. */
  head(): Buffer;
  again: Buffer;
};

export type ImportOptions = {
  organisationId: number;
  organisationPublicId: string;
  events: boolean;
  actor: string;
  format: 'ndjson' | 'csv';
  dates?: Dates;
  /** Does all of it in copies that are gone afterwards: the counts are those of a real run, and nothing is written. */
  dryRun?: boolean;
  onRejected(rejected: Rejected): void | Promise<void>;
  /** A line whose name looks damaged (learner-name.ts): it is imported as it is. */
  onDamaged?(line: number): void;
  /** After each batch. */
  onProgress(counts: ImportCounts): void;
  signal?: AbortSignal;
};

/** What was read of a line is gone once it is ready: a batch would hold it twice. */
type Entry = { given: Given; record: ReadyRecord };

/** Undoes the transaction of a dry run. */
class DryRunOver extends Error {}

/**
 * Imports a file in batches, each a transaction of its own with its row in the audit log, reading the next while the
 * database works. Stopped halfway, it can simply be run again: what is there already is skipped.
 * @throws UnreadableFile
 */
export async function importFile(app: App, input: Readable, options: ImportOptions): Promise<ImportCounts> {
  if (options.dryRun !== true) {
    const memory = emptyMemory();
    const outcomesOf = (records: ReadyRecord[]) =>
      withUnitOfWork(app, feedQueue(options.organisationId), async (work) => {
        const outcomes = await importRecords(work, options.organisationId, records, { ...options, memory });
        await auditBatch(work, options, outcomes);
        return outcomes;
      });
    return importLines(app, input, outcomesOf, options);
  }
  let counts: ImportCounts | undefined;
  try {
    // In no lane: it takes no lock that anybody waits for.
    await withUnitOfWork(app, null, async (work) => {
      const rehearsal = await openRehearsal(work, options.organisationId);
      const outcomesOf = async (records: ReadyRecord[]) => {
        await rehearsal.takeIn(records);
        return importRecords(work, options.organisationId, records, { ...options, events: false });
      };
      counts = await importLines(app, input, outcomesOf, options);
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
 * Statements planned for small tables are planned again once there are statistics of larger ones: of how many rows there are,
 * and of what most are found by. The rest follows by itself. Tables that had more rows than were imported by now are left alone:
 * reading samples of large ones takes seconds, and changes no plan.
 */
async function analyseGrown(app: App, imported: number): Promise<void> {
  const grown = await app.db.query<{ name: string }>(
    'select oid::regclass::text as name from pg_class where oid = any($1::regclass[]) and reltuples < $2',
    [grownTables, imported],
  );
  if (grown.length > 0)
    await app.db.query(`analyze ${grown.map(({ name }) => `${name} (organisation_id, learner_id)`).join()}`);
}

async function importLines(
  app: App,
  input: Readable,
  outcomesOf: (records: ReadyRecord[]) => Promise<ImportOutcome[]>,
  options: ImportOptions,
): Promise<ImportCounts> {
  const counts: ImportCounts = { imported: 0, updated: 0, unchanged: 0, rejected: 0 };
  let batch: Entry[] = [];
  let batchBytes = 0;
  let working: Promise<void> = Promise.resolve();
  let batches = 0;
  let read = 0;
  let nextAnalyze = 1;
  let analysing: Promise<unknown> = Promise.resolve();
  const file = await openResults(input, options.format);

  const reject = async (given: Given, faults: Fault[]) => {
    counts.rejected++;
    await options.onRejected({ line: given.line, faults, head: file.head, again: file.refused(given, faults) });
  };
  const commit = async (entries: Entry[]) => {
    const outcomes = await outcomesOf(entries.map((entry) => entry.record));
    for (const [i, outcome] of outcomes.entries()) {
      if (outcome.outcome === 'rejected') await reject(entries[i]!.given, outcome.faults);
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
    for await (const line of file.lines) {
      if (options.signal?.aborted === true) break;
      // Reading is work without a pause: let the database's replies in, or it waits for this loop at every statement.
      if (++read % 16 === 0) await setImmediate();
      if (line.faults !== undefined) {
        await reject(line, line.faults);
        continue;
      }
      try {
        const nowMs = app.clock.nowMs();
        const record = readyRecord(line.value, options.organisationPublicId, nowMs, options.dates);
        if (damageOf(record.fullName) !== null) options.onDamaged?.(line.line);
        batch.push({ given: { line: line.line, given: line.given }, record });
      } catch (error) {
        if (!(error instanceof RecordRefused)) throw error;
        await reject(line, error.faults);
        continue;
      }
      batchBytes += line.bytes;
      if (batch.length < limits.importBatch && batchBytes < limits.importBatchBytes) continue;
      const full = batch;
      batch = [];
      batchBytes = 0;
      await working;
      working = commit(full);
      // The failure is thrown by the next await; until then it must not count as unhandled.
      working.catch(() => {});
    }
    await working;
    if (batch.length > 0) await commit(batch);
    await analysing;
  } finally {
    await Promise.allSettled([working, analysing]);
  }
  return counts;
}
