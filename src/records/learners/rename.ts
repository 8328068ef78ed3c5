import type { Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { lockFeed } from '../../feed/position.ts';
import { stampLearnersAndAssessments } from '../../feed/stamp.ts';
import { learnerJson } from '../results/body.ts';
import { replaceLearnerJson } from '../results/results.ts';
import { nameFault } from '../../platform/validation/person-name.ts';
import { isNameOf, withoutNationalInsuranceNumbers } from '../../platform/validation/personal-data.ts';
import type { LearnerName } from './learners.ts';
import { findLearnersByIds, findLearnersByRefs, recordChange, updateLearner, updateLearnerRef } from './learners.ts';

/** Changes a learner's name, also inside every live assessment. The caller gives them new feed positions. */
export async function renameLearner(
  work: UnitOfWork,
  organisationId: number,
  learner: LearnerName,
  fullName: string,
  options: { email?: string | null; namedAtUs?: number } = {},
): Promise<void> {
  await updateLearner(work.tx, organisationId, learner.learner_id, fullName, options);
  await replaceLearnerJson(work.tx, organisationId, learner.learner_id, learnerJson(learner.ref, fullName));
}

/** A learner named by a current or previous reference, or by the service's ID. */
export type NamedLearner = { ref: string } | { learnerId: string };

/** @returns undefined if the learner is unknown or a tombstone */
export async function findNamedLearner(
  tx: Tx,
  organisationId: number,
  who: NamedLearner,
): Promise<LearnerName | undefined> {
  const [found] =
    'ref' in who
      ? await findLearnersByRefs(tx, organisationId, [who.ref])
      : await findLearnersByIds(tx, organisationId, [who.learnerId]);
  if (found === undefined || found.full_name === '') return undefined;
  const { learner_id, ref, full_name } = found;
  return { learner_id, ref, full_name };
}

/** The learner cannot have this name. The message is for the person who asked for the change. */
export class NameRefused extends Error {}

/** Whether a new name equals the learner's reference. References appear in URLs, so a reference must not be a name. */
export const wouldBeReference = (learner: LearnerName, fullName: string): boolean =>
  learner.ref !== null && learner.full_name !== fullName && isNameOf(learner.ref, fullName);

/**
 * Corrects a name. This needs no invitation and no credit. Results assessed before the correction do not restore the
 * old name.
 * @returns the learner; `changed` is false if the learner already had the name, so `updated_at` stays
 * @throws ApiError not_found
 * @throws NameRefused if the name is invalid or equals the learner's reference
 */
export async function correctName(
  work: UnitOfWork,
  organisationId: number,
  who: NamedLearner,
  fullName: string,
  why: { actor: string; reason: string | null },
): Promise<LearnerName & { changed: boolean }> {
  const fault = nameFault(fullName);
  if (fault !== null) throw new NameRefused(`the name must be ${fault}`);
  const feed = await lockFeed(work, organisationId);
  const learner = await findNamedLearner(work.tx, organisationId, who);
  if (learner === undefined) throw new ApiError('not_found');
  if (wouldBeReference(learner, fullName))
    throw new NameRefused("the name would be the learner's reference, which must not be a name");
  const changed = learner.full_name !== fullName;
  await renameLearner(work, organisationId, learner, fullName, { namedAtUs: work.nowMs * 1000 });
  await recordChange(work, organisationId, learner.learner_id, 'renamed', why);
  if (changed) await stampLearnersAndAssessments(work, feed, [learner.learner_id]);
  return { ...learner, full_name: fullName, changed };
}

/** Removes National Insurance numbers from a learner's name and reference, also inside every live assessment. */
export async function redactLearner(work: UnitOfWork, organisationId: number, learnerId: string): Promise<void> {
  const feed = await lockFeed(work, organisationId);
  const learner = await findNamedLearner(work.tx, organisationId, { learnerId });
  if (learner === undefined) return;
  const fullName = withoutNationalInsuranceNumbers(learner.full_name);
  let { ref } = learner;
  if (ref !== null && withoutNationalInsuranceNumbers(ref) !== ref) {
    // The learner's ID makes the new reference unique.
    ref = `redacted-${learnerId}`;
    await updateLearnerRef(work.tx, organisationId, learnerId, ref);
  }
  const namedAtUs = fullName === learner.full_name ? undefined : work.nowMs * 1000;
  await renameLearner(work, organisationId, { ...learner, ref }, fullName, { namedAtUs });
  if (namedAtUs !== undefined) {
    const reason = 'Redacted: it held a National Insurance number';
    await recordChange(work, organisationId, learnerId, 'renamed', { actor: 'operator', reason });
  }
  await stampLearnersAndAssessments(work, feed, [learnerId]);
}
