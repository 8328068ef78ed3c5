import { setTimeout as delay } from 'node:timers/promises';
import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import { nilUuid } from '../../platform/crypto/uuid.ts';
import type { EndpointRow } from './endpoints/endpoints.ts';
import type { EndpointSecrets } from './endpoints/secrets.ts';

/** An endpoint as a worker needs it. */
export type LeasedEndpoint = EndpointSecrets & Pick<EndpointRow, 'status' | 'url' | 'failing_since'>;

/** A delivery that is due. */
export type DueDelivery = {
  delivery_id: string;
  type: string;
  attempts: number;
  resent_after: number;
  next_attempt_at: Date;
  payload: string;
};

/** Where a page of due deliveries begins. */
type Place = { at: Date; deliveryId: string };
const start: Place = { at: new Date(0), deliveryId: nilUuid };

// The place keeps a page from passing over index entries of deliveries that are done.
const due = statement(
  'queue.due',
  `
  select d.delivery_id, e.type, d.attempts, d.resent_after, d.next_attempt_at, e.payload
    from delivery d join event e on e.organisation_id = d.organisation_id and e.event_id = d.event_id
   where d.organisation_id = $1 and d.endpoint_id = $2 and d.status = 'pending' and d.next_attempt_at <= $3
     and (d.next_attempt_at, d.delivery_id) > ($4, $5)
   order by d.next_attempt_at, d.delivery_id limit $6`,
);

/** What is due to an endpoint after a place, oldest first. */
export function dueDeliveries(
  tx: Tx,
  endpoint: Pick<EndpointRow, 'organisation_id' | 'endpoint_id'>,
  nowMs: number,
  after: Place,
  limit: number,
): Promise<DueDelivery[]> {
  const { organisation_id: id, endpoint_id: endpointId } = endpoint;
  return tx.query(due, [id, endpointId, new Date(nowMs), after.at, after.deliveryId, limit]);
}

/** Attempts under way to one endpoint, over all workers. An endpoint that fails gets one at a time. */
export const maxInFlight = 8;
const firstPage = 16;
const maxPage = 200;
const retryMs = 500;

/** How an attempt ended; `dropped`: none was made. `recorded` resolves once its outcome is in the database. */
export type Ended = { result: 'delivered' | 'failed' | 'dropped'; recorded: Promise<void> };

export type QueueOptions = {
  read(endpoint: LeasedEndpoint, after: Place, limit: number): Promise<DueDelivery[]>;
  /** Makes one attempt, and resolves when its outcome has left for the database. Never rejects. */
  attempt(queue: EndpointQueue, delivery: DueDelivery): Promise<Ended>;
  /** Nothing is due, queued or under way: the endpoint can be given back. */
  drained(queue: EndpointQueue): void;
  failed(error: unknown): void;
};

/** One leased endpoint in a worker: what is due to it, read page by page, and what is under way. */
export class EndpointQueue {
  endpoint: LeasedEndpoint;
  /** No attempt begins after this time unless the lease is renewed. */
  leasedUntilMs: number;
  readonly openedMs: number;
  /** The endpoint takes long to answer, so its attempts take no permits. */
  slow: boolean;
  closed = false;
  /** The database has refused an outcome. */
  stuck = false;
  readonly #options: QueueOptions;
  readonly #waiting: DueDelivery[] = [];
  /** Waiting or under way, until the outcome is recorded. */
  readonly #known = new Set<string>();
  #inFlight = 0;
  // Grows by one with each success and halves with each failure: a backlog never rushes at an endpoint that fails.
  #atOnce: number;
  #page = firstPage;
  #after = start;
  #mayHaveMore = true;
  #reading = false;
  #drained = false;

  constructor(endpoint: LeasedEndpoint, lease: { nowMs: number; untilMs: number }, options: QueueOptions) {
    this.endpoint = endpoint;
    this.openedMs = lease.nowMs;
    this.leasedUntilMs = lease.untilMs;
    this.slow = endpoint.failing_since !== null;
    this.#atOnce = this.slow ? 1 : maxInFlight;
    this.#options = options;
    this.#advance();
  }

  /** Something may have fallen due. */
  nudge(): void {
    this.#after = start;
    this.#mayHaveMore = true;
    this.#advance();
  }

  /** Begins nothing more; `drained` follows when what is under way has ended. */
  close(): void {
    this.closed = true;
    for (const { delivery_id } of this.#waiting.splice(0)) this.#known.delete(delivery_id);
    this.#advance();
  }

  #advance(): void {
    if (this.#drained) return;
    while (this.#inFlight < this.#atOnce && this.#waiting.length > 0) void this.#deliver(this.#waiting.shift()!);
    const low = this.#waiting.length < Math.min(this.#page / 2, this.#atOnce * maxInFlight);
    if (low && this.#mayHaveMore && !this.#reading && !this.closed) void this.#read();
    if (this.#known.size > 0 || this.#reading || (this.#mayHaveMore && !this.closed)) return;
    this.#drained = true;
    this.#options.drained(this);
  }

  async #read(): Promise<void> {
    this.#reading = true;
    this.#mayHaveMore = false;
    const limit = this.#page + this.#known.size;
    try {
      const rows = await this.#options.read(this.endpoint, this.#after, limit);
      if (!this.closed) this.#take(rows, rows.length === limit);
    } catch (error) {
      this.#options.failed(error);
      await delay(retryMs);
      this.#mayHaveMore = true;
    }
    this.#reading = false;
    this.#advance();
  }

  #take(rows: DueDelivery[], full: boolean): void {
    for (const row of rows) {
      if (this.#known.has(row.delivery_id)) continue;
      this.#known.add(row.delivery_id);
      this.#waiting.push(row);
    }
    if (!full) return;
    const last = rows.at(-1)!;
    // After a nudge the next page is the first again: what is new may lie before this one.
    if (!this.#mayHaveMore) this.#after = { at: last.next_attempt_at, deliveryId: last.delivery_id };
    this.#mayHaveMore = true;
    this.#page = Math.min(maxPage, this.#page * 2);
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    this.#inFlight += 1;
    const { result, recorded } = await this.#options.attempt(this, delivery);
    this.#inFlight -= 1;
    if (result === 'delivered') this.#atOnce = Math.min(maxInFlight, this.#atOnce + 1);
    if (result === 'failed') this.#atOnce = Math.max(1, this.#atOnce >> 1);
    this.#advance();
    await recorded;
    this.#known.delete(delivery.delivery_id);
    this.#advance();
  }
}
