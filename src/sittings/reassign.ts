import { statement, type Tx } from '../platform/db/database.ts';
import type { SittingRow } from './store.ts';

const openOf = statement('sitting.open_of_these')`
  select learner_id, subject, last_seen_at from sitting
   where organisation_id = $1 and learner_id = any($2) and status = 'open' order by sitting_id for update`;
const reassign = statement('sitting.pass')`
  update sitting set learner_id = $3 where organisation_id = $1 and learner_id = $2 returning sitting_id`;

export function lockOpenSittings(
  tx: Tx,
  organisationId: number,
  learnerIds: string[],
): Promise<Pick<SittingRow, 'learner_id' | 'subject' | 'last_seen_at'>[]> {
  return tx.query(openOf, [organisationId, learnerIds]);
}

/** Moves all sittings of one learner to another, open sittings included. @returns how many sittings moved */
export async function reassignSittings(tx: Tx, organisationId: number, from: string, to: string): Promise<number> {
  return (await tx.query(reassign, [organisationId, from, to])).length;
}
