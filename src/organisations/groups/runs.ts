import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { type JobRow, type Stepped, added, jobsOf } from '../../feed/jobs/jobs.ts';
import { limits } from '../../platform/config/limits.ts';
import { type Moving, moveMembers } from './members.ts';

/** `reached`: how many learners were processed. `changed`: how many of these joined or left a group. */
type Progress = { total: number; reached: number; changed: number };
export type MembershipRun = JobRow & Moving & Progress;

/**
 * Changes many memberships in several transactions. The request runs the first, and a background job runs the others.
 */
export const membershipRuns = jobsOf<Moving, Progress>({
  kind: 'membership_run',
  kept: { which: 'ended', ms: limits.membershipRunsKeptMs },
  // The first slice has checked whether the person may change teams, so later slices do not check again.
  step: (work, run) => moveSlice(work, run, true),
});

/**
 * Creates a run and processes its first slice. If the run exists already, it is returned unchanged.
 * @throws ApiError not_found, team_group_managed
 */
export async function orderMoves(
  work: UnitOfWork,
  organisationId: number,
  input: Moving & { runId: string; learnerIds: readonly string[]; by: string; managingTeams: boolean },
): Promise<MembershipRun> {
  const { runId, joins, leaves, learnerIds, by, managingTeams } = input;
  await lockFeed(work, organisationId);
  const progress = { total: learnerIds.length, reached: 0, changed: 0 };
  const order = { runId, by, input: { joins, leaves }, items: learnerIds, progress };
  const isNew = await membershipRuns.order(work, organisationId, order);
  const find = async () => (await membershipRuns.find(work.tx, organisationId, runId))!;
  if (isNew) {
    const run = await find();
    await membershipRuns.save(work, run, await moveSlice(work, run, managingTeams));
  }
  return find();
}

async function moveSlice(work: UnitOfWork, run: MembershipRun, managingTeams: boolean): Promise<Stepped<Progress>> {
  const slice = await membershipRuns.items(work, run, run.reached, limits.membershipsAtOnce);
  const changed = await moveMembers(work, run.organisation_id, slice, run, { managingTeams, by: run.created_by });
  const progress = added(run, { reached: slice.length, changed });
  return { status: progress.reached >= run.total ? 'finished' : 'running', progress };
}
