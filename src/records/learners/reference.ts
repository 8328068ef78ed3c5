import { learnerJson } from '../results/body.ts';
import { replaceLearnerJson } from '../results/results.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { lockFeed } from '../../feed/position.ts';
import { stampLearnersAndAssessments } from '../../feed/stamp.ts';
import { learnerRefExpected } from '../../platform/validation/fields.ts';
import { isNameOf, isOpaqueRef } from '../../platform/validation/personal-data.ts';
import { keepAlias, removeAlias } from './aliases.ts';
import type { LearnerName } from './learners.ts';
import { findLearnersByRefs, recordChange, stopLooking, updateLearnerRef } from './learners.ts';
import type { NamedLearner } from './rename.ts';
import { findNamedLearner } from './rename.ts';

/** Why a learner doesn't get a reference: a sentence for whoever asked. */
export class ReferenceRefused extends Error {}

/**
 * Gives a learner a reference, or another one. The one of before stays theirs as an alias (docs/decisions/0015).
 * @returns the learner, and whether anything changed: the same reference again gives nothing a new `updated_at`
 * @throws ApiError not_found
 * @throws ReferenceRefused where it is somebody else's, now or before, or no reference
 */
export async function changeReference(
  work: UnitOfWork,
  organisationId: number,
  who: NamedLearner,
  ref: string,
  why: { actor: string; reason: string | null },
): Promise<LearnerName & { changed: boolean }> {
  const feed = await lockFeed(work, organisationId);
  const { tx } = work;
  const learner = await findNamedLearner(tx, organisationId, who);
  if (learner === undefined) throw new ApiError('not_found');
  if (!isOpaqueRef(ref)) throw new ReferenceRefused(`the reference must be ${learnerRefExpected}`);
  if (isNameOf(ref, learner.full_name))
    throw new ReferenceRefused("the reference would be the learner's name, which must not be a reference");
  if (learner.ref === ref) return { ...learner, changed: false };
  const [holder] = await findLearnersByRefs(tx, organisationId, [ref]);
  if (holder !== undefined && holder.learner_id !== learner.learner_id)
    throw new ReferenceRefused(
      holder.ref === ref
        ? 'the reference belongs to another learner: if the two are one person, merge them'
        : 'the reference was another learner’s before, and still reaches that learner: if the two are one person, merge them',
    );
  // One of their own from before comes back.
  if (holder !== undefined) await removeAlias(tx, organisationId, ref);
  await updateLearnerRef(tx, organisationId, learner.learner_id, ref);
  if (learner.ref !== null) await keepAlias(work, organisationId, learner.learner_id, learner.ref);
  await replaceLearnerJson(tx, organisationId, learner.learner_id, learnerJson(ref, learner.full_name));
  // With a reference the learner can be asked for, whatever is left of the results.
  await stopLooking(tx, organisationId, learner.learner_id);
  await recordChange(work, organisationId, learner.learner_id, 'referenced', why);
  await stampLearnersAndAssessments(work, feed, [learner.learner_id]);
  return { ...learner, ref, changed: true };
}
