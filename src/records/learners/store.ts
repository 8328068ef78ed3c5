import { lastAssessedOf } from '../results/last-assessed.ts';
import { arrayLiteral, uuidArray } from '../../platform/db/arrays.ts';
import { type Tx, statement, query } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import type { Feed } from '../../feed/position.ts';
import { payloadVersionAt } from '../../platform/db/payload-version.ts';
import { idsOf, reachedBy } from '../../organisations/learner-ref.ts';
import type { ListedErasure } from '../../organisations/erasures-list.ts';
import { limits } from '../../platform/config/limits.ts';
import { nameKey, nearKey, refKey } from './keys.ts';
import type { LearnerColumns } from './schema.ts';

export type LearnerRow = LearnerColumns & { created_at: Date; group_set_id: string; groups_version: number };

const byRef = statement('learner.by_ref')`
  select l.learner_id, l.ref, l.full_name, l.created_at, f.position, f.group_set_id, r.last_assessed_at, r.last_ids, r.last_bodies,
         v.groups_version, ${payloadVersionAt('f.position')} as shape
    from learner l
    join learner_feed f on f.organisation_id = l.organisation_id and f.learner_id = l.learner_id
    join feed v on v.organisation_id = l.organisation_id
    cross join lateral ${lastAssessedOf} r
   where l.organisation_id = $1 and l.learner_id = (select r.learner_id from ${reachedBy('array[$2::text]')} r)`;

export async function findLearner(tx: Tx, organisationId: number, ref: string): Promise<LearnerRow | undefined> {
  return (await tx.query<LearnerRow>(byRef, [organisationId, ref]))[0];
}

export type LearnerName = { learner_id: string; ref: string | null; full_name: string };

/**
 * Finds learners by current or previous references. `asked`: the reference that found the learner. Two references may
 * find the same learner.
 */
export const findLearnersByRefs = query<[organisationId: number, refs: string[]], LearnerName & { asked: string }>(
  'learner.by_refs',
  `select asked, learner_id, ref, full_name from ${reachedBy('$2::text[]', 'l.learner_id, l.ref, l.full_name')} r`,
);

export const findLearnersByIds = query<[organisationId: number, ids: string[]], LearnerName>(
  'learner.by_ids',
  'select learner_id, ref, full_name from learner where organisation_id = $1 and learner_id = any($2)',
);

/** Finds learners by ID. For a learner that was merged into another learner, the survivor is found. */
export const findLearnersOrSurvivors = query<[organisationId: number, ids: string[]], LearnerName & { asked: string }>(
  'learner.or_survivors',
  `
  select l.learner_id as asked, s.learner_id, s.ref, s.full_name from learner l
    join learner s on s.organisation_id = l.organisation_id and s.learner_id = coalesce(l.merged_into, l.learner_id)
   where l.organisation_id = $1 and l.learner_id = any($2)`,
);

/** Finds the learner with an ID, or the learner that it was merged into. @throws ApiError not_found for a tombstone */
export async function findPresentLearner(tx: Tx, organisationId: number, learnerId: string): Promise<string> {
  const [found] = await findLearnersOrSurvivors(tx, organisationId, [learnerId]);
  if (found === undefined || found.full_name === '') throw new ApiError('not_found');
  return found.learner_id;
}

export const findMergedInto = query<[organisationId: number, learnerId: string], { learner_id: string }>(
  'learner.merged_into',
  'select learner_id from learner where organisation_id = $1 and merged_into = $2',
);

/** Of these learners, finds those into which another learner was merged. */
export const findSurvivors = query<[organisationId: number, learnerIds: string[]], { merged_into: string }>(
  'learner.survivors',
  'select distinct merged_into from learner where organisation_id = $1 and merged_into = any($2)',
);

export type LearnerContact = LearnerName & { email: string | null };

export const findLearnerContacts = query<[organisationId: number, ids: string[]], LearnerContact>(
  'learner.whole',
  'select learner_id, ref, full_name, email from learner where organisation_id = $1 and learner_id = any($2)',
);

export async function findLearnerEmail(tx: Tx, organisationId: number, learnerId: string): Promise<string | null> {
  return (await findLearnerContacts(tx, organisationId, [learnerId]))[0]!.email;
}

const insert = statement('learner.insert')`
  with input as (
    select g.*, row_number() over () - 1 as n
      from unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $8::int8[], $9::int8[], $10::int8[], $11::int8[])
           as g(learner_id, ref, full_name, email, named_at, name_key, near_key, ref_key)),
  made as (
    insert into learner (organisation_id, learner_id, ref, full_name, email, named_at, created_at, name_key, near_key, ref_key)
    select $1, learner_id, ref, full_name, email, named_at, $6, name_key, near_key, ref_key from input)
  insert into learner_feed (organisation_id, learner_id, position, group_set_id)
  select $1, learner_id, $7 + ${limits.positionStepUs} * n, md5('{}')::uuid from input`;

/** `named_at`: when a person gave the name, in microseconds since 1970; absent if the name comes from a result. */
export type NewLearner = LearnerContact & { named_at?: number };

/** Stores learners without groups or results. Each gets a new position. The caller holds the feed's lock. */
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

const update = statement('learner.update')`
  update learner set full_name = $3, email = coalesce($4, email), named_at = coalesce($5, named_at), name_key = $6, near_key = $7
   where organisation_id = $1 and learner_id = $2`;

export async function updateLearner(
  tx: Tx,
  organisationId: number,
  learnerId: string,
  fullName: string,
  { email = null, namedAtUs }: { email?: string | null; namedAtUs?: number },
): Promise<void> {
  const keys = [nameKey(fullName), nearKey(fullName)];
  await tx.query(update, [organisationId, learnerId, fullName, email, namedAtUs ?? null, ...keys]);
}

export const updateLearnerEmail = query<[organisationId: number, learnerId: string, email: string | null]>(
  'learner.update_email',
  'update learner set email = $3 where organisation_id = $1 and learner_id = $2',
);

const updateRef = statement('learner.update_ref')`
  update learner set ref = $3, ref_key = $4 where organisation_id = $1 and learner_id = $2`;

export async function updateLearnerRef(tx: Tx, organisationId: number, learnerId: string, ref: string): Promise<void> {
  await tx.query(updateRef, [organisationId, learnerId, ref, refKey(ref)]);
}

const absorb = statement('learner.absorb')`
  with lost as (
    update learner set merged_into = $3 where organisation_id = $1 and (learner_id = $2 or merged_into = $2))
  update learner set email = coalesce(email, $4), ref = coalesce(ref, $5), named_at = $6,
         ref_key = coalesce(ref_key, $7)
   where organisation_id = $1 and learner_id = $3`;

/**
 * Marks an emptied learner as merged into a survivor. A survivor without an email address or reference gets that of the
 * merged learner. The survivor's name gets the current time, so that results of the merged learner cannot replace it.
 */
export async function absorbLearner(
  work: UnitOfWork,
  organisationId: number,
  { from, to }: { from: LearnerContact; to: LearnerContact },
): Promise<void> {
  const { email, ref } = from;
  const key = ref === null ? null : refKey(ref);
  const values = [organisationId, from.learner_id, to.learner_id, email, ref, work.nowMs * 1000, key];
  await work.tx.query(absorb, values);
}

const namedAt = statement('learner.named_at')`
  select l.learner_id, greatest(coalesce(l.named_at, 0), coalesce((
           select max(f.assessed_at) from assessment_feed f
            where f.organisation_id = $1 and f.learner_id = l.learner_id and not f.deleted), 0)) as at
    from learner l where l.organisation_id = $1 and l.learner_id = any($2)`;

/**
 * Returns when each name was given, in microseconds since 1970. Callers compare these times, because an older result
 * must not restore an older name.
 */
export async function nameInstants(tx: Tx, organisationId: number, learnerIds: string[]): Promise<Map<string, number>> {
  if (learnerIds.length === 0) return new Map();
  const rows = await tx.query<{ learner_id: string; at: number }>(namedAt, [organisationId, learnerIds]);
  return new Map(rows.map((row) => [row.learner_id, row.at]));
}

const insertChange = statement('learner.insert_change')`
  insert into learner_change (organisation_id, learner_id, at, kind, actor, reason, field) values ($1, $2, $3, $4, $5, $6, $7)
  on conflict (organisation_id, learner_id, at, kind) do update
     set reason = coalesce(learner_change.reason || '; ' || excluded.reason, learner_change.reason, excluded.reason)`;

export type LearnerChange = 'renamed' | 'contacted' | 'referenced' | 'merged';

/** Stores who changed a learner, when and why, but not the changed name, reference or email address. */
export async function recordChange(
  work: UnitOfWork,
  organisationId: number,
  learnerId: string,
  kind: LearnerChange,
  why: { actor: string; reason: string | null },
): Promise<void> {
  // A corrected email address is stored as a correction of the field `email`.
  const [stored, field] = kind === 'contacted' ? ['renamed', 'email'] : [kind, null];
  const at = new Date(work.nowMs);
  await work.tx.query(insertChange, [organisationId, learnerId, at, stored, why.actor, why.reason, field]);
}

const insertErasure = statement('learner.erased')`
  with hashed as (
    update learner set ref_hash = $5 where organisation_id = $1 and learner_id = $2),
  silent as (
    update learner_change set reason = null
     where organisation_id = $1 and reason is not null
       and learner_id in (${idsOf('$2')}))
  insert into learner_change (organisation_id, learner_id, at, kind, actor) values ($1, $2, $3, 'erased', $4)
  on conflict do nothing`;

/** Stores who erased a learner and when, with the hash of the reference. Deletes the reasons of earlier changes. */
export async function recordErasure(
  work: UnitOfWork,
  organisationId: number,
  learnerId: string,
  { actor, refHash }: { actor: string; refHash: Buffer | null },
): Promise<void> {
  await work.tx.query(insertErasure, [organisationId, learnerId, new Date(work.nowMs), actor, refHash]);
}

const erasureOf = statement('learner.was_erased')`
  select from learner_change where organisation_id = $1 and learner_id = $2 and kind = 'erased' limit 1`;

/** Whether the learner was erased. Removing a learner with its last result is not an erasure. */
export async function isErased(tx: Tx, organisationId: number, learnerId: string): Promise<boolean> {
  return (await tx.query(erasureOf, [organisationId, learnerId])).length > 0;
}

/** Deletes the reasons of a learner's changes before a time. @returns a row for each deleted reason */
export const forgetChangeReasonsBefore = query<[organisationId: number, learnerId: string, before: Date]>(
  'learner.forget_reasons_before',
  `
  update learner_change set reason = null
   where organisation_id = $1 and learner_id = $2 and at < $3 and reason is not null returning at`,
);

/** Lists every erased learner of every organisation, and every learner that was merged into an erased learner. */
export const listErasures = query<[], ListedErasure>(
  'learner.erasures',
  `
  select o.public_id as organisation_id, e.learner_id from organisation o join (
    select organisation_id, learner_id from learner_change where kind = 'erased'
    union all
    select l.organisation_id, l.learner_id from learner l
      join learner_change c on c.organisation_id = l.organisation_id and c.learner_id = l.merged_into and c.kind = 'erased'
     where l.merged_into is not null) e using (organisation_id)`,
);

const empty = statement('learner.empty')`
  with input as (select * from unnest($2::uuid[]) with ordinality as g(learner_id, n)),
  emptied as (
    update learner l set ref = null, full_name = '', email = null, named_at = null, name_key = null, near_key = null, ref_key = null
      from input g where l.organisation_id = $1 and l.learner_id = g.learner_id),
  settled as (
    delete from learner_leaving l using input g where l.organisation_id = $1 and l.learner_id = g.learner_id)
  update learner_feed f set deleted = true, position = $3 + ${limits.positionStepUs} * (g.n - 1)
    from input g where f.organisation_id = $1 and f.learner_id = g.learner_id`;

/** Turns learners into tombstones, at new positions in the order of `learnerIds`. The caller holds the feed's lock. */
export async function redactLearners(work: UnitOfWork, feed: Feed, learnerIds: string[]): Promise<void> {
  await work.tx.query(empty, [feed.organisationId, learnerIds, feed.next()]);
  feed.used(learnerIds.length);
}

/** Schedules a check of a learner without a reference. The check removes the learner if it then has no data. */
export const scheduleRemovalCheck = query<[organisationId: number, learnerId: string, at: Date]>(
  'learner.look_again',
  `
  insert into learner_leaving (organisation_id, learner_id, look_at) values ($1, $2, $3)
  on conflict (organisation_id, learner_id) do update set look_at = excluded.look_at`,
);

export const cancelRemovalCheck = query<[organisationId: number, learnerId: string]>(
  'learner.dont_look',
  'delete from learner_leaving where organisation_id = $1 and learner_id = $2',
);

/** Up to 100 learners of any organisation whose check is due. */
export const findDueRemovalChecks = query<[now: Date], { organisation_id: number; learner_id: string }>(
  'learner.leaving',
  `
  select organisation_id, learner_id from (
    select *, row_number() over (partition by organisation_id order by look_at) as n from learner_leaving l
     where look_at <= $1 and not exists (select from feed f where f.organisation_id = l.organisation_id and f.suspended)) l
   order by n, look_at limit 100`,
);
