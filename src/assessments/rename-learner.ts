import type { Work } from '../db/work.ts';
import { ApiError } from '../errors.ts';
import { lockFeed } from '../feed/position.ts';
import { stampLearnersAndAssessments } from '../feed/stamp.ts';
import type { LearnerName } from '../learners/learners.ts';
import { findLearnersByIds, findLearnersByRefs, recordRename, updateLearner } from '../learners/learners.ts';
import { learnerJson } from './body.ts';
import { replaceLearnerJson } from './store.ts';

/**
 * Changes a learner's name, also inside every live assessment; the caller stamps both.
 * @param given `namedAtUs`: when the name was given, where no result gives it
 */
export async function renameLearner(
  work: Work,
  organisationId: number,
  learner: LearnerName,
  fullName: string,
  given: { email?: string | null; namedAtUs?: number } = {},
): Promise<void> {
  await updateLearner(work.tx, organisationId, learner.learner_id, fullName, given);
  await replaceLearnerJson(work.tx, organisationId, learner.learner_id, learnerJson(learner.ref, fullName));
}

/** A learner that is named by the provider's reference or by the service's id. */
export type NamedLearner = { ref: string } | { learnerId: string };

/**
 * Corrects a name, without an invitation or a credit. Results from before this moment don't change it back.
 * @returns the learner, and whether anything changed: the same name again gives nothing a new `updated_at`
 * @throws ApiError not_found
 */
export async function correctName(
  work: Work,
  organisationId: number,
  who: NamedLearner,
  fullName: string,
  why: { actor: string; reason: string | null },
): Promise<LearnerName & { changed: boolean }> {
  const feed = await lockFeed(work, organisationId);
  const [learner] =
    'ref' in who
      ? await findLearnersByRefs(work.tx, organisationId, [who.ref])
      : await findLearnersByIds(work.tx, organisationId, [who.learnerId]);
  // A learner that is forgotten has no name, and gets none again.
  if (learner === undefined || learner.full_name === '') throw new ApiError('not_found');
  const changed = learner.full_name !== fullName;
  await renameLearner(work, organisationId, learner, fullName, { namedAtUs: work.nowMs * 1000 });
  await recordRename(work, organisationId, learner.learner_id, why);
  if (changed) await stampLearnersAndAssessments(work, feed, [learner.learner_id]);
  return { ...learner, full_name: fullName, changed };
}
