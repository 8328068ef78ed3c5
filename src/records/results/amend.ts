import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { type Feed, lockFeed } from '../../feed/position.ts';
import { isJsonObject } from '../../platform/formats/json.ts';
import { withoutNationalInsuranceNumbers } from '../../platform/validation/personal-data.ts';
import { contentOf, storedColumns } from './body.ts';
import { recordAssessments } from './record.ts';
import { addDecision, decideReview, flagsOf, followFlags, moveReviews } from './reviews.ts';
import { type Amendment, amendableNames, faultsOfAmendment, RecordRefused, wholeDomains } from './result-fields.ts';
import type { Change, NewAssessment, ResultKey, StoredAssessment } from './store.ts';
import { emptyAssessment, findLive, moveChanges, recordChanges, replaceBodies, stampAssessments } from './store.ts';

/** Checks an amendment by the rules of an import. @throws RecordRefused */
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

type Why = Omit<Change, 'kind'>;

/**
 * Amends a live result.
 * @returns false if the amendment changes nothing; the result then keeps its `updated_at` and ETag
 * @throws ApiError not_found
 */
export async function amendAssessment(
  work: UnitOfWork,
  organisationId: number,
  assessmentId: string,
  amendment: Amendment,
  why: Why,
): Promise<boolean> {
  const feed = await lockFeed(work, organisationId);
  const row = await findLive(work.tx, organisationId, assessmentId);
  if (row === undefined) throw new ApiError('not_found');
  const { body } = storedColumns({ ...contentOf(row.body, row.assessed_at), ...amendment });
  if (body === row.body) return false;
  await replaceContents(work, feed, why, [{ ...row, body, before: row.body }]);
  return true;
}

/**
 * Stores amended bodies. The history keeps the earlier body `before`, with the person who changed it and the reason.
 */
export async function replaceContents(
  work: UnitOfWork,
  feed: Feed,
  why: Why,
  rows: (ResultKey & { body: string; before: string })[],
): Promise<void> {
  if (rows.length === 0) return;
  const { organisationId } = feed;
  await recordChanges(work, organisationId, { kind: 'amended', ...why }, rows);
  await replaceBodies(
    work.tx,
    organisationId,
    rows.map((row) => row.assessment_id),
    rows.map((row) => row.body),
  );
  await followFlags(
    work,
    organisationId,
    rows.map((row) => {
      const now = contentOf(row.body, 0);
      return { ...row, subject: now.subject, flags: flagsOf(now), had: flagsOf(contentOf(row.before, 0)) };
    }),
  );
  await stampAssessments(work, feed, rows);
}

/**
 * Removes National Insurance numbers from a result's texts. The amendment in the history does not contain the number
 * either.
 */
export async function redactBody(work: UnitOfWork, organisationId: number, assessmentId: string): Promise<void> {
  const feed = await lockFeed(work, organisationId);
  const row = await findLive(work.tx, organisationId, assessmentId);
  if (row === undefined) return;
  const body = withoutNationalInsuranceNumbers(row.body);
  if (body === row.body) return;
  const why = { actor: 'operator', reason: 'Redacted: it held a National Insurance number' };
  await replaceContents(work, feed, why, [{ ...row, body, before: body }]);
}

/**
 * Records a result that replaces another result, and moves the history and reviews to it. The caller then withdraws the
 * replaced result.
 */
export async function recordReplaced(
  work: UnitOfWork,
  feed: Feed,
  from: StoredAssessment,
  to: NewAssessment,
  { at, actor, reason, answer }: { at: Date; actor: string; reason: string; answer: string | null },
): Promise<void> {
  const { organisationId } = feed;
  await recordAssessments(work, feed, [to], { events: true });
  await moveChanges(work.tx, organisationId, from.assessment_id, to.assessment_id);
  const before = [{ assessment_id: to.assessment_id, before: from.body }];
  await recordChanges({ ...work, nowMs: at.getTime() }, organisationId, { kind: 'amended', actor, reason }, before);
  await moveReviews(work.tx, organisationId, from.assessment_id, to.assessment_id);
  const decision = { outcome: 'changed', by: actor, answer } as const;
  if (!(await decideReview(work, organisationId, to.assessment_id, decision)))
    await addDecision(work, organisationId, to, decision);
}

/**
 * Turns a live result into a tombstone, and stores who withdrew the result and why. The caller holds the feed's lock.
 */
export async function removeContent(work: UnitOfWork, feed: Feed, row: ResultKey, why: Why): Promise<void> {
  const { organisationId } = feed;
  const { assessment_id } = row;
  await emptyAssessment(work, feed, row);
  await recordChanges(work, organisationId, { kind: 'withdrawn', ...why }, [{ assessment_id, before: null }]);
  await decideReview(work, organisationId, assessment_id, { outcome: 'withdrawn', by: why.actor, answer: null });
}
