import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import type { PastedRefs } from './pasted-refs.ts';
import { findReached } from './store.ts';

const membersAmong = statement(
  'group.members_among',
  `
  select learner_id from membership
   where organisation_id = $1 and group_id = $2 and learner_id = any($3) and left_position is null`,
);

/** What is known of references before anything is written. */
export type Looked = {
  /** Ids of those who would join, or leave, each once. */
  concerned: string[];
  /** How many references are of learners for whom nothing would change. */
  settled: number;
  /** Rows that can't be used, in their order, each with why. */
  faults: { row: number; sentence: string }[];
};

/** Looks references up: whom of them the group gains, or loses. */
export async function lookUpPasted(
  tx: Tx,
  organisationId: number,
  groupId: string,
  pasted: PastedRefs,
  how: 'join' | 'leave',
): Promise<Looked> {
  const learners = await findReached(tx, organisationId, pasted.refs);
  const ids = [...new Set([...learners.values()].map((one) => one.learner_id))];
  const rows = await tx.query<{ learner_id: string }>(membersAmong, [organisationId, groupId, ids]);
  const members = new Set(rows.map((row) => row.learner_id));
  const concerned = ids.filter((id) => members.has(id) === (how === 'leave'));
  const unknown = pasted.refs.filter((ref) => !learners.has(ref));
  return {
    concerned,
    settled: ids.length - concerned.length,
    faults: [
      ...pasted.faults,
      ...unknown.map((ref) => ({ row: pasted.rowOf.get(ref)!, sentence: `No learner has the reference ${ref}.` })),
    ].toSorted((a, b) => a.row - b.row),
  };
}
