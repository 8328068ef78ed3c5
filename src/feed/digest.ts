import { statement, type Tx } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import type { FeedState } from './etag.ts';
import { drawState, lockFeed } from './position.ts';

/**
 * With a digest, a client can prove that its copy is complete (decision 0005). Each statement that changes the feed
 * also updates the digest, under the feed's lock.
 */

/** `n`: the number of results. `w1`, `w2`: the sums of the upper and lower 32 bits of the tokens, modulo 2^32. */
export type Digest = { n: number; w1: number; w2: number };

/** SQL of a result's token: the first 8 bytes of SHA-256 over the ID and `updated_at` (milliseconds, 8 bytes). */
export function tokenOf(id: string, position: string): string {
  return `('x' || encode(substr(sha256(uuid_send(${id}) || int8send(${position} / 1000)), 1, 8), 'hex'))::bit(64)::int8`;
}

/**
 * SQL of the upper and lower 32 bits of a token. They are signed, so that sums fit into 8 bytes. Modulo 2^32, the sign
 * makes no difference.
 */
const w1 = (token: string) => `(${token} >> 32)::int4`;
const w2 = (token: string) => `((${token} << 32) >> 32)::int4`;
const modulo = (sum: string) => `((${sum})::int8 & 4294967295)`;

/**
 * CTEs that subtract the rows of the query `out` from the digest's cells and add the rows of the query `into`. The
 * queries return group_set_id, facet and token.
 */
export function counting(out: string | null, into: string | null): string {
  const sums = (sign: '' | '-', rows: string) => `
    select group_set_id, facet, ${sign}count(*) as n, ${sign}sum(${w1('token')}) as s1, ${sign}sum(${w2('token')}) as s2
      from (${rows}) r group by 1, 2`;
  // The rows of each query are summed first, so that the union has only a few rows.
  const delta =
    out !== null && into !== null
      ? `select group_set_id, facet, sum(n)::int8 as n, sum(s1)::int8 as s1, sum(s2)::int8 as s2
      from (${sums('-', out)} union all ${sums('', into)}) both_ways group by 1, 2`
      : out === null
        ? sums('', into!)
        : sums('-', out);
  return keeping(delta);
}

function keeping(delta: string): string {
  return `
  digest_delta as materialized (${delta}),
  digest_kept as (
    insert into digest_cell as c (organisation_id, group_set_id, facet, n, s1, s2)
    select $1, group_set_id, facet, n, s1, s2 from digest_delta
    on conflict (organisation_id, group_set_id, facet)
    do update set n = c.n + excluded.n, s1 = c.s1 + excluded.s1, s2 = c.s2 + excluded.s2)`;
}

/**
 * CTEs for results whose group set changes from `had_set` to `group_set_id` and whose token changes from `had` to
 * `token`. The sum of `n` in `digest_moves` is the number of results.
 */
export function countingMoves(moving: string): string {
  return `
  digest_moves as materialized (
    select had_set, group_set_id, facet, count(*) as n,
           sum(${w1('had')}) as out1, sum(${w2('had')}) as out2, sum(${w1('token')}) as in1, sum(${w2('token')}) as in2
      from ${moving} group by 1, 2, 3),
  ${keeping(`select group_set_id, facet, sum(n)::int8 as n, sum(s1)::int8 as s1, sum(s2)::int8 as s2
      from (select had_set as group_set_id, facet, -n as n, -out1 as s1, -out2 as s2 from digest_moves
             union all
            select group_set_id, facet, n, in1, in2 from digest_moves) both_ways group by 1, 2`)}`;
}

/** SQL columns with the total change that `counting` makes to the digest, for `Feed.counted`. */
export const counted = `
  (select coalesce(sum(n), 0)::int8 from digest_delta) as digest_n,
  (select ${modulo('coalesce(sum(s1), 0)')} from digest_delta) as digest_w1,
  (select ${modulo('coalesce(sum(s2), 0)')} from digest_delta) as digest_w2`;

export type DigestFilter = { facets: readonly number[] | null; groupIds: readonly string[] | null };

const ofAll = statement('digest.of_all')`
  select position, state, restored_at as "restoredAt", digest_n as n, digest_w1 as w1, digest_w2 as w2 from feed where organisation_id = $1`;
const ofCells = statement('digest.of_cells')`
  select v.position, v.state, v.restored_at as "restoredAt", c.n, c.w1, c.w2
    from feed v,
    lateral (select coalesce(sum(n), 0)::int8 as n, ${modulo('coalesce(sum(s1), 0)')} as w1, ${modulo('coalesce(sum(s2), 0)')} as w2
               from digest_cell c
              where c.organisation_id = $1 and ($2::int2[] is null or c.facet = any($2))
                and ($3::uuid[] is null or c.group_set_id in
                     (select g.group_set_id from group_set_group g where g.organisation_id = $1 and g.group_id = any($3)))) c
   where v.organisation_id = $1`;

export async function findDigest(
  tx: Tx,
  organisationId: number,
  { facets, groupIds }: DigestFilter,
): Promise<{ digest: Digest; feed: FeedState }> {
  const all = facets === null && groupIds === null;
  const [row] = await tx.query<FeedState & Digest>(
    all ? ofAll : ofCells,
    all ? [organisationId] : [organisationId, facets, groupIds],
  );
  const { position, state, restoredAt, n, w1, w2 } = row!;
  return { digest: { n, w1, w2 }, feed: { position, state, restoredAt } };
}

const liveOnes = `
  f.organisation_id = $1 and not f.deleted and ($2::int2[] is null or f.facet = any($2))
    and ($3::uuid[] is null or f.group_set_id in
         (select g.group_set_id from group_set_group g where g.organisation_id = $1 and g.group_id = any($3)))`;
const bucketOf =
  '((get_byte(uuid_send(f.assessment_id), 14) << 8 | get_byte(uuid_send(f.assessment_id), 15)) & $4::int4)';
const bucketSums = statement('digest.buckets')`
  select ${bucketOf} as bucket, count(*) as n, ${modulo(`sum(${w1('f.token')})`)} as w1, ${modulo(`sum(${w2('f.token')})`)} as w2
    from assessment_feed f where ${liveOnes} group by 1`;
const bucketMembers = statement('digest.members')`
  select f.assessment_id, f.position from assessment_feed f where ${liveOnes} and ${bucketOf} = any($5::int4[])
   order by f.assessment_id`;

const bucketMemory = statement('digest.bucket_memory')`set local work_mem = '64MB'`;

/** Finds the digest of each bucket that has results. The IDs of a bucket's results end with the same `bits` bits. */
export async function findBuckets(
  tx: Tx,
  organisationId: number,
  { facets, groupIds }: DigestFilter,
  bits: number,
): Promise<(Digest & { bucket: number })[]> {
  // With PostgreSQL's default `work_mem`, half of the sums would be written to disk.
  await tx.query(bucketMemory);
  const rows = await tx.query<[bucket: number, n: number, w1: number, w2: number]>({ ...bucketSums, arrays: true }, [
    organisationId,
    facets,
    groupIds,
    2 ** bits - 1,
  ]);
  return rows.map(([bucket, n, w1, w2]) => ({ bucket, n, w1, w2 }));
}

export function findBucketMembers(
  tx: Tx,
  organisationId: number,
  { facets, groupIds }: DigestFilter,
  bits: number,
  buckets: number[],
): Promise<{ assessment_id: string; position: number }[]> {
  return tx.query(bucketMembers, [organisationId, facets, groupIds, 2 ** bits - 1, buckets]);
}

const clearCells = statement('digest.clear_cells')`delete from digest_cell where organisation_id = $1`;
const countAgain = statement('digest.count_again')`
  with live as materialized (
    select f.learner_id, f.assessment_id, f.group_set_id, f.facet, f.token as had, ${tokenOf('f.assessment_id', 'f.position')} as token
      from assessment_feed f where f.organisation_id = $1 and not f.deleted),
  named as (
    update assessment_feed f set token = l.token from live l
     where f.organisation_id = $1 and f.learner_id = l.learner_id and f.assessment_id = l.assessment_id and l.had <> l.token),
  ${counting(null, 'select group_set_id, facet, token from live')}
  update feed set state = $2, digest_n = d.digest_n, digest_w1 = d.digest_w1, digest_w2 = d.digest_w2
    from (select ${counted}) d where feed.organisation_id = $1`;

/**
 * Rebuilds the digest from the results. The feed gets a new state, because a 304 for the old state would confirm the
 * wrong digest.
 */
export async function countAgainIn(work: UnitOfWork, organisationId: number): Promise<void> {
  await lockFeed(work, organisationId);
  await work.tx.query(clearCells, [organisationId]);
  await work.tx.query(countAgain, [organisationId, drawState(work)]);
}

const recount = (where: string) => `
  select coalesce(c.group_set_id, r.group_set_id) as group_set_id, coalesce(c.facet, r.facet) as facet
    from (select * from digest_cell c where c.organisation_id = $1${where}) c
    full join (
      select f.group_set_id, f.facet, count(*) as n, sum(${w1('t.token')}) as s1, sum(${w2('t.token')}) as s2,
             bool_and(f.token = t.token) as named
        from assessment_feed f, lateral (select ${tokenOf('f.assessment_id', 'f.position')} as token offset 0) t
       where f.organisation_id = $1 and not f.deleted${where.replaceAll('c.', 'f.')} group by 1, 2) r
      on r.group_set_id = c.group_set_id and r.facet = c.facet
   where (coalesce(c.n, 0), coalesce(c.s1, 0), coalesce(c.s2, 0)) <> (coalesce(r.n, 0), coalesce(r.s1, 0), coalesce(r.s2, 0))
      or not coalesce(r.named, true)`;
const differing = statement('digest.differing', recount(''));
const differingInSet = statement('digest.differing_in_set', recount(' and c.group_set_id = $2'));
const totalDiffers = statement('digest.total_differs')`
  select from feed v, lateral (
    select coalesce(sum(n), 0) as n, ${modulo('coalesce(sum(s1), 0)')} as w1, ${modulo('coalesce(sum(s2), 0)')} as w2
      from digest_cell where organisation_id = $1) c
   where v.organisation_id = $1 and (v.digest_n, v.digest_w1, v.digest_w2) <> (c.n, c.w1, c.w2)`;

/** A cell of the digest that differs from a recount. Nulls stand for the organisation's total. */
export type DifferingCell = { group_set_id: string | null; facet: number | null };

/** Compares the digest with the results. In the caller's snapshot, both show one state, and no writer waits. */
export async function recountDigest(
  tx: Tx,
  organisationId: number,
  groupSetId: string | null = null,
): Promise<DifferingCell[]> {
  const cells = await (groupSetId === null
    ? tx.query<DifferingCell>(differing, [organisationId])
    : tx.query<DifferingCell>(differingInSet, [organisationId, groupSetId]));
  const total = await tx.query(totalDiffers, [organisationId]);
  return [...cells, ...total.map(() => ({ group_set_id: null, facet: null }))];
}

/** The statement reads both tables, because a group set may have no cells, and a damaged cell may name no group set. */
const nextSet = statement('digest.next_set')`
  select organisation_id, group_set_id, sum(n)::int8 as n
    from ((select organisation_id, group_set_id, 0 as n from group_set
            where (organisation_id, group_set_id) > ($1, $2) order by 1, 2 limit 1)
           union all
          (select organisation_id, group_set_id, sum(n) as n from digest_cell
            where (organisation_id, group_set_id) > ($1, $2) group by 1, 2 order by 1, 2 limit 1)) s
   group by 1, 2 order by 1, 2 limit 1`;

/** Finds the next group set after `after`, over all organisations. `n`: the number of results in the set's cells. */
export async function nextSetBehind(
  tx: Tx,
  after: { organisationId: number; groupSetId: string },
): Promise<{ organisationId: number; groupSetId: string; n: number } | null> {
  const [row] = await tx.query<{ organisation_id: number; group_set_id: string; n: number }>(nextSet, [
    after.organisationId,
    after.groupSetId,
  ]);
  return row === undefined ? null : { organisationId: row.organisation_id, groupSetId: row.group_set_id, n: row.n };
}
