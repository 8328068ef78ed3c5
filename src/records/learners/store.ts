import { lastAssessedOf } from '../results/last-assessed.ts';
import { arrayLiteral, uuidArray } from '../../platform/db/arrays.ts';
import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import type { Feed } from '../../feed/position.ts';
import { payloadVersionAt } from '../../platform/db/payload-version.ts';
import { idsOf, reachedBy } from '../../organisations/learner-ref.ts';
import type { ListedErasure } from '../../organisations/erasures-list.ts';
import { limits } from '../../platform/config/limits.ts';
import { nameKey, nearKey, refKey } from './keys.ts';

export type LearnerRow = {
  learner_id: string;
  ref: string | null;
  full_name: string;
  created_at: Date;
  position: number;
  group_set_id: string;
  last_assessed_at: number | null;
  last_ids: string[] | null;
  last_bodies: string[] | null;
  groups_version: number;
  shape: number;
};

const columns = `l.learner_id, l.ref, l.full_name, l.created_at, f.position, f.group_set_id, r.last_assessed_at, r.last_ids, r.last_bodies, v.groups_version, ${payloadVersionAt('f.position')} as shape`;
const from = `learner l
    join learner_feed f on f.organisation_id = l.organisation_id and f.learner_id = l.learner_id
    join feed v on v.organisation_id = l.organisation_id
    cross join lateral ${lastAssessedOf} r`;

const byRef = statement(
  'learner.by_ref',
  `
  select ${columns} from ${from}
   where l.organisation_id = $1 and l.learner_id = (select r.learner_id from ${reachedBy('array[$2::text]')} r)`,
);
const byRefs = statement(
  'learner.by_refs',
  `select asked, learner_id, ref, full_name from ${reachedBy('$2::text[]', 'l.learner_id, l.ref, l.full_name')} r`,
);
const byIds = statement(
  'learner.by_ids',
  'select learner_id, ref, full_name from learner where organisation_id = $1 and learner_id = any($2)',
);
const orSurvivors = statement(
  'learner.or_survivors',
  `
  select l.learner_id as asked, s.learner_id, s.ref, s.full_name from learner l
    join learner s on s.organisation_id = l.organisation_id and s.learner_id = coalesce(l.merged_into, l.learner_id)
   where l.organisation_id = $1 and l.learner_id = any($2)`,
);
const insert = statement(
  'learner.insert',
  `
  with given as (
    select g.*, row_number() over () - 1 as n
      from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $8::int8[], $9::int8[], $10::int8[], $11::int8[])
           as g(learner_id, ref, full_name, email, named_at, name_key, near_key, ref_key)),
  made as (
    insert into learner (organisation_id, learner_id, ref, full_name, email, named_at, created_at, name_key, near_key, ref_key)
    select $1, learner_id, ref, full_name, email, named_at, $6, name_key, near_key, ref_key from given)
  insert into learner_feed (organisation_id, learner_id, position, group_set_id)
  select $1, learner_id, $7 + ${limits.positionStepUs} * n, md5('{}')::uuid from given`,
);
const empty = statement(
  'learner.empty',
  `
  with given as (select * from unnest($2::uuid[]) with ordinality as g(learner_id, n)),
  emptied as (
    update learner l set ref = null, full_name = '', email = null, named_at = null, name_key = null, near_key = null, ref_key = null
      from given g where l.organisation_id = $1 and l.learner_id = g.learner_id),
  settled as (
    delete from learner_leaving l using given g where l.organisation_id = $1 and l.learner_id = g.learner_id)
  update learner_feed f set deleted = true, position = $3 + ${limits.positionStepUs} * (g.n - 1)
    from given g where f.organisation_id = $1 and f.learner_id = g.learner_id`,
);
const lookAgain = statement(
  'learner.look_again',
  `
  insert into learner_leaving (organisation_id, learner_id, look_at) values ($1, $2, $3)
  on conflict (organisation_id, learner_id) do update set look_at = excluded.look_at`,
);
const dontLook = statement(
  'learner.dont_look',
  'delete from learner_leaving where organisation_id = $1 and learner_id = $2',
);
const leaving = statement(
  'learner.leaving',
  `
  select organisation_id, learner_id from (
    select *, row_number() over (partition by organisation_id order by look_at) as n from learner_leaving l
     where look_at <= $1 and not exists (select from feed f where f.organisation_id = l.organisation_id and f.suspended)) l
   order by n, look_at limit 100`,
);
const namedAt = statement(
  'learner.named_at',
  `
  select l.learner_id, greatest(coalesce(l.named_at, 0), coalesce((
           select max(f.assessed_at) from assessment_feed f
            where f.organisation_id = $1 and f.learner_id = l.learner_id and not f.deleted), 0)) as at
    from learner l where l.organisation_id = $1 and l.learner_id = any($2)`,
);
const insertChange = statement(
  'learner.insert_change',
  `
  insert into learner_change (organisation_id, learner_id, at, kind, actor, reason, field) values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (organisation_id, learner_id, at, kind) do update
     set reason = coalesce(learner_change.reason || '; ' || excluded.reason, learner_change.reason, excluded.reason)`,
);
const erased = statement(
  'learner.erased',
  `
  with hashed as (
    update learner set ref_hash = $5 where organisation_id = $1 and learner_id = $2),
  silent as (
    update learner_change set reason = null
     where organisation_id = $1 and reason is not null
       and learner_id in (${idsOf('$2')}))
  insert into learner_change (organisation_id, learner_id, at, kind, actor) values ($1, $2, $3, 'erased', $4)
  on conflict do nothing`,
);
const erasedOne = statement(
  'learner.was_erased',
  `select from learner_change where organisation_id = $1 and learner_id = $2 and kind = 'erased' limit 1`,
);
const forgetBefore = statement(
  'learner.forget_reasons_before',
  `
  update learner_change set reason = null
   where organisation_id = $1 and learner_id = $2 and at < $3 and reason is not null returning at`,
);
const erasures = statement(
  'learner.erasures',
  `
  select o.public_id as organisation_id, e.learner_id from organisation o join (
    select organisation_id, learner_id from learner_change where kind = 'erased'
    union all
    select l.organisation_id, l.learner_id from learner l
      join learner_change c on c.organisation_id = l.organisation_id and c.learner_id = l.merged_into and c.kind = 'erased'
     where l.merged_into is not null) e using (organisation_id)`,
);
const update = statement(
  'learner.update',
  `
  update learner set full_name = $3, email = coalesce($4, email), named_at = coalesce($5, named_at), name_key = $6, near_key = $7
   where organisation_id = $1 and learner_id = $2`,
);

const mergedInto = statement(
  'learner.merged_into',
  'select learner_id from learner where organisation_id = $1 and merged_into = $2',
);
const survivors = statement(
  'learner.survivors',
  'select distinct merged_into from learner where organisation_id = $1 and merged_into = any($2)',
);
const absorb = statement(
  'learner.absorb',
  `
  with lost as (
    update learner set merged_into = $3 where organisation_id = $1 and (learner_id = $2 or merged_into = $2))
  update learner set email = coalesce(email, $4), ref = coalesce(ref, $5), named_at = $6,
         ref_key = coalesce(ref_key, $7)
   where organisation_id = $1 and learner_id = $3`,
);
const whole = statement(
  'learner.whole',
  'select learner_id, ref, full_name, email from learner where organisation_id = $1 and learner_id = any($2)',
);
const emailOf = statement(
  'learner.email_of',
  'select email from learner where organisation_id = $1 and learner_id = $2',
);
const updateEmail = statement(
  'learner.update_email',
  'update learner set email = $3 where organisation_id = $1 and learner_id = $2',
);
const updateRef = statement(
  'learner.update_ref',
  'update learner set ref = $3, ref_key = $4 where organisation_id = $1 and learner_id = $2',
);

/** The learner whom a reference reaches: theirs now, or before. */
export async function findLearner(tx: Tx, organisationId: number, ref: string): Promise<LearnerRow | undefined> {
  return (await tx.query<LearnerRow>(byRef, [organisationId, ref]))[0];
}

export type LearnerName = { learner_id: string; ref: string | null; full_name: string };

/** The learners whom these references reach, `asked` by which; two may reach one learner. */
export function findLearnersByRefs(
  tx: Tx,
  organisationId: number,
  refs: string[],
): Promise<(LearnerName & { asked: string })[]> {
  return tx.query<LearnerName & { asked: string }>(byRefs, [organisationId, refs]);
}

export function findLearnersByIds(tx: Tx, organisationId: number, ids: string[]): Promise<LearnerName[]> {
  return tx.query<LearnerName>(byIds, [organisationId, ids]);
}

/** The same; in the place of those who were merged into another one, whom they turned out to be. */
export function findLearnersOrSurvivors(
  tx: Tx,
  organisationId: number,
  ids: string[],
): Promise<(LearnerName & { asked: string })[]> {
  return tx.query<LearnerName & { asked: string }>(orSurvivors, [organisationId, ids]);
}

/**
 * The learner of an id, or whom they turned out to be, for what is about to be written about them; the feed's lock is held.
 * @throws ApiError not_found for a tombstone
 */
export async function findPresentLearner(tx: Tx, organisationId: number, learnerId: string): Promise<string> {
  const [found] = await findLearnersOrSurvivors(tx, organisationId, [learnerId]);
  if (found === undefined || found.full_name === '') throw new ApiError('not_found');
  return found.learner_id;
}

export type NewLearner = {
  learner_id: string;
  ref: string | null;
  full_name: string;
  email: string | null;
  /** When the name was given, in microseconds since 1970; none when a result gave it. */
  named_at?: number;
};

/** Stores learners without groups or results, each at a position of its own; the feed's lock is held. */
export async function insertLearners(work: UnitOfWork, feed: Feed, learners: NewLearner[]): Promise<void> {
  if (learners.length === 0) return;
  await work.tx.query(insert, [
    feed.organisationId,
    uuidArray(learners.map((l) => l.learner_id)),
    learners.map((l) => l.ref),
    learners.map((l) => l.full_name),
    learners.map((l) => l.email),
    new Date(work.nowMs),
    feed.next(),
    arrayLiteral(learners.map((l) => l.named_at ?? null)),
    arrayLiteral(learners.map((l) => nameKey(l.full_name))),
    arrayLiteral(learners.map((l) => nearKey(l.full_name))),
    arrayLiteral(learners.map((l) => (l.ref === null ? null : refKey(l.ref)))),
  ]);
  feed.used(learners.length);
}

export async function updateLearner(
  tx: Tx,
  organisationId: number,
  learnerId: string,
  fullName: string,
  given: { email?: string | null; namedAtUs?: number },
): Promise<void> {
  await tx.query(update, [
    organisationId,
    learnerId,
    fullName,
    given.email ?? null,
    given.namedAtUs ?? null,
    nameKey(fullName),
    nearKey(fullName),
  ]);
}

/** Those who turned out to be this learner. */
export async function findMergedInto(tx: Tx, organisationId: number, learnerId: string): Promise<string[]> {
  const rows = await tx.query<{ learner_id: string }>(mergedInto, [organisationId, learnerId]);
  return rows.map((row) => row.learner_id);
}

/** Those of the learners whom others turned out to be. */
export async function findSurvivors(tx: Tx, organisationId: number, learnerIds: string[]): Promise<string[]> {
  const rows = await tx.query<{ merged_into: string }>(survivors, [organisationId, uuidArray(learnerIds)]);
  return rows.map((row) => row.merged_into);
}

export type WholeLearner = LearnerName & { email: string | null };

export function findWholeLearners(tx: Tx, organisationId: number, ids: string[]): Promise<WholeLearner[]> {
  return tx.query<WholeLearner>(whole, [organisationId, ids]);
}

/**
 * One learner, of whom nothing is left, turned out to be another one, who gets the address and the reference where there
 * was none. The name that stays counts as given now: a result of the other must not put another one back.
 */
export async function absorbLearner(
  work: UnitOfWork,
  organisationId: number,
  { from, to }: { from: WholeLearner; to: WholeLearner },
): Promise<void> {
  const namedAtUs = work.nowMs * 1000;
  await work.tx.query(absorb, [
    organisationId,
    from.learner_id,
    to.learner_id,
    from.email,
    from.ref,
    namedAtUs,
    from.ref === null ? null : refKey(from.ref),
  ]);
}

export async function findLearnerEmail(tx: Tx, organisationId: number, learnerId: string): Promise<string | null> {
  return (await tx.query<{ email: string | null }>(emailOf, [organisationId, learnerId]))[0]!.email;
}

export async function updateLearnerEmail(
  tx: Tx,
  organisationId: number,
  learnerId: string,
  email: string | null,
): Promise<void> {
  await tx.query(updateEmail, [organisationId, learnerId, email]);
}

/** Another reference for a learner, whom the provider's systems then know by it. */
export async function updateLearnerRef(tx: Tx, organisationId: number, learnerId: string, ref: string): Promise<void> {
  await tx.query(updateRef, [organisationId, learnerId, ref, refKey(ref)]);
}

/**
 * The instant that each learner's name is of, in microseconds since 1970: when it was given outside a result, or the
 * newest live result. A result from before must not put an older name back.
 */
export async function nameInstants(tx: Tx, organisationId: number, learnerIds: string[]): Promise<Map<string, number>> {
  if (learnerIds.length === 0) return new Map();
  const rows = await tx.query<{ learner_id: string; at: number }>(namedAt, [organisationId, learnerIds]);
  return new Map(rows.map((row) => [row.learner_id, row.at]));
}

export type LearnerChange = 'renamed' | 'contacted' | 'referenced' | 'merged';

/** Keeps what was done with a learner, by whom, when and why; never a name, a reference or an address. */
export async function recordChange(
  work: UnitOfWork,
  organisationId: number,
  learnerId: string,
  kind: LearnerChange,
  why: { actor: string; reason: string | null },
): Promise<void> {
  // An address that was corrected stands among the corrections, under its field's name.
  const [stored, field] = kind === 'contacted' ? ['renamed', 'email'] : [kind, null];
  const at = new Date(work.nowMs);
  await work.tx.query(insertChange, [organisationId, learnerId, at, stored, why.actor, why.reason, field]);
}

/** Keeps who erased a learner and when, and the hash of the reference; takes away why the learner was changed before. */
export async function recordErasure(
  work: UnitOfWork,
  organisationId: number,
  learnerId: string,
  { actor, refHash }: { actor: string; refHash: Buffer | null },
): Promise<void> {
  await work.tx.query(erased, [organisationId, learnerId, new Date(work.nowMs), actor, refHash]);
}

/** Whether the learner was erased, and not only forgotten with the last result. */
export async function wasErased(tx: Tx, organisationId: number, learnerId: string): Promise<boolean> {
  return (await tx.query(erasedOne, [organisationId, learnerId])).length > 0;
}

/** Takes away why a learner was changed before that time. @returns how many changes */
export async function forgetChangeReasonsBefore(
  tx: Tx,
  organisationId: number,
  learnerId: string,
  before: Date,
): Promise<number> {
  return (await tx.query(forgetBefore, [organisationId, learnerId, before])).length;
}

/** Everybody who was erased, of every organisation, and whoever had turned out to be them. */
export function listErasures(tx: Tx): Promise<ListedErasure[]> {
  return tx.query<ListedErasure>(erasures, []);
}

/** Leaves of these learners nothing but tombstones in the feed, in the given order; its lock is held. */
export async function redactLearners(work: UnitOfWork, feed: Feed, learnerIds: string[]): Promise<void> {
  await work.tx.query(empty, [feed.organisationId, learnerIds, feed.next()]);
  feed.used(learnerIds.length);
}

/** Remembers to look whether anything is left of a learner. */
export async function lookAgainAt(tx: Tx, organisationId: number, learnerId: string, at: Date): Promise<void> {
  await tx.query(lookAgain, [organisationId, learnerId, at]);
}

export async function stopLooking(tx: Tx, organisationId: number, learnerId: string): Promise<void> {
  await tx.query(dontLook, [organisationId, learnerId]);
}

/** Some of the learners, of any organisation, that are to be looked at by now. */
export function findLeaving(tx: Tx, now: Date) {
  return tx.query<{ organisation_id: number; learner_id: string }>(leaving, [now]);
}
