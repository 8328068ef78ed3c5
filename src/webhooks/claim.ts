import { arrayLiteral, uuidArray } from '../db/arrays.ts';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { EndpointRow } from './store.ts';
import { nilUuid } from '../uuid.ts';

/**
 * What a worker takes and gives back. The unit is an endpoint's lane, not a delivery: a lease on the lane costs one small
 * update however many deliveries follow, and it bounds what is under way to one endpoint over all workers
 * (docs/decisions/0010-delivery-queue.md). Times are the workers' clocks, which must agree to well within a lease.
 */

/** An endpoint as its lane needs it. */
export type LaneEndpoint = Pick<
  EndpointRow,
  | 'organisation_id'
  | 'endpoint_id'
  | 'status'
  | 'url'
  | 'secret'
  | 'previous_secret'
  | 'previous_secret_until'
  | 'earlier_secrets'
  | 'failing_since'
>;

/** A delivery that is due. */
export type DueDelivery = {
  delivery_id: string;
  type: string;
  attempts: number;
  resent_after: number;
  next_attempt_at: Date;
  payload: string;
};

export type Lease = { workerId: string; nowMs: number; untilMs: number };

/** `anybody`: leases of other workers that have ended are taken over. */
export type Whose = 'anybody' | 'own';

const endpoint = `w.organisation_id, w.endpoint_id, w.status, w.url, w.secret, w.previous_secret, w.previous_secret_until, w.earlier_secrets, w.failing_since`;

// One index probe for each endpoint that has anything pending, however many deliveries wait for it.
export const waiting = `
  with recursive waiting as (
    (select organisation_id, endpoint_id from delivery where status = 'pending' order by organisation_id, endpoint_id limit 1)
    union all
    select n.organisation_id, n.endpoint_id
      from waiting p cross join lateral (
        select d.organisation_id, d.endpoint_id from delivery d
         where d.status = 'pending' and (d.organisation_id, d.endpoint_id) > (p.organisation_id, p.endpoint_id)
         order by d.organisation_id, d.endpoint_id limit 1) n)`;

const take = (among: string) => `
  free as (
    select w.organisation_id, w.endpoint_id
      from ${among}
     where w.status = 'active' and (w.leased_until is null or w.leased_until <= $2 and ($5 or w.leased_by = $1))
       and exists (select from delivery d where d.organisation_id = w.organisation_id and d.endpoint_id = w.endpoint_id
                      and d.status = 'pending' and d.next_attempt_at <= $2)
     limit $4 for update of w skip locked)
  update webhook_endpoint w set leased_by = $1, leased_until = $3
    from free where w.organisation_id = free.organisation_id and w.endpoint_id = free.endpoint_id
  returning ${endpoint}`;

const claimAll = statement(
  'lane.claim_all',
  `${waiting}, ${take('waiting join webhook_endpoint w using (organisation_id, endpoint_id)')}`,
);
const claimOf = statement(
  'lane.claim_of',
  `with ${take('unnest($6::int8[]) as o(id) join webhook_endpoint w on w.organisation_id = o.id')}`,
);
// The same on several nodes: whose lanes have something due is asked of all, and each is claimed on its own node.
const isDue = `w.status = 'active' and (w.leased_until is null or w.leased_until <= $1)
     and exists (select from delivery d where d.organisation_id = w.organisation_id and d.endpoint_id = w.endpoint_id
                    and d.status = 'pending' and d.next_attempt_at <= $1)`;
const dueAnywhere = statement(
  'lane.due_anywhere',
  `select distinct w.organisation_id from webhook_endpoint w where ${isDue} limit $2`,
);
const claimWhere = statement(
  'lane.claim_where_it_is',
  `with ${take('webhook_endpoint w').replace('where w.status', 'where w.organisation_id = $6 and w.status').replace('from free where', 'from free where w.organisation_id = $6 and')}`,
);
const nextDueAnywhere = statement(
  'lane.next_due_anywhere',
  `
  select min(d.next_attempt_at) as at from delivery d
    join webhook_endpoint w on w.organisation_id = d.organisation_id and w.endpoint_id = d.endpoint_id
   where d.status = 'pending' and d.next_attempt_at > $1 and w.status = 'active'`,
);
const held = statement(
  'lane.held',
  `
  select ${endpoint} from webhook_endpoint w where w.organisation_id = any($2::int8[]) and w.leased_by = $1`,
);
const renew = statement(
  'lane.renew',
  `
  update webhook_endpoint w set leased_until = $2
   where w.organisation_id = any($3::int8[]) and w.endpoint_id = any($4::uuid[]) and w.leased_by = $1
  returning ${endpoint}`,
);
const release = statement(
  'lane.release',
  `
  update webhook_endpoint set leased_by = null, leased_until = null
   where organisation_id = any($2::int8[]) and endpoint_id = any($3::uuid[]) and leased_by = $1`,
);
const due = statement(
  'lane.due',
  `
  select d.delivery_id, e.type, d.attempts, d.resent_after, d.next_attempt_at, e.payload
    from delivery d join event e on e.organisation_id = d.organisation_id and e.event_id = d.event_id
   where d.organisation_id = $1 and d.endpoint_id = $2 and d.status = 'pending' and d.next_attempt_at <= $3
     and (d.next_attempt_at, d.delivery_id) > ($4, $5)
   order by d.next_attempt_at, d.delivery_id limit $6`,
);
// "Not in", as where outcomes are recorded: status = 'pending' would let the planner search the index of what is due, whose organisation's part grows with the backlog.
const wanted = statement(
  'lane.wanted',
  `
  select g.n::int4 as n
    from unnest($1::int8[], $2::uuid[]) with ordinality as g(organisation_id, delivery_id, n)
    join delivery d on d.organisation_id = g.organisation_id and d.delivery_id = g.delivery_id
   where d.status not in ('succeeded', 'dead', 'cancelled')`,
);
const nextDue = statement(
  'lane.next_due',
  `${waiting}
  select min(f.next_attempt_at) as at
    from waiting join webhook_endpoint w using (organisation_id, endpoint_id)
   cross join lateral (
     select d.next_attempt_at from delivery d
      where d.organisation_id = w.organisation_id and d.endpoint_id = w.endpoint_id and d.status = 'pending' and d.next_attempt_at > $1
      order by d.next_attempt_at limit 1) f
   where w.status = 'active'`,
);

/**
 * Leases lanes that have something due and that no living worker holds.
 * @param organisations null: all that there are
 */
export async function claimLanes(
  tx: Tx,
  { workerId, nowMs, untilMs }: Lease,
  most: number,
  organisations: number[] | null,
  whose: Whose = 'anybody',
): Promise<LaneEndpoint[]> {
  const values = [workerId, new Date(nowMs), new Date(untilMs), most, whose === 'anybody'];
  if (tx.distributed === true) {
    const among =
      organisations ??
      (await tx.query<{ organisation_id: number }>(dueAnywhere, [new Date(nowMs), most])).map(
        (row) => row.organisation_id,
      );
    const claimed: LaneEndpoint[] = [];
    for (const id of among) {
      const left = most - claimed.length;
      if (left <= 0) break;
      claimed.push(...(await tx.query<LaneEndpoint>(claimWhere, values.with(3, left).concat(id))));
    }
    return claimed;
  }
  return organisations === null
    ? tx.query<LaneEndpoint>(claimAll, values)
    : tx.query<LaneEndpoint>(claimOf, [...values, organisations]);
}

type Lane = { organisation_id: number; endpoint_id: string };
const organisationsOf = (lanes: Lane[]) => [...new Set(lanes.map((lane) => lane.organisation_id))];

/**
 * Renews leases; a lane that isn't in the answer was lost, or its endpoint is gone. That of a paused or disabled one is
 * renewed as well: should it be resumed, no other worker may send what is still under way.
 */
export function renewLanes(tx: Tx, { workerId, untilMs }: Lease, lanes: Lane[]): Promise<LaneEndpoint[]> {
  return tx.query<LaneEndpoint>(renew, [
    workerId,
    new Date(untilMs),
    organisationsOf(lanes),
    lanes.map((lane) => lane.endpoint_id),
  ]);
}

/** The worker's lanes in these organisations as they are now; one that isn't in the answer was lost, or its endpoint is gone. */
export function heldLanes(tx: Tx, workerId: string, organisations: number[]): Promise<LaneEndpoint[]> {
  return tx.query<LaneEndpoint>(held, [workerId, organisations]);
}

export async function releaseLanes(tx: Tx, workerId: string, lanes: Lane[]): Promise<void> {
  await tx.query(release, [workerId, organisationsOf(lanes), lanes.map((lane) => lane.endpoint_id)]);
}

export type After = { at: Date; deliveryId: string };
export const fromTheStart: After = { at: new Date(0), deliveryId: nilUuid };

/** What is due in a lane, oldest first, beyond a place: rows behind it that are already done needn't be passed again. */
export function dueDeliveries(tx: Tx, lane: Lane, nowMs: number, after: After, limit: number): Promise<DueDelivery[]> {
  return tx.query<DueDelivery>(due, [
    lane.organisation_id,
    lane.endpoint_id,
    new Date(nowMs),
    after.at,
    after.deliveryId,
    limit,
  ]);
}

/** Which deliveries still wait to be sent, at their places: what was cancelled since they were read is not sent. */
export async function stillWanted(
  tx: Tx,
  deliveries: { organisationId: number; deliveryId: string }[],
): Promise<boolean[]> {
  const rows = await tx.query<{ n: number }>(wanted, [
    arrayLiteral(deliveries.map((one) => one.organisationId)),
    uuidArray(deliveries.map((one) => one.deliveryId)),
  ]);
  const places = new Set(rows.map((row) => row.n - 1));
  return deliveries.map((_, i) => places.has(i));
}

/** When the next delivery of an active endpoint falls due after now; null if none waits. */
export async function nextDueMs(tx: Tx, nowMs: number): Promise<number | null> {
  const next = tx.distributed === true ? nextDueAnywhere : nextDue;
  return (await tx.query<{ at: Date | null }>(next, [new Date(nowMs)]))[0]?.at?.getTime() ?? null;
}
