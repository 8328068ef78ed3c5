import { findLive, findReviews, type Review } from '../../records/results/results.ts';
import { requestReview } from '../../records/results/reviews.ts';
import { auditAct } from '../../platform/audit/act.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { limits } from '../../platform/config/limits.ts';
import { findSitting } from '../../sittings/sittings.ts';
import { writeOfRequest } from './email-templates.ts';
import { waitingOf } from './decide.ts';

/** A learner asks for a human review of an automated result (UK GDPR, articles 22A to 22C). */

/** The deadline of a request: one calendar month (UK GDPR, Articles 12 and 12A), or the last day of a shorter month. */
export function monthAfter(at: Date): Date {
  const later = new Date(at);
  later.setUTCMonth(at.getUTCMonth() + 1);
  // For 31 January, `setUTCMonth` returns 3 March, so the day is set back to the end of February.
  if (later.getUTCDate() !== at.getUTCDate()) later.setUTCDate(0);
  return later;
}

/** `later`: the learner received an answer recently, or has asked too often. */
export function canAsk(reviews: readonly Review[], nowMs: number): 'yes' | 'waiting' | 'later' {
  if (waitingOf(reviews)?.requested_at != null) return 'waiting';
  const requests = reviews.filter((one) => one.requested_at !== null);
  const answeredMs = Math.max(0, ...requests.map((one) => one.decided_at?.getTime() ?? 0));
  const isOften = requests.length >= limits.reviewRequests || nowMs < answeredMs + limits.reviewAgainMs;
  return isOften ? 'later' : 'yes';
}

/**
 * Opens a review at a learner's request, and emails the people who manage the organisation. If several requests arrive
 * together, only one counts.
 * @returns whether a review was opened
 */
export async function askForReview(
  work: UnitOfWork,
  sitting: { organisation_id: number; sitting_id: string },
  request: string,
): Promise<boolean> {
  const { organisation_id: organisationId } = sitting;
  await lockFeed(work, organisationId);
  const found = await findSitting(work.tx, sitting);
  const assessmentId = found?.assessment_id ?? null;
  if (assessmentId === null) return false;
  const row = await findLive(work.tx, organisationId, assessmentId);
  if (row === undefined) return false;
  const reviews = await findReviews(work.tx, organisationId, assessmentId);
  if (canAsk(reviews, work.nowMs) !== 'yes') return false;
  const dueAt = monthAfter(new Date(work.nowMs));
  await requestReview(work, organisationId, row, { dueAt, request });
  await writeOfRequest(work, organisationId, assessmentId, dueAt);
  await auditAct(work, organisationId, { actor: 'learner', action: 'review request', resource: assessmentId });
  return true;
}
