import { hash } from 'node:crypto';
import { replaceContents } from '../../records/results/amend.ts';
import { findLive, findReviews, type Review } from '../../records/results/results.ts';
import { contentOf, storedColumns } from '../../records/results/body.ts';
import { decideReview } from '../../records/results/reviews.ts';
import type { StoredAssessment } from '../../records/results/store.ts';
import { formatMs } from '../../platform/time/clock.ts';
import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { type Feed, lockFeed } from '../../feed/position.ts';
import { withdrawAssessment } from '../erasure/withdraw.ts';

export type Decision = {
  actor: string;
  /** The reason is kept in the result's history and printed in its evidence. */
  reason: string | null;
  answer: string | null;
  /** The version that the person saw (`versionOf`); null skips the check. */
  version: string | null;
};

/**
 * Why a decision is refused. `nothing_waits`: no review is open. `changed`: the result, its reviews or the learner's
 * request differ from what the person saw. `unanswered`: a learner who asked must get an answer. `same_person`: a
 * person who decided before must not decide on the learner's objection.
 */
export type Refusal = 'gone' | 'nothing_waits' | 'changed' | 'unanswered' | 'same_person';

export const refusals: readonly Refusal[] = ['gone', 'nothing_waits', 'changed', 'unanswered', 'same_person'];

export function waitingOf(reviews: readonly Review[]): Review | null {
  const last = reviews.at(-1);
  return last === undefined || last.decided_at !== null ? null : last;
}

/** A hash of everything that a person decides on: the content, earlier decisions and the learner's request. */
export function versionOf({ body }: Pick<StoredAssessment, 'body'>, reviews: readonly Review[]): string {
  const requestedMs = waitingOf(reviews)?.requested_at?.getTime() ?? 0;
  const decided = reviews.filter((one) => one.decided_at !== null).length;
  return hash('sha256', `${decided} ${requestedMs} ${body}`, 'base64url').slice(0, 22);
}

// Tutors do not count as another person, because changes of their teams change which learners they see.
const another = statement('review.another_person')`
  select from user_membership where organisation_id = $1 and role in ('owner', 'admin', 'reviewer') and user_id::text <> $2 limit 1`;

/** Whether the person decided before, and another person could decide now. */
async function isSamePerson(work: UnitOfWork, organisationId: number, reviews: readonly Review[], actor: string) {
  if (!reviews.some((one) => one.decided_by === actor && one.outcome !== null)) return false;
  return (await work.tx.query(another, [organisationId, actor])).length > 0;
}

export type OpenReview = { feed: Feed; row: StoredAssessment; waiting: Review | null };

/** Locks the result until the end of the unit of work, and checks whether the decision is allowed. */
export async function openReview(
  work: UnitOfWork,
  organisationId: number,
  assessmentId: string,
  { actor, answer, version }: Decision,
): Promise<OpenReview | Refusal> {
  const feed = await lockFeed(work, organisationId);
  const row = await findLive(work.tx, organisationId, assessmentId);
  if (row === undefined) return 'gone';
  const reviews = await findReviews(work.tx, organisationId, assessmentId);
  const waiting = waitingOf(reviews);
  if (version !== null && version !== versionOf(row, reviews)) return 'changed';
  if (waiting?.requested_at != null) {
    if (answer === null) return 'unanswered';
    if (await isSamePerson(work, organisationId, reviews, actor)) return 'same_person';
  }
  return { feed, row, waiting };
}

const confirmed = 'Reviewed and confirmed unchanged';

/**
 * Confirms a result and sets `reviewed_at`, which mirrors and the next evidence show. The flags stay, because they
 * describe how the result came about.
 * @returns null on success
 */
export async function confirmResult(
  work: UnitOfWork,
  organisationId: number,
  assessmentId: string,
  decision: Decision,
): Promise<Refusal | null> {
  const found = await openReview(work, organisationId, assessmentId, decision);
  if (typeof found === 'string') return found;
  const { feed, row, waiting } = found;
  if (waiting === null) return 'nothing_waits';
  const { actor, reason, answer } = decision;
  const { body } = storedColumns({ ...contentOf(row.body, row.assessed_at), reviewed_at: formatMs(work.nowMs) });
  await replaceContents(work, feed, { actor, reason: reason ?? confirmed }, [{ ...row, body, before: row.body }]);
  await decideReview(work, organisationId, assessmentId, { outcome: 'confirmed', by: actor, answer });
  return null;
}

/**
 * Withdraws a result. If the learner asked for the review, the answer is stored too.
 * @returns null on success
 */
export async function withdrawReviewed(
  work: UnitOfWork,
  organisationId: number,
  assessmentId: string,
  decision: Decision & { reason: string },
): Promise<Refusal | null> {
  const found = await openReview(work, organisationId, assessmentId, decision);
  if (typeof found === 'string') return found;
  const { actor, reason, answer } = decision;
  await decideReview(work, organisationId, assessmentId, { outcome: 'withdrawn', by: actor, answer });
  await withdrawAssessment(work, organisationId, assessmentId, { actor, reason });
  return null;
}
