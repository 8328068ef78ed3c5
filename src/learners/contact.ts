import type { Work } from '../db/work.ts';
import { ApiError } from '../errors.ts';
import { lockFeed } from '../feed/position.ts';
import { findLearnerEmail, recordChange, updateLearnerEmail } from './learners.ts';
import type { NamedLearner } from './rename.ts';
import { findNamedLearner } from './rename.ts';

/**
 * Gives a learner another e-mail address, or takes it away. No payload shows it, so nothing gets a new `updated_at`; the
 * history says that it was changed, never what it is or was.
 * @returns the learner's id, and whether anything changed
 * @throws ApiError not_found
 */
export async function changeEmail(
  work: Work,
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
    await updateLearnerEmail(work.tx, organisationId, learner_id, email);
    await recordChange(work, organisationId, learner_id, 'contacted', why);
  }
  return { learner_id, changed };
}
