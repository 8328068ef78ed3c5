import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { lockFeed } from '../../feed/position.ts';
import { findLearnerEmail, recordChange, updateLearnerEmail } from '../../records/learners/learners.ts';
import type { NamedLearner } from '../../records/learners/rename.ts';
import { findNamedLearner } from '../../records/learners/rename.ts';
import { cancelLettersTo } from './email-templates.ts';

/**
 * Gives a learner another e-mail address, or takes it away. No payload shows it, so nothing gets a new `updated_at`; the
 * history says that it was changed, never what it is or was. What waits to be mailed to the old one isn't any more.
 * @returns the learner's id, and whether anything changed
 * @throws ApiError not_found
 */
export async function changeEmail(
  work: UnitOfWork,
  organisationId: number,
  who: NamedLearner,
  email: string | null,
  why: { actor: string; reason: string | null },
): Promise<{ learner_id: string; changed: boolean }> {
  await lockFeed(work, organisationId);
  const learner = await findNamedLearner(work.tx, organisationId, who);
  if (learner === undefined) throw new ApiError('not_found');
  const { learner_id } = learner;
  const changed = (await findLearnerEmail(work.tx, organisationId, learner_id)) !== email;
  if (changed) {
    await cancelLettersTo(work, organisationId, [{ learner_id, email }]);
    await updateLearnerEmail(work.tx, organisationId, learner_id, email);
    await recordChange(work, organisationId, learner_id, 'contacted', why);
  }
  return { learner_id, changed };
}
