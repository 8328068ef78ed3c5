import type { App } from '../app.ts';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Going, Work } from '../db/work.ts';
import { eachInTurn, feedLane, inSteps, inWork } from '../db/work.ts';
import { lockFeed } from '../feed/position.ts';
import { limits } from '../limits.ts';
import type { Moving } from './members.ts';
import { moveMembers } from './members.ts';

/**
 * Changes of many memberships. The first of them are made where they are ordered, the others in the background, each slice
 * with how far it came in one transaction: broken off anywhere, it goes on from there.
 */
export type MembershipRun = Moving & {
  organisation_id: number;
  run_id: string;
  created_by: string;
  created_at: Date;
  finished_at: Date | null;
  total: number;
  /** How many have been looked at, and how many of them have changed: the others were members already, or were none any more. */
  reached: number;
  changed: number;
};

const columns = `organisation_id, run_id, joins, leaves, created_by, created_at, finished_at, cardinality(learner_ids) as total, reached, changed`;
const insert = statement(
  'membership_run.insert',
  `
  insert into membership_run (organisation_id, run_id, joins, leaves, learner_ids, created_by, created_at)
  values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing returning run_id`,
);
const byId = statement(
  'membership_run.by_id',
  `select ${columns} from membership_run where organisation_id = $1 and run_id = $2`,
);
const open = statement(
  'membership_run.open',
  `
  select organisation_id, run_id from membership_run r
   where finished_at is null and not exists (select from feed f where f.organisation_id = r.organisation_id and f.suspended)
   order by created_at limit 100`,
);
const next = statement(
  'membership_run.next',
  `
  select joins, leaves, created_by, learner_ids[reached + 1:reached + $3] as learner_ids, reached + $3 >= cardinality(learner_ids) as last
    from membership_run where organisation_id = $1 and run_id = $2 and finished_at is null for update`,
);
const advance = statement(
  'membership_run.advance',
  `
  update membership_run set reached = least(reached + $3, cardinality(learner_ids)), changed = changed + $4, finished_at = $5
   where organisation_id = $1 and run_id = $2`,
);
const prune = statement('membership_run.prune', 'delete from membership_run where finished_at < $1');

/**
 * Orders a change, and makes the first slice of it. The same id twice is one order.
 * @throws ApiError not_found, team_group_managed
 */
export async function orderMoves(
  work: Work,
  organisationId: number,
  given: Moving & { runId: string; learnerIds: readonly string[]; by: string; managingTeams: boolean },
): Promise<MembershipRun> {
  const { runId, joins, leaves, learnerIds, by, managingTeams } = given;
  await lockFeed(work, organisationId);
  const values = [organisationId, runId, joins, leaves, learnerIds, by, new Date(work.nowMs)];
  if ((await work.tx.query(insert, values)).length > 0)
    await step(work, organisationId, runId, { managingTeams, evenSuspended: true });
  return (await findRun(work.tx, organisationId, runId))!;
}

export async function findRun(tx: Tx, organisationId: number, runId: string): Promise<MembershipRun | undefined> {
  return (await tx.query<MembershipRun>(byId, [organisationId, runId]))[0];
}

/** One slice. Who ordered the run was allowed to, so the background asks nothing. @returns whether more is left */
async function step(
  work: Work,
  organisationId: number,
  runId: string,
  { managingTeams = true, evenSuspended = false } = {},
): Promise<boolean> {
  const { suspended } = await lockFeed(work, organisationId);
  if (suspended && !evenSuspended) return false;
  const most = limits.membershipsAtOnce;
  const [slice] = await work.tx.query<Moving & { created_by: string; learner_ids: string[]; last: boolean }>(next, [
    organisationId,
    runId,
    most,
  ]);
  if (slice === undefined) return false;
  const changed = await moveMembers(work, organisationId, slice.learner_ids, slice, {
    managingTeams,
    by: slice.created_by,
  });
  const finished = slice.last ? new Date(work.nowMs) : null;
  await work.tx.query(advance, [organisationId, runId, most, changed, finished]);
  return !slice.last;
}

/** Goes on with one order to its end. */
export function goOn(
  app: App,
  organisationId: number,
  runId: string,
  { signal, evenSuspended = false }: Going = {},
): Promise<void> {
  const slice = (work: Work) => step(work, organisationId, runId, { evenSuspended });
  return inSteps(() => inWork(app, feedLane(organisationId), slice), signal);
}

/** Goes on with what was ordered, wherever it was broken off. */
export async function runMoves(app: App, signal?: AbortSignal): Promise<void> {
  const orders = await app.db.query<{ organisation_id: number; run_id: string }>(open);
  await eachInTurn(app, orders, 'membership_run.failed', ({ organisation_id: id, run_id: runId }) =>
    goOn(app, id, runId, { signal }),
  );
}

/** Forgets the runs that have ended long ago. */
export async function pruneRuns(work: Work): Promise<void> {
  await work.tx.query(prune, [new Date(work.nowMs - limits.membershipRunsKeptMs)]);
}
