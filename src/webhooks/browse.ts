import type { Tx } from '../db/database.ts';
import type { Statement } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Emptied } from '../events/cancel.ts';
import { emptiedWords } from '../events/cancel.ts';
import { nilUuid } from '../uuid.ts';
import type { DeliveryStatus } from './deliveries.ts';

/** Deliveries over all endpoints, page by page, and one with every attempt. */

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

/** Where a page ends. */
export type DeliveryPlace = { createdAt: Date; deliveryId: string };

export type DeliveryFilter = {
  endpointId: string | null;
  status: DeliveryStatus | null;
  type: string | null;
  from: Date | null;
  /** Exclusive. */
  to: Date | null;
  /** Where the page before ended. */
  after: DeliveryPlace | null;
};

const chosenEndpoints = 'w.organisation_id = $1 and ($2::uuid is null or w.endpoint_id = $2)';
const inOrder = 'd.created_at desc, d.delivery_id desc';
const between = `d.organisation_id = $1 and d.endpoint_id = w.endpoint_id
                 and d.created_at >= $3::timestamptz and d.created_at < $4::timestamptz
                 and (d.created_at, d.delivery_id) < ($5::timestamptz, $6::uuid)`;
// An end that isn't given is one all the same: a condition that may be none is no condition of an index.
const ends = { first: '-infinity', last: 'infinity' };

/**
 * Deliveries that one page looks through for what no index is ordered by, and from the place where they are looked through,
 * by time alone as their index is: what is older is left to the next page.
 */
const looked = 4000;
const lookedTo = statement(
  'delivery.looked_to',
  `
  select d.created_at as "createdAt", $7::uuid as "deliveryId" from webhook_endpoint w
   cross join lateral (
    select d.created_at from delivery d where ${between}
     order by d.created_at desc limit ${looked}) d
   where ${chosenEndpoints} order by d.created_at desc offset ${looked - 1} limit 1`,
);

// One walk down an index for each endpoint; the status stands in the text so that its own index is used.
const pageOf = (status: DeliveryStatus | 'any', bounded: boolean) => {
  const ofStatus = status === 'any' ? '' : `and d.status = '${status}'`;
  // A bounded one reads no more than it may, so its events can be asked before the page is full.
  const ofType = `exists (select from event e where e.organisation_id = $1 and e.event_id = d.event_id and e.type = $8)`;
  const bound = `and (d.created_at, d.delivery_id) >= ($9::timestamptz, $10::uuid) and ($8::text is null or ${ofType})`;
  return statement(
    `delivery.browse_${status}_${bounded}`,
    `
  select p.organisation_id, p.delivery_id, p.endpoint_id, p.url, e.type, p.status, p.attempts, p.created_at, p.next_attempt_at, e.emptied,
         t.at as last_at, t.status_code as last_status, t.duration_ms as last_ms, t.error as last_error
    from (select d.*, w.url
            from webhook_endpoint w cross join lateral (
              select d.organisation_id, d.delivery_id, d.endpoint_id, d.event_id, d.status, d.attempts, d.created_at, d.next_attempt_at
                from delivery d
               where ${between} ${ofStatus} ${bounded ? bound : ''}
               order by ${inOrder} limit $7) d
           where ${chosenEndpoints}
           order by ${inOrder} limit $7) p
    join event e on e.organisation_id = $1 and e.event_id = p.event_id
    left join lateral (
      select * from delivery_attempt t where t.organisation_id = $1 and t.delivery_id = p.delivery_id
       order by t.number desc limit 1) t on true
   order by p.created_at desc, p.delivery_id desc`,
  );
};
const statuses = ['any', 'pending', 'succeeded', 'dead', 'cancelled'] as const;
const pagesOf = (bounded: boolean) =>
  Object.fromEntries(statuses.map((status) => [status, pageOf(status, bounded)])) as Record<
    (typeof statuses)[number],
    Statement
  >;
const pages = { whole: pagesOf(false), bounded: pagesOf(true) };

/** What has an index of its own, or is nearly all there is: a page of it is full before many were read. */
const dense: readonly DeliveryFilter['status'][] = [null, 'pending', 'dead'];

/**
 * A page of deliveries, the newest first, and where the next one goes on; null at the end. A page that looks for what is
 * rare may be short, or empty, and yet not be the last.
 */
export async function browseDeliveries(
  tx: Tx,
  organisationId: number,
  { endpointId, status, type, from, to, after }: DeliveryFilter,
  limit: number,
): Promise<{ deliveries: BrowsedDelivery[]; next: DeliveryPlace | null }> {
  const place = [after?.createdAt ?? ends.last, after?.deliveryId ?? nilUuid];
  const where = [organisationId, endpointId, from ?? ends.first, to ?? ends.last, ...place];
  const bounded = type !== null || !dense.includes(status);
  const [bound] = bounded ? await tx.query<DeliveryPlace>(lookedTo, [...where, nilUuid]) : [];
  const found = bounded
    ? await tx.query<BrowsedDelivery>(pages.bounded[status ?? 'any'], [
        ...where,
        limit + 1,
        type,
        bound?.createdAt ?? ends.first,
        nilUuid,
      ])
    : await tx.query<BrowsedDelivery>(pages.whole[status ?? 'any'], [...where, limit + 1]);
  const deliveries = found.slice(0, limit);
  const last = deliveries.at(-1);
  if (found.length > limit && last !== undefined)
    return {
      deliveries,
      next: { createdAt: last.created_at, deliveryId: last.delivery_id },
    };
  return { deliveries, next: bound ?? null };
}

export type KeptAttempt = {
  number: number;
  at: Date;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
  sent: string | null;
};

export type WholeDelivery = {
  delivery_id: string;
  endpoint_id: string;
  url: string;
  event_id: string;
  type: string;
  status: DeliveryStatus;
  created_at: Date;
  occurred_at: Date;
  next_attempt_at: Date | null;
  emptied: Emptied | null;
  payload: string;
};

const byId = statement(
  'delivery.whole',
  `
  select d.delivery_id, d.endpoint_id, w.url, d.event_id, e.type, d.status, d.created_at, e.occurred_at, d.next_attempt_at, e.emptied, e.payload
    from delivery d
    join webhook_endpoint w on w.organisation_id = d.organisation_id and w.endpoint_id = d.endpoint_id
    join event e on e.organisation_id = d.organisation_id and e.event_id = d.event_id
   where d.organisation_id = $1 and d.delivery_id = $2`,
);
const attemptsOf = statement(
  'delivery.attempts_of',
  `
  select number, at, status_code, duration_ms, error, sent from delivery_attempt
   where organisation_id = $1 and delivery_id = $2 order by number`,
);

/** @returns undefined when the organisation has no such delivery, or has removed its endpoint */
export async function findDelivery(
  tx: Tx,
  organisationId: number,
  deliveryId: string,
): Promise<{ delivery: WholeDelivery; attempts: KeptAttempt[] } | undefined> {
  const [delivery] = await tx.query<WholeDelivery>(byId, [organisationId, deliveryId]);
  if (delivery === undefined) return undefined;
  return { delivery, attempts: await tx.query<KeptAttempt>(attemptsOf, [organisationId, deliveryId]) };
}

export type ListedAttempt = { at: string; status_code: number | null; duration_ms: number; error: string | null };
export type ListedDelivery = {
  id: string;
  endpoint_id: string;
  event: string;
  status: DeliveryStatus;
  attempts: ListedAttempt[];
  next_attempt_at: string | null;
  /** Why it is not sent any more, whatever its status. */
  cancelled_because: string | null;
};

const attemptsOfMany = statement(
  'delivery.attempts_of_many',
  `
  select delivery_id, at, status_code, duration_ms, error from delivery_attempt
   where organisation_id = $1 and delivery_id = any($2) order by number`,
);

/** As the command line shows them: the newest first, each with every attempt. */
export async function listDeliveries(
  tx: Tx,
  organisationId: number,
  { endpointId, status, limit }: Pick<DeliveryFilter, 'endpointId' | 'status'> & { limit: number },
): Promise<ListedDelivery[]> {
  const found: BrowsedDelivery[] = [];
  let after: DeliveryPlace | null = null;
  do {
    const filter: DeliveryFilter = { endpointId, status, type: null, from: null, to: null, after };
    const page = await browseDeliveries(tx, organisationId, filter, limit - found.length);
    found.push(...page.deliveries);
    after = page.next;
  } while (after !== null && found.length < limit);
  const ids = found.map((one) => one.delivery_id);
  const attempts = Map.groupBy(
    await tx.query<KeptAttempt & { delivery_id: string }>(attemptsOfMany, [organisationId, ids]),
    (one) => one.delivery_id,
  );
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
    cancelled_because: one.emptied === null ? null : emptiedWords[one.emptied],
  }));
}

/** What came of an endpoint's attempts in an hour. */
export type Hour = {
  hour: Date;
  succeeded: number;
  failed: number;
  median_ms: number;
  slowest_ms: number;
};

const hours = statement(
  'delivery.hours',
  `
  select date_bin('1 hour', t.at, '2000-01-01 00:00:00+00') as hour,
         count(*) filter (where t.error is null) as succeeded, count(*) filter (where t.error is not null) as failed,
         (percentile_disc(0.5) within group (order by t.duration_ms))::int4 as median_ms, max(t.duration_ms) as slowest_ms
    from delivery d join delivery_attempt t on t.organisation_id = d.organisation_id and t.delivery_id = d.delivery_id
   where d.organisation_id = $1 and d.endpoint_id = $2 and d.created_at >= $3 and t.at >= $4
   group by 1 order by 1 desc`,
);

/** Attempts of deliveries that are younger than three days, in the last so many hours. */
export function hoursOf(
  tx: Tx,
  organisationId: number,
  endpointId: string,
  nowMs: number,
  back: number,
): Promise<Hour[]> {
  const hourMs = 3600_000;
  return tx.query<Hour>(hours, [
    organisationId,
    endpointId,
    new Date(nowMs - 72 * hourMs),
    new Date(nowMs - back * hourMs),
  ]);
}
