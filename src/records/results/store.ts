import type { KeyScope } from '../../organisations/key-scope.ts';
import { arrayLiteral, joinedTexts, joinedTextsOf, uuidArray } from '../../platform/db/arrays.ts';
import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { counted, counting, tokenOf } from '../../feed/digest.ts';
import type { CountedRow, Feed } from '../../feed/position.ts';
import { moveExits, passExits } from '../../feed/scope-exits.ts';
import { payloadVersionAt } from '../../platform/db/payload-version.ts';
import { limits } from '../../platform/config/limits.ts';
import { facetsMatching } from './facet.ts';
import type { ReviewFlag } from './reviews.ts';

const step = limits.positionStepUs;

/** A new result, with its texts ready to send. */
export type NewAssessment = {
  assessment_id: string;
  learner_id: string;
  source: 'imported' | 'sitting';
  assessed_at: number;
  facet: number;
  learner: string;
  body: string;
  report_sha256: string | null;
  /** Why somebody should look at it. */
  flags: readonly ReviewFlag[];
};

// Texts are told apart row by row, and kept in no list that a large batch would write to disk.
const insert = statement(
  'assessment.insert',
  `
  with given as materialized (
    select g.*, l.group_set_id, $10::int8 + ${step} * (g.n - 1) as position,
           ${tokenOf('g.assessment_id', `($10::int8 + ${step} * (g.n - 1))`)} as token
      from unnest($2::uuid[], $3::uuid[], $5::int8[], $6::int2[]) with ordinality as g(assessment_id, learner_id, assessed_at, facet, n)
      join learner_feed l on l.organisation_id = $1 and l.learner_id = g.learner_id),
  stored as (
    insert into assessment (organisation_id, assessment_id, learner_id, source, assessed_at, facet, learner, body, report_sha256, first_position)
    select $1, assessment_id, learner_id, source, assessed_at, facet, learner, body, report_sha256, $10::int8 + ${step} * (n - 1)
      from (select unnest($2::uuid[]) as assessment_id, unnest($3::uuid[]) as learner_id, unnest($4::text[]) as source,
                   unnest($5::int8[]) as assessed_at, unnest($6::int2[]) as facet, unnest(${joinedTextsOf('$7')}) as learner,
                   unnest(${joinedTextsOf('$8')}) as body, unnest($9::text[]) as report_sha256,
                   generate_series(1, cardinality($2::uuid[])) as n) r),
  fed as (
    insert into assessment_feed (organisation_id, position, first_position, assessment_id, learner_id, group_set_id, assessed_at, assessed_day, facet, token)
    select $1, position, position, assessment_id, learner_id, group_set_id, assessed_at, assessed_at / 86400000000, facet, token from given),
  ${counting(null, 'select group_set_id, facet, token from given')}
  select (select count(*) from given) as count, ${counted}`,
);

/** Stores results in the given order, at the positions from `first` on; the feed's lock is held. */
export async function insertAssessments(
  work: UnitOfWork,
  feed: Feed,
  rows: NewAssessment[],
  first: number,
): Promise<void> {
  const array = (key: 'source' | 'assessed_at' | 'facet' | 'report_sha256') =>
    arrayLiteral(rows.map((row) => row[key]));
  const uuids = (key: 'assessment_id' | 'learner_id') => uuidArray(rows.map((row) => row[key]));
  const texts = (key: 'learner' | 'body') => joinedTexts(rows.map((row) => row[key]));
  const [row] = await work.tx.query<{ count: number } & CountedRow>(insert, [
    feed.organisationId,
    uuids('assessment_id'),
    uuids('learner_id'),
    array('source'),
    array('assessed_at'),
    array('facet'),
    texts('learner'),
    texts('body'),
    array('report_sha256'),
    first,
  ]);
  feed.counted(row!);
  if (row!.count !== rows.length) throw new Error('a result has no learner to belong to');
}

export type StoredAssessment = {
  assessment_id: string;
  learner_id: string;
  source: 'imported' | 'sitting';
  assessed_at: number;
  facet: number;
  learner: string;
  body: string;
  report_sha256: string | null;
  position: number;
  group_set_id: string;
  groups_version: number;
  shape: number;
};

const columns = `a.assessment_id, a.learner_id, a.source, a.assessed_at, a.facet, a.learner, a.body, a.report_sha256, f.position, f.group_set_id, ${payloadVersionAt('f.position')} as shape`;

/** SQL of a live result. */
export const liveOne = (organisationId: string, assessmentId: string) => `
  select ${columns}, v.groups_version
    from assessment a
    join assessment_feed f on f.organisation_id = a.organisation_id and f.learner_id = a.learner_id and f.assessment_id = a.assessment_id
    join feed v on v.organisation_id = a.organisation_id
   where a.organisation_id = ${organisationId} and a.assessment_id = ${assessmentId} and not f.deleted`;
const live = statement('assessment.live', liveOne('$1', '$2'));
const liveWithin = statement(
  'assessment.live_within',
  `
  select ${columns}, v.groups_version
    from assessment a
    join assessment_feed f on f.organisation_id = a.organisation_id and f.learner_id = a.learner_id and f.assessment_id = a.assessment_id
    join feed v on v.organisation_id = a.organisation_id
   where a.organisation_id = $1 and a.assessment_id = $2 and not f.deleted and ($3::int2[] is null or a.facet = any($3))
     and ($4::uuid[] is null or (select s.group_ids && $4 from group_set s where s.organisation_id = $1 and s.group_set_id = f.group_set_id))`,
);
const ofLearner = statement(
  'assessment.of_learner',
  `
  select ${columns}, v.groups_version
    from assessment_feed f
    join assessment a on a.organisation_id = f.organisation_id and a.assessment_id = f.assessment_id
    join feed v on v.organisation_id = f.organisation_id
   where f.organisation_id = $1 and f.learner_id = $2 and not f.deleted
   order by a.assessed_at desc, a.assessment_id desc`,
);
const stored = statement(
  'assessment.stored',
  `
  select a.assessment_id, a.learner_id, a.source, a.assessed_at, a.facet, a.body from assessment a
   where a.organisation_id = $1 and a.assessment_id = any($2)`,
);

/** A live (not deleted) assessment of the organisation. */
export async function findLive(
  tx: Tx,
  organisationId: number,
  assessmentId: string,
): Promise<StoredAssessment | undefined> {
  return (await tx.query<StoredAssessment>(live, [organisationId, assessmentId]))[0];
}

/** The same for a caller with bounds: what lies outside isn't there. */
export async function findLiveInScope(
  tx: Tx,
  organisationId: number,
  assessmentId: string,
  keyScope: KeyScope | null,
): Promise<StoredAssessment | undefined> {
  if (keyScope === null) return findLive(tx, organisationId, assessmentId);
  const facets = facetsMatching({ subject: keyScope.subjects, rqf_level_code: null, below_level_1: null });
  return (await tx.query<StoredAssessment>(liveWithin, [organisationId, assessmentId, facets, keyScope.groupIds]))[0];
}

/** A learner's live assessments, newest first. */
export function findLearnerAssessments(tx: Tx, organisationId: number, learnerId: string): Promise<StoredAssessment[]> {
  return tx.query<StoredAssessment>(ofLearner, [organisationId, learnerId]);
}

/** What is stored under these ids; body is null for a deleted one. */
export function findStored(tx: Tx, organisationId: number, ids: string[]) {
  return tx.query<{
    assessment_id: string;
    learner_id: string;
    source: 'imported' | 'sitting';
    assessed_at: number;
    facet: number;
    body: string | null;
  }>(stored, [organisationId, uuidArray(ids)]);
}

const replaceTexts = statement(
  'assessment.replace_texts',
  `
  with given as (select * from unnest($2::uuid[], $3::text[]) as g(assessment_id, body))
  update assessment a set body = g.body, report_sha256 = null
    from given g where a.organisation_id = $1 and a.assessment_id = g.assessment_id`,
);
const replaceLearner = statement(
  'assessment.replace_learner',
  `
  update assessment a set learner = $3 from assessment_feed f
   where f.organisation_id = $1 and f.learner_id = $2 and not f.deleted
     and a.organisation_id = f.organisation_id and a.assessment_id = f.assessment_id`,
);
const setReport = statement(
  'assessment.set_report',
  `
  update assessment set report_sha256 = $3 where organisation_id = $1 and assessment_id = $2`,
);
const stampThese = statement(
  'assessment.stamp',
  `
  with given as materialized (
    select f.learner_id, f.assessment_id, f.group_set_id, f.facet, f.token as had, $4 + ${step} * (g.n - 1) as position,
           ${tokenOf('f.assessment_id', `($4::int8 + ${step} * (g.n - 1))`)} as token
      from unnest($2::uuid[], $3::uuid[]) with ordinality as g(assessment_id, learner_id, n)
      join assessment_feed f on f.organisation_id = $1 and f.learner_id = g.learner_id and f.assessment_id = g.assessment_id),
  moved as (
    update assessment_feed f set position = g.position, token = g.token
      from given g where f.organisation_id = $1 and f.learner_id = g.learner_id and f.assessment_id = g.assessment_id),
  ${counting('select group_set_id, facet, had as token from given', 'select group_set_id, facet, token from given')}
  select ${counted}`,
);
const empty = statement(
  'assessment.empty',
  `
  with was as materialized (
    select learner_id, group_set_id, facet, token from assessment_feed
     where organisation_id = $1 and learner_id = $3 and assessment_id = $2 and not deleted),
  emptied as (
    update assessment set learner = null, body = null, report_sha256 = null where organisation_id = $1 and assessment_id = $2),
  forgotten as (
    update assessment_change set before = null where organisation_id = $1 and assessment_id = $2),
  gone as (
    update assessment_feed set deleted = true, position = $4 where organisation_id = $1 and learner_id = $3 and assessment_id = $2),
  ${counting('select group_set_id, facet, token from was', null)}
  select ${counted}`,
);
// Withdrawn ones too, at their places: whoever still holds one is told of it where the learner is found now.
const pass = statement(
  'assessment.pass',
  `
  with stored as (
    update assessment a set learner_id = $3 from assessment_feed f
     where f.organisation_id = $1 and f.learner_id = $2 and a.organisation_id = $1 and a.assessment_id = f.assessment_id),
  fed as (
    update assessment_feed set learner_id = $3 where organisation_id = $1 and learner_id = $2 returning deleted)
  select count(*) as count from fed where not deleted`,
);
const forget = statement(
  'assessment.forget_reasons',
  `
  update assessment_change c set reason = $3, before = null from assessment_feed f
   where f.organisation_id = $1 and f.learner_id = $2 and c.organisation_id = $1 and c.assessment_id = f.assessment_id`,
);
const forgetBefore = statement(
  'assessment.forget_reasons_before',
  `
  update assessment_change c set reason = '', before = null from assessment_feed f
   where f.organisation_id = $1 and f.learner_id = $2 and c.organisation_id = $1 and c.assessment_id = f.assessment_id
     and c.at < $3 and (c.reason <> '' or c.before is not null)
  returning c.assessment_id`,
);
// Under the feed's lock. A result's changes are told apart, and ordered, by their times: one that comes in the same
// millisecond as the last, or by a clock that stepped back, stands a microsecond behind it.
const insertChange = statement(
  'assessment.insert_change',
  `
  insert into assessment_change (organisation_id, assessment_id, at, kind, actor, reason, before)
  select $1, c.assessment_id, greatest($3, (select max(p.at) + interval '1 microsecond' from assessment_change p
                                             where p.organisation_id = $1 and p.assessment_id = c.assessment_id)), $4, $5, $6, c.before
    from unnest($2::uuid[], $7::text[]) as c(assessment_id, before)`,
);

const moveAmendments = statement(
  'assessment.move_amendments',
  "update assessment_change set assessment_id = $3 where organisation_id = $1 and assessment_id = $2 and kind = 'amended'",
);

/** A result took another one's place: its history is the new one's. */
export async function moveChanges(tx: Tx, organisationId: number, from: string, to: string): Promise<void> {
  await tx.query(moveAmendments, [organisationId, from, to]);
}

/** Stores amended texts; the report of the older edition stays, and the next read makes a new one. */
export async function replaceBodies(
  tx: Tx,
  organisationId: number,
  rows: { assessment_id: string; body: string }[],
): Promise<void> {
  await tx.query(replaceTexts, [organisationId, rows.map((r) => r.assessment_id), rows.map((r) => r.body)]);
}

/** The learner's name shows in every live assessment. */
export async function replaceLearnerJson(
  tx: Tx,
  organisationId: number,
  learnerId: string,
  json: string,
): Promise<void> {
  await tx.query(replaceLearner, [organisationId, learnerId, json]);
}

export async function setReportSha256(
  tx: Tx,
  organisationId: number,
  assessmentId: string,
  sha256: string | null,
): Promise<void> {
  await tx.query(setReport, [organisationId, assessmentId, sha256]);
}

/** Gives these assessments, and nothing else, new positions. */
export async function stampAssessments(
  work: UnitOfWork,
  feed: Feed,
  rows: { assessment_id: string; learner_id: string }[],
): Promise<void> {
  if (rows.length === 0) return;
  const [row] = await work.tx.query<CountedRow>(stampThese, [
    feed.organisationId,
    rows.map((r) => r.assessment_id),
    rows.map((r) => r.learner_id),
    feed.next(),
  ]);
  feed.counted(row!);
  feed.used(rows.length);
}

/** Turns an assessment into its tombstone: nothing personal stays. */
export async function emptyAssessment(
  work: UnitOfWork,
  feed: Feed,
  row: { assessment_id: string; learner_id: string },
): Promise<void> {
  const [out] = await work.tx.query<CountedRow>(empty, [
    feed.organisationId,
    row.assessment_id,
    row.learner_id,
    feed.next(),
  ]);
  feed.counted(out!);
  await moveExits(work.tx, feed.organisationId, row, feed.next());
  feed.used(1);
}

/**
 * One learner's results are another's, withdrawn ones too, with what is told of groups that were left. What they show, and
 * new positions, are the caller's to give; the feed's lock is held.
 * @returns how many are live
 */
export async function passResults(work: UnitOfWork, feed: Feed, from: string, to: string): Promise<number> {
  await passExits(work.tx, feed.organisationId, from, to);
  return (await work.tx.query<{ count: number }>(pass, [feed.organisationId, from, to]))[0]!.count;
}

/** Takes away why the learner's results were changed, and what they were: reasons are free text and may name a person. */
export async function forgetReasons(tx: Tx, organisationId: number, learnerId: string, instead: string): Promise<void> {
  await tx.query(forget, [organisationId, learnerId, instead]);
}

/** Takes away why results of a learner were changed before that time, and what stood there. @returns how many changes */
export async function forgetReasonsBefore(
  tx: Tx,
  organisationId: number,
  learnerId: string,
  before: Date,
): Promise<number> {
  return (await tx.query(forgetBefore, [organisationId, learnerId, before])).length;
}

export type Change = { kind: 'amended' | 'withdrawn'; actor: string; reason: string };

/** Keeps why results were changed, and what they were before. */
export async function recordChanges(
  work: UnitOfWork,
  organisationId: number,
  change: Change,
  rows: { assessment_id: string; before: string | null }[],
): Promise<void> {
  await work.tx.query(insertChange, [
    organisationId,
    rows.map((r) => r.assessment_id),
    new Date(work.nowMs),
    change.kind,
    change.actor,
    change.reason,
    rows.map((r) => r.before),
  ]);
}
