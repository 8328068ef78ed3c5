import type { KeyScope } from '../../organisations/key-scope.ts';
import { arrayLiteral, joinedTexts, joinedTextsOf, uuidArray } from '../../platform/db/arrays.ts';
import { type Tx, statement, query } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { counted, counting, tokenOf } from '../../feed/digest.ts';
import type { CountedRow, Feed } from '../../feed/position.ts';
import { moveExits, passExits } from '../../feed/scope-exits.ts';
import { stampLearners } from '../../feed/stamp.ts';
import { payloadVersionAt } from '../../platform/db/payload-version.ts';
import { limits } from '../../platform/config/limits.ts';
import { countingDays } from './day-counts.ts';
import { facetsMatching } from './facet.ts';
import type { ReviewFlag } from './reviews.ts';

const stepUs = limits.positionStepUs;

export type ResultKey = { assessment_id: string; learner_id: string };

export type NewAssessment = ResultKey & {
  source: 'imported' | 'sitting';
  assessed_at: number;
  facet: number;
  learner: string;
  body: string;
  report_sha256: string | null;
  flags: readonly ReviewFlag[];
};

export type StoredAssessment = Omit<NewAssessment, 'flags'> & {
  position: number;
  group_set_id: string;
  groups_version: number;
  shape: number;
};

// `stored` unnests the texts itself, because PostgreSQL would write a materialised list of texts to disk in a large
// batch.
const insert = statement('assessment.insert')`
  with input as materialized (
    select g.*, l.group_set_id, $10::int8 + ${stepUs} * (g.n - 1) as position,
           ${tokenOf('g.assessment_id', `($10::int8 + ${stepUs} * (g.n - 1))`)} as token
      from unnest($2::uuid[], $3::uuid[], $5::int8[], $6::int2[]) with ordinality as g(assessment_id, learner_id, assessed_at, facet, n)
      join learner_feed l on l.organisation_id = $1 and l.learner_id = g.learner_id),
  stored as (
    insert into assessment (organisation_id, assessment_id, learner_id, source, assessed_at, facet, learner, body, report_sha256, first_position)
    select $1, assessment_id, learner_id, source, assessed_at, facet, learner, body, report_sha256, $10::int8 + ${stepUs} * (n - 1)
      from (select unnest($2::uuid[]) as assessment_id, unnest($3::uuid[]) as learner_id, unnest($4::text[]) as source,
                   unnest($5::int8[]) as assessed_at, unnest($6::int2[]) as facet, unnest(${joinedTextsOf('$7')}) as learner,
                   unnest(${joinedTextsOf('$8')}) as body, unnest($9::text[]) as report_sha256,
                   generate_series(1, cardinality($2::uuid[])) as n) r),
  fed as (
    insert into assessment_feed (organisation_id, position, first_position, assessment_id, learner_id, group_set_id, assessed_at, assessed_day, facet, token)
    select $1, position, position, assessment_id, learner_id, group_set_id, assessed_at, assessed_at / 86400000000, facet, token from input),
  ${counting(null, 'select group_set_id, facet, token from input')},
  ${countingDays('input')}
  select (select count(*) from input) as count, ${counted}`;

/** Stores results in the order of `rows`, at positions that begin with `first`. The caller holds the feed's lock. */
export async function insertAssessments(work: UnitOfWork, feed: Feed, rows: NewAssessment[], first: number) {
  const column = <Key extends keyof NewAssessment>(key: Key) => rows.map((row) => row[key]);
  const [row] = await work.tx.query<{ count: number } & CountedRow>(insert, [
    feed.organisationId,
    uuidArray(column('assessment_id')),
    uuidArray(column('learner_id')),
    arrayLiteral(column('source')),
    arrayLiteral(column('assessed_at')),
    arrayLiteral(column('facet')),
    joinedTexts(column('learner')),
    joinedTexts(column('body')),
    arrayLiteral(column('report_sha256')),
    first,
  ]);
  feed.counted(row!);
  if (row!.count !== rows.length) throw new Error('a result has no learner to belong to');
}

const columns = `a.assessment_id, a.learner_id, a.source, a.assessed_at, a.facet, a.learner, a.body, a.report_sha256, f.position, f.group_set_id, ${payloadVersionAt('f.position')} as shape, v.groups_version`;

export const liveOne = (organisationId: string, assessmentId: string) => `
  select ${columns}
    from assessment a
    join assessment_feed f on f.organisation_id = a.organisation_id and f.learner_id = a.learner_id and f.assessment_id = a.assessment_id
    join feed v on v.organisation_id = a.organisation_id
   where a.organisation_id = ${organisationId} and a.assessment_id = ${assessmentId} and not f.deleted`;
const live = statement('assessment.live', liveOne('$1', '$2'));
const liveWithin = statement('assessment.live_within')`
  ${liveOne('$1', '$2')} and ($3::int2[] is null or a.facet = any($3))
     and ($4::uuid[] is null or (select s.group_ids && $4 from group_set s where s.organisation_id = $1 and s.group_set_id = f.group_set_id))`;

export async function findLive(tx: Tx, organisationId: number, assessmentId: string) {
  return (await tx.query<StoredAssessment>(live, [organisationId, assessmentId]))[0];
}

/** Finds a live result. For a restricted key, a result outside the key's scope is not found. */
export async function findLiveInScope(tx: Tx, organisationId: number, assessmentId: string, keyScope: KeyScope | null) {
  if (keyScope === null) return findLive(tx, organisationId, assessmentId);
  const facets = facetsMatching({ subject: keyScope.subjects });
  return (await tx.query<StoredAssessment>(liveWithin, [organisationId, assessmentId, facets, keyScope.groupIds]))[0];
}

export const findLearnerAssessments = query<[organisationId: number, learnerId: string], StoredAssessment>(
  'assessment.of_learner',
  `
  select ${columns}
    from assessment_feed f
    join assessment a on a.organisation_id = f.organisation_id and a.assessment_id = f.assessment_id
    join feed v on v.organisation_id = f.organisation_id
   where f.organisation_id = $1 and f.learner_id = $2 and not f.deleted
   order by a.assessed_at desc, a.assessment_id desc`,
);

const stored = statement('assessment.stored')`
  select a.assessment_id, a.learner_id, a.source, a.assessed_at, a.facet, a.body from assessment a
   where a.organisation_id = $1 and a.assessment_id = any($2)`;

/** Finds results stored under these IDs. The body of a withdrawn result is null. */
export function findStored(tx: Tx, organisationId: number, ids: string[]) {
  type Row = Pick<NewAssessment, 'assessment_id' | 'learner_id' | 'source' | 'assessed_at' | 'facet'>;
  return tx.query<Row & { body: string | null }>(stored, [organisationId, uuidArray(ids)]);
}

/** Stores amended texts and detaches the report, which stays stored. The next read makes a new report. */
export const replaceBodies = query<[organisationId: number, ids: string[], bodies: string[]]>(
  'assessment.replace_texts',
  `
  with input as (select * from unnest($2::uuid[], $3::text[]) as g(assessment_id, body))
  update assessment a set body = g.body, report_sha256 = null
    from input g where a.organisation_id = $1 and a.assessment_id = g.assessment_id`,
);

export const replaceLearnerJson = query<[organisationId: number, learnerId: string, json: string]>(
  'assessment.replace_learner',
  `
  update assessment a set learner = $3 from assessment_feed f
   where f.organisation_id = $1 and f.learner_id = $2 and not f.deleted
     and a.organisation_id = f.organisation_id and a.assessment_id = f.assessment_id`,
);

export const setReportSha256 = query<[organisationId: number, assessmentId: string, sha256: string | null]>(
  'assessment.set_report',
  'update assessment set report_sha256 = $3 where organisation_id = $1 and assessment_id = $2',
);

export const moveChanges = query<[organisationId: number, from: string, to: string]>(
  'assessment.move_amendments',
  "update assessment_change set assessment_id = $3 where organisation_id = $1 and assessment_id = $2 and kind = 'amended'",
);

/** Replaces the reasons for changes of a learner's results, because reasons are free text and may name a person. */
export const forgetReasons = query<[organisationId: number, learnerId: string, replacement: string]>(
  'assessment.forget_reasons',
  `
  update assessment_change c set reason = $3, before = null from assessment_feed f
   where f.organisation_id = $1 and f.learner_id = $2 and c.organisation_id = $1 and c.assessment_id = f.assessment_id`,
);

/** Empties reasons and earlier texts of changes before a time. @returns a row for each emptied change */
export const forgetReasonsBefore = query<[organisationId: number, learnerId: string, before: Date]>(
  'assessment.forget_reasons_before',
  `
  update assessment_change c set reason = '', before = null from assessment_feed f
   where f.organisation_id = $1 and f.learner_id = $2 and c.organisation_id = $1 and c.assessment_id = f.assessment_id
     and c.at < $3 and (c.reason <> '' or c.before is not null)
  returning c.assessment_id`,
);

const stampThese = statement('assessment.stamp')`
  with input as materialized (
    select f.learner_id, f.assessment_id, f.group_set_id, f.facet, f.token as had, $4 + ${stepUs} * (g.n - 1) as position,
           ${tokenOf('f.assessment_id', `($4::int8 + ${stepUs} * (g.n - 1))`)} as token
      from unnest($2::uuid[], $3::uuid[]) with ordinality as g(assessment_id, learner_id, n)
      join assessment_feed f on f.organisation_id = $1 and f.learner_id = g.learner_id and f.assessment_id = g.assessment_id),
  moved as (
    update assessment_feed f set position = g.position, token = g.token
      from input g where f.organisation_id = $1 and f.learner_id = g.learner_id and f.assessment_id = g.assessment_id),
  ${counting('select group_set_id, facet, had as token from input', 'select group_set_id, facet, token from input')}
  select ${counted}`;

/** Gives these assessments and their learners new positions. */
export async function stampAssessments(work: UnitOfWork, feed: Feed, rows: ResultKey[]): Promise<void> {
  const [row] = await work.tx.query<CountedRow>(stampThese, [
    feed.organisationId,
    rows.map((r) => r.assessment_id),
    rows.map((r) => r.learner_id),
    feed.next(),
  ]);
  feed.counted(row!);
  feed.used(rows.length);
  await stampLearners(work, feed, [...new Set(rows.map((r) => r.learner_id))]);
}

const empty = statement('assessment.empty')`
  with was as materialized (
    select learner_id, group_set_id, assessed_at, facet, token from assessment_feed
     where organisation_id = $1 and learner_id = $3 and assessment_id = $2 and not deleted),
  emptied as (
    update assessment set learner = null, body = null, report_sha256 = null where organisation_id = $1 and assessment_id = $2),
  forgotten as (
    update assessment_change set before = null where organisation_id = $1 and assessment_id = $2),
  gone as (
    update assessment_feed set deleted = true, position = $4 where organisation_id = $1 and learner_id = $3 and assessment_id = $2),
  ${counting('select group_set_id, facet, token from was', null)},
  ${countingDays('was', '-')}
  select ${counted}`;

/** Turns an assessment into its tombstone, which holds no personal data. */
export async function emptyAssessment(work: UnitOfWork, feed: Feed, row: ResultKey): Promise<void> {
  const values = [feed.organisationId, row.assessment_id, row.learner_id, feed.next()];
  const [out] = await work.tx.query<CountedRow>(empty, values);
  feed.counted(out!);
  await moveExits(work.tx, feed.organisationId, row, feed.next());
  feed.used(1);
}

// Withdrawn results also go to the other learner but keep their positions, so that a client that still stores one finds
// its tombstone.
const transfer = statement('assessment.pass')`
  with stored as (
    update assessment a set learner_id = $3 from assessment_feed f
     where f.organisation_id = $1 and f.learner_id = $2 and a.organisation_id = $1 and a.assessment_id = f.assessment_id),
  fed as (
    update assessment_feed set learner_id = $3 where organisation_id = $1 and learner_id = $2 returning deleted)
  select count(*) as count from fed where not deleted`;

/**
 * Moves results and scope exits to another learner, without new texts or positions. @returns the number of live results
 */
export async function transferResults(work: UnitOfWork, feed: Feed, from: string, to: string): Promise<number> {
  await passExits(work.tx, feed.organisationId, from, to);
  return (await work.tx.query<{ count: number }>(transfer, [feed.organisationId, from, to]))[0]!.count;
}

// Changes are ordered by time, so a change that is not later than the last change is stored one microsecond after it.
// The caller holds the feed's lock.
const insertChange = statement('assessment.insert_change')`
  insert into assessment_change (organisation_id, assessment_id, at, kind, actor, reason, before)
  select $1, c.assessment_id, greatest($3, (select max(p.at) + interval '1 microsecond' from assessment_change p
                                             where p.organisation_id = $1 and p.assessment_id = c.assessment_id)), $4, $5, $6, c.before
    from unnest($2::uuid[], $7::text[]) as c(assessment_id, before)`;

export type Change = { kind: 'amended' | 'withdrawn'; actor: string; reason: string };

/** Stores who changed results and why, with the bodies before the change. */
export async function recordChanges(
  work: UnitOfWork,
  organisationId: number,
  { kind, actor, reason }: Change,
  rows: { assessment_id: string; before: string | null }[],
): Promise<void> {
  if (rows.length === 0) return;
  const ids = rows.map((row) => row.assessment_id);
  const before = rows.map((row) => row.before);
  await work.tx.query(insertChange, [organisationId, ids, new Date(work.nowMs), kind, actor, reason, before]);
}
