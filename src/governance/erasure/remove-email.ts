import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { lockFeed } from '../../feed/position.ts';
import { refuseUnderHold } from '../legal-holds/holds.ts';
import { changeEmail } from '../../sittings/invitations/contact.ts';
import { findNamedLearner, type NamedLearner } from '../../records/learners/rename.ts';

/**
 * Removes a learner's email address. A legal hold forbids the removal, but allows a correction of the address.
 * @throws ApiError not_found
 * @throws UnderHold
 */
export async function removeEmail(
  work: UnitOfWork,
  organisationId: number,
  who: NamedLearner,
  why: { actor: string; reason: string | null },
): Promise<{ learner_id: string; changed: boolean }> {
  await lockFeed(work, organisationId);
  const learner = await findNamedLearner(work.tx, organisationId, who);
  if (learner === undefined) throw new ApiError('not_found');
  await refuseUnderHold(work, organisationId, learner.learner_id);
  return changeEmail(work, organisationId, { learnerId: learner.learner_id }, null, why);
}
