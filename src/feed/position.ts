import type { Tx } from '../platform/db/database.ts';
import { statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { feedQueue } from '../platform/db/unit-of-work.ts';
import { systemClock } from '../platform/time/clock.ts';
import { limits } from '../platform/config/limits.ts';
import { feedLockWait } from '../platform/observability/metric-definitions.ts';

/**
 * Positions in an organisation's feed (microseconds since 1970). The lock row is held from `lockFeed` to the commit,
 * so the order of positions is the order of commits, and nothing becomes visible below what was visible before
 * (proved by test/laws). Statements that read what they stamp must come after the lock, each with its own snapshot.
 */
export type Feed = {
  readonly organisationId: number;
  /** The shape in which what is stamped now is shown (src/platform/db/payload-version.ts). */
  readonly shape: number;
  /**
   * The first free position. Until `used` says how many a statement took, each a step above the one before, every call
   * gives the same one, whatever the clock does meanwhile.
   */
  next(): number;
  /** A statement took `count` positions from `next` on; none leaves the feed, and so every ETag, as it was. */
  used(count: number): void;
  /** Its last position: where it stood when it was locked, and where it stands after what was used since. */
  readonly found: number;
  last(): number;
  /** The organisation is suspended: what is in the background waits (docs/decisions/0013). */
  readonly suspended: boolean;
  /** When it was last resumed: no time counts against its learners that lies before. */
  readonly resumedAt: Date | null;
  /** A statement put results into the digest, and took some out. */
  counted(row: CountedRow): void;
  /** What a group set renders to has changed (rename, archive, reactivation). */
  groupsChanged(): void;
};

/** What a statement's counting gave: `digest_w1` and `digest_w2` modulo 2^32. */
export type CountedRow = { digest_n: number; digest_w1: number; digest_w2: number };

const lock = statement(
  'feed.lock',
  'select position, shape, suspended, resumed_at from feed where organisation_id = $1 for update',
);
const move = statement(
  'feed.move',
  `
  update feed set position = $2, state = $3, groups_version = case when $4 then $3 else groups_version end, digest_n = digest_n + $5,
         digest_w1 = (digest_w1 + $6) & 4294967295, digest_w2 = (digest_w2 + $7) & 4294967295
   where organisation_id = $1`,
);

/** 48 random bits: what a process or a client remembers under them is never taken for another state (decision 0001). */
export function drawState(random: { uuid(): string }): number {
  return Number.parseInt(random.uuid().replaceAll('-', '').slice(0, 12), 16);
}

/** Takes the organisation's feed lock, once in a unit of work. Every writer of feed tables takes it before any other row lock. */
export async function lockFeed(work: UnitOfWork, organisationId: number): Promise<Feed> {
  const key = `feed:${organisationId}`;
  const held = work.opened.get(key);
  if (held !== undefined) return held as Feed;
  // Whoever waits for the lock with a connection in hand keeps it from others; the lane is where to wait.
  if (work.queue !== null && work.queue.name !== feedQueue(organisationId).name)
    throw new Error('a writer of the feed must wait in its lane');
  const askedMs = systemClock.monotonicMs();
  type Row = { position: number; shape: number; suspended: boolean; resumed_at: Date | null };
  const [row] = await work.tx.query<Row>(lock, [organisationId]);
  feedLockWait.observe((systemClock.monotonicMs() - askedMs) / 1000);
  if (row === undefined) throw new Error(`organisation ${organisationId} has no feed`);
  // A unit of work begins in a millisecond of its own: two changes of a record never show the same updated_at. The
  // instant is the unit's own: clocks step back, and those of two processes differ, so none is asked again in between.
  const begun = Math.max((Math.floor(row.position / 1000) + 1) * 1000, work.nowMs * 1000);
  let free = begun;
  let groups = false;
  const digest: CountedRow = { digest_n: 0, digest_w1: 0, digest_w2: 0 };
  const feed: Feed = {
    organisationId,
    shape: row.shape,
    suspended: row.suspended,
    resumedAt: row.resumed_at,
    found: row.position,
    last: () => (free === begun ? row.position : free - limits.positionStepUs),
    next: () => free,
    used(count) {
      free += count * limits.positionStepUs;
    },
    counted({ digest_n, digest_w1, digest_w2 }) {
      digest.digest_n += digest_n;
      digest.digest_w1 += digest_w1;
      digest.digest_w2 += digest_w2;
    },
    groupsChanged() {
      groups = true;
    },
  };
  work.opened.set(key, feed);
  work.beforeCommit(async () => {
    const last = feed.last();
    if (last !== row.position || groups)
      await work.tx.query(move, [organisationId, last, drawState(work), groups, ...Object.values(digest)]);
  });
  return feed;
}

const newest = statement('feed.newest', 'select max(position) as position from feed');

/** The newest position of any feed, in seconds since 1970; null where nothing has happened yet. */
export async function newestPositionSeconds(tx: Tx): Promise<number | null> {
  const [row] = await tx.query<{ position: number | null }>(newest);
  return row!.position === null ? null : row!.position / 1e6;
}

const stateOf = statement(
  'feed.state',
  'select position, state, suspended, resumed_at from feed where organisation_id = $1',
);

/** Where a feed is without waiting for its lock: whoever holds that may be about to move it. */
export async function readFeed(
  tx: Tx,
  organisationId: number,
): Promise<{ position: number; state: number; suspended: boolean; resumed_at: Date | null }> {
  type Row = { position: number; state: number; suspended: boolean; resumed_at: Date | null };
  return (await tx.query<Row>(stateOf, [organisationId]))[0]!;
}

const resumedAt = statement('feed.resumed_at', 'select resumed_at from feed where organisation_id = $1');

/** When an organisation was last resumed. */
export async function readResumedAt(tx: Tx, organisationId: number): Promise<Date | null> {
  return (await tx.query<{ resumed_at: Date | null }>(resumedAt, [organisationId]))[0]!.resumed_at;
}

const suspend = statement('feed.suspend', 'update feed set suspended = true where organisation_id = any($1)');
const resume = statement(
  'feed.resume',
  'update feed set suspended = false, resumed_at = $2 where organisation_id = any($1)',
);

/** Keys of these organisations are refused from now on. */
export async function markFeedSuspended(tx: Tx, organisationIds: number[]): Promise<void> {
  await tx.query(suspend, [organisationIds]);
}

/** They are let in again. */
export async function markFeedResumed(tx: Tx, organisationIds: number[], at: Date): Promise<void> {
  await tx.query(resume, [organisationIds, at]);
}
