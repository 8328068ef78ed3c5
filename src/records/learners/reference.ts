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
import { findLearnersByRefs, recordChange, cancelRemovalCheck, updateLearnerRef } from './learners.ts';
import { type NamedLearner, findNamedLearner } from './rename.ts';

/** The learner cannot have this reference. The message is for the person who asked for the change. */
export class ReferenceRefused extends Error {}

/**
 * Gives a learner another reference. The previous reference becomes an alias (docs/decisions/0015).
 * @returns the learner; `changed` is false if the learner already had the reference, so `updated_at` stays
 * @throws ApiError not_found
 * @throws ReferenceRefused if the reference is invalid, or if another learner has or had it
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
  const { learner_id: id, full_name: name } = learner;
  if (!isOpaqueRef(ref)) throw new ReferenceRefused(`the reference must be ${learnerRefExpected}`);
  if (isNameOf(ref, name))
    throw new ReferenceRefused("the reference would be the learner's name, which must not be a reference");
  if (learner.ref === ref) return { ...learner, changed: false };
  const [holder] = await findLearnersByRefs(tx, organisationId, [ref]);
  if (holder !== undefined && holder.learner_id !== id)
    throw new ReferenceRefused(
      holder.ref === ref
        ? 'the reference belongs to another learner; if the two are one person, merge them'
        : 'the reference is a previous reference of another learner; if the two are one person, merge them',
    );
  if (holder !== undefined) await removeAlias(tx, organisationId, ref);
  await updateLearnerRef(tx, organisationId, id, ref);
  if (learner.ref !== null) await keepAlias(work, organisationId, id, learner.ref);
  await replaceLearnerJson(tx, organisationId, id, learnerJson(ref, name));
  // The learner now has a reference, so it is kept even without results.
  await cancelRemovalCheck(tx, organisationId, id);
  await recordChange(work, organisationId, id, 'referenced', why);
  await stampLearnersAndAssessments(work, feed, [id]);
  return { ...learner, ref, changed: true };
}
