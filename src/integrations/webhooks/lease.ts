import type { Clock } from '../../platform/time/clock.ts';
import type { Dedicated, Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import { notifyWorkers } from '../../feed/events/emit.ts';
import type { EndpointQueue, LeasedEndpoint } from './queue.ts';

/**
 * A worker leases endpoints, not deliveries. A lease is one small update for all deliveries that follow, and it bounds the
 * attempts under way to one endpoint over all workers (docs/decisions/0007-lease-endpoint-queues.md). Leases are compared with the
 * workers' clocks, which must agree to well within a lease.
 */

const columns = `w.organisation_id, w.endpoint_id, w.status, w.url, w.secret, w.previous_secret, w.previous_secret_until,
         w.earlier_secrets, w.failing_since`;

/** The endpoint has something due at `at`, and no living worker holds it. */
const isFree = (at: string, hasEnded = 'true') => `
         w.status = 'active' and (w.leased_until is null or w.leased_until <= ${at} and ${hasEnded})
     and exists (select from delivery d where d.organisation_id = w.organisation_id and d.endpoint_id = w.endpoint_id
                    and d.status = 'pending' and d.next_attempt_at <= ${at})`;

const due = statement(
  'lease.due',
  `
  select distinct w.organisation_id from webhook_endpoint w where ${isFree('$1')} limit $2`,
);
const claim = statement(
  'lease.claim',
  `
  with free as (
    select w.endpoint_id from webhook_endpoint w
     where w.organisation_id = $6 and ${isFree('$2', '($5 or w.leased_by = $1)')}
     limit $4 for update of w skip locked)
  update webhook_endpoint w set leased_by = $1, leased_until = $3
    from free where w.organisation_id = $6 and w.endpoint_id = free.endpoint_id
  returning ${columns}`,
);
const held = statement(
  'lease.held',
  `select ${columns} from webhook_endpoint w where w.organisation_id = any($2::int8[]) and w.leased_by = $1`,
);
// The lease of a paused endpoint is renewed as well: when it is resumed, no other worker may send what is under way.
const renew = statement(
  'lease.renew',
  `
  update webhook_endpoint w set leased_until = $2
   where w.organisation_id = any($3::int8[]) and w.endpoint_id = any($4::uuid[]) and w.leased_by = $1
  returning ${columns}`,
);
const release = statement(
  'lease.release',
  `
  update webhook_endpoint set leased_by = null, leased_until = null
   where organisation_id = $2 and endpoint_id = $3 and leased_by = $1`,
);

export type Lease = { workerId: string; nowMs: number; untilMs: number };

/**
 * Leases endpoints that have something due and that no living worker holds.
 * @param organisations null: all that there are
 * @param takesOver whether leases of other workers that have ended are taken over
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

/**
 * The endpoints that one worker holds, each with its queue.
 * @param open opens the queue of a claimed endpoint; `drained` is called once nothing is queued or under way
 * @param released is called after an endpoint was given back
 */
export function createLeases(options: {
  workerId: string;
  leaseMs: number;
  clock: Clock;
  connection: Dedicated;
  stopping: AbortSignal;
  open(endpoint: LeasedEndpoint, lease: Lease, drained: (queue: EndpointQueue) => void): EndpointQueue;
  released(): void;
  failed(error: unknown): void;
}) {
  const { workerId, leaseMs, clock, connection, stopping, open, released, failed } = options;
  const queues = new Map<string, EndpointQueue>();
  let releasing = 0;
  let takesOverFromMs = 0;
  const lease = (nowMs = clock.nowMs()): Lease => ({ workerId, nowMs, untilMs: nowMs + leaseMs });

  async function giveBack(queue: EndpointQueue): Promise<void> {
    const { organisation_id: organisationId, endpoint_id: endpointId } = queue.endpoint;
    // Before the release is sent: a claim that follows on the same connection finds the endpoint free.
    queues.delete(endpointId);
    releasing += 1;
    // An endpoint whose outcomes can't be recorded rests until its lease ends.
    if (!queue.stuck) {
      await connection.query(release, [workerId, organisationId, endpointId]).catch(failed);
      if (queue.closed && !stopping.aborted) await notifyWorkers(connection, [organisationId]).catch(failed);
    }
    releasing -= 1;
    released();
  }

  /** Hands the queues their endpoints as they are now, and closes those that were lost, paused or removed. */
  function refresh(some: EndpointQueue[], found: LeasedEndpoint[]): EndpointQueue[] {
    const states = new Map(found.map((state) => [state.endpoint_id, state]));
    return some.filter((queue) => {
      const state = states.get(queue.endpoint.endpoint_id);
      if (state !== undefined) queue.endpoint = state;
      if (state?.status === 'active') return true;
      queue.close();
      return false;
    });
  }

  async function nudge(organisations: number[] | null): Promise<void> {
    const concerned = [...queues.values()].filter(
      ({ endpoint }) => organisations === null || organisations.includes(endpoint.organisation_id),
    );
    if (concerned.length === 0) return;
    const ids = new Set(concerned.map(({ endpoint }) => endpoint.organisation_id));
    const found = await connection.query<LeasedEndpoint>(held, [workerId, [...ids]]);
    for (const queue of refresh(concerned, found)) queue.nudge();
  }

  return {
    /**
     * Brings the held endpoints of these organisations up to date, and claims free ones that have something due.
     * @param organisations null: all
     * @returns true when more may be free
     */
    async poll(organisations: number[] | null): Promise<boolean> {
      await nudge(organisations);
      const max = Math.min(maxClaimed, maxEndpoints - queues.size);
      if (max <= 0) return false;
      const taken = lease();
      const takesOver = clock.monotonicMs() >= takesOverFromMs;
      const claimed = await claimEndpoints(connection, taken, max, organisations, takesOver);
      for (const endpoint of claimed)
        if (!queues.has(endpoint.endpoint_id))
          queues.set(
            endpoint.endpoint_id,
            open(endpoint, taken, (queue) => void giveBack(queue)),
          );
      return claimed.length === max;
    },
    /** Renews every lease, and closes the queues whose lease was lost. */
    async renew(): Promise<void> {
      const all = [...queues.values()];
      if (all.length === 0) return;
      const next = lease();
      const renewed = await connection.query<LeasedEndpoint>(renew, [
        workerId,
        new Date(next.untilMs),
        [...new Set(all.map(({ endpoint }) => endpoint.organisation_id))],
        all.map(({ endpoint }) => endpoint.endpoint_id),
      ]);
      for (const queue of refresh(all, renewed)) queue.leasedUntilMs = next.untilMs;
    },
    /**
     * The database was away, perhaps for longer than a lease: for one lease no other worker's endpoints are taken over. That
     * worker may live, and have outcomes that the database doesn't have yet.
     */
    databaseWasAway(): void {
      takesOverFromMs = clock.monotonicMs() + leaseMs;
    },
    closeAll(): void {
      for (const queue of queues.values()) queue.close();
    },
    /** True when no endpoint is held or is being given back. */
    isEmpty: (): boolean => queues.size + releasing === 0,
  };
}
