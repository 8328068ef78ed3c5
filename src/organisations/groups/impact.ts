import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import { limits } from '../../platform/config/limits.ts';

/** How many learners and results a change gives a new position. */
export type Impact = { learners: number; results: number };

const max = limits.reachCounted + 1;
// The digest counts results by group set (src/feed/digest.ts), so this reads few rows.
const ofMembers = statement('group.reach_of_members')`
  select (select count(*)::int4 from (
            select from membership where organisation_id = $1 and group_id = $2 and left_position is null limit ${limits.membersCountedOfOne + 1}) m) as learners,
         (select coalesce(sum(n), 0)::int8 from digest_cell
           where organisation_id = $1 and group_set_id in (
             select group_set_id from group_set_group where organisation_id = $1 and group_id = $2)) as results`;
const ofLearners = statement('group.reach_of_learners')`
  select cardinality($2::uuid[]) as learners,
         (select count(*)::int4 from (
            select from unnest($2::uuid[]) as l(learner_id)
              join assessment_feed f on f.organisation_id = $1 and f.learner_id = l.learner_id and not f.deleted
             limit ${max}) r) as results`;

export async function impactOfGroup(tx: Tx, organisationId: number, groupId: string): Promise<Impact> {
  return (await tx.query<Impact>(ofMembers, [organisationId, groupId]))[0]!;
}

/** Counts results up to `limits.reachCounted`. */
export async function impactOfLearners(tx: Tx, organisationId: number, learnerIds: readonly string[]): Promise<Impact> {
  return (await tx.query<Impact>(ofLearners, [organisationId, learnerIds]))[0]!;
}
