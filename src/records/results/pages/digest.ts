import { LRUCache } from 'lru-cache';
import type { Database } from '../../../platform/db/database.ts';
import { type Digest, type DigestFilter, findBucketMembers, findBuckets, findDigest } from '../../../feed/digest.ts';
import { type FeedState, sameState } from '../../../feed/etag.ts';
import { formatPosition } from '../../../feed/time.ts';
import { type ListedPage, listAssessments, listWithin } from './list.ts';
import { type AssessmentFilter, type PageRequest, hasOther } from './page-statements.ts';

/**
 * The digest in the API: checksums on the last page of a sync, and checksums by bucket that locate differences
 * (docs/decisions/0005).
 */

/** A full sync of groups has no digest, because a learner may leave the groups after a page was read. */
function hasDigest(filter: AssessmentFilter): boolean {
  return (
    filter.sort === 'updated_at' &&
    !hasOther(filter, 'sinceUs', 'facets', 'groupIds', 'sort') &&
    (filter.groupIds === null || filter.sinceUs !== null)
  );
}

/** If the feed has changed since the call was admitted, one snapshot reads page and digest again. */
export async function listWithDigest(db: Database, feed: FeedState, request: PageRequest) {
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

/** The most cached answers. An answer with 65,536 buckets takes up to 2 MB. */
const maxCached = 16;

/** The last answer for each organisation, valid until the organisation's feed changes. */
const lastAnswers = new WeakMap<Database, LRUCache<number, { question: string; answer: Promise<Answer> }>>();

/** `feed`: the state of the feed when the call was admitted. */
type Caller = { organisationId: number; feed: FeedState };

/** Each organisation computes one answer at a time, because an answer reads every result of the organisation. */
async function cached(db: Database, { organisationId, feed }: Caller, question: string, make: () => Promise<Answer>) {
  let answers = lastAnswers.get(db);
  if (answers === undefined) lastAnswers.set(db, (answers = new LRUCache({ max: maxCached })));
  for (;;) {
    const last = answers.get(organisationId);
    const done = await last?.answer.catch(() => null);
    if (done && last!.question === question && sameState(done.feed, feed)) return done;
    if (answers.get(organisationId) !== last) continue;
    const answer = make();
    answers.set(organisationId, { question, answer });
    return answer;
  }
}

export type DigestQuestion = DigestFilter & {
  bits: number;
  /** The buckets whose results are listed. Undefined: the answer contains the checksums of every bucket. */
  buckets: number[] | undefined;
};

export async function digestJson(db: Database, caller: Caller, question: DigestQuestion): Promise<string> {
  const { organisationId } = caller;
  const { bits, buckets } = question;
  const answer = await cached(db, caller, JSON.stringify(question), () =>
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
