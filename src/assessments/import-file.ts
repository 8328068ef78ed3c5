import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { App } from '../app.ts';
import { auditInside } from '../audit/audit.ts';
import { inWork } from '../db/work.ts';
import { readLines } from './import-lines.ts';
import type { ReadyRecord } from './import-record.ts';
import { RecordRefused, readyRecord } from './import-record.ts';
import type { ImportOutcome } from './import.ts';
import { importRecords } from './import.ts';

/** Records in one transaction: large enough to be fast, small enough that other writers of the organisation hardly wait. */
const batchSize = 2000;

export type ImportCounts = { imported: number; updated: number; unchanged: number; rejected: number };

export type ImportOptions = {
  organisationId: number;
  organisationPublicId: string;
  events: boolean;
  actor: string;
  format: 'ndjson' | 'csv';
  /** A refused line: its number and why, without anything that it held. */
  onRejected(line: number, reason: string): void;
  /** After each committed batch. */
  onProgress(counts: ImportCounts): void;
  signal?: AbortSignal;
};

/**
 * Imports a file in batches, each a transaction of its own with its row in the audit log, reading the next while the database works. Stopped halfway,
 * it can simply be run again: what is there already is skipped.
 */
export async function importFile(app: App, input: Readable, options: ImportOptions): Promise<ImportCounts> {
  const counts: ImportCounts = { imported: 0, updated: 0, unchanged: 0, rejected: 0 };
  let batch: { line: number; record: ReadyRecord }[] = [];
  let working: Promise<void> = Promise.resolve();
  let batches = 0;
  let read = 0;
  let nextAnalyze = 1;
  let analysing: Promise<unknown> = Promise.resolve();

  const reject = (line: number, reason: string) => {
    counts.rejected++;
    options.onRejected(line, reason);
  };
  const commit = async (entries: typeof batch) => {
    const outcomes = await inWork(app, async (work) => {
      const done = await importRecords(
        work,
        options.organisationId,
        entries.map((entry) => entry.record),
        { events: options.events, actor: options.actor },
      );
      const numberOf = (outcome: ImportOutcome['outcome']) => done.filter((one) => one.outcome === outcome).length;
      await auditInside(work.tx, {
        organisationId: options.organisationId,
        atMs: work.nowMs,
        requestId: work.uuid(),
        actor: options.actor,
        action: 'results import',
        resource: `${numberOf('imported')} imported, ${numberOf('updated')} updated, ${numberOf('unchanged')} unchanged, ${numberOf('rejected')} rejected`,
        status: null,
      });
      return done;
    });
    outcomes.forEach((outcome, i) => {
      if (outcome.outcome === 'rejected') reject(entries[i]!.line, outcome.reason);
      else counts[outcome.outcome]++;
    });
    // Statements planned for small tables are planned again once there are statistics of larger ones.
    if (++batches === nextAnalyze) {
      nextAnalyze *= 10;
      analysing = app.db.query('analyze learner, learner_feed, membership, assessment, assessment_feed');
      analysing.catch(() => {});
    }
    options.onProgress(counts);
  };
  try {
    for await (const { line, value, fault } of readLines(input, options.format)) {
      if (options.signal?.aborted === true) break;
      // Reading is work without a pause: let the database's replies in, or it waits for this loop at every statement.
      if (++read % 16 === 0) await setImmediate();
      if (fault !== undefined) {
        reject(line, fault);
        continue;
      }
      try {
        batch.push({ line, record: readyRecord(value, options.organisationPublicId, app.clock.nowMs()) });
      } catch (error) {
        if (!(error instanceof RecordRefused)) throw error;
        reject(line, error.message);
        continue;
      }
      if (batch.length < batchSize) continue;
      const full = batch;
      batch = [];
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
