import type { App } from '../app.ts';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';
import { eachInTurn, inSteps, inWork, rowsLane } from '../db/work.ts';
import { wakeWorkers } from '../events/emit.ts';

/**
 * Sending many deliveries again, in the background: those that had ended when it was ordered, in the order in which they
 * were made. How far it came is kept in the transaction of each step, so nothing is sent twice, however often the work is
 * broken off and begun again; and what has succeeded meanwhile is left alone.
 */
export type Resend = {
  organisation_id: number;
  resend_id: string;
  endpoint_id: string | null;
  failed_since: Date | null;
  delivery_ids: string[] | null;
  created_by: string;
  created_at: Date;
  total: number;
  resent: number;
  finished_at: Date | null;
};

/** Which: all that finally failed since a time (of one endpoint, or all), or these. */
export type Which = { endpointId: string | null; failedSince: Date } | { deliveryIds: string[] };

/** Deliveries in one transaction. */
const atOnce = 500;

const columns =
  'organisation_id, resend_id, endpoint_id, failed_since, delivery_ids, created_by, created_at, total, resent, finished_at';

/** Of which deliveries: $2 the endpoint, $3 since when they failed, $4 their ids, $5 before when they ended. */
const chosen = `
    from webhook_endpoint w
    join delivery d on d.organisation_id = w.organisation_id and d.endpoint_id = w.endpoint_id
    join event e on e.organisation_id = d.organisation_id and e.event_id = d.event_id
   where w.organisation_id = $1 and ($2::uuid is null or w.endpoint_id = $2) and e.emptied is null and d.finished_at <= $5`;
const failed = `${chosen} and d.status = 'dead' and d.finished_at >= $3 and $4::uuid[] is null`;
const selected = `${chosen} and d.status in ('dead', 'succeeded') and d.delivery_id = any($4) and $3::timestamptz is null`;
const countOf = (name: string, which: string) => statement(`resend.count_${name}`, `select count(*) as count ${which}`);
const counts = { failed: countOf('failed', failed), selected: countOf('selected', selected) };
const nextOf = (name: string, which: string) =>
  statement(
    `resend.next_${name}`,
    // The place is compared where it is kept: a timestamp has microseconds, which a Date has not.
    `
  select d.delivery_id, d.event_id ${which}
     and (d.created_at, d.delivery_id) > (select r.reached_at, r.reached_id from webhook_resend r where r.organisation_id = $1 and r.resend_id = $6)
   order by d.created_at, d.delivery_id limit ${atOnce}`,
  );
const nexts = { failed: nextOf('failed', failed), selected: nextOf('selected', selected) };
// As for a single one: events first, and only then is it asked whether they were emptied.
const lockEvents = statement(
  'resend.lock_events',
  `
  with locked as (
    select event_id from event where organisation_id = $1 and event_id = any($2) order by event_id for share)
  select count(*) as count from locked`,
);
const resend = statement(
  'resend.deliveries',
  `
  with locked as (
    select d.delivery_id from delivery d join event e on e.organisation_id = d.organisation_id and e.event_id = d.event_id
     where d.organisation_id = $1 and d.delivery_id = any($2) and d.status in ('dead', 'succeeded') and d.finished_at <= $4
       and e.emptied is null
     order by d.delivery_id for update of d)
  update delivery d set status = 'pending', next_attempt_at = $3, finished_at = null, resent_after = d.attempts
    from locked l where d.organisation_id = $1 and d.delivery_id = l.delivery_id returning d.delivery_id`,
);
const insert = statement(
  'resend.insert',
  `
  insert into webhook_resend (organisation_id, resend_id, endpoint_id, failed_since, delivery_ids, created_by, created_at, total)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);
const byId = statement(
  'resend.by_id',
  `select ${columns} from webhook_resend where organisation_id = $1 and resend_id = $2`,
);
const open = statement(
  'resend.open',
  `select organisation_id, resend_id from webhook_resend where finished_at is null order by created_at limit 100`,
);
const lockOpen = statement(
  'resend.lock_open',
  `
  select ${columns} from webhook_resend
   where organisation_id = $1 and resend_id = $2 and finished_at is null for update skip locked`,
);
const advance = statement(
  'resend.advance',
  `
  update webhook_resend r set resent = r.resent + $3, finished_at = $4, reached_id = coalesce($5, r.reached_id),
         reached_at = coalesce((select d.created_at from delivery d where d.organisation_id = $1 and d.delivery_id = $5), r.reached_at)
   where r.organisation_id = $1 and r.resend_id = $2`,
);

const prune = statement('resend.prune', 'delete from webhook_resend where finished_at < $1');

export async function pruneResends(tx: Tx, before: Date): Promise<void> {
  await tx.query(prune, [before]);
}

type Kind = keyof typeof counts;

function bound(organisationId: number, which: Which, before: Date): { kind: Kind; values: unknown[] } {
  return 'deliveryIds' in which
    ? { kind: 'selected', values: [organisationId, null, null, which.deliveryIds, before] }
    : { kind: 'failed', values: [organisationId, which.endpointId, which.failedSince, null, before] };
}

/** How many would be sent again now. */
export async function countResendable(tx: Tx, organisationId: number, which: Which, now: Date): Promise<number> {
  const { kind, values } = bound(organisationId, which, now);
  return (await tx.query<{ count: number }>(counts[kind], values))[0]!.count;
}

/** Orders that they are sent again; `runResends` does it. The same id twice is one order. */
export async function orderResend(
  work: Work,
  organisationId: number,
  given: { resendId: string; which: Which; by: string },
): Promise<Resend> {
  const { resendId, which, by } = given;
  const before = await findResend(work.tx, organisationId, resendId);
  if (before !== undefined) return before;
  const now = new Date(work.nowMs);
  const total = await countResendable(work.tx, organisationId, which, now);
  await work.tx.query(insert, [
    organisationId,
    resendId,
    'deliveryIds' in which ? null : which.endpointId,
    'deliveryIds' in which ? null : which.failedSince,
    'deliveryIds' in which ? which.deliveryIds : null,
    by,
    now,
    total,
  ]);
  return (await findResend(work.tx, organisationId, resendId))!;
}

export async function findResend(tx: Tx, organisationId: number, resendId: string): Promise<Resend | undefined> {
  return (await tx.query<Resend>(byId, [organisationId, resendId]))[0];
}

function whichOf({ endpoint_id: endpointId, failed_since: failedSince, delivery_ids: deliveryIds }: Resend): Which {
  return deliveryIds === null ? { endpointId, failedSince: failedSince! } : { deliveryIds };
}

/** One step of an order. @returns whether more is to be done that nobody else is at */
async function step(work: Work, organisationId: number, resendId: string): Promise<boolean> {
  const [order] = await work.tx.query<Resend>(lockOpen, [organisationId, resendId]);
  if (order === undefined) return false;
  const { kind, values } = bound(organisationId, whichOf(order), order.created_at);
  const next = await work.tx.query<{ delivery_id: string; event_id: string }>(nexts[kind], [...values, resendId]);
  const now = new Date(work.nowMs);
  if (next.length === 0) {
    await work.tx.query(advance, [organisationId, resendId, 0, now, null]);
    return false;
  }
  await work.tx.query(lockEvents, [organisationId, next.map((one) => one.event_id)]);
  const sent = await work.tx.query(resend, [organisationId, next.map((one) => one.delivery_id), now, order.created_at]);
  await work.tx.query(advance, [
    organisationId,
    resendId,
    sent.length,
    next.length < atOnce ? now : null,
    next.at(-1)!.delivery_id,
  ]);
  wakeWorkers(work, organisationId);
  return next.length === atOnce;
}

/** Does what was ordered and isn't finished; any number of processes may, at any time. */
export async function runResends(app: App, signal?: AbortSignal): Promise<void> {
  const orders = await app.db.query<{ organisation_id: number; resend_id: string }>(open);
  await eachInTurn(app, orders, 'resend.failed', ({ organisation_id: id, resend_id: resendId }) =>
    inSteps(() => inWork(app, rowsLane(id), (work) => step(work, id, resendId)), signal),
  );
}
