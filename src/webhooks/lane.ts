import type { After, DueDelivery, LaneEndpoint } from './claim.ts';
import { fromTheStart } from './claim.ts';

/** Deliveries under way to one endpoint, over all workers; an endpoint that fails is asked by one at a time. */
export const inFlightPerEndpoint = 8;

const firstPage = 16;
const largestPage = 200;
/** Deliveries that are left in the queue, for each that may be under way, when more are read. */
const beginsToReadAt = 8;

export type LaneIo = {
  /** Reads what is due; waits while the database is away. */
  fetch(endpoint: LaneEndpoint, after: After, limit: number): Promise<DueDelivery[]>;
  /**
   * Makes one attempt, tells how it ended, and resolves when its outcome is recorded. `dropped` when nothing was
   * attempted.
   */
  attempt(
    lane: Lane,
    delivery: DueDelivery,
    tellEnd: (result: 'delivered' | 'failed' | 'dropped') => void,
  ): Promise<void>;
  /** Nothing is due, queued or under way: the lane can be given back. */
  drained(lane: Lane): void;
};

/** One leased endpoint in a worker: its queue, and what is under way to it. */
export type Lane = {
  readonly endpoint: LaneEndpoint;
  readonly openedMs: number;
  /** The lease ends at this time unless it is renewed; nothing is started after it. */
  leasedUntilMs: number;
  /** True while the endpoint takes long to answer: such a lane doesn't wait for the worker's gate. */
  slow: boolean;
  /** True once the database has refused an outcome. */
  stuck: boolean;
  /** How often it was nudged: what was asked about its deliveries before may no longer hold. */
  readonly nudges: number;
  /** The next ones that wait to be begun, in their order. */
  upcoming(most: number): DueDelivery[];
  /** The endpoint's state was read anew. */
  refresh(endpoint: LaneEndpoint): void;
  /** Something may have fallen due. */
  nudge(): void;
  /** Starts nothing more; `drained` follows when what is under way has ended. */
  close(): void;
  readonly closed: boolean;
};

/** What is due on one lane and was not begun yet, read page by page. */
function createBacklog(read: (after: After, limit: number) => Promise<DueDelivery[]>) {
  const queue: DueDelivery[] = [];
  /** Queued or under way. */
  const known = new Set<string>();
  // Ended while a page was being read: the page may still show them as they were before.
  const endedMeanwhile = new Set<string>();
  let page = firstPage;
  let after = fromTheStart;
  let more = true;
  let reading = false;
  let closed = false;

  function take(rows: DueDelivery[], ended: ReadonlySet<string>): void {
    for (const row of rows) {
      if (known.has(row.delivery_id) || ended.has(row.delivery_id)) continue;
      known.add(row.delivery_id);
      queue.push(row);
    }
  }

  return {
    async refill(): Promise<void> {
      reading = true;
      more = false;
      const limit = page + known.size;
      const rows = await read(after, limit);
      reading = false;
      const ended = new Set(endedMeanwhile);
      endedMeanwhile.clear();
      if (closed) return;
      take(rows, ended);
      if (rows.length < limit) return;
      const last = rows.at(-1)!;
      // A nudge in the meantime sends the reading back to the start: what it announces may lie behind.
      if (!more) after = { at: last.next_attempt_at, deliveryId: last.delivery_id };
      more = true;
      page = Math.min(largestPage, page * 2);
    },
    /** The queue runs low. A failing endpoint's is short, so that its payloads are left in the database. */
    wantsMore: (atOnce: number) =>
      !closed && more && !reading && queue.length < Math.min(page / 2, atOnce * beginsToReadAt),
    shift: () => queue.shift(),
    upcoming: (most: number) => queue.slice(0, most),
    ended(deliveryId: string): void {
      known.delete(deliveryId);
      if (reading) endedMeanwhile.add(deliveryId);
    },
    readAgain(): void {
      after = fromTheStart;
      more = true;
    },
    /** Forgets what is queued, and takes nothing more. */
    close(): void {
      closed = true;
      queue.length = 0;
      known.clear();
    },
    /** Nothing is queued or being read, or can be. */
    get empty() {
      return !reading && queue.length === 0 && (closed || !more);
    },
  };
}

export function openLane(given: LaneEndpoint, lease: { nowMs: number; untilMs: number }, io: LaneIo): Lane {
  const endpoint = { ...given };
  const backlog = createBacklog((after, limit) => io.fetch(endpoint, after, limit));
  let inFlight = 0;
  let unrecorded = 0;
  // Grows by one with each success and halves with each failure, so that a backlog never rushes at an endpoint that
  // hangs or fails.
  let atOnce = given.failing_since === null ? inFlightPerEndpoint : 1;
  let closed = false;
  let done = false;
  let nudges = 0;

  async function deliver(delivery: DueDelivery): Promise<void> {
    inFlight += 1;
    unrecorded += 1;
    await io.attempt(lane, delivery, (result) => {
      inFlight -= 1;
      if (result === 'delivered') atOnce = Math.min(inFlightPerEndpoint, atOnce + 1);
      if (result === 'failed') atOnce = Math.max(1, atOnce >> 1);
      advance();
    });
    unrecorded -= 1;
    backlog.ended(delivery.delivery_id);
    advance();
  }

  function advance(): void {
    if (done) return;
    while (inFlight < atOnce) {
      const next = backlog.shift();
      if (next === undefined) break;
      void deliver(next);
    }
    if (backlog.wantsMore(atOnce)) void backlog.refill().then(advance);
    if (unrecorded > 0 || !backlog.empty) return;
    done = true;
    io.drained(lane);
  }

  const lane: Lane = {
    endpoint,
    openedMs: lease.nowMs,
    leasedUntilMs: lease.untilMs,
    slow: given.failing_since !== null,
    stuck: false,
    get closed() {
      return closed;
    },
    get nudges() {
      return nudges;
    },
    upcoming: backlog.upcoming,
    refresh(newer) {
      Object.assign(endpoint, newer);
    },
    nudge() {
      nudges += 1;
      backlog.readAgain();
      advance();
    },
    close() {
      closed = true;
      backlog.close();
      advance();
    },
  };
  advance();
  return lane;
}
