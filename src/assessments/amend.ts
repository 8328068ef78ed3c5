import type { Work } from '../db/work.ts';
import { ApiError } from '../errors.ts';
import { cancelEvents } from '../events/cancel.ts';
import { lockFeed } from '../feed/position.ts';
import { isJsonObject } from '../json.ts';
import { stampLearners } from '../feed/stamp.ts';
import { settleWithdrawal } from '../learners/forget.ts';
import { contentOf, storedTexts } from './body.ts';
import type { Amendment } from './result-fields.ts';
import { amendableNames, faultsOfAmendment, RecordRefused, wholeDomains } from './result-fields.ts';
import { emptyAssessment, findLive, findWithdrawn, recordChanges, replaceBodies, stampAssessments } from './store.ts';

/** Checks an amendment as it is given; its texts keep to what an import may hold. @throws RecordRefused */
export function readAmendment(value: unknown): Amendment {
  if (
    !isJsonObject(value) ||
    Object.keys(value).length === 0 ||
    Object.keys(value).some((name) => !amendableNames.includes(name))
  ) {
    throw new RecordRefused(
      [],
      `the amendment must be a JSON object of one or more of ${amendableNames.join(', ')}; withdraw the assessment and record it again to change anything else`,
    );
  }
  const faults = faultsOfAmendment(value);
  if (faults.length > 0) throw new RecordRefused(faults);
  const amendment = value as Amendment;
  return amendment.domains === undefined ? amendment : { ...amendment, domains: wholeDomains(amendment.domains) };
}

/**
 * Amends a live result. What the specification calls immutable can't be amended: withdraw it and record it again.
 * @returns false when nothing differs: then nothing changes, not even an ETag
 * @throws ApiError not_found
 */
export async function amendAssessment(
  work: Work,
  organisationId: number,
  assessmentId: string,
  amendment: Amendment,
  why: { actor: string; reason: string },
): Promise<boolean> {
  const feed = await lockFeed(work, organisationId);
  const row = await findLive(work.tx, organisationId, assessmentId);
  if (row === undefined) throw new ApiError('not_found');
  const texts = storedTexts({ ...contentOf(row.body, row.assessed_at), ...amendment });
  if (texts.body === row.body) return false;
  await replaceBodies(work.tx, organisationId, [{ assessment_id: assessmentId, ...texts }]);
  await recordChanges(work, organisationId, { kind: 'amended', ...why }, [
    { assessment_id: assessmentId, before: row.body },
  ]);
  await stampAssessments(work, feed, [row]);
  await stampLearners(work, feed, [row.learner_id]);
  return true;
}

/**
 * Withdraws a live result for good: a tombstone takes its place in the feed, its content is deleted, and what was told of it
 * is not sent again. With the last result of a learner without a reference the learner goes too.
 * @throws ApiError not_found, also when it is withdrawn already
 */
export async function withdrawAssessment(
  work: Work,
  organisationId: number,
  assessmentId: string,
  why: { actor: string; reason: string },
): Promise<void> {
  const feed = await lockFeed(work, organisationId);
  const row = await findLive(work.tx, organisationId, assessmentId);
  if (row === undefined) throw new ApiError('not_found');
  await emptyAssessment(work, feed, row);
  await cancelEvents(work, organisationId, { assessmentIds: [assessmentId.toLowerCase()] }, 'withdrawn');
  await recordChanges(work, organisationId, { kind: 'withdrawn', ...why }, [
    { assessment_id: assessmentId, before: null },
  ]);
  if (!(await settleWithdrawal(work, feed, row))) await stampLearners(work, feed, [row.learner_id]);
}

/** Takes back what was told of results that a release withdrew which left their events as they were. */
export async function cancelEventsOfWithdrawn(work: Work, organisationId: number): Promise<void> {
  const assessmentIds = await findWithdrawn(work.tx, organisationId);
  await cancelEvents(work, organisationId, { assessmentIds }, 'withdrawn');
}
