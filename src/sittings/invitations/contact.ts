import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { lockFeed } from '../../feed/position.ts';
import { findLearnerEmail, recordChange, updateLearnerEmail } from '../../records/learners/learners.ts';
import { findNamedLearner, type NamedLearner } from '../../records/learners/rename.ts';
import { cancelEmailsTo } from './email-templates.ts';

/**
 * Changes or removes a learner's email address. Payloads do not contain the address, so `updated_at` does not change.
 * The history records the change without the addresses, and pending emails to the old address are cancelled.
 * @throws ApiError not_found
 */
export async function changeEmail(
  work: UnitOfWork,
  organisationId: number,
  who: NamedLearner,
  email: string | null,
  cause: { actor: string; reason: string | null },
): Promise<{ learner_id: string; changed: boolean }> {
  await lockFeed(work, organisationId);
  const learner = await findNamedLearner(work.tx, organisationId, who);
  if (learner === undefined) throw new ApiError('not_found');
  const { learner_id } = learner;
  const changed = (await findLearnerEmail(work.tx, organisationId, learner_id)) !== email;
  if (changed) {
    await cancelEmailsTo(work, organisationId, [{ learner_id, email }]);
    await updateLearnerEmail(work.tx, organisationId, learner_id, email);
    await recordChange(work, organisationId, learner_id, 'contacted', cause);
  }
  return { learner_id, changed };
}
