import type { App } from '../../platform/app.ts';
import { findLearnerAssessments, forgetReasonsBefore } from '../../records/results/results.ts';
import { auditAct } from '../../platform/audit/act.ts';
import { monthsAfter } from '../../platform/time/clock.ts';
import { statement } from '../../platform/db/database.ts';
import { eachInTurn, feedQueue, type UnitOfWork, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { type JobRow, jobsOf, type Stepped } from '../../feed/jobs/jobs.ts';
import { forgetChangeReasonsBefore } from '../../records/learners/learners.ts';
import { limits } from '../../platform/config/limits.ts';
import { deleteAnswersBefore } from '../../sittings/sittings.ts';
import { nilUuid } from '../../platform/crypto/random.ts';
import { eraseLearner } from '../erasure/erase.ts';
import { withdrawAssessment } from '../erasure/withdraw.ts';
import { type KindName, kindNames, type Months, walk } from './kinds.ts';
import { claimDay, findDuePolicies, readPolicy } from './policy.ts';

/**
 * A run deletes data that is due; a dry run only counts the data. A run checks all learners for one kind of data after
 * another. Each step is one transaction that stores its progress, so that another process can continue after a crash.
 */
type Input = { dry_run: boolean; months: Months };
type Progress = {
  kind: KindName | null;
  reached: string | null;
  tally: Partial<Record<KindName, Tally>>;
  stopped_by: string | null;
};
export type Run = JobRow & Input & Progress;

export const retentionRuns = jobsOf<Input, Progress>({
  kind: 'retention',
  kept: { which: 'ended', ms: limits.dryRunMs, input: { dry_run: true } },
  step,
});

export type Tally = {
  learners: number;
  /** The number of results, answers or texts. An erased learner counts as 1. */
  items: number;
  /** How many learners have due data but are under a legal hold. */
  held: number;
  /** The IDs of the first learners in the run. */
  first: string[];
};

/** The actor of automatic runs. */
export const automatic = 'retention';
const reason = 'The time for which it is kept is over';
const learnersPerStep = 500;
/** A step ends after about this many deleted items, because it holds the feed's lock. */
const itemsPerStep = 40;
/** The most learners whose IDs a tally lists. */
const named = 100;

const walks = Object.fromEntries(
  kindNames.map((kind) => [kind, statement(`retention.walk_${kind}`, walk(kind))]),
) as Record<KindName, ReturnType<typeof statement>>;

/**
 * Orders a run for `carryOutRuns`. An organisation has at most one open deletion.
 * @returns the ID of the run, or of the deletion that is open
 */
export async function orderRun(
  work: UnitOfWork,
  organisationId: number,
  options: { runId: string; isDryRun: boolean; actor: string },
): Promise<string> {
  await lockFeed(work, organisationId);
  if (!options.isDryRun) {
    const unended = await retentionRuns.unended(work, organisationId);
    const other = unended.find((run) => !run.dry_run);
    if (other !== undefined) return other.run_id;
  }
  const { months } = await readPolicy(work.tx, organisationId);
  const { runId, isDryRun, actor: by } = options;
  const progress = { kind: null, reached: null, tally: {}, stopped_by: null };
  await retentionRuns.order(work, organisationId, { runId, by, input: { dry_run: isDryRun, months }, progress });
  return runId;
}

/**
 * Orders the deletion that a dry run has counted.
 * @returns null if the policy has changed since the dry run
 */
export async function orderCounted(
  work: UnitOfWork,
  organisationId: number,
  options: { runId: string; counted: Run; actor: string },
): Promise<string | null> {
  const { runId, counted, actor } = options;
  await lockFeed(work, organisationId);
  const { months } = await readPolicy(work.tx, organisationId);
  if (kindNames.some((kind) => months[kind] !== counted.months[kind])) return null;
  return orderRun(work, organisationId, { runId, isDryRun: false, actor });
}

/**
 * Stops a run. Data that the run has already deleted stays deleted.
 * @returns false if the run had ended
 */
export const stopRun = (work: UnitOfWork, organisationId: number, runId: string, { actor }: { actor: string }) =>
  retentionRuns.cancel(work, organisationId, runId, { progress: { stopped_by: actor } });

/**
 * The completed share of a run, from 0 to 1. IDs are evenly distributed, so the last learner's ID gives the share
 * within a kind.
 */
export function shareDone({ kind, reached, finished_at }: Run): number {
  if (finished_at !== null) return 1;
  const at = kind === null ? 0 : kindNames.indexOf(kind);
  const within = reached === null ? 0 : Number.parseInt(reached.slice(0, 8), 16) / 2 ** 32;
  return (at + within) / kindNames.length;
}

/** @returns how many items were deleted */
async function carryOut(work: UnitOfWork, run: Run, kind: KindName, learnerId: string, before: Date): Promise<number> {
  const { organisation_id: id, created_by: actor } = run;
  if (kind === 'learners' || kind === 'invited')
    return (await eraseLearner(work, id, learnerId, { actor })) === null ? 0 : 1;
  if (kind === 'answers') return deleteAnswersBefore(work.tx, id, learnerId, before);
  if (kind === 'reasons')
    return (
      (await forgetReasonsBefore(work.tx, id, learnerId, before)).length +
      (await forgetChangeReasonsBefore(work.tx, id, learnerId, before)).length
    );
  const old = (await findLearnerAssessments(work.tx, id, learnerId)).filter(
    (row) => row.assessed_at < before.getTime() * 1000,
  );
  for (const row of old) await withdrawAssessment(work, id, row.assessment_id, { actor, reason });
  return old.length;
}

type DueLearner = { learner_id: string; due: number; held: boolean };

async function step(work: UnitOfWork, run: Run): Promise<Stepped<Progress>> {
  const { organisation_id: organisationId } = run;
  const kind = run.kind ?? kindNames[0]!;
  const months = run.months[kind];
  const tally: Tally = run.tally[kind] ?? { learners: 0, items: 0, held: 0, first: [] };
  let reached = run.reached ?? nilUuid;
  let isOver = months === null;
  if (months !== null) {
    const before = monthsAfter(run.created_at.getTime(), -months);
    const learners = await work.tx.query<DueLearner>(walks[kind], [
      organisationId,
      reached,
      learnersPerStep,
      before,
      before.getTime() * 1000,
      new Date(work.nowMs),
    ]);
    isOver = learners.length < learnersPerStep;
    let deleted = 0;
    for (const [i, one] of learners.entries()) {
      reached = one.learner_id;
      if (one.due === 0) continue;
      if (one.held) {
        tally.held++;
        continue;
      }
      const items = run.dry_run ? one.due : await carryOut(work, run, kind, one.learner_id, before);
      if (items === 0) continue;
      tally.learners++;
      tally.items += items;
      if (tally.first.length < named) tally.first.push(one.learner_id);
      if (run.dry_run) continue;
      await auditAct(work, organisationId, {
        actor: run.created_by,
        action: `retention ${kind}`,
        resource: one.learner_id,
      });
      deleted += items;
      if (deleted < itemsPerStep || i === learners.length - 1) continue;
      isOver = false;
      break;
    }
  }
  const next = isOver ? kindNames[kindNames.indexOf(kind) + 1] : kind;
  const progress = { kind: next ?? kind, reached: isOver ? null : reached, tally: { ...run.tally, [kind]: tally } };
  return { status: next === undefined ? 'finished' : 'running', progress };
}

/** Begins the daily runs that are due, and continues open runs. Several processes may call this function together. */
export async function carryOutRuns(app: App, signal?: AbortSignal): Promise<void> {
  const due = await findDuePolicies(app.db, new Date(app.clock.nowMs()));
  await eachInTurn(app, due, 'retention.failed', ({ organisation_id: id }) =>
    withUnitOfWork(app, feedQueue(id), async (work) => {
      const { suspended } = await lockFeed(work, id);
      if (suspended || !(await claimDay(work, id))) return;
      await orderRun(work, id, { runId: work.uuid(), isDryRun: false, actor: automatic });
    }),
  );
  await retentionRuns.run(app, signal);
}

/** If a dry run is older, it must be repeated before anything is deleted. */
const freshMs = 24 * 3600_000;
export const learnersOf = ({ tally }: Run): number => Object.values(tally).reduce((sum, one) => sum + one.learners, 0);

export type Line = { kind: KindName; tally: Tally };

export const linesOf = ({ tally }: Run): Line[] =>
  kindNames.flatMap((kind) => (tally[kind] === undefined ? [] : [{ kind, tally: tally[kind] }]));

/** Whether the data that a dry run counted may be deleted: the dry run must have finished within the last 24 hours. */
export const isOfUse = ({ finished_at: at, stopped_by }: Run, nowMs: number): boolean =>
  at !== null && stopped_by === null && nowMs - at.getTime() < freshMs;
