import { statement, type Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { nilUuid } from '../../platform/crypto/random.ts';

/** Finds learners who may be duplicates, and learners without a reference (docs/decisions/0015). */

/** A page shows at most `maxTwins` possible duplicates of a learner, and `maxAlike` learners with one name or key. */
const maxTwins = 4;
const maxAlike = 8;

/** A possible duplicate of another learner. `same`: the names are equal; otherwise the names only sound alike. */
export type Twin = { learner_id: string; ref: string | null; full_name: string; same: boolean };

export type WithoutRef = {
  learner_id: string;
  full_name: string;
  created_at: Date;
  results: number;
  last_assessed_at: number | null;
  twins: Twin[];
};

const notDistinct = (one: string, other: string) => `not exists (
  select from learner_distinct d where d.organisation_id = $1
     and d.learner_id = least(${one}, ${other}) and d.other_id = greatest(${one}, ${other}))`;
const twinsBy = (key: string) => `
  (select o.learner_id, o.ref, o.full_name, o.name_key = l.name_key as same from learner o
    where o.organisation_id = $1 and o.${key} = l.${key} and o.learner_id <> l.learner_id
      and ${notDistinct('o.learner_id', 'l.learner_id')}
    order by o.learner_id limit ${maxTwins})`;
const resultsOf = (learnerId: string) => `
  (select count(*) as results, max(f.assessed_at) as last_assessed_at from assessment_feed f
    where f.organisation_id = $1 and f.learner_id = ${learnerId} and not f.deleted)`;

const withoutRef = statement('matching.without_ref')`
  select l.learner_id, l.full_name, l.created_at, r.results, r.last_assessed_at,
         (select coalesce(json_agg(t), '[]') from (
           select * from (${twinsBy('name_key')} union ${twinsBy('near_key')}) found
            order by found.same desc, found.learner_id limit ${maxTwins}) t) as twins
    from learner l cross join lateral ${resultsOf('l.learner_id')} r
   where l.organisation_id = $1 and l.ref is null and l.full_name <> '' and l.learner_id > $2
   order by l.learner_id limit $3`;

/**
 * Learners without a reference, with possible duplicates.
 * @param after the ID of the last learner on the previous page
 */
export function listWithoutRef(
  tx: Tx,
  organisationId: number,
  { after, limit }: { after: string | null; limit: number },
): Promise<WithoutRef[]> {
  return tx.query<WithoutRef>(withoutRef, [organisationId, after ?? nilUuid, limit]);
}

const countWithout = statement('matching.count_without_ref')`
  select count(*)::int4 as count from (
    select from learner where organisation_id = $1 and ref is null and full_name <> '' limit $2) l`;

/** @param max the count stops at this number */
export async function countWithoutRef(tx: Tx, organisationId: number, max: number): Promise<number> {
  return (await tx.query<{ count: number }>(countWithout, [organisationId, max]))[0]!.count;
}

/**
 * Two names are alike if they have the same words in any order. Two references are alike if they differ only in
 * punctuation or case.
 */
export type AlikeBy = 'name' | 'reference';

export type AlikeRow = {
  key: number;
  learner_id: string;
  ref: string | null;
  full_name: string;
  created_at: Date;
  results: number;
  last_assessed_at: number | null;
};

const alikeBy = (column: 'name_key' | 'ref_key') =>
  statement(`matching.alike_by_${column}`)`
  with found as materialized (
    select key from (
      select ${column} as key from learner where organisation_id = $1 and ${column} > $2 order by ${column} limit $4) l
     group by key having count(*) > 1 order by key limit $3)
  select f.key, m.learner_id, m.ref, m.full_name, m.created_at, r.results, r.last_assessed_at
    from found f
   cross join lateral (
     select * from learner l where l.organisation_id = $1 and l.${column} = f.key order by l.learner_id limit ${maxAlike}) m
   cross join lateral ${resultsOf('m.learner_id')} r
   order by f.key, m.learner_id`;
const lastRead = (column: 'name_key' | 'ref_key') =>
  statement(`matching.looked_to_${column}`)`
  select ${column} as key from learner where organisation_id = $1 and ${column} > $2
   order by ${column} offset $3::int4 - 1 limit 1`;
const alike = {
  name: { page: alikeBy('name_key'), end: lastRead('name_key') },
  reference: { page: alikeBy('ref_key'), end: lastRead('ref_key') },
};
/** The most learners that one page reads. */
const maxLearnersRead = 200_000;
const distinctAmong = statement('matching.distinct_among')`
  select learner_id, other_id from learner_distinct where organisation_id = $1 and learner_id = any($2) and other_id = any($2)`;

/**
 * Groups of learners whose names or references are alike. If a person has recorded a learner as different from all
 * other members, the group leaves the learner out.
 * @param after the key of the last group on the previous page
 * @returns `last`: the key after which the next page begins; null at the end
 */
export async function listAlike(
  tx: Tx,
  organisationId: number,
  by: AlikeBy,
  { after, limit, maxRead = maxLearnersRead }: { after: number | null; limit: number; maxRead?: number },
): Promise<{ groups: AlikeRow[][]; last: number | null }> {
  const { page, end } = alike[by];
  const from = after ?? -1;
  const rows = await tx.query<AlikeRow>(page, [organisationId, from, limit + 1, maxRead]);
  const ids = rows.map((row) => row.learner_id);
  const pairs = await tx.query<{ learner_id: string; other_id: string }>(distinctAmong, [organisationId, ids]);
  const distinct = new Set(pairs.map((pair) => `${pair.learner_id} ${pair.other_id}`));
  const all = [...Map.groupBy(rows, (row) => row.key)];
  const shown = all.slice(0, limit);
  const groups = shown.map(([, members]) =>
    members.filter((one) =>
      members.some((other) => other !== one && !distinct.has([one.learner_id, other.learner_id].sort().join(' '))),
    ),
  );
  const further = async () => {
    const [stop] = await tx.query<{ key: number }>(end, [organisationId, from, maxRead]);
    if (stop === undefined) return null;
    // If the rows end in the middle of a group and the group was not found, the next page reads the group's key again.
    return all.some(([key]) => key === stop.key) ? stop.key : stop.key - 1;
  };
  return {
    groups: groups.filter((members) => members.length > 1),
    last: all.length > limit ? shown.at(-1)![0] : await further(),
  };
}

const insertDistinct = statement('matching.insert_distinct')`
  insert into learner_distinct (organisation_id, learner_id, other_id, at, actor)
  select $1, least(a.learner_id, b.learner_id), greatest(a.learner_id, b.learner_id), $4, $5
    from learner a join learner b on b.organisation_id = $1 and b.learner_id = $3 and b.full_name <> ''
   where a.organisation_id = $1 and a.learner_id = $2 and a.full_name <> '' and a.learner_id <> b.learner_id
  on conflict (organisation_id, learner_id, other_id) do update set at = learner_distinct.at
  returning learner_id`;
const moveDistinctPairs = statement('matching.pass_distinct')`
  with gone as (
    delete from learner_distinct where organisation_id = $1 and (learner_id = $2 or other_id = $2)
    returning case when learner_id = $2 then other_id else learner_id end as other, at, actor)
  insert into learner_distinct (organisation_id, learner_id, other_id, at, actor)
  select $1, least(other, $3::uuid), greatest(other, $3::uuid), at, actor from gone where other <> $3::uuid
  on conflict do nothing`;

/**
 * Records that two learners are different people.
 * @returns false if one of them does not exist
 */
export async function keepApart(
  work: UnitOfWork,
  organisationId: number,
  [one, other]: readonly [string, string],
  by: { actor: string },
): Promise<boolean> {
  await lockFeed(work, organisationId);
  const rows = await work.tx.query(insertDistinct, [organisationId, one, other, new Date(work.nowMs), by.actor]);
  return rows.length > 0;
}

export async function moveDistinct(tx: Tx, organisationId: number, from: string, to: string): Promise<void> {
  await tx.query(moveDistinctPairs, [organisationId, from, to]);
}
