import { subjectOf } from './facet.ts';
import { arrayLiteral, uuidArray } from '../../platform/db/arrays.ts';
import { lockFeed } from '../../feed/position.ts';
import { isVisibleLearner, type Visibility } from '../../organisations/groups/visibility.ts';
import { statement, query } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { type Subject, subjects } from '../../engine/scoring/levels.ts';
import { isClose } from '../../engine/scoring/probabilities.ts';

/**
 * The queue of results that a person must check. A flagged result, an added flag or a learner's request opens a review
 * in the same unit of work, under the feed's lock. At most one review of a result is open.
 */

/**
 * `sample`: a person drew the result at random for internal quality assurance. `borderline`: close to a boundary by the
 * probabilities. The API's is_borderline has a wider meaning.
 */
export type ReviewFlag = 'needs_review' | 'person_fit' | 'borderline' | 'sample';

/** `changed`: the result was withdrawn and recorded again with another placement. The new result has its reviews. */
export type ReviewOutcome = 'confirmed' | 'changed' | 'withdrawn';

export type Review = {
  assessment_id: string;
  review_no: number;
  learner_id: string;
  subject: Subject;
  opened_at: Date;
  flags: ReviewFlag[];
  requested_at: Date | null;
  due_at: Date | null;
  /** The learner's words. Null if there are none or if they were deleted. */
  request: string | null;
  outcome: ReviewOutcome | null;
  decided_at: Date | null;
  decided_by: string | null;
  /** The provider's words to the learner. */
  answer: string | null;
  /** The person who should decide. */
  assigned_to: string | null;
};

type Flagged = { is_borderline: boolean; needs_review: boolean; level_probabilities: Record<string, number> | null };

export function flagsOf({ is_borderline, needs_review, level_probabilities: found }: Flagged): ReviewFlag[] {
  // Without probabilities, only the result itself can say that it is close to a boundary.
  const close = found === null ? is_borderline : isClose(Object.values(found));
  return [...(needs_review ? ['needs_review' as const] : []), ...(close ? ['borderline' as const] : [])];
}

const nextNumber = (assessmentId: string) =>
  `(select coalesce(max(n.review_no), 0) + 1 from review n where n.organisation_id = $1 and n.assessment_id = ${assessmentId})`;

const open = statement('review.open')`
  insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags)
  select $1, assessment_id, 1, learner_id, subject, $6, string_to_array(flags, ',')
    from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[]) as g(assessment_id, learner_id, subject, flags)`;
// The flag person_fit comes from the learner's answers, and sample from a person, so an amendment never removes them.
const follow = statement('review.follow_flags')`
  with input as (
    select assessment_id, learner_id, subject, string_to_array(flags, ',') as flags, appeared
      from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::bool[]) as g(assessment_id, learner_id, subject, flags, appeared)),
  followed as (
    update review r set flags = array(
             select f.flag from unnest(array['needs_review', 'person_fit', 'borderline', 'sample']) with ordinality as f(flag, n)
              where f.flag = any(g.flags) or (f.flag in ('person_fit', 'sample') and f.flag = any(r.flags)) order by f.n)
      from input g
     where r.organisation_id = $1 and r.assessment_id = g.assessment_id and r.decided_at is null
    returning r.assessment_id)
  insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags)
  select $1, g.assessment_id, ${nextNumber('g.assessment_id')}, g.learner_id, g.subject, $7, g.flags
    from input g where g.appeared and not exists (select from followed f where f.assessment_id = g.assessment_id)`;
const deleteUnneeded = statement('review.unneeded')`
  delete from review
   where organisation_id = $1 and assessment_id = any($2::uuid[]) and decided_at is null and flags = '{}' and requested_at is null`;

type FlaggedResult = { assessment_id: string; learner_id: string; subject: Subject; flags: readonly ReviewFlag[] };

function columnsOf(results: readonly FlaggedResult[]): unknown[] {
  return [
    uuidArray(results.map((result) => result.assessment_id)),
    uuidArray(results.map((result) => result.learner_id)),
    arrayLiteral(results.map((result) => result.subject)),
    results.map((result) => result.flags.join(',')),
  ];
}

/**
 * Opens reviews of new results that have a flag. `follow` would be too slow here: before the tables have statistics,
 * its plan compares each result with every review of the organisation.
 */
export async function openReviews(
  work: UnitOfWork,
  organisationId: number,
  results: readonly { assessment_id: string; learner_id: string; facet: number; flags: readonly ReviewFlag[] }[],
): Promise<void> {
  const flagged = results.filter(({ flags }) => flags.length > 0);
  if (flagged.length === 0) return;
  const columns = columnsOf(flagged.map((result) => ({ ...result, subject: subjectOf(result.facet) })));
  await work.tx.query(open, [organisationId, ...columns, new Date(work.nowMs)]);
}

/** If amendments change flags, updates open reviews. A decided result gets a new review only for a new flag. */
export async function followFlags(
  work: UnitOfWork,
  organisationId: number,
  results: readonly (FlaggedResult & { had: readonly ReviewFlag[] })[],
): Promise<void> {
  const hasNew = ({ flags, had }: (typeof results)[number]) => flags.some((flag) => !had.includes(flag));
  const changed = results.filter((one) => hasNew(one) || one.had.some((flag) => !one.flags.includes(flag)));
  if (changed.length === 0) return;
  await work.tx.query(follow, [organisationId, ...columnsOf(changed), changed.map(hasNew), new Date(work.nowMs)]);
  if (changed.some(({ flags }) => flags.length === 0))
    await work.tx.query(deleteUnneeded, [organisationId, uuidArray(changed.map((one) => one.assessment_id))]);
}

/** Reads all reviews of a result, the oldest first. Only the last review can be open. */
export const findReviews = query<[organisationId: number, assessmentId: string], Review>(
  'review.of_result',
  `
  select assessment_id, review_no, learner_id, subject, opened_at, flags, requested_at, due_at, request, outcome, decided_at, decided_by, answer, assigned_to
    from review where organisation_id = $1 and assessment_id = $2 order by review_no`,
);

const insertRequest = statement('review.request')`
  with open as (
    update review set requested_at = $5, due_at = $6, request = $7
     where organisation_id = $1 and assessment_id = $2 and decided_at is null returning review_no)
  insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags, requested_at, due_at, request)
  select $1, $2, ${nextNumber('$2')}, $3, $4, $5, '{}', $5, $6, $7 where not exists (select from open)`;

type ReviewedResult = { assessment_id: string; learner_id: string; facet: number };

/**
 * Stores a learner's request for a human review. The caller holds the feed's lock and has checked that no other request
 * is open.
 */
export async function requestReview(
  work: UnitOfWork,
  organisationId: number,
  { assessment_id, learner_id, facet }: ReviewedResult,
  { dueAt, request }: { dueAt: Date; request: string },
): Promise<void> {
  const at = new Date(work.nowMs);
  const values = [organisationId, assessment_id, learner_id, subjectOf(facet), at, dueAt, request];
  await work.tx.query(insertRequest, values);
}

const sample = statement('review.sample')`
  with drawn as (
    select a.assessment_id, a.learner_id, ($3::text[])[(a.facet >> 3) + 1] as subject from assessment a
     where a.organisation_id = $1 and a.assessment_id = any($2::uuid[]) and a.body is not null),
  marked as (
    update review r set flags = array_remove(r.flags, 'sample') || '{sample}'::text[]
      from drawn d
     where r.organisation_id = $1 and r.assessment_id = d.assessment_id and r.decided_at is null
    returning r.assessment_id)
  insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags)
  select $1, d.assessment_id, ${nextNumber('d.assessment_id')}, d.learner_id, d.subject, $4, '{sample}'
    from drawn d where not exists (select from marked m where m.assessment_id = d.assessment_id)`;

/** Opens a review of each drawn result. An open review of the result gets the flag. */
export async function addToSample(
  work: UnitOfWork,
  organisationId: number,
  assessmentIds: readonly string[],
): Promise<void> {
  await lockFeed(work, organisationId);
  await work.tx.query(sample, [organisationId, assessmentIds, subjects, new Date(work.nowMs)]);
}

const assign = statement('review.assign')`
  update review r set assigned_to = $3
   where r.organisation_id = $1 and r.assessment_id = any($2::uuid[]) and r.decided_at is null
     and ${isVisibleLearner('r.learner_id', '$4')} and ${isVisibleLearner('r.learner_id', '$5')}
  returning r.assessment_id`;

/**
 * Assigns open reviews to a person. Reviews of learners whom the person or the assignee may not see stay as they are.
 * @param options `to`: null removes the assignment
 * @returns the number of reviews that are assigned now
 */
export async function assignReviews(
  work: UnitOfWork,
  organisationId: number,
  assessmentIds: readonly string[],
  { to, visibility, visibleToAssignee }: { to: string | null; visibility: Visibility; visibleToAssignee: Visibility },
): Promise<number> {
  await lockFeed(work, organisationId);
  const values = [organisationId, assessmentIds, to, visibility, visibleToAssignee];
  return (await work.tx.query(assign, values)).length;
}

const close = statement('review.decide')`
  update review set outcome = $3, decided_at = $4, decided_by = $5, answer = $6
   where organisation_id = $1 and assessment_id = $2 and decided_at is null returning review_no`;
const insertDecided = statement('review.insert_decided')`
  insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags, outcome, decided_at, decided_by, answer)
  select $1, $2, ${nextNumber('$2')}, $3, $4, $5, '{}', $6, $5, $7, $8`;

type Decision = { outcome: ReviewOutcome; by: string; answer: string | null };

/** Closes the open review of a result. The caller holds the feed's lock. @returns whether a review was open */
export async function decideReview(
  work: UnitOfWork,
  organisationId: number,
  assessmentId: string,
  { outcome, by, answer }: Decision,
): Promise<boolean> {
  const rows = await work.tx.query(close, [organisationId, assessmentId, outcome, new Date(work.nowMs), by, answer]);
  return rows.length > 0;
}

/** Stores a decision on a result that has no open review. */
export async function addDecision(
  work: UnitOfWork,
  organisationId: number,
  { assessment_id, learner_id, facet }: ReviewedResult,
  { outcome, by, answer }: Decision,
): Promise<void> {
  const at = new Date(work.nowMs);
  const values = [organisationId, assessment_id, learner_id, subjectOf(facet), at, outcome, by, answer];
  await work.tx.query(insertDecided, values);
}

export const moveReviews = query<[organisationId: number, from: string, to: string]>(
  'review.move',
  'update review set assessment_id = $3 where organisation_id = $1 and assessment_id = $2',
);

export const transferReviews = query<[organisationId: number, from: string, to: string]>(
  'review.pass',
  'update review set learner_id = $3 where organisation_id = $1 and learner_id = $2',
);

export const redactReviews = query<[organisationId: number, learnerIds: string[]]>(
  'review.empty_of_learners',
  'update review set request = null, answer = null where organisation_id = $1 and learner_id = any($2::uuid[])',
);
