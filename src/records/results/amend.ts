import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import type { Feed } from '../../feed/position.ts';
import { lockFeed } from '../../feed/position.ts';
import { isJsonObject } from '../../platform/formats/json.ts';
import { stampLearners } from '../../feed/stamp.ts';
import { contentOf, storedTexts } from './body.ts';
import { recordAssessments } from './record.ts';
import { addDecision, decideReview, flagsOf, followFlags, moveReviews } from './reviews.ts';
import type { Amendment } from './result-fields.ts';
import { amendableNames, faultsOfAmendment, RecordRefused, wholeDomains } from './result-fields.ts';
import type { NewAssessment, StoredAssessment } from './store.ts';
import { emptyAssessment, findLive, moveChanges, recordChanges, replaceBodies, stampAssessments } from './store.ts';

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
  work: UnitOfWork,
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
  await replaceContents(work, feed, why, [{ ...row, body: texts.body, before: row.body }]);
  return true;
}

/**
 * Puts amended texts in the place of those before, which are kept with who changed them and why; the feed's lock is
 * held.
 */
export async function replaceContents(
  work: UnitOfWork,
  feed: Feed,
  why: { actor: string; reason: string },
  rows: { assessment_id: string; learner_id: string; body: string; before: string | null }[],
): Promise<void> {
  if (rows.length === 0) return;
  await recordChanges(work, feed.organisationId, { kind: 'amended', ...why }, rows);
  await replaceBodies(work.tx, feed.organisationId, rows);
  await followFlags(
    work,
    feed.organisationId,
    rows.map((row) => {
      const now = contentOf(row.body, 0);
      const before = row.before === null ? [] : flagsOf(contentOf(row.before, 0));
      return { ...row, subject: now.subject, flags: flagsOf(now), had: before };
    }),
  );
  await stampAssessments(work, feed, rows);
  await stampLearners(work, feed, [...new Set(rows.map((row) => row.learner_id))]);
}

/** Keeps who said, and why, what is stored already: nothing that is shown changes. The feed's lock is held. */
export async function confirmContents(
  work: UnitOfWork,
  organisationId: number,
  why: { actor: string; reason: string },
  rows: { assessment_id: string; before: string }[],
): Promise<void> {
  if (rows.length > 0) await recordChanges(work, organisationId, { kind: 'amended', ...why }, rows);
}

/**
 * Records a result in the place of one that is withdrawn after it in the same unit of work; the feed's lock is held. What
 * was asked, decided and amended of it belongs to the new one, whose history begins with what differs.
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
  const decided = { outcome: 'changed', by: actor, answer } as const;
  if (!(await decideReview(work, organisationId, to.assessment_id, decided)))
    await addDecision(work, organisationId, to, decided);
}

/**
 * Leaves of a live result nothing but its tombstone in the feed, and who withdrew it and why; the feed's lock is held.
 */
export async function removeContent(
  work: UnitOfWork,
  feed: Feed,
  row: { assessment_id: string; learner_id: string },
  why: { actor: string; reason: string },
): Promise<void> {
  await emptyAssessment(work, feed, row);
  await recordChanges(work, feed.organisationId, { kind: 'withdrawn', ...why }, [
    { assessment_id: row.assessment_id, before: null },
  ]);
  await decideReview(work, feed.organisationId, row.assessment_id, {
    outcome: 'withdrawn',
    by: why.actor,
    answer: null,
  });
}
