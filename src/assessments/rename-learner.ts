import type { Work } from '../db/work.ts';
import type { LearnerName } from '../learners/learners.ts';
import { updateLearner } from '../learners/learners.ts';
import { learnerJson } from './body.ts';
import { replaceLearnerJson } from './store.ts';

/** Changes a learner's name, also inside every live assessment; the caller stamps both. */
export async function renameLearner(
  work: Work,
  organisationId: number,
  learner: LearnerName,
  fullName: string,
  email: string | null = null,
): Promise<void> {
  await updateLearner(work.tx, organisationId, learner.learner_id, fullName, email);
  await replaceLearnerJson(work.tx, organisationId, learner.learner_id, learnerJson(learner.ref, fullName));
}
