import type { Tx } from '../db/database.ts';
import { findOfLearner } from './store.ts';

/** A learner's completed results, newest first, as the columns that a whole assessment is sent from. */
export function findLearnerAssessments(tx: Tx, organisationId: number, learnerId: string) {
  return findOfLearner(tx, organisationId, learnerId);
}
