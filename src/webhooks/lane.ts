import type { After, DueDelivery, LaneEndpoint } from './claim.ts';
import { fromTheStart } from './claim.ts';

/** Deliveries under way to one endpoint, over all workers; an endpoint that fails is asked by one at a time. */
export const inFlightPerEndpoint = 8;

const firstPage = 16;
const largestPage = 200;

export type LaneIo = {
  /** Reads what is due; waits while the database is away. */
  fetch(endpoint: LaneEndpoint, after: After, limit: number): Promise<DueDelivery[]>;
  /** Makes one attempt, tells how it ended, and resolves when its outcome is recorded. `dropped` when nothing was attempted. */
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
  /** The endpoint's state was read anew. */
  refresh(endpoint: LaneEndpoint): void;
  /** Something may have fallen due. */
  nudge(): void;
  /** Starts nothing more; `drained` follows when what is under way has ended. */
  close(): void;
  readonly closed: boolean;
};

export function openLane(given: LaneEndpoint, lease: { nowMs: number; untilMs: number }, io: LaneIo): Lane {
  const endpoint = { ...given };
  const known = new Set<string>();
  // Ended while a page was being read: the page may still show them as they were before.
  const endedMeanwhile = new Set<string>();
  let queue: DueDelivery[] = [];
  let inFlight = 0;
  let unrecorded = 0;
  // Grows by one with each success and halves with each failure, so that a backlog never rushes at an endpoint that hangs or fails.
  let atOnce = given.failing_since === null ? inFlightPerEndpoint : 1;
  let page = firstPage;
  let after = fromTheStart;
  let more = true;
  let fetching = false;
  let closed = false;
  let done = false;

  async function refill(): Promise<void> {
    fetching = true;
    more = false;
    const limit = page + known.size;
    const rows = await io.fetch(endpoint, after, limit);
    fetching = false;
    const ended = new Set(endedMeanwhile);
    endedMeanwhile.clear();
    if (closed) {
      advance();
      return;
    }
    for (const row of rows) {
      if (known.has(row.delivery_id) || ended.has(row.delivery_id)) continue;
      known.add(row.delivery_id);
      queue.push(row);
    }
    if (rows.length === limit) {
      const last = rows.at(-1)!;
      // A nudge in the meantime sends the reading back to the start: what it announces may lie behind.
      if (!more) after = { at: last.next_attempt_at, deliveryId: last.delivery_id };
      more = true;
      page = Math.min(largestPage, page * 2);
    }
    advance();
  }

  async function deliver(delivery: DueDelivery): Promise<void> {
    unrecorded += 1;
    await io.attempt(lane, delivery, (result) => {
      inFlight -= 1;
      if (result === 'delivered') atOnce = Math.min(inFlightPerEndpoint, atOnce + 1);
      if (result === 'failed') atOnce = Math.max(1, atOnce >> 1);
      advance();
    });
    unrecorded -= 1;
    known.delete(delivery.delivery_id);
    if (fetching) endedMeanwhile.add(delivery.delivery_id);
    advance();
  }

  function advance(): void {
    if (done) return;
    while (!closed && inFlight < atOnce && queue.length > 0) {
      inFlight += 1;
      void deliver(queue.shift()!);
    }
    // A failing endpoint's payloads are left in the database.
    if (!closed && more && !fetching && queue.length < Math.min(page / 2, atOnce * 8)) void refill();
    if (unrecorded > 0 || fetching || queue.length > 0 || (more && !closed)) return;
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
    refresh(newer) {
      Object.assign(endpoint, newer);
    },
    nudge() {
      after = fromTheStart;
      more = true;
      advance();
    },
    close() {
      closed = true;
      queue = [];
      known.clear();
      advance();
    },
  };
  advance();
  return lane;
}
