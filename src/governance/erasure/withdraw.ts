import { removeContent } from '../../records/results/amend.ts';
import { findLive } from '../../records/results/results.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { cancelEvents } from '../../feed/events/cancel.ts';
import { redactEditions } from '../../records/evidence/evidence.ts';
import { lockFeed } from '../../feed/position.ts';
import { stampLearners } from '../../feed/stamp.ts';
import { refuseUnderHold } from '../legal-holds/holds.ts';
import { settleWithdrawal } from './forget.ts';

/**
 * Withdraws a live result: the result becomes a tombstone, its content is deleted, and its pending deliveries are
 * cancelled. If the learner has no reference and no other result, the learner is forgotten.
 * @throws ApiError not_found, also if the result is already withdrawn
 * @throws UnderHold
 */
export async function withdrawAssessment(
  work: UnitOfWork,
  organisationId: number,
  assessmentId: string,
  why: { actor: string; reason: string },
): Promise<void> {
  const feed = await lockFeed(work, organisationId);
  const row = await findLive(work.tx, organisationId, assessmentId);
  if (row === undefined) throw new ApiError('not_found');
  await refuseUnderHold(work, organisationId, row.learner_id);
  await removeContent(work, feed, row, why);
  await redactEditions(work, organisationId, row.assessment_id);
  await cancelEvents(work, organisationId, { assessmentIds: [assessmentId.toLowerCase()] }, 'withdrawn');
  if (!(await settleWithdrawal(work, feed, row))) await stampLearners(work, feed, [row.learner_id]);
}
