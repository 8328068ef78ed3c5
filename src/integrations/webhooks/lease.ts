import type { Clock } from '../../platform/time/clock.ts';
import { type Dedicated, type Tx, statement } from '../../platform/db/database.ts';
import { notifyWorkers } from '../../feed/events/emit.ts';
import type { EndpointQueue, LeasedEndpoint } from './queue.ts';

/**
 * A worker leases an endpoint before it sends deliveries, so that one update covers many deliveries and each endpoint
 * has one worker at a time (docs/decisions/0007-lease-endpoint-queues.md). Workers compare leases with their own
 * clocks, which must differ by far less than a lease lasts.
 */

const columns = `w.organisation_id, w.endpoint_id, w.status, w.url, w.secret, w.previous_secret, w.previous_secret_until,
         w.earlier_secrets, w.failing_since`;

/** SQL: the endpoint has a delivery that is due at `at`, and no worker has a valid lease. */
const isFree = (at: string, hasEnded = 'true') => `
         w.status = 'active' and (w.leased_until is null or w.leased_until <= ${at} and ${hasEnded})
     and exists (select from delivery d where d.organisation_id = w.organisation_id and d.endpoint_id = w.endpoint_id
                    and d.status = 'pending' and d.next_attempt_at <= ${at})`;

const due = statement('lease.due')`
  select distinct w.organisation_id from webhook_endpoint w where ${isFree('$1')} limit $2`;
const claim = statement('lease.claim')`
  with free as (
    select w.endpoint_id from webhook_endpoint w
     where w.organisation_id = $6 and ${isFree('$2', '($5 or w.leased_by = $1)')}
     limit $4 for update of w skip locked)
  update webhook_endpoint w set leased_by = $1, leased_until = $3
    from free where w.organisation_id = $6 and w.endpoint_id = free.endpoint_id
  returning ${columns}`;
const held = statement('lease.held')`
  select ${columns} from webhook_endpoint w where w.organisation_id = any($2::int8[]) and w.leased_by = $1`;
// Leases of paused endpoints are renewed too. If such an endpoint is resumed, no other worker can repeat an attempt
// that is under way.
const renew = statement('lease.renew')`
  update webhook_endpoint w set leased_until = $2
   where w.organisation_id = any($3::int8[]) and w.endpoint_id = any($4::uuid[]) and w.leased_by = $1
  returning ${columns}`;
const release = statement('lease.release')`
  update webhook_endpoint set leased_by = null, leased_until = null
   where organisation_id = $2 and endpoint_id = $3 and leased_by = $1`;

type Lease = { workerId: string; nowMs: number; untilMs: number };

/**
 * Leases endpoints that have due deliveries and no valid lease.
 * @param organisations the organisations whose endpoints are leased; null: all
 * @param takesOver whether expired leases of other workers are taken over
 */
export async function claimEndpoints(
  tx: Tx,
  { workerId, nowMs, untilMs }: Lease,
  max: number,
  organisations: number[] | null,
  takesOver = true,
): Promise<LeasedEndpoint[]> {
  const now = new Date(nowMs);
  const found = organisations ?? (await tx.query<LeasedEndpoint>(due, [now, max])).map((row) => row.organisation_id);
  const claimed: LeasedEndpoint[] = [];
  for (const id of found) {
    const left = max - claimed.length;
    if (left === 0) break;
    const values = [workerId, now, new Date(untilMs), left, takesOver, id];
    claimed.push(...(await tx.query<LeasedEndpoint>(claim, values)));
  }
  return claimed;
}

const maxEndpoints = 2000;
const maxClaimed = 64;

type LeaseOptions = {
  workerId: string;
  leaseMs: number;
  clock: Clock;
  connection: Dedicated;
  stopping: AbortSignal;
  /** Opens the queue of a leased endpoint. The queue calls `drained` when no delivery is queued or under way. */
  open(endpoint: LeasedEndpoint, lease: Lease, drained: (queue: EndpointQueue) => void): EndpointQueue;
  released(): void;
  failed(error: unknown): void;
};

/** The endpoints that one worker has leased, each with its queue. */
export class LeaseManager {
  readonly #options: LeaseOptions;
  readonly #queues = new Map<string, EndpointQueue>();
  #releasing = 0;
  #takesOverFromMs = 0;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /**
   * Refreshes the leased endpoints of these organisations, and leases free endpoints with due deliveries.
   * @param organisations null: all
   * @returns whether more endpoints may be free
   */
  async poll(organisations: number[] | null): Promise<boolean> {
    const { clock, connection, open } = this.#options;
    await this.#nudge(organisations);
    const max = Math.min(maxClaimed, maxEndpoints - this.#queues.size);
    if (max <= 0) return false;
    const lease = this.#lease();
    const takesOver = clock.monotonicMs() >= this.#takesOverFromMs;
    const claimed = await claimEndpoints(connection, lease, max, organisations, takesOver);
    for (const endpoint of claimed.filter(({ endpoint_id: id }) => !this.#queues.has(id)))
      this.#queues.set(
        endpoint.endpoint_id,
        open(endpoint, lease, (queue) => void this.#giveBack(queue)),
      );
    return claimed.length === max;
  }

  /** Renews every lease, and closes the queues whose lease was lost. */
  async renew(): Promise<void> {
    const { workerId, connection } = this.#options;
    const all = [...this.#queues.values()];
    if (all.length === 0) return;
    const { untilMs } = this.#lease();
    const renewed = await connection.query<LeasedEndpoint>(renew, [
      workerId,
      new Date(untilMs),
      [...new Set(all.map(({ endpoint }) => endpoint.organisation_id))],
      all.map(({ endpoint }) => endpoint.endpoint_id),
    ]);
    for (const queue of this.#refresh(all, renewed)) queue.leasedUntilMs = untilMs;
  }

  /**
   * After an outage of the database, this worker takes over no expired leases for the length of a lease. The workers
   * with these leases may still be running, with outcomes to record.
   */
  databaseWasAway(): void {
    this.#takesOverFromMs = this.#options.clock.monotonicMs() + this.#options.leaseMs;
  }

  closeAll(): void {
    for (const queue of this.#queues.values()) queue.close();
  }

  isEmpty(): boolean {
    return this.#queues.size + this.#releasing === 0;
  }

  #lease(): Lease {
    const { workerId, clock, leaseMs } = this.#options;
    const nowMs = clock.nowMs();
    return { workerId, nowMs, untilMs: nowMs + leaseMs };
  }

  async #nudge(organisations: number[] | null): Promise<void> {
    const { workerId, connection } = this.#options;
    const some = [...this.#queues.values()].filter(
      ({ endpoint }) => organisations === null || organisations.includes(endpoint.organisation_id),
    );
    if (some.length === 0) return;
    const ids = new Set(some.map(({ endpoint }) => endpoint.organisation_id));
    const found = await connection.query<LeasedEndpoint>(held, [workerId, [...ids]]);
    for (const queue of this.#refresh(some, found)) queue.nudge();
  }

  /** Gives each queue the current row of its endpoint, and closes queues whose endpoint was lost, paused or removed. */
  #refresh(queues: EndpointQueue[], found: LeasedEndpoint[]): EndpointQueue[] {
    const endpoints = new Map(found.map((endpoint) => [endpoint.endpoint_id, endpoint]));
    return queues.filter((queue) => {
      const endpoint = endpoints.get(queue.endpoint.endpoint_id);
      if (endpoint !== undefined) queue.endpoint = endpoint;
      if (endpoint?.status === 'active') return true;
      queue.close();
      return false;
    });
  }

  async #giveBack(queue: EndpointQueue): Promise<void> {
    const { workerId, connection, stopping, released, failed } = this.#options;
    const { organisation_id: organisationId, endpoint_id: endpointId } = queue.endpoint;
    // The queue is deleted before the release is sent, because the next claim on this connection may lease the endpoint
    // again.
    this.#queues.delete(endpointId);
    this.#releasing += 1;
    // If outcomes cannot be recorded, the endpoint is not given back and waits until its lease expires.
    if (!queue.stuck) {
      await connection.query(release, [workerId, organisationId, endpointId]).catch(failed);
      if (queue.closed && !stopping.aborted) await notifyWorkers(connection, [organisationId]).catch(failed);
    }
    this.#releasing -= 1;
    released();
  }
}
