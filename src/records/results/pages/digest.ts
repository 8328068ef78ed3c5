import { LRUCache } from 'lru-cache';
import type { Database } from '../../../platform/db/database.ts';
import type { Digest, DigestFilter } from '../../../feed/digest.ts';
import { findBucketMembers, findBuckets, findDigest } from '../../../feed/digest.ts';
import type { FeedState } from '../../../feed/etag.ts';
import { sameState } from '../../../feed/etag.ts';
import { formatPosition } from '../../../feed/time.ts';
import type { AssessmentFilter, PageRequest } from './filter.ts';
import type { ListedPage } from './list.ts';
import { listAssessments, listWithin } from './list.ts';

/** The digest as the API shows it: at the end of a walk, and by buckets to find what differs (docs/decisions/0005). */

/**
 * Whether the end of a walk can be compared. Without `since`, a learner who leaves the groups behind a walk's cursor shows
 * in the next walk only.
 */
function hasDigest(filter: AssessmentFilter): boolean {
  return (
    filter.sort === 'updated_at' &&
    filter.learner === null &&
    filter.assessedFromUs === null &&
    filter.assessedToUs === null &&
    filter.status === null &&
    (filter.groupIds === null || filter.sinceUs !== null)
  );
}

/**
 * A walk's last page with the digest of the same moment. Mostly nothing has changed since the call was let in, and the
 * digest can be read after the page; otherwise both are read again in one snapshot.
 */
export async function listWithDigest(
  db: Database,
  feed: FeedState,
  request: PageRequest,
): Promise<{ page: ListedPage; digest: Digest | null }> {
  const { organisationId, filter, limit } = request;
  const page = await listAssessments(db, request);
  if (!hasDigest(filter) || !isLast(page, limit)) return { page, digest: null };
  const found = await findDigest(db, organisationId, filter);
  if (sameState(found.feed, feed)) return { page, digest: found.digest };
  return db.snapshot(async (tx) => {
    const again = await listWithin(tx, request);
    const { digest } = await findDigest(tx, organisationId, filter);
    return { page: again, digest: isLast(again, limit) ? digest : null };
  });
}

const isLast = (page: ListedPage, limit: number) => page.rows.length < limit && page.passedUs === null;

export function digestText({ n, w1, w2 }: Digest): string {
  return `n=${n};w1=${w1};w2=${w2}`;
}

type Answer = { feed: FeedState; data: string };

/** Organisations whose last answer is kept: one of 65,536 buckets has up to two megabytes. */
const maxKept = 16;

/**
 * Each answer looks through all results of its organisation, so there is one at a time for an organisation, and the last
 * is kept for as long as nothing changes.
 */
const lastAnswers = new WeakMap<Database, LRUCache<number, { asked: string; answer: Promise<Answer> }>>();

async function inTurn(
  db: Database,
  { organisationId, feed }: Asker,
  asked: string,
  make: () => Promise<Answer>,
): Promise<Answer> {
  let kept = lastAnswers.get(db);
  if (kept === undefined) lastAnswers.set(db, (kept = new LRUCache({ max: maxKept })));
  for (;;) {
    const last = kept.get(organisationId);
    const done = await last?.answer.catch(() => null);
    if (done && last!.asked === asked && sameState(done.feed, feed)) return done;
    if (kept.get(organisationId) !== last) continue;
    const answer = make();
    kept.set(organisationId, { asked, answer });
    return answer;
  }
}

/** Whose digest is asked for, and where the feed stood when the call was let in. */
type Asker = { organisationId: number; feed: FeedState };

export type DigestQuestion = DigestFilter & {
  bits: number;
  /** Buckets whose results are wanted; undefined: the sums of all. */
  buckets: number[] | undefined;
};

/** @returns JSON */
export async function digestJson(db: Database, asker: Asker, question: DigestQuestion): Promise<string> {
  const { organisationId } = asker;
  const { bits, buckets } = question;
  const answer = await inTurn(db, asker, JSON.stringify(question), () =>
    db.snapshot(async (tx) => {
      const { digest, feed } = await findDigest(tx, organisationId, question);
      const head = `"bits":${bits},"through":"${formatPosition(feed.position)}"`;
      if (buckets !== undefined) {
        const members = await findBucketMembers(tx, organisationId, question, bits, buckets);
        const shown = members.map(
          (one) => `{"assessment_id":"${one.assessment_id}","updated_at":"${formatPosition(one.position)}"}`,
        );
        return { feed, data: `{${head},"assessments":[${shown.join()}]}` };
      }
      const sums = new Array<string>(2 ** bits).fill('[0,0,0]');
      for (const { bucket, n, w1, w2 } of await findBuckets(tx, organisationId, question, bits))
        sums[bucket] = `[${n},${w1},${w2}]`;
      return { feed, data: `{${head},"n":${digest.n},"w1":${digest.w1},"w2":${digest.w2},"buckets":[${sums.join()}]}` };
    }),
  );
  return answer.data;
}
