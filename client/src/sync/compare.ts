import type { Client } from '../client.ts';
import type { Assessment } from '../openapi.ts';
import type { Digest } from './digest.ts';
import { bucketOf, emptyDigest, plus, sameDigest } from './digest.ts';
import type { Filters } from './filters.ts';
import { orderedFilters } from './filters.ts';
import type { Difference, Served } from './repair.ts';
import { serviceBuckets, serviceResults } from './repair.ts';

/** What is usually behind a difference. */
export type Cause =
  /** It has changed since the newest change that the mirror holds: its next poll brings it. */
  | 'coming'
  /** It stands before that change, and never came: passed over, or lost again. */
  | 'lost'
  /** It was replaced before that change, and the newer state never came. */
  | 'outdated'
  /** The service has withdrawn it, or never had it, and the mirror still shows it. */
  | 'kept'
  /** The mirror shows a newer state than the service: a backup has come back there, or somebody has written here. */
  | 'ahead';

export type CausedDifference = Difference & { cause: Cause };

export type Comparison = {
  differences: CausedDifference[];
  /** Results that the service shows through the filters. */
  service: number;
  mirror: number;
  /** `digest`: only what differs was asked for. `walk`: everything was. */
  by: 'digest' | 'walk';
  /** When the service was last restored from a backup; null where it never was. */
  restored: string | null;
};

/**
 * Compares any mirror with the service: its ids, each with the `updated_at` that it holds. By the service's digest where
 * it has one, otherwise by a walk through everything.
 */
export async function compare(given: {
  client: Client;
  held: Map<string, string>;
  filters?: Filters;
  signal?: AbortSignal;
}): Promise<Comparison> {
  const { client, held, signal } = given;
  const service: Served = { client, signal, filters: orderedFilters(given.filters ?? {}) };
  const byDigest = await compareBuckets(service, held);
  const { results, within, by, restored } = byDigest ?? { ...(await everything(service)), by: 'walk' as const };
  const newest = [...held.values()].reduce((one, other) => (one > other ? one : other), '');
  const gone = await goneSince(service, newest);
  const differences: CausedDifference[] = [];
  for (const id of new Set([...results.keys(), ...[...held.keys()].filter(within)])) {
    const difference = { id, mirror: held.get(id) ?? null, service: results.get(id) ?? null };
    if (difference.mirror !== difference.service)
      differences.push({ ...difference, cause: causeOf(difference, newest, gone) });
  }
  const [more, fewer] = [
    differences.filter((one) => one.mirror === null),
    differences.filter((one) => one.service === null),
  ];
  return { differences, service: held.size + more.length - fewer.length, mirror: held.size, by, restored };
}

function causeOf({ id, mirror, service }: Difference, newest: string, gone: Set<string>): Cause {
  if (service === null) return gone.has(id) ? 'coming' : 'kept';
  if (mirror !== null && mirror > service) return 'ahead';
  // A mirror that holds nothing has not begun, or has lost everything.
  if (newest !== '' && service > newest) return 'coming';
  return mirror === null ? 'lost' : 'outdated';
}

/** What has been withdrawn, or has left the filters, since the newest change that the mirror holds. */
async function goneSince({ client, filters, signal }: Served, newest: string): Promise<Set<string>> {
  const gone = new Set<string>();
  if (newest === '') return gone;
  for await (const entry of client.assessments.list({ ...filters, since: newest, limit: 500 }, { signal }))
    if ('removed' in entry || entry.status === 'deleted') gone.add(entry.assessment_id);
  return gone;
}

type Found = Pick<Comparison, 'by' | 'restored'> & { results: Map<string, string>; within: (id: string) => boolean };

async function compareBuckets(service: Served, held: Map<string, string>): Promise<Found | null> {
  const served = await serviceBuckets(service);
  if (served === null) return null;
  const { bits, restored } = served;
  const own = new Map<number, Digest>();
  for (const [id, updated_at] of held) {
    const bucket = bucketOf(id, bits);
    own.set(bucket, plus(own.get(bucket) ?? emptyDigest, { id, updated_at }, 1));
  }
  const wanted = new Set<number>();
  for (const [bucket, digest] of served.buckets.entries())
    if (!sameDigest(digest, own.get(bucket) ?? emptyDigest)) wanted.add(bucket);
  const results = await serviceResults(service, [...wanted], bits);
  return results === null ? null : { results, within: (id) => wanted.has(bucketOf(id, bits)), by: 'digest', restored };
}

async function everything({ client, filters, signal }: Served): Promise<Omit<Found, 'by'>> {
  const results = new Map<string, string>();
  const walk = client.assessments.list({ ...filters, status: ['completed'], limit: 500 }, { signal });
  let restored: string | null = null;
  for await (const page of walk.pages()) {
    for (const entry of page.entries) results.set(entry.assessment_id, (entry as Assessment).updated_at);
    ({ restored } = page);
  }
  return { results, within: () => true, restored };
}
