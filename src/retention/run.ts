import type { App } from '../app.ts';
import { findLearnerAssessments, forgetReasonsBefore } from '../assessments/assessments.ts';
import { auditInside } from '../audit/audit.ts';
import { monthsAfter } from '../clock.ts';
import { clockIsAhead, isOfAheadClock, refuseAhead } from '../db/ahead.ts';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Going, Work } from '../db/work.ts';
import { eachInTurn, feedLane, inSteps, inWork } from '../db/work.ts';
import { lockFeed } from '../feed/position.ts';
import { forgetChangeReasonsBefore } from '../learners/learners.ts';
import type { Log } from '../log.ts';
import { emptyAnswersBefore } from '../sittings/sittings.ts';
import { nilUuid } from '../uuid.ts';
import { eraseLearner } from '../withdrawals/erase.ts';
import { withdrawAssessment } from '../withdrawals/withdraw.ts';
import type { KindName, Months } from './kinds.ts';
import { kindNames, walk } from './kinds.ts';
import { claimDay, findDuePolicies, readPolicy } from './policy.ts';

/**
 * Deleting what is due, and the rehearsal that only counts it. Both walk over the learners, kind by kind, in steps of one
 * transaction that keeps how far it has come: whoever is killed anywhere, the next process goes on from there, and what
 * was counted was done.
 */
export type Run = {
  organisation_id: number;
  run_id: string;
  rehearsal: boolean;
  months: Months;
  created_at: Date;
  created_by: string;
  /** The kind it is at. */
  kind: KindName | null;
  /** The last learner that it has seen of this kind. */
  reached: string | null;
  tally: Partial<Record<KindName, Tally>>;
  stopped_by: string | null;
  finished_at: Date | null;
};

/** What came of one kind. */
export type Tally = {
  learners: number;
  /** Results, answers or texts; of learners one each. */
  items: number;
  /** Learners of whom something was due, and who are held. */
  held: number;
  /** The first of them, by id. */
  first: string[];
};

/** Who runs what nobody asked for. */
export const byItself = 'retention';
const reason = 'The time for which it is kept is over';
/** Learners that one step looks at. */
const lookedAt = 500;
/** Items that one step deletes, about: the feed's lock is held for as long. */
const deletedAtOnce = 40;
/** Learners that a tally names. */
const named = 100;

const columns =
  'organisation_id, run_id, rehearsal, months, created_at, created_by, kind, reached, tally, stopped_by, finished_at';
const insert = statement(
  'retention.insert',
  `
  insert into retention_run (organisation_id, run_id, rehearsal, months, created_at, created_by) values ($1, $2, $3, $4, $5, $6)
  on conflict do nothing`,
);
const byId = statement(
  'retention.by_id',
  `select ${columns} from retention_run where organisation_id = $1 and run_id = $2`,
);
const list = statement(
  'retention.list',
  `select ${columns} from retention_run where organisation_id = $1 order by created_at desc, run_id limit $2`,
);
const open = statement(
  'retention.open',
  `
  select organisation_id, run_id from retention_run r
   where finished_at is null and not exists (select from feed f where f.organisation_id = r.organisation_id and f.suspended)
   order by created_at limit 100`,
);
const openOf = statement(
  'retention.open_of',
  'select run_id from retention_run where organisation_id = $1 and finished_at is null and not rehearsal',
);
const lockOpen = statement(
  'retention.lock_open',
  `
  select ${columns} from retention_run
   where organisation_id = $1 and run_id = $2 and finished_at is null for update skip locked`,
);
const advance = statement(
  'retention.advance',
  `
  update retention_run set kind = $3, reached = $4, tally = $5, finished_at = $6 where organisation_id = $1 and run_id = $2`,
);
const stop = statement(
  'retention.stop',
  `
  update retention_run set finished_at = $3, stopped_by = $4
   where organisation_id = $1 and run_id = $2 and finished_at is null returning run_id`,
);
const prune = statement('retention.prune', 'delete from retention_run where rehearsal and finished_at < $1');
const walks = Object.fromEntries(
  kindNames.map((kind) => [kind, statement(`retention.walk_${kind}`, walk(kind))]),
) as Record<KindName, ReturnType<typeof statement>>;

/**
 * Orders a run, which `carryOutRuns` does. An organisation has one deletion at a time.
 * @returns its id, or the open one's
 * @throws ClockAhead
 */
export async function orderRun(
  work: Work,
  organisationId: number,
  given: { runId: string; rehearsal: boolean; actor: string },
): Promise<string> {
  await lockFeed(work, organisationId);
  // By the time at which it is ordered it is decided what is due.
  await refuseAhead(work.tx, work.nowMs);
  if (!given.rehearsal) {
    const [other] = await work.tx.query<{ run_id: string }>(openOf, [organisationId]);
    if (other !== undefined) return other.run_id;
  }
  const { months } = await readPolicy(work.tx, organisationId);
  const at = new Date(work.nowMs);
  const values = [organisationId, given.runId, given.rehearsal, JSON.stringify(months), at, given.actor];
  await work.tx.query(insert, values);
  return given.runId;
}

/** Orders the deletion of what a rehearsal has counted. @returns null where the months are others by now */
export async function orderCounted(
  work: Work,
  organisationId: number,
  given: { runId: string; counted: Run; actor: string },
): Promise<string | null> {
  const { runId, counted, actor } = given;
  await lockFeed(work, organisationId);
  const { months } = await readPolicy(work.tx, organisationId);
  if (kindNames.some((kind) => months[kind] !== counted.months[kind])) return null;
  return orderRun(work, organisationId, { runId, rehearsal: false, actor });
}

export async function findRun(tx: Tx, organisationId: number, runId: string): Promise<Run | undefined> {
  return (await tx.query<Run>(byId, [organisationId, runId]))[0];
}

/** The newest first. */
export function listRuns(tx: Tx, organisationId: number, limit: number): Promise<Run[]> {
  return tx.query<Run>(list, [organisationId, limit]);
}

/** Ends a run where it is; what it has deleted is gone. @returns false where it had ended */
export async function stopRun(
  work: Work,
  organisationId: number,
  runId: string,
  by: { actor: string },
): Promise<boolean> {
  const rows = await work.tx.query(stop, [organisationId, runId, new Date(work.nowMs), by.actor]);
  return rows.length > 0;
}

/** How far a run has come, from 0 to 1: ids of learners are spread evenly. */
export function shareDone({ kind, reached, finished_at }: Run): number {
  if (finished_at !== null) return 1;
  const at = kind === null ? 0 : kindNames.indexOf(kind);
  const within = reached === null ? 0 : Number.parseInt(reached.slice(0, 8), 16) / 2 ** 32;
  return (at + within) / kindNames.length;
}

/** Deletes what is due of one learner. @returns how much it was */
async function carryOut(work: Work, run: Run, kind: KindName, learnerId: string, before: Date): Promise<number> {
  const { organisation_id: id, created_by: actor } = run;
  if (kind === 'learners' || kind === 'invited')
    return (await eraseLearner(work, id, learnerId, { actor })) === null ? 0 : 1;
  if (kind === 'answers') return emptyAnswersBefore(work.tx, id, learnerId, before);
  if (kind === 'reasons')
    return (
      (await forgetReasonsBefore(work.tx, id, learnerId, before)) +
      (await forgetChangeReasonsBefore(work.tx, id, learnerId, before))
    );
  const old = (await findLearnerAssessments(work.tx, id, learnerId)).filter(
    (row) => row.assessed_at < before.getTime() * 1000,
  );
  for (const row of old) await withdrawAssessment(work, id, row.assessment_id, { actor, reason });
  return old.length;
}

/** Ends a run that a clock ahead has ordered: nobody asked for that, so the organisation's log and the operator's tell of it. */
async function stopAhead(work: Work, organisationId: number, runId: string, log: Log): Promise<void> {
  await stopRun(work, organisationId, runId, { actor: byItself });
  await auditInside(work.tx, {
    organisationId,
    atMs: work.nowMs,
    requestId: work.uuid(),
    actor: byItself,
    action: 'retention stop',
    resource: runId,
    status: null,
  });
  work.afterCommit(async () => {
    log.error('retention.stopped', { organisation_id: organisationId, run_id: runId });
  });
}

type Seen = { learner_id: string; due: number; held: boolean };

/**
 * One step.
 * @returns whether more is to be done that nobody else is at
 * @throws ClockAhead
 */
async function step(
  work: Work,
  organisationId: number,
  runId: string,
  { evenSuspended, log }: Going & Pick<App, 'log'>,
): Promise<boolean> {
  // Before any other lock, as every writer; a rehearsal writes nothing that a feed shows, but takes its turn.
  const { suspended } = await lockFeed(work, organisationId);
  if (suspended && evenSuspended !== true) return false;
  const [run] = await work.tx.query<Run>(lockOpen, [organisationId, runId]);
  if (run === undefined) return false;
  // What is due, and which holds have ended, goes by both times.
  await refuseAhead(work.tx, work.nowMs);
  if (await isOfAheadClock(work.tx, run.created_at)) {
    await stopAhead(work, organisationId, runId, log);
    return false;
  }
  const kind = run.kind ?? kindNames[0]!;
  const months = run.months[kind];
  const tally: Tally = run.tally[kind] ?? { learners: 0, items: 0, held: 0, first: [] };
  let reached = run.reached ?? nilUuid;
  let isOver = months === null;
  if (months !== null) {
    const before = monthsAfter(run.created_at.getTime(), -months);
    const seen = await work.tx.query<Seen>(walks[kind], [
      organisationId,
      reached,
      lookedAt,
      before,
      before.getTime() * 1000,
      new Date(work.nowMs),
    ]);
    isOver = seen.length < lookedAt;
    let deleted = 0;
    for (const [i, one] of seen.entries()) {
      reached = one.learner_id;
      if (one.due === 0) continue;
      if (one.held) {
        tally.held++;
        continue;
      }
      const items = run.rehearsal ? one.due : await carryOut(work, run, kind, one.learner_id, before);
      if (items === 0) continue;
      tally.learners++;
      tally.items += items;
      if (tally.first.length < named) tally.first.push(one.learner_id);
      if (run.rehearsal) continue;
      await auditInside(work.tx, {
        organisationId,
        atMs: work.nowMs,
        requestId: work.uuid(),
        actor: run.created_by,
        action: `retention ${kind}`,
        resource: one.learner_id,
        status: null,
      });
      deleted += items;
      if (deleted < deletedAtOnce || i === seen.length - 1) continue;
      isOver = false;
      break;
    }
  }
  const next = isOver ? kindNames[kindNames.indexOf(kind) + 1] : kind;
  await work.tx.query(advance, [
    organisationId,
    runId,
    next ?? kind,
    isOver ? null : reached,
    JSON.stringify({ ...run.tally, [kind]: tally }),
    next === undefined ? new Date(work.nowMs) : null,
  ]);
  return next !== undefined;
}

/** Goes on with one run while there is anything to do that nobody else is at. @throws ClockAhead */
export function goOn(app: App, organisationId: number, runId: string, going: Going = {}): Promise<void> {
  const once = (work: Work) => step(work, organisationId, runId, { ...going, log: app.log });
  return inSteps(() => inWork(app, feedLane(organisationId), once), going.signal);
}

/** Begins the daily runs that are due, and does what was ordered and isn't finished; any number of processes may. */
export async function carryOutRuns(app: App, signal?: AbortSignal): Promise<void> {
  if (await clockIsAhead(app)) return;
  const due = await findDuePolicies(app.db, new Date(app.clock.nowMs()));
  await eachInTurn(app, due, 'retention.failed', ({ organisation_id: id }) =>
    inWork(app, feedLane(id), async (work) => {
      const { suspended } = await lockFeed(work, id);
      if (suspended || !(await claimDay(work, id))) return;
      await orderRun(work, id, { runId: work.uuid(), rehearsal: false, actor: byItself });
    }),
  );
  const runs = await app.db.query<{ organisation_id: number; run_id: string }>(open);
  await eachInTurn(app, runs, 'retention.failed', ({ organisation_id: id, run_id: runId }) =>
    goOn(app, id, runId, { signal }),
  );
}

/** Rehearsals are of use for some days. */
export async function pruneRehearsals(work: Work, keptMs: number): Promise<void> {
  await work.tx.query(prune, [new Date(work.nowMs - keptMs)]);
}
