import { statement, type Tx } from '../../platform/db/database.ts';
import { type Emptied, emptiedWords } from '../../feed/events/cancel.ts';
import { nilUuid } from '../../platform/crypto/random.ts';

export const deliveryStatuses = ['pending', 'succeeded', 'dead', 'cancelled'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export type BrowsedDelivery = {
  delivery_id: string;
  endpoint_id: string;
  url: string;
  type: string;
  status: DeliveryStatus;
  attempts: number;
  created_at: Date;
  next_attempt_at: Date | null;
  emptied: Emptied | null;
  last_at: Date | null;
  last_status: number | null;
  last_ms: number | null;
  last_error: string | null;
};

/** The position of a delivery in a list that begins with the newest delivery. */
export type DeliveryPosition = { createdAt: Date; deliveryId: string };

export type DeliveryFilter = {
  endpointId: string | null;
  status: DeliveryStatus | null;
  type: string | null;
  from: Date | null;
  /** Exclusive. */
  to: Date | null;
  /** The position of the last delivery on the previous page. */
  after: DeliveryPosition | null;
};

const chosenEndpoints = 'w.organisation_id = $1 and ($2::uuid is null or w.endpoint_id = $2)';
const between = `d.organisation_id = $1 and d.endpoint_id = w.endpoint_id
                 and d.created_at >= $3::timestamptz and d.created_at < $4::timestamptz
                 and (d.created_at, d.delivery_id) < ($5::timestamptz, $6::uuid)`;

/** These filters have an index or match nearly all deliveries, so a page is full after few rows. */
const dense: readonly DeliveryFilter['status'][] = [null, 'pending', 'dead'];

// If no index has the right order, a page reads at most this many deliveries, and the next page continues with older
// ones.
const maxRead = 4000;
const oldestRead = statement('delivery.oldest_read')`
  select d.created_at as "createdAt" from webhook_endpoint w
   cross join lateral (
    select d.created_at from delivery d where ${between} order by d.created_at desc limit ${maxRead}) d
   where ${chosenEndpoints} order by d.created_at desc offset ${maxRead - 1} limit 1`;

// The text contains the status, so that each endpoint takes one scan of the index for that status. A page may join
// events before it is full only if the number of rows is limited.
const pageOf = (status: DeliveryStatus | null, isBounded: boolean) =>
  statement(`delivery.browse_${status ?? 'any'}_${isBounded}`)`
  select p.organisation_id, p.delivery_id, p.endpoint_id, p.url, e.type, p.status, p.attempts, p.created_at, p.next_attempt_at, e.emptied,
         t.at as last_at, t.status_code as last_status, t.duration_ms as last_ms, t.error as last_error
    from (select d.*, w.url
            from webhook_endpoint w cross join lateral (
              select d.organisation_id, d.delivery_id, d.endpoint_id, d.event_id, d.status, d.attempts, d.created_at, d.next_attempt_at
                from delivery d
               where ${between} ${status === null ? '' : `and d.status = '${status}'`} ${
                 isBounded
                   ? `and d.created_at >= $8::timestamptz and ($9::text is null or exists (
                        select from event e where e.organisation_id = $1 and e.event_id = d.event_id and e.type = $9))`
                   : ''
               }
               order by d.created_at desc, d.delivery_id desc limit $7) d
           where ${chosenEndpoints}
           order by d.created_at desc, d.delivery_id desc limit $7) p
    join event e on e.organisation_id = $1 and e.event_id = p.event_id
    left join lateral (
      select * from delivery_attempt t where t.organisation_id = $1 and t.delivery_id = p.delivery_id
       order by t.number desc limit 1) t on true
   order by p.created_at desc, p.delivery_id desc`;

/**
 * A page of deliveries, the newest first. A page can be short or empty although more pages follow.
 * @returns `next`: the position after which the next page begins; null: this page is the last
 */
export async function browseDeliveries(
  tx: Tx,
  organisationId: number,
  { endpointId, status, type, from, to, after }: DeliveryFilter,
  limit: number,
): Promise<{ deliveries: BrowsedDelivery[]; next: DeliveryPosition | null }> {
  const isBounded = type !== null || !dense.includes(status);
  // Open ends are sent as infinity, because a condition that may be null cannot use an index.
  const position = [after?.createdAt ?? 'infinity', after?.deliveryId ?? nilUuid];
  const values: unknown[] = [organisationId, endpointId, from ?? '-infinity', to ?? 'infinity', ...position];
  let next: DeliveryPosition | null = null;
  if (isBounded) {
    const [bound] = await tx.query<{ createdAt: Date }>(oldestRead, values);
    if (bound !== undefined) next = { createdAt: bound.createdAt, deliveryId: nilUuid };
  }
  values.push(limit + 1, ...(isBounded ? [next?.createdAt ?? '-infinity', type] : []));
  const found = await tx.query<BrowsedDelivery>(pageOf(status, isBounded), values);
  const deliveries = found.slice(0, limit);
  const last = deliveries.at(-1);
  if (found.length > limit && last !== undefined) next = { createdAt: last.created_at, deliveryId: last.delivery_id };
  return { deliveries, next };
}

export type KeptAttempt = {
  number: number;
  at: Date;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
  sent: string | null;
};

export type DeliveryDetail = Omit<BrowsedDelivery, 'attempts' | `last_${string}`> & {
  event_id: string;
  occurred_at: Date;
  payload: string;
};

const byId = statement('delivery.detail')`
  select d.delivery_id, d.endpoint_id, w.url, d.event_id, e.type, d.status, d.created_at, e.occurred_at, d.next_attempt_at, e.emptied, e.payload
    from delivery d
    join webhook_endpoint w on w.organisation_id = d.organisation_id and w.endpoint_id = d.endpoint_id
    join event e on e.organisation_id = d.organisation_id and e.event_id = d.event_id
   where d.organisation_id = $1 and d.delivery_id = $2`;
const attemptsOf = statement('delivery.attempts_of')`
  select delivery_id, number, at, status_code, duration_ms, error, sent from delivery_attempt
   where organisation_id = $1 and delivery_id = any($2) order by number`;

/** @returns undefined when the organisation has no such delivery, or has removed its endpoint */
export async function findDelivery(tx: Tx, organisationId: number, deliveryId: string) {
  const [delivery] = await tx.query<DeliveryDetail>(byId, [organisationId, deliveryId]);
  if (delivery === undefined) return undefined;
  return { delivery, attempts: await tx.query<KeptAttempt>(attemptsOf, [organisationId, [deliveryId]]) };
}

export type ListedDelivery = Awaited<ReturnType<typeof listDeliveries>>[number];

/** Deliveries for the command line: the newest first, each with all attempts. */
export async function listDeliveries(
  tx: Tx,
  organisationId: number,
  { endpointId, status, limit }: Pick<DeliveryFilter, 'endpointId' | 'status'> & { limit: number },
) {
  const found: BrowsedDelivery[] = [];
  let after: DeliveryPosition | null = null;
  do {
    const filter: DeliveryFilter = { endpointId, status, type: null, from: null, to: null, after };
    const page = await browseDeliveries(tx, organisationId, filter, limit - found.length);
    found.push(...page.deliveries);
    after = page.next;
  } while (after !== null && found.length < limit);
  type Row = KeptAttempt & { delivery_id: string };
  const rows = await tx.query<Row>(attemptsOf, [organisationId, found.map((one) => one.delivery_id)]);
  const attempts = Map.groupBy(rows, (one) => one.delivery_id);
  return found.map((one) => ({
    id: one.delivery_id,
    endpoint_id: one.endpoint_id,
    event: one.type,
    status: one.status,
    attempts: (attempts.get(one.delivery_id) ?? []).map(({ at, status_code, duration_ms, error }) => ({
      at: at.toISOString(),
      status_code,
      duration_ms,
      error,
    })),
    next_attempt_at: one.next_attempt_at?.toISOString() ?? null,
    // The reason belongs to the event, so it is set whatever the delivery's status is.
    cancelled_because: one.emptied === null ? null : emptiedWords[one.emptied],
  }));
}

/** The attempts to an endpoint in one hour. */
export type Hour = { hour: Date; succeeded: number; failed: number; median_ms: number; slowest_ms: number };

export const maxSummarised = 5000;
const hours = statement('delivery.hours')`
  select date_bin('1 hour', t.at, '2000-01-01 00:00:00+00') as hour,
         count(*) filter (where t.error is null) as succeeded, count(*) filter (where t.error is not null) as failed,
         (percentile_disc(0.5) within group (order by t.duration_ms))::int4 as median_ms, max(t.duration_ms) as slowest_ms
    from (select d.delivery_id from delivery d
           where d.organisation_id = $1 and d.endpoint_id = $2 and d.created_at >= $3
           order by d.created_at desc limit ${maxSummarised}) d
    join delivery_attempt t on t.organisation_id = $1 and t.delivery_id = d.delivery_id
   where t.at >= $4 group by 1 order by 1 desc`;

/** Summarises the attempts in each of the last `count` hours. Reads the newest deliveries, of the last 3 days. */
export function hoursOf(tx: Tx, organisationId: number, endpointId: string, nowMs: number, count: number) {
  const ago = (hoursAgo: number) => new Date(nowMs - hoursAgo * 3600_000);
  return tx.query<Hour>(hours, [organisationId, endpointId, ago(72), ago(count)]);
}

const newest = statement('delivery.newest_outcomes')`
  select w.endpoint_id, w.url, count(*) filter (where d.status = 'succeeded') as succeeded,
         count(*) filter (where d.status = 'pending') as waiting, count(*) filter (where d.status = 'dead') as dead
    from webhook_endpoint w cross join lateral (
      select d.status from delivery d
       where d.organisation_id = $1 and d.endpoint_id = w.endpoint_id
       order by d.created_at desc limit $2) d
   where w.organisation_id = $1 group by 1, 2 order by 5 desc, 4 desc, 2`;

export type Outcomes = { endpoint_id: string; url: string; succeeded: number; waiting: number; dead: number };

/** The outcomes of each endpoint's newest deliveries. A cancelled delivery counts nowhere. */
export const newestOutcomes = (tx: Tx, organisationId: number, perEndpoint: number): Promise<Outcomes[]> =>
  tx.query<Outcomes>(newest, [organisationId, perEndpoint]);
