import { subjectOf } from './facet.ts';
import { arrayLiteral, uuidArray } from '../../platform/db/arrays.ts';
import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { Subject } from '../../engine/scoring/levels.ts';

/**
 * Which results somebody at the provider has to look at. A row is written with what makes it necessary, in the same unit
 * of work under the feed's lock: a result that is recorded with a flag, an amendment that gives it one, a learner's request.
 * At most one row of a result waits; the others say what was decided before.
 */

/** Why a result should be looked at, the weightiest first. */
export const reviewFlags = ['needs_review', 'person_fit', 'borderline'] as const;
export type ReviewFlag = (typeof reviewFlags)[number];

/** `changed`: it was withdrawn, and recorded again with another placement; its reviews then belong to the new result. */
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
  /** What the learner wrote; null too once it was emptied. */
  request: string | null;
  outcome: ReviewOutcome | null;
  decided_at: Date | null;
  decided_by: string | null;
  /** What the learner is told. */
  answer: string | null;
};

/** What a result's content says of itself. */
export function flagsOf(content: { is_borderline: boolean; needs_review: boolean }): ReviewFlag[] {
  return [
    ...(content.needs_review ? ['needs_review' as const] : []),
    ...(content.is_borderline ? ['borderline' as const] : []),
  ];
}

const columns =
  'assessment_id, review_no, learner_id, subject, opened_at, flags, requested_at, due_at, request, outcome, decided_at, decided_by, answer';

const given = `
  select assessment_id, learner_id, subject, string_to_array(flags, ',') as flags, appeared
    from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::bool[]) as g(assessment_id, learner_id, subject, flags, appeared)`;

const nextNumber = (assessmentId: string) =>
  `(select coalesce(max(n.review_no), 0) + 1 from review n where n.organisation_id = $1 and n.assessment_id = ${assessmentId})`;

const open = statement(
  'review.open',
  `
  insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags)
  select $1, assessment_id, 1, learner_id, subject, $6, string_to_array(flags, ',')
    from unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[]) as g(assessment_id, learner_id, subject, flags)`,
);
// What the answers showed stays, whatever is amended.
const follow = statement(
  'review.follow_flags',
  `
  with given as (${given}),
  followed as (
    update review r set flags = array(
             select f.flag from unnest(array['needs_review', 'person_fit', 'borderline']) with ordinality as f(flag, n)
              where f.flag = any(g.flags) or (f.flag = 'person_fit' and f.flag = any(r.flags)) order by f.n)
      from given g
     where r.organisation_id = $1 and r.assessment_id = g.assessment_id and r.decided_at is null
    returning r.assessment_id)
  insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags)
  select $1, g.assessment_id, ${nextNumber('g.assessment_id')}, g.learner_id, g.subject, $7, g.flags
    from given g where g.appeared and not exists (select from followed f where f.assessment_id = g.assessment_id)`,
);
const unneeded = statement(
  'review.unneeded',
  `
  delete from review
   where organisation_id = $1 and assessment_id = any($2::uuid[]) and decided_at is null and flags = '{}' and requested_at is null`,
);
const byResult = statement(
  'review.of_result',
  `select ${columns} from review where organisation_id = $1 and assessment_id = $2 order by review_no`,
);
const ask = statement(
  'review.request',
  `
  with open as (
    update review set requested_at = $5, due_at = $6, request = $7
     where organisation_id = $1 and assessment_id = $2 and decided_at is null returning review_no)
  insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags, requested_at, due_at, request)
  select $1, $2, ${nextNumber('$2')}, $3, $4, $5, '{}', $5, $6, $7 where not exists (select from open)`,
);
const close = statement(
  'review.decide',
  `
  update review set outcome = $3, decided_at = $4, decided_by = $5, answer = $6
   where organisation_id = $1 and assessment_id = $2 and decided_at is null returning review_no`,
);
const insertDecided = statement(
  'review.insert_decided',
  `
  insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags, outcome, decided_at, decided_by, answer)
  select $1, $2, ${nextNumber('$2')}, $3, $4, $5, '{}', $6, $5, $7, $8`,
);
const move = statement(
  'review.move',
  'update review set assessment_id = $3 where organisation_id = $1 and assessment_id = $2',
);
const pass = statement(
  'review.pass',
  'update review set learner_id = $3 where organisation_id = $1 and learner_id = $2',
);
const empty = statement(
  'review.empty_of_learners',
  'update review set request = null, answer = null where organisation_id = $1 and learner_id = any($2::uuid[])',
);

/** A result with its flags. */
export type Flagged = {
  assessment_id: string;
  learner_id: string;
  subject: Subject;
  flags: readonly ReviewFlag[];
};

/** The columns of results in the order in which `open` and `follow` take them. */
function columnsOf(results: readonly Flagged[]): unknown[] {
  return [
    uuidArray(results.map((one) => one.assessment_id)),
    uuidArray(results.map((one) => one.learner_id)),
    arrayLiteral(results.map((one) => one.subject)),
    results.map((one) => one.flags.join(',')),
  ];
}

/**
 * Puts new results that have a flag into the queue. They have a statement of their own: planned while there are few reviews,
 * the one that also looks for those of before compares each result with each review of the organisation until the tables are
 * analysed: most of the time of a first import.
 */
export async function openReviews(
  work: UnitOfWork,
  organisationId: number,
  results: readonly Flagged[],
): Promise<void> {
  const flagged = results.filter(({ flags }) => flags.length > 0);
  if (flagged.length === 0) return;
  await work.tx.query(open, [organisationId, ...columnsOf(flagged), new Date(work.nowMs)]);
}

/**
 * Puts results that have a flag now and had not into the queue, and takes those out that have none any more; who has been
 * looked at is looked at again only for a flag that is new.
 */
export async function followFlags(
  work: UnitOfWork,
  organisationId: number,
  results: readonly (Flagged & { had: readonly ReviewFlag[] })[],
): Promise<void> {
  const hasNew = ({ flags, had }: (typeof results)[number]) => flags.some((flag) => !had.includes(flag));
  const changed = results.filter((one) => hasNew(one) || one.had.some((flag) => !one.flags.includes(flag)));
  if (changed.length === 0) return;
  await work.tx.query(follow, [organisationId, ...columnsOf(changed), changed.map(hasNew), new Date(work.nowMs)]);
  if (changed.some(({ flags }) => flags.length === 0))
    await work.tx.query(unneeded, [organisationId, uuidArray(changed.map((one) => one.assessment_id))]);
}

/** Every review of a result, the oldest first: the last one may wait. */
export function findReviews(tx: Tx, organisationId: number, assessmentId: string): Promise<Review[]> {
  return tx.query<Review>(byResult, [organisationId, assessmentId]);
}

/** A learner asks for a person; the feed's lock is held, and none of theirs waits. */
export async function requestReview(
  work: UnitOfWork,
  organisationId: number,
  of: { assessment_id: string; learner_id: string; facet: number },
  { dueAt, request }: { dueAt: Date; request: string },
): Promise<void> {
  const { assessment_id, learner_id, facet } = of;
  await work.tx.query(ask, [
    organisationId,
    assessment_id,
    learner_id,
    subjectOf(facet),
    new Date(work.nowMs),
    dueAt,
    request,
  ]);
}

export type Decided = { outcome: ReviewOutcome; by: string; answer: string | null };

/** What was decided; the feed's lock is held. @returns whether one waited */
export async function decideReview(
  work: UnitOfWork,
  organisationId: number,
  assessmentId: string,
  { outcome, by, answer }: Decided,
): Promise<boolean> {
  const rows = await work.tx.query(close, [organisationId, assessmentId, outcome, new Date(work.nowMs), by, answer]);
  return rows.length > 0;
}

/** The same where none waited: somebody decided without being asked. */
export async function addDecision(
  work: UnitOfWork,
  organisationId: number,
  of: { assessment_id: string; learner_id: string; facet: number },
  { outcome, by, answer }: Decided,
): Promise<void> {
  const { assessment_id, learner_id, facet } = of;
  const at = new Date(work.nowMs);
  await work.tx.query(insertDecided, [
    organisationId,
    assessment_id,
    learner_id,
    subjectOf(facet),
    at,
    outcome,
    by,
    answer,
  ]);
}

/** A result took another one's place: what was asked and decided belongs to it now. */
export async function moveReviews(tx: Tx, organisationId: number, from: string, to: string): Promise<void> {
  await tx.query(move, [organisationId, from, to]);
}

/** A learner's results are another one's now, and so is what was asked and decided of them. */
export async function passReviews(tx: Tx, organisationId: number, from: string, into: string): Promise<void> {
  await tx.query(pass, [organisationId, from, into]);
}

/** Takes away what learners wrote, and what they were told. */
export async function redactReviews(tx: Tx, organisationId: number, learnerIds: string[]): Promise<void> {
  await tx.query(empty, [organisationId, learnerIds]);
}
