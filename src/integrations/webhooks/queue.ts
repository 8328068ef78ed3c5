import { setTimeout as delay } from 'node:timers/promises';
import { type Tx, statement } from '../../platform/db/database.ts';
import { nilUuid } from '../../platform/crypto/random.ts';
import type { EndpointRow } from './endpoints/endpoints.ts';
import type { EndpointSecrets } from './endpoints/secrets.ts';

export type LeasedEndpoint = EndpointSecrets & Pick<EndpointRow, 'status' | 'url' | 'failing_since'>;

export type DueDelivery = {
  delivery_id: string;
  type: string;
  attempts: number;
  resent_after: number;
  next_attempt_at: Date;
  payload: string;
};

type Position = { at: Date; deliveryId: string };
const start: Position = { at: new Date(0), deliveryId: nilUuid };

// The position lets each page skip the index entries of finished deliveries.
const due = statement('queue.due')`
  select d.delivery_id, e.type, d.attempts, d.resent_after, d.next_attempt_at, e.payload
    from delivery d join event e on e.organisation_id = d.organisation_id and e.event_id = d.event_id
   where d.organisation_id = $1 and d.endpoint_id = $2 and d.status = 'pending' and d.next_attempt_at <= $3
     and (d.next_attempt_at, d.delivery_id) > ($4, $5)
   order by d.next_attempt_at, d.delivery_id limit $6`;

export function dueDeliveries(
  tx: Tx,
  endpoint: Pick<EndpointRow, 'organisation_id' | 'endpoint_id'>,
  nowMs: number,
  after: Position,
  limit: number,
): Promise<DueDelivery[]> {
  const { organisation_id: id, endpoint_id: endpointId } = endpoint;
  return tx.query(due, [id, endpointId, new Date(nowMs), after.at, after.deliveryId, limit]);
}

/** The maximum number of attempts under way to one endpoint, across all workers. A failing endpoint gets fewer. */
export const maxInFlight = 8;
const firstPage = 16;
const maxPage = 200;
const retryMs = 500;

/** `dropped`: no attempt was made. `recorded` resolves when the outcome is in the database. */
export type Ended = { result: 'delivered' | 'failed' | 'dropped'; recorded: Promise<void> };

export type QueueOptions = {
  read(endpoint: LeasedEndpoint, after: Position, limit: number): Promise<DueDelivery[]>;
  /** Makes one attempt. Resolves when the outcome has been sent to the database; never rejects. */
  attempt(queue: EndpointQueue, delivery: DueDelivery): Promise<Ended>;
  /** Called when no delivery is due, queued or under way, so that the endpoint can be given back. */
  drained(queue: EndpointQueue): void;
  failed(error: unknown): void;
};

/** The queue of one leased endpoint: its due deliveries, read page by page, and the attempts under way. */
export class EndpointQueue {
  endpoint: LeasedEndpoint;
  /** No attempt begins after this time unless the lease is renewed. */
  leasedUntilMs: number;
  readonly openedMs: number;
  /** Whether the endpoint answers slowly. Attempts to a slow endpoint take no permits. */
  slow: boolean;
  closed = false;
  /** Whether an outcome could not be recorded. */
  stuck = false;
  readonly #options: QueueOptions;
  readonly #waiting: DueDelivery[] = [];
  /** Deliveries that wait or are under way, until their outcome is recorded. */
  readonly #open = new Set<string>();
  #inFlight = 0;
  // The number of parallel attempts grows by one with each success and halves with each failure, so that a failing
  // endpoint gets few attempts.
  #atOnce: number;
  #page = firstPage;
  #after = start;
  #mayHaveMore = true;
  #isReading = false;
  #isDrained = false;

  constructor(endpoint: LeasedEndpoint, lease: { nowMs: number; untilMs: number }, options: QueueOptions) {
    this.endpoint = endpoint;
    this.openedMs = lease.nowMs;
    this.leasedUntilMs = lease.untilMs;
    this.slow = endpoint.failing_since !== null;
    this.#atOnce = this.slow ? 1 : maxInFlight;
    this.#options = options;
    this.#advance();
  }

  /** Reads again from the first due delivery. */
  nudge(): void {
    this.#after = start;
    this.#mayHaveMore = true;
    this.#advance();
  }

  /** Begins no more attempts. `drained` is called when the attempts under way have ended. */
  close(): void {
    this.closed = true;
    for (const { delivery_id } of this.#waiting.splice(0)) this.#open.delete(delivery_id);
    this.#advance();
  }

  #advance(): void {
    if (this.#isDrained) return;
    while (this.#inFlight < this.#atOnce && this.#waiting.length > 0) void this.#deliver(this.#waiting.shift()!);
    const isLow = this.#waiting.length < Math.min(this.#page / 2, this.#atOnce * maxInFlight);
    if (isLow && this.#mayHaveMore && !this.#isReading && !this.closed) void this.#read();
    if (this.#open.size > 0 || this.#isReading || (this.#mayHaveMore && !this.closed)) return;
    this.#isDrained = true;
    this.#options.drained(this);
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    this.#mayHaveMore = false;
    const limit = this.#page + this.#open.size;
    try {
      const rows = await this.#options.read(this.endpoint, this.#after, limit);
      if (!this.closed) this.#take(rows, rows.length === limit);
    } catch (error) {
      this.#options.failed(error);
      await delay(retryMs);
      this.#mayHaveMore = true;
    }
    this.#isReading = false;
    this.#advance();
  }

  #take(rows: DueDelivery[], isFull: boolean): void {
    for (const row of rows) {
      if (this.#open.has(row.delivery_id)) continue;
      this.#open.add(row.delivery_id);
      this.#waiting.push(row);
    }
    if (!isFull) return;
    const last = rows.at(-1)!;
    // If a nudge arrived during the read, the next page begins at the start again, because new deliveries may be due
    // earlier.
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
    this.#open.delete(delivery.delivery_id);
    this.#advance();
  }
}
