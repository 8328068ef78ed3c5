import { uuidArray } from '../platform/db/arrays.ts';
import { type Statement, statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { limits } from '../platform/config/limits.ts';
import { counted, countingMoves, tokenOf } from './digest.ts';
import { regroupLearners } from './group-sets.ts';
import type { CountedRow, Feed } from './position.ts';
import { storingExits } from './scope-exits.ts';

/**
 * Gives new positions to records whose payload changes; results keep their order. Each statement must begin after the
 * lock, because a snapshot from before the lock may show old group sets.
 */

const step = limits.positionStepUs;

/**
 * The condition tests the learners' rows, because there are fewer learners than results. Otherwise, the planner would
 * read every learner's row to find group sets.
 * @param group the parameter with the group that the results leave
 */
function assessmentsWhere(name: string, whose: string, group: '$4' | null = null): Statement {
  return statement(`feed.stamp_assessments_${name}`)`
    with placed as (
      select f.learner_id, f.assessment_id, f.assessed_at, l.group_set_id, f.facet, f.group_set_id as had_set, f.token as had,
             $3 + ${step} * (row_number() over (order by f.position) - 1) as position
        from assessment_feed f
        join learner_feed l on l.organisation_id = f.organisation_id and l.learner_id = f.learner_id
       where f.organisation_id = $1 and not f.deleted and l.learner_id ${whose}),
    moving as materialized (
      select *, ${tokenOf('assessment_id', 'position')} as token from placed order by learner_id, assessment_id),
    moved as (
      update assessment_feed f set position = m.position, group_set_id = m.group_set_id, token = m.token
        from moving m
       where f.organisation_id = $1 and f.learner_id = m.learner_id and f.assessment_id = m.assessment_id),
    ${group === null ? '' : `gone as (${storingExits('moving', group)}),`}
    ${countingMoves('moving')}
    select (select coalesce(sum(n), 0)::int8 from digest_moves) as count, ${counted}`;
}

const learnersThese = statement('feed.stamp_learners_these')`
  with moved as (
    update learner_feed l set position = $3 + ${step} * (a.n - 1)
      from unnest($2::uuid[]) with ordinality as a(learner_id, n)
     where l.organisation_id = $1 and l.learner_id = a.learner_id
    returning 1)
  select count(*) as count from moved`;
const learnersMembers = statement('feed.stamp_learners_members')`
  with moving as materialized (
    select m.learner_id, row_number() over () - 1 as n from membership m where m.organisation_id = $1 and m.group_id = $2::uuid and m.left_position is null),
  moved as (
    update learner_feed l set position = $3 + ${step} * m.n
      from moving m where l.organisation_id = $1 and l.learner_id = m.learner_id
    returning 1)
  select count(*) as count from moved`;

const these = '= any($2::uuid[])';
const members =
  'in (select learner_id from membership where organisation_id = $1 and group_id = $2::uuid and left_position is null)';
const assessmentsOfThese = assessmentsWhere('these', these);
const assessmentsOfMembers = assessmentsWhere('members', members);
const assessmentsLeaving = assessmentsWhere('leaving', these, '$4');

async function stamp(
  work: UnitOfWork,
  feed: Feed,
  { assessments, learners }: { assessments: Statement; learners: Statement },
  whose: string | string[],
): Promise<void> {
  if (whose.length === 0) return;
  const values = [feed.organisationId, whose];
  const [results] = await work.tx.query<{ count: number } & CountedRow>(assessments, [...values, feed.next()]);
  feed.used(results!.count);
  feed.counted(results!);
  const [row] = await work.tx.query<{ count: number }>(learners, [...values, feed.next()]);
  feed.used(row!.count);
}

/** Gives these learners and all their live results new positions, because both payloads changed. */
export function stampLearnersAndAssessments(work: UnitOfWork, feed: Feed, learnerIds: string[]): Promise<void> {
  return stamp(work, feed, { assessments: assessmentsOfThese, learners: learnersThese }, learnerIds);
}

/**
 * Recomputes the group sets of distinct learners, and gives the learners and their live results new positions.
 * @param left the group that the learners left; its scope exits get the results' new positions
 */
export async function stampRegrouped(
  work: UnitOfWork,
  feed: Feed,
  learnerIds: string[],
  left: string | null,
): Promise<void> {
  const regrouped = regroupLearners(work.tx, feed, learnerIds);
  const values = [feed.organisationId, uuidArray(learnerIds), feed.next()];
  const stamped =
    left === null ? work.tx.query(assessmentsOfThese, values) : work.tx.query(assessmentsLeaving, [...values, left]);
  const [[results]] = await Promise.all([stamped, regrouped]);
  feed.used((results as { count: number }).count);
  feed.counted(results as CountedRow);
}

/**
 * Gives distinct learners new positions, because only their own payloads changed. The function takes the positions
 * before its first `await`, so that the caller can take further positions without waiting.
 */
export async function stampLearners(work: UnitOfWork, feed: Feed, learnerIds: string[]): Promise<void> {
  if (learnerIds.length === 0) return;
  const first = feed.next();
  feed.used(learnerIds.length);
  await work.tx.query(learnersThese, [feed.organisationId, uuidArray(learnerIds), first]);
}

/** Gives the members of a changed group and their results new positions, because their payloads show the group. */
export function stampMembers(work: UnitOfWork, feed: Feed, groupId: string): Promise<void> {
  return stamp(work, feed, { assessments: assessmentsOfMembers, learners: learnersMembers }, groupId);
}
