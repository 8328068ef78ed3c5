import { uuidArray } from '../platform/db/arrays.ts';
import { statement, type Tx } from '../platform/db/database.ts';

/** Writes scope exits (decision 0002), which page-statements.ts reads by position. Callers hold the feed's lock. */

/**
 * SQL that stores a scope exit for each live result in `rows`, at the result's new position. No exit exists yet,
 * because a learner's exits from a group are deleted when the learner joins the group.
 */
export function storingExits(rows: string, group: string): string {
  return `
    insert into scope_exit (organisation_id, group_id, position, learner_id, assessment_id, assessed_at, facet)
    select $1, ${group}::uuid, m.position, m.learner_id, m.assessment_id, m.assessed_at, m.facet from ${rows} m`;
}

// `is true` stops the planner from using the index by group. With old statistics, the planner would read this index
// once for each learner.
const forget = statement('scope_exit.forget')`
  delete from scope_exit e
   using unnest($2::uuid[], $3::uuid[]) as p(group_id, learner_id)
   where e.organisation_id = $1 and e.learner_id = p.learner_id and (e.group_id = p.group_id) is true
     and e.assessment_id not in
         (select f.assessment_id from assessment_feed f
           where f.organisation_id = $1 and f.learner_id = any($3::uuid[]) and f.deleted)`;

const move = statement('scope_exit.move')`
  update scope_exit set position = $4 where organisation_id = $1 and learner_id = $2 and assessment_id = $3`;

const pass = statement('scope_exit.pass')`
  update scope_exit set learner_id = $3 where organisation_id = $1 and learner_id = $2`;

/** Moves the scope exits of the learner `from` to the learner `to`, who also gets the results. */
export async function passExits(tx: Tx, organisationId: number, from: string, to: string): Promise<void> {
  await tx.query(pass, [organisationId, from, to]);
}

/** Deletes scope exits before learners join these groups or leave them again. Exits of withdrawn results stay. */
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

/** Moves the scope exits of a withdrawn result to the position of its tombstone. */
export async function moveExits(
  tx: Tx,
  organisationId: number,
  { learner_id, assessment_id }: { learner_id: string; assessment_id: string },
  position: number,
): Promise<void> {
  await tx.query(move, [organisationId, learner_id, assessment_id, position]);
}
