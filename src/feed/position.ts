import { statement, type Tx } from '../platform/db/database.ts';
import { feedQueue, type UnitOfWork } from '../platform/db/unit-of-work.ts';
import { systemClock } from '../platform/time/clock.ts';
import { limits } from '../platform/config/limits.ts';
import { feedLockWait } from '../platform/observability/metric-definitions.ts';

/**
 * Gives positions in an organisation's feed, in microseconds since 1970. The feed's row is locked from `lockFeed` to
 * the commit, so positions follow the order of commits (test/laws). A statement that reads records and gives them
 * positions must begin after the lock: its snapshot then contains all earlier commits.
 */
export type Feed = {
  readonly organisationId: number;
  /** The payload version of records that get new positions (src/platform/db/payload-version.ts). */
  readonly shape: number;
  /** The first free position. Only `used` changes it. */
  next(): number;
  /** Records that a statement took `count` positions. Without this call, the feed's position and ETags stay. */
  used(count: number): void;
  readonly found: number;
  last(): number;
  readonly suspended: boolean;
  /** When the last suspension ended. Learners' time limits do not count the time before this date. */
  readonly resumedAt: Date | null;
  counted(row: CountedRow): void;
  groupsChanged(): void;
};

/** The change to a digest. `digest_w1` and `digest_w2` are modulo 2^32. */
export type CountedRow = { digest_n: number; digest_w1: number; digest_w2: number };

const lock = statement('feed.lock')`
  select position, shape, suspended, resumed_at from feed where organisation_id = $1 for update`;
const move = statement('feed.move')`
  update feed set position = $2, state = $3, groups_version = case when $4 then $3 else groups_version end, digest_n = digest_n + $5,
         digest_w1 = (digest_w1 + $6) & 4294967295, digest_w2 = (digest_w2 + $7) & 4294967295
   where organisation_id = $1`;

/** Returns 48 random bits, so that a new state never equals a state that a client remembers (decision 0001). */
export function drawState(random: { uuid(): string }): number {
  return Number.parseInt(random.uuid().replaceAll('-', '').slice(0, 12), 16);
}

/** Locks the feed, once in a unit of work. Every writer of feed tables takes this lock before any other row lock. */
export async function lockFeed(work: UnitOfWork, organisationId: number): Promise<Feed> {
  const key = `feed:${organisationId}`;
  const held = work.opened.get(key);
  if (held !== undefined) return held as Feed;
  // In another queue, a unit of work would occupy a connection while it waits for the lock.
  if (work.queue !== null && work.queue.name !== feedQueue(organisationId).name)
    throw new Error('a writer of the feed must wait in its lane');
  const askedMs = systemClock.monotonicMs();
  type Row = { position: number; shape: number; suspended: boolean; resumed_at: Date | null };
  const [row] = await work.tx.query<Row>(lock, [organisationId]);
  feedLockWait.observe((systemClock.monotonicMs() - askedMs) / 1000);
  if (row === undefined) throw new Error(`organisation ${organisationId} has no feed`);
  // Each lock starts a new millisecond, so that two changes of a record have different `updated_at` values, even if the
  // clock is set back.
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

const newest = statement('feed.newest')`select max(position) as position from feed`;

/** The newest position of any feed, in seconds since 1970; null if there is no feed. */
export async function newestPositionSeconds(tx: Tx): Promise<number | null> {
  const [row] = await tx.query<{ position: number | null }>(newest);
  return row!.position === null ? null : row!.position / 1e6;
}

const stateOf = statement('feed.state')`
  select position, state, suspended, resumed_at from feed where organisation_id = $1`;

/** Reads the feed without its lock, so a writer that holds the lock may be about to change the state. */
export async function readFeed(
  tx: Tx,
  organisationId: number,
): Promise<{ position: number; state: number; suspended: boolean; resumed_at: Date | null }> {
  type Row = { position: number; state: number; suspended: boolean; resumed_at: Date | null };
  return (await tx.query<Row>(stateOf, [organisationId]))[0]!;
}

const resumedAt = statement('feed.resumed_at')`select resumed_at from feed where organisation_id = $1`;

export async function readResumedAt(tx: Tx, organisationId: number): Promise<Date | null> {
  return (await tx.query<{ resumed_at: Date | null }>(resumedAt, [organisationId]))[0]!.resumed_at;
}

const suspend = statement('feed.suspend')`update feed set suspended = true where organisation_id = any($1)`;
const resume = statement('feed.resume')`
  update feed set suspended = false, resumed_at = $2 where organisation_id = any($1)`;

export async function markFeedSuspended(tx: Tx, organisationIds: number[]): Promise<void> {
  await tx.query(suspend, [organisationIds]);
}

export async function markFeedResumed(tx: Tx, organisationIds: number[], at: Date): Promise<void> {
  await tx.query(resume, [organisationIds, at]);
}
