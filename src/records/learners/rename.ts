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

/**
 * Changes a learner's name, also inside every live assessment; the caller stamps both.
 * @param given `namedAtUs`: when the name was given, where no result gives it
 */
export async function renameLearner(
  work: UnitOfWork,
  organisationId: number,
  learner: LearnerName,
  fullName: string,
  given: { email?: string | null; namedAtUs?: number } = {},
): Promise<void> {
  await updateLearner(work.tx, organisationId, learner.learner_id, fullName, given);
  await replaceLearnerJson(work.tx, organisationId, learner.learner_id, learnerJson(learner.ref, fullName));
}

/** A learner that is named by a reference, of now or before, or by the service's id. */
export type NamedLearner = { ref: string } | { learnerId: string };

/** @returns undefined for one that isn't there, or of whom nothing but a tombstone is left */
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

/** Why a learner doesn't get a name: a sentence for whoever asked. */
export class NameRefused extends Error {}

/** Whether a learner who has a reference would be called by it: a reference stands in addresses, and must not be a name. */
export const wouldBeReference = (learner: LearnerName, fullName: string): boolean =>
  learner.ref !== null && learner.full_name !== fullName && isNameOf(learner.ref, fullName);

/**
 * Corrects a name, without an invitation or a credit. Results from before this moment don't change it back.
 * @returns the learner, and whether anything changed: the same name again gives nothing a new `updated_at`
 * @throws ApiError not_found
 * @throws NameRefused where it is no name, or the reference
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

/**
 * Takes National Insurance numbers out of a learner's name and reference, also inside every live assessment. A
 * reference must stay one of its own: it is made from the learner's id.
 */
export async function redactLearner(work: UnitOfWork, organisationId: number, learnerId: string): Promise<void> {
  const feed = await lockFeed(work, organisationId);
  const [learner] = await findLearnersByIds(work.tx, organisationId, [learnerId]);
  // A learner that is forgotten shows nothing.
  if (learner === undefined || learner.full_name === '') return;
  const fullName = withoutNationalInsuranceNumbers(learner.full_name);
  const held = learner.ref !== null && withoutNationalInsuranceNumbers(learner.ref) !== learner.ref;
  const ref = held ? `redacted-${learnerId}` : learner.ref;
  if (ref !== null && held) await updateLearnerRef(work.tx, organisationId, learnerId, ref);
  const namedAtUs = fullName === learner.full_name ? undefined : work.nowMs * 1000;
  await renameLearner(work, organisationId, { ...learner, ref }, fullName, { namedAtUs });
  if (namedAtUs !== undefined) {
    const reason = 'Redacted: it held a National Insurance number';
    await recordChange(work, organisationId, learnerId, 'renamed', { actor: 'operator', reason });
  }
  await stampLearnersAndAssessments(work, feed, [learnerId]);
}
