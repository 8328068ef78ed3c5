import { uuidArray } from '../platform/db/arrays.ts';
import type { Tx } from '../platform/db/database.ts';
import { statement } from '../platform/db/database.ts';

/**
 * The stream of scope exits, written as learners leave and come back, and read in the order of its positions by
 * src/records/results/pages/page-statements.ts (decision 0002). The feed's lock is held.
 */

/**
 * SQL: stores for each of the rows, live results that are given their positions by the same statement, that it left the group.
 * None of them has an exit from it: whoever leaves is a member, and members' exits are forgotten. `on conflict` would look each
 * up, and write twice to the log.
 */
export function storingExits(rows: string, group: string): string {
  return `
    insert into scope_exit (organisation_id, group_id, position, learner_id, assessment_id, assessed_at, facet)
    select $1, ${group}::uuid, m.position, m.learner_id, m.assessment_id, m.assessed_at, m.facet from ${rows} m`;
}

// Behind "is true" a group leads to no index: while little is known of a table that has just grown, the planner would read all
// that left the group once for each learner, and 500 who come back took seconds. What was withdrawn is little: it is looked up
// once, and not each result.
const forget = statement(
  'scope_exit.forget',
  `
  delete from scope_exit e
   using unnest($2::uuid[], $3::uuid[]) as p(group_id, learner_id)
   where e.organisation_id = $1 and e.learner_id = p.learner_id and (e.group_id = p.group_id) is true
     and e.assessment_id not in
         (select f.assessment_id from assessment_feed f
           where f.organisation_id = $1 and f.learner_id = any($3::uuid[]) and f.deleted)`,
);

const move = statement(
  'scope_exit.move',
  `
  update scope_exit set position = $4 where organisation_id = $1 and learner_id = $2 and assessment_id = $3`,
);

const pass = statement(
  'scope_exit.pass',
  'update scope_exit set learner_id = $3 where organisation_id = $1 and learner_id = $2',
);

/** What is told of the groups that one learner left is told of another, to whom the results go. */
export async function passExits(tx: Tx, organisationId: number, from: string, to: string): Promise<void> {
  await tx.query(pass, [organisationId, from, to]);
}

/**
 * These learners are back in these groups, or are about to leave them anew: what is live is in scope again, and what was
 * withdrawn meanwhile is not.
 */
export async function forgetExits(
  tx: Tx,
  organisationId: number,
  pairs: { group_id: string; learner_id: string }[],
): Promise<void> {
  await tx.query(forget, [
    organisationId,
    uuidArray(pairs.map((pair) => pair.group_id)),
    uuidArray(pairs.map((pair) => pair.learner_id)),
  ]);
}

/** A result was withdrawn: whoever is told that it left its groups is told that instead, where its tombstone stands. */
export async function moveExits(
  tx: Tx,
  organisationId: number,
  { learner_id, assessment_id }: { learner_id: string; assessment_id: string },
  position: number,
): Promise<void> {
  await tx.query(move, [organisationId, learner_id, assessment_id, position]);
}
