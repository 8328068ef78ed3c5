import type { ReviewFlag, ReviewOutcome } from '../../records/results/results.ts';
import { statement, type Tx } from '../../platform/db/database.ts';
import {
  haveFewMembers,
  isInEach,
  isVisibleLearner,
  startOfScan,
  type Visibility,
} from '../../organisations/groups/visibility.ts';
import { type Subject, subjects } from '../../engine/scoring/levels.ts';
import { nilUuid } from '../../platform/crypto/random.ts';

/** Why a result needs a review, the most important reason first. The number is stored with the review. */
export const ranks = { needs_review: 1, person_fit: 2, request: 3, borderline: 4, sample: 5 } as const;
export type Why = keyof typeof ranks;

export type Waiting = {
  assessment_id: string;
  learner_id: string;
  full_name: string;
  ref: string | null;
  subject: Subject;
  rank: number;
  flags: ReviewFlag[];
  opened_at: Date;
  requested_at: Date | null;
  due_at: Date | null;
  assigned_to: string | null;
  assessed_at: number;
  body: string;
};

/** The rank of an open review, as the database computes it. */
export function rankOf({ flags, requested_at }: Pick<Waiting, 'flags' | 'requested_at'>): number {
  const why = (['needs_review', 'person_fit'] as const).find((flag) => flags.includes(flag));
  const other = flags.length === 1 && flags[0] === 'sample' ? 'sample' : 'borderline';
  return ranks[why ?? (requested_at === null ? other : 'request')];
}

export type PageToken = { rank: number; openedAt: Date; assessmentId: string };

/**
 * `why`: only reviews whose most important reason this is. `asked`: only reviews that a learner asked for, the earliest
 * deadline first.
 */
export type Filter = { why: Why | null; subject: Subject | null; asked: boolean };

const shown =
  'w.assessment_id, w.learner_id, l.full_name, l.ref, w.subject, w.rank, w.flags, w.opened_at, w.requested_at, w.due_at, w.assigned_to, a.assessed_at, a.body';
const joined = `
  join learner l on l.organisation_id = $1 and l.learner_id = w.learner_id
  join assessment a on a.organisation_id = $1 and a.assessment_id = w.assessment_id`;

// Each rank and subject has its own ordered scan, so a filter only leaves out scans. The scans read only the index
// review_queue, because groups of many learners may have few reviews.
const everybodys = statement('review.queue')`
  select ${shown} from (
    select r.* from unnest($2::int2[], $3::timestamptz[], $4::uuid[]) as k(rank, before_at, before_id)
     cross join unnest($5::text[]) as s(subject)
     cross join lateral (
       select q.rank, q.opened_at, q.assessment_id from review q
        where q.organisation_id = $1 and q.decided_at is null and q.rank = k.rank and q.subject = s.subject
          and (q.opened_at, q.assessment_id) < (k.before_at, k.before_id) and ${isVisibleLearner('q.learner_id', '$7')}
          and ${isInEach('q.learner_id', '$8')}
        order by q.opened_at desc, q.assessment_id desc limit $6) r
     order by r.rank, r.opened_at desc, r.assessment_id desc limit $6) f
  cross join lateral (
    select * from review o where o.organisation_id = $1 and o.assessment_id = f.assessment_id and o.decided_at is null offset 0) w
  ${joined}
   order by w.rank, w.opened_at desc, w.assessment_id desc`;
/**
 * Reads the reviews of each member, if the visible groups have few members. `offset 0` prevents a join: PostgreSQL
 * plans one join for all organisations, and may read all reviews.
 */
const ofMembers = (visibility: string) => `(
  select distinct m.learner_id from membership m
   where m.organisation_id = $1 and m.group_id = any(${visibility}::uuid[]) and m.left_position is null) t
  cross join lateral (
    select * from review o where o.organisation_id = $1 and o.learner_id = t.learner_id offset 0) r`;
const ordered = (name: string, from: string) =>
  statement(name)`
  select ${shown} from (
    select r.* from ${from}
      join unnest($2::int2[], $3::timestamptz[], $4::uuid[]) as k(rank, before_at, before_id) on k.rank = r.rank
     where r.decided_at is null and r.subject = any($5::text[]) and (r.opened_at, r.assessment_id) < (k.before_at, k.before_id)
       and ${isVisibleLearner('r.learner_id', '$7')} and ${isInEach('r.learner_id', '$8')}
     order by r.rank, r.opened_at desc, r.assessment_id desc limit $6) w
  ${joined}
   order by w.rank, w.opened_at desc, w.assessment_id desc`;
const ofTeams = ordered('review.queue_of_teams', ofMembers('$9'));
const ofPerson = ordered(
  'review.queue_of_person',
  '(select * from review o where o.organisation_id = $1 and o.assigned_to = $9::uuid and o.decided_at is null offset 0) r',
);
const requested = statement('review.asked')`
  select ${shown} from (
    select r.* from review r
     where r.organisation_id = $1 and r.decided_at is null and r.due_at is not null and (r.due_at, r.assessment_id) > ($2, $3)
       and r.subject = any($4::text[]) and ${isVisibleLearner('r.learner_id', '$6')}
       and ${isInEach('r.learner_id', '$7')} and ($8::uuid is null or r.assigned_to = $8)
     order by r.due_at, r.assessment_id limit $5) w
  ${joined}
   order by w.due_at, w.assessment_id`;

/** `groupIds`: only learners of each of these groups. `assignedTo`: only reviews that are assigned to this person. */
type Reading = {
  visibility: Visibility;
  groupIds?: readonly string[];
  assignedTo?: string | null;
  after: PageToken | null;
  limit: number;
};

export async function findWaiting(
  tx: Tx,
  organisationId: number,
  { why, subject, asked: isAsked }: Filter,
  { visibility, groupIds = [], assignedTo = null, after, limit }: Reading,
): Promise<Waiting[]> {
  const wanted = subject === null ? subjects : [subject];
  if (isAsked)
    return tx.query<Waiting>(requested, [
      organisationId,
      after?.openedAt ?? '-infinity',
      after?.assessmentId ?? nilUuid,
      wanted,
      limit,
      visibility,
      groupIds,
      assignedTo,
    ]);
  const from = (why === null ? Object.values(ranks) : [ranks[why]]).filter((rank) => rank >= (after?.rank ?? 0));
  const values = [
    organisationId,
    from,
    from.map((rank) => (rank === after?.rank ? after.openedAt.toISOString() : 'infinity')),
    from.map((rank) => (rank === after?.rank ? after.assessmentId : nilUuid)),
    wanted,
    limit,
    visibility,
    groupIds,
  ];
  if (assignedTo !== null) return tx.query<Waiting>(ofPerson, [...values, assignedTo]);
  const { start, isFew } = await startOfScan(tx, organisationId, visibility, groupIds);
  return isFew ? tx.query<Waiting>(ofTeams, [...values, start]) : tx.query<Waiting>(everybodys, values);
}

/** SQL: the number of open reviews under each condition. Each count stops at $2. */
const countsOf = (reviews: (condition: string) => string): string =>
  Object.entries({
    ...Object.fromEntries(Object.entries(ranks).map(([why, rank]) => [why, `rank = ${rank}`])),
    asked: 'due_at is not null',
    overdue: 'due_at < $3',
  })
    .map(
      ([name, condition]) => `(select count(*)::int4 from (select from ${reviews(condition)} limit $2) c) as ${name}`,
    )
    .join(', ');
const waiting = `review r where r.organisation_id = $1 and r.decided_at is null and ${isVisibleLearner('r.learner_id', '$4')}`;
const counts = statement('review.counts')`select ${countsOf((condition) => `${waiting} and r.${condition}`)}`;
const countsOfTeams = statement('review.counts_of_teams')`
  with mine as materialized (
    select r.rank, r.due_at from ${ofMembers('$4')} where r.decided_at is null)
  select ${countsOf((condition) => `mine where ${condition}`)}`;

export type Counts = Record<Why | 'asked' | 'overdue', number>;

/** @param max each count stops at this number */
export async function countWaiting(
  tx: Tx,
  organisationId: number,
  { visibility, max, now }: { visibility: Visibility; max: number; now: Date },
): Promise<Counts> {
  const isFew = visibility !== null && (await haveFewMembers(tx, organisationId, visibility));
  const rows = await tx.query<Counts>(isFew ? countsOfTeams : counts, [organisationId, max, now, visibility]);
  return rows[0]!;
}

const ages = statement('review.ages')`
  select b.n - 1 as age, count(*) as reviews
    from unnest($2::timestamptz[], $3::timestamptz[]) with ordinality as b(after, until, n)
   cross join unnest($4::int2[]) as k(rank) cross join unnest($5::text[]) as s(subject)
   cross join lateral (
     select from review q
      where q.organisation_id = $1 and q.decided_at is null and q.rank = k.rank and q.subject = s.subject
        and q.opened_at > b.after and q.opened_at <= b.until and ${isVisibleLearner('q.learner_id', '$7')}
      limit $6) r
   group by 1`;
const agesOfTeams = statement('review.ages_of_teams')`
  select b.n - 1 as age, count(*) as reviews
    from ${ofMembers('$7')}
    join unnest($2::timestamptz[], $3::timestamptz[]) with ordinality as b(after, until, n)
      on r.opened_at > b.after and r.opened_at <= b.until
   where r.decided_at is null and r.rank = any($4::int2[]) and r.subject = any($5::text[]) and $6::int4 is not null
   group by 1`;

/**
 * Counts waiting reviews by age.
 * @param ends the youngest instant of each age, in descending order; the last age has no oldest one
 * @param max a count above this number may be too low
 */
export async function countByAge(
  tx: Tx,
  organisationId: number,
  { visibility, ends, max }: { visibility: Visibility; ends: readonly Date[]; max: number },
): Promise<number[]> {
  const isFew = visibility !== null && (await haveFewMembers(tx, organisationId, visibility));
  const until = ends.map((end) => end.toISOString());
  const after = [...until.slice(1), '-infinity'];
  const values = [organisationId, after, until, Object.values(ranks), subjects, max + 1, visibility];
  const rows = await tx.query<{ age: number; reviews: number }>(isFew ? agesOfTeams : ages, values);
  return ends.map((_, age) => rows.find((row) => row.age === age)?.reviews ?? 0);
}

export type VisibleResult = { assessment_id: string; learner_id: string; full_name: string; ref: string | null };

const result = statement('review.result_in_sight')`
  select a.assessment_id, a.learner_id, l.full_name, l.ref from assessment a
    join learner l on l.organisation_id = a.organisation_id and l.learner_id = a.learner_id
   where a.organisation_id = $1 and a.assessment_id = $2 and a.body is not null and ${isVisibleLearner('a.learner_id', '$3')}`;

/** @returns undefined if there is no such result, or the person may not see the result's learner */
export async function findVisibleResult(
  tx: Tx,
  organisationId: number,
  assessmentId: string,
  visibility: Visibility,
): Promise<VisibleResult | undefined> {
  return (await tx.query<VisibleResult>(result, [organisationId, assessmentId, visibility]))[0];
}

const decidedFrom = (name: string, from: string) =>
  statement(name)`
  select r.assessment_id, l.full_name, r.subject, r.outcome, r.decided_at, r.decided_by, a.body is not null as live
    from (select r.* from ${from}
           where r.organisation_id = $1 and r.decided_at is not null and (r.decided_at, r.assessment_id) < ($2, $3)
             and ${isVisibleLearner('r.learner_id', '$5')} and ${isInEach('r.learner_id', '$6')}
             and ($7::text is null or r.subject = $7)
           order by r.decided_at desc, r.assessment_id desc limit $4) r
    join learner l on l.organisation_id = $1 and l.learner_id = r.learner_id
    join assessment a on a.organisation_id = $1 and a.assessment_id = r.assessment_id
   order by r.decided_at desc, r.assessment_id desc`;
const decided = decidedFrom('review.decided', 'review r');
const decidedOfTeams = decidedFrom('review.decided_of_teams', ofMembers('$8'));

export type DecidedReview = {
  assessment_id: string;
  full_name: string;
  subject: Subject;
  outcome: ReviewOutcome;
  decided_at: Date;
  decided_by: string;
  live: boolean;
};

export async function findDecided(
  tx: Tx,
  organisationId: number,
  {
    visibility,
    groupIds,
    subject,
    before,
    limit,
  }: {
    visibility: Visibility;
    groupIds: readonly string[];
    subject: Subject | null;
    before: { at: Date; assessmentId: string } | null;
    limit: number;
  },
): Promise<DecidedReview[]> {
  const place = [before?.at ?? 'infinity', before?.assessmentId ?? nilUuid];
  const values = [organisationId, ...place, limit, visibility, groupIds, subject];
  const { start, isFew } = await startOfScan(tx, organisationId, visibility, groupIds);
  return isFew ? tx.query<DecidedReview>(decidedOfTeams, [...values, start]) : tx.query<DecidedReview>(decided, values);
}
