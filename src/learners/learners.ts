import type { Tx } from '../db/database.ts';
import { findLearnersByRefs } from './store.ts';

/** What other nouns may ask of learners. */
export type { LearnerName } from './store.ts';
export {
  findLearner,
  findLearnersByIds,
  findLearnersByRefs,
  groupSetsOf,
  insertLearners,
  nameInstants,
  recordRename,
  updateLearner,
  updateLearnerRef,
} from './store.ts';

/** The organisation's learners among the references. Learners are never deleted, so the answer stays true. */
export async function findLearnerIds(tx: Tx, organisationId: number, refs: string[]): Promise<Map<string, string>> {
  const rows = await findLearnersByRefs(tx, organisationId, refs);
  return new Map(rows.map((row) => [row.ref!, row.learner_id]));
}
