import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { limits } from '../limits.ts';

/** How far a change reaches: whose payloads, and those of how many results, get a new position. Counted up to a bound. */
export type Reach = { learners: number; results: number };

const most = limits.reachCounted + 1;
const ofMembers = statement(
  'group.reach_of_members',
  `
  with members as materialized (
    select learner_id from membership where organisation_id = $1 and group_id = $2 and left_position is null limit ${most})
  select (select count(*)::int4 from members) as learners,
         (select count(*)::int4 from (
            select from members m join assessment_feed f on f.organisation_id = $1 and f.learner_id = m.learner_id and not f.deleted
             limit ${most}) r) as results`,
);
const ofLearners = statement(
  'group.reach_of_learners',
  `
  select cardinality($2::uuid[]) as learners,
         (select count(*)::int4 from (
            select from unnest($2::uuid[]) as l(learner_id)
              join assessment_feed f on f.organisation_id = $1 and f.learner_id = l.learner_id and not f.deleted
             limit ${most}) r) as results`,
);

/** Of a change to the group itself. */
export async function reachOfGroup(tx: Tx, organisationId: number, groupId: string): Promise<Reach> {
  return (await tx.query<Reach>(ofMembers, [organisationId, groupId]))[0]!;
}

/** Of a change to what these learners belong to. */
export async function reachOfLearners(tx: Tx, organisationId: number, learnerIds: readonly string[]): Promise<Reach> {
  return (await tx.query<Reach>(ofLearners, [organisationId, learnerIds]))[0]!;
}
