import type { Client } from '../client.ts';
import { ApiError, ArsError, UnexpectedReplyError } from '../errors.ts';
import type { Assessment } from '../openapi.ts';
import type { Digest } from './digest.ts';
import { bucketOf, emptyDigest, plus, sameDigest } from './digest.ts';
import type { Filters } from './filters.ts';
import type { Mirror } from './mirror.ts';
import { isStamped, stride } from './mirror.ts';
import { outcomeOf, refuseRestored, SyncStopped } from './outcome.ts';
import type { Row } from './store.ts';

/** Trailing bits of IDs that make a bucket, unless the service says otherwise. */
const usualBits = 16;
/** Buckets that one request may ask for. */
const bucketsPerRequest = 64;
/** This many results are always read by ID, even if a full sync has few pages. */
const fewResults = 64;
/** IDs and times of at most this many results are in memory. */
const maxHeld = 100_000;

/** The result of a comparison by buckets. */
export type Difference = {
  id: string;
  /** `updated_at` of each side, null where it has no such result. */
  mirror: string | null;
  service: string | null;
};

/**
 * Finds the differences of service and mirror by buckets of IDs, then by ID, and reads only these results again. The
 * client sends a request for the buckets, one for each 64 that differ, and one for each result.
 */
export async function repair(mirror: Mirror): Promise<'repaired' | 'needs a full sync' | 'not now'> {
  const found = await differences(mirror).catch(countsAgain);
  if (found === 'not now') return found;
  if (found === null) return 'needs a full sync';
  for (const { id, service } of found) {
    mirror.signal?.throwIfAborted();
    // Without filters the record itself decides. With filters only their list shows whether it belongs to the mirror.
    const isOurs = isKey(id) && (service !== null || Object.keys(mirror.filters).length === 0);
    await mirror.mend(id, isOurs ? await readRecord(mirror, id) : null);
  }
  await mirror.change(async (_transaction, next) => {
    next.recountedAtMs = mirror.client.surroundings.nowMs();
  });
  return 'repaired';
}

/** IDs are in lower case; other keys were written outside the mirror. */
const isKey = (id: string) => id === id.toLowerCase();

/** The service may be counting its digest again: until that is done there is no proof. @throws whatever else went wrong */
export function countsAgain(error: unknown): 'not now' {
  if (error instanceof ApiError && error.status === 503) return 'not now';
  throw error;
}

/** @returns null where the service has no digest to compare by, or a walk through everything takes fewer requests */
async function differences(mirror: Mirror): Promise<Difference[] | null> {
  const served = await serviceBuckets(mirror);
  if (served === null) return null;
  const { bits, buckets } = served;
  const results = buckets.reduce((sum, { n }) => sum + n, 0);
  const max = Math.min(maxHeld, Math.max(fewResults, results / mirror.pageSize));
  const own = new Map<number, Digest>();
  const damaged = new Map<string, string>();
  await mirror.recount((row, isDamaged) => {
    const bucket = bucketOf(row.id, bits);
    // A row under an invalid key does not count in its bucket.
    if (isKey(row.id)) own.set(bucket, plus(own.get(bucket) ?? emptyDigest, row, 1));
    if (isDamaged && damaged.size <= max) damaged.set(row.id, row.updated_at);
  });
  const wanted: number[] = [];
  for (const [bucket, digest] of buckets.entries())
    if (!sameDigest(digest, own.get(bucket) ?? emptyDigest)) wanted.push(bucket);
  // In each of these buckets one result at least differs.
  if (Math.max(wanted.length, damaged.size) > max) return null;

  // Equal buckets have equal IDs and times, so damaged rows are taken from them.
  const isWanted = new Set(wanted);
  const found: Difference[] = [...damaged].flatMap(([id, time]) =>
    isWanted.has(bucketOf(id, bits)) ? [] : [{ id, mirror: time, service: time }],
  );
  const membersOf = (bucket: number) => buckets[bucket]!.n + (own.get(bucket)?.n ?? 0);
  for (const some of grouped(wanted, membersOf)) {
    const theirs = await serviceResults(mirror, some, bits);
    if (theirs === null) return null;
    const mine = await ownResults(mirror, new Set(some), bits);
    for (const [id, time] of mine) {
      const service = theirs.get(id) ?? null;
      if (service !== time || damaged.has(id)) found.push({ id, mirror: time, service });
    }
    for (const [id, service] of theirs) if (!mine.has(id)) found.push({ id, mirror: null, service });
    if (found.length > max) return null;
  }
  return found;
}

/** Buckets in groups that aren't larger together than may be held, as far as they are full requests. */
export function grouped(buckets: number[], membersOf: (bucket: number) => number): number[][] {
  const groups: number[][] = [];
  let members = Infinity;
  for (let at = 0; at < buckets.length; at += bucketsPerRequest) {
    const some = buckets.slice(at, at + bucketsPerRequest);
    const more = some.reduce((sum, bucket) => sum + membersOf(bucket), 0);
    if (members + more > maxHeld) {
      groups.push([]);
      members = 0;
    }
    groups.at(-1)!.push(...some);
    members += more;
  }
  return groups;
}

/** Null if there is no such result. */
async function readRecord(mirror: Mirror, id: string): Promise<Assessment | null> {
  try {
    const record = (await mirror.client.assessments.get(id, { signal: mirror.signal })) as Assessment | undefined;
    if (record?.assessment_id?.toLowerCase() !== id || !isStamped(record))
      throw new UnexpectedReplyError('getAssessment', 200, 'the response is another result');
    return record;
  } catch (error) {
    if (error instanceof TypeError && !(error instanceof ArsError)) return null;
    if (!(error instanceof ArsError)) throw error;
    const outcome = outcomeOf(error, 'record');
    if (outcome === 'is gone') return null;
    throw outcome instanceof SyncStopped ? outcome : error;
  }
}

/** Whose results are compared, through which filters. */
export type Served = { client: Client; filters: Filters; signal?: AbortSignal };

async function ask(
  { client, filters, signal }: Served,
  query: Record<string, unknown>,
): Promise<Record<string, unknown> | null> {
  try {
    const { body, headers } = await client.read('/assessments/digest', { ...filters, ...query }, { signal });
    return { ...(body as { data: Record<string, unknown> }).data, restored: headers.get('X-Sync-Restored') };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const outcome = outcomeOf(error, 'digest');
    if (outcome === 'has no digest') return null;
    throw outcome instanceof SyncStopped ? outcome : error;
  }
}

/** @returns null where the service has no digest */
export async function serviceBuckets(
  service: Served,
): Promise<{ bits: number; buckets: Digest[]; restored: string | null; through: string } | null> {
  const data = await ask(service, { bits: usualBits });
  if (data === null) return null;
  const { bits, buckets, through } = data;
  const isDigest = (one: unknown) => Array.isArray(one) && one.length === 3 && one.every(Number.isSafeInteger);
  if (typeof bits !== 'number' || !Array.isArray(buckets) || buckets.length !== 2 ** bits || !buckets.every(isDigest))
    throw new UnexpectedReplyError('GET /assessments/digest', 200, 'the number of buckets in the digest is wrong');
  return {
    bits,
    buckets: (buckets as [number, number, number][]).map(([n, w1, w2]) => ({ n, w1, w2 })),
    restored: data.restored as string | null,
    through: String(through),
  };
}

/** @param restored X-Sync-Restored of the buckets, if both must be of one state */
export async function serviceResults(
  service: Served,
  buckets: number[],
  bits: number,
  restored?: string | null,
): Promise<Map<string, string> | null> {
  const results = new Map<string, string>();
  for (let at = 0; at < buckets.length; at += bucketsPerRequest) {
    const some = buckets.slice(at, at + bucketsPerRequest);
    const data = await ask(service, { bits, buckets: some });
    if (data === null) return null;
    if (restored !== undefined) refuseRestored('compare', restored, data.restored as string | null);
    const found = data.assessments as { assessment_id: string; updated_at: string }[] | undefined;
    if (!Array.isArray(found) || !found.every((one) => one !== null && isStamped(one)))
      throw new UnexpectedReplyError('GET /assessments/digest', 200, 'the response has no results with their times');
    for (const { assessment_id, updated_at } of found) results.set(assessment_id.toLowerCase(), updated_at);
  }
  return results;
}

async function ownResults(mirror: Mirror, buckets: Set<number>, bits: number): Promise<Map<string, string>> {
  const results = new Map<string, string>();
  let after: string | null = null;
  for (;;) {
    const from: string | null = after;
    const rows: Row[] = await mirror.store.transaction(async (transaction) => {
      await transaction.readState();
      return transaction.list(from, stride);
    });
    for (const { id, updated_at } of rows) if (buckets.has(bucketOf(id, bits))) results.set(id, updated_at);
    if (rows.length < stride) return results;
    after = rows.at(-1)!.id;
  }
}
