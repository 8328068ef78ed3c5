import type { Client } from '../client.ts';
import type { Assessment } from '../openapi.ts';
import type { Digest } from './digest.ts';
import { bucketOf, checkOf, emptyDigest, plus, sameDigest } from './digest.ts';
import type { Filters } from './filters.ts';
import { orderedFilters } from './filters.ts';
import { inSpiteOfRestores, refuseRestored } from './outcome.ts';
import type { Difference, Served } from './repair.ts';
import { countsAgain, serviceBuckets, serviceResults } from './repair.ts';

/** The usual cause of a difference. */
export type Cause =
  /** It changed after the newest change in the mirror. The next poll reads the change. */
  | 'pending'
  /** The service was restored after the mirror's last poll. The next poll notices the restore. */
  | 'restored'
  /** The mirror has read newer changes, and lacks this result. */
  | 'missing'
  /** The mirror has read newer changes, and has an old state of this result. */
  | 'out_of_date'
  /** The mirror has a result that was withdrawn, or that the service never had. */
  | 'extra'
  /** The mirror has a newer state: the service was restored, or a person changed the mirror. */
  | 'ahead'
  /** The mirror has different content with the same time, or a time that cannot be read. */
  | 'altered';

export type CausedDifference = Difference & { cause: Cause };

export type Comparison = {
  differences: CausedDifference[];
  /** Results that the service shows through the filters. */
  service: number;
  mirror: number;
  /** `digest`: only differing records were read. `walk`: all records were. */
  by: 'digest' | 'walk';
  /** When the service was last restored from a backup; null where it never was. */
  restored: string | null;
};

type Compared = {
  client: Client;
  held: Map<string, string>;
  filters?: Filters;
  since?: string;
  contents?: Map<string, string>;
  signal?: AbortSignal;
};

/**
 * Compares the IDs and the `updated_at` of any mirror with the service. Uses the digest of the service if there is one,
 * otherwise a full sync. Starts again if the service is restored from a backup.
 * @param options `since`: the mirror's checkpoint, which shows what the next poll reads. Without it, the newest change in
 * the mirror counts. `contents`: a sum of each result, to compare with the feed.
 */
export function compare(options: Compared): Promise<Comparison> {
  return inSpiteOfRestores('compare', () => compareOnce(options));
}

async function compareOnce(options: Compared): Promise<Comparison> {
  const { client, held, contents, signal } = options;
  const service: Served = { client, signal, filters: orderedFilters(options.filters ?? {}) };
  const byDigest = contents === undefined ? await compareBuckets(service, held) : null;
  const { results, within, by, restored, through, isAltered } =
    byDigest ?? (await everything(service, contents ?? new Map<string, string>()));
  const found: Difference[] = [];
  for (const id of new Set([...results.keys(), ...[...held.keys()].filter(within)])) {
    const difference = { id, mirror: held.get(id) ?? null, service: results.get(id) ?? null };
    if (difference.mirror !== difference.service || isAltered(id)) found.push(difference);
  }
  const differing = new Map(found.map((one) => [one.id, one]));
  const reached = options.since ?? newestOf(held, through, differing);
  const newest = options.since ?? newestOf(held, through);
  const isBehindRestore = newest !== '' && restored !== null && restored > newest;
  const gone = await goneSince(service, reached, restored);
  // A walk may have been cut off within a millisecond; a mirror that says it is up to date has all of its last one.
  const isBehind = reached !== '' && found.some(({ service: updatedAt }) => updatedAt !== null && updatedAt > reached);
  const isPending = (updatedAt: string) =>
    options.since === undefined
      ? reached !== '' && (updatedAt > reached || (isBehind && updatedAt === reached))
      : updatedAt >= options.since;
  const differences = found.map((one) => {
    const cause = causeOf(one, isPending, gone);
    return { ...one, cause: isBehindRestore && cause !== 'pending' && cause !== 'altered' ? 'restored' : cause };
  });
  const more = found.filter((one) => one.mirror === null).length;
  const fewer = found.filter((one) => one.service === null).length;
  return { differences, service: held.size + more - fewer, mirror: held.size, by, restored };
}

/**
 * The newest change that the mirror can hold.
 * @param differing leaves out records that are newer than the service's
 */
function newestOf(held: Map<string, string>, through: string, differing?: Map<string, Difference>): string {
  let newest = '';
  for (const [id, updatedAt] of held) {
    const service = differing?.get(id)?.service ?? null;
    const isAhead = service !== null && updatedAt > service;
    // A mirror that holds nothing has not begun, or has lost everything.
    if (updatedAt > newest && updatedAt <= through && !isAhead) newest = updatedAt;
  }
  return newest;
}

function causeOf(
  { id, mirror, service }: Difference,
  isPending: (updatedAt: string) => boolean,
  gone: Set<string>,
): Cause {
  if (service === null) return gone.has(id) ? 'pending' : 'extra';
  if (mirror !== null && mirror > service) return 'ahead';
  if (mirror === service || mirror === '') return 'altered';
  if (isPending(service)) return 'pending';
  return mirror === null ? 'missing' : 'out_of_date';
}

/** Results that were withdrawn, or left the filters, since the checkpoint. */
async function goneSince(
  { client, filters, signal }: Served,
  since: string,
  restored: string | null,
): Promise<Set<string>> {
  const gone = new Set<string>();
  if (since === '') return gone;
  const walk = client.assessments.list({ ...filters, since, limit: 500 }, { signal });
  for await (const entry of walk) if ('removed' in entry || entry.status === 'deleted') gone.add(entry.assessment_id);
  refuseRestored('compare', restored, walk.restored);
  return gone;
}

type Found = Pick<Comparison, 'by' | 'restored'> & {
  results: Map<string, string>;
  within: (id: string) => boolean;
  /** The service shows it as it stood then. */
  through: string;
  isAltered: (id: string) => boolean;
};

async function compareBuckets(service: Served, held: Map<string, string>): Promise<Found | null> {
  const served = await serviceBuckets(service).catch(countsAgain);
  if (served === null || served === 'not now') return null;
  const { bits, restored, through } = served;
  const own = new Map<number, Digest>();
  for (const [id, updated_at] of held) {
    const bucket = bucketOf(id, bits);
    own.set(bucket, plus(own.get(bucket) ?? emptyDigest, { id, updated_at }, 1));
  }
  const wanted = new Set<number>();
  for (const [bucket, digest] of served.buckets.entries())
    if (!sameDigest(digest, own.get(bucket) ?? emptyDigest)) wanted.add(bucket);
  const results = await serviceResults(service, [...wanted], bits, restored);
  const within = (id: string) => wanted.has(bucketOf(id, bits));
  return results === null ? null : { results, within, by: 'digest', restored, through, isAltered: () => false };
}

async function everything({ client, filters, signal }: Served, contents: Map<string, string>): Promise<Found> {
  const results = new Map<string, string>();
  const altered = new Set<string>();
  const walk = client.assessments.list({ ...filters, status: ['completed'], limit: 500 }, { signal });
  let restored: string | null | undefined;
  for await (const page of walk.pages()) {
    for (const entry of page.entries) {
      const { assessment_id: id, updated_at } = entry as Assessment;
      results.set(id, updated_at);
      const own = contents.get(id);
      if (own !== undefined && own !== checkOf(entry)) altered.add(id);
      // A walk may show a record twice; the last one counts.
      else altered.delete(id);
    }
    if (restored === undefined) restored = page.restored;
    refuseRestored('compare', restored, page.restored);
  }
  const through = walk.checkpoint?.since ?? '';
  return {
    results,
    within: () => true,
    by: 'walk',
    restored: walk.restored,
    through,
    isAltered: (id) => altered.has(id),
  };
}
