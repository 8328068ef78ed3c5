import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';
import { wakeWorkers } from '../events/emit.ts';
import type { JobRow, Stepped } from '../jobs/jobs.ts';
import { jobsOf } from '../jobs/jobs.ts';
import { nilUuid } from '../uuid.ts';

/**
 * Sending many deliveries again, in the background: those that had ended when it was ordered, in the order in which they
 * were made. What has succeeded meanwhile is left alone.
 */
type Input = { endpoint_id: string | null; failed_since: string | null; delivery_ids: string[] | null };
/** `reached_at` in microseconds, which a Date has not. */
type Progress = { total: number; resent: number; reached_at: string; reached_id: string };
export type Resend = JobRow & Input & Progress;

export const resends = jobsOf<Input, Progress>({ kind: 'resend', evenSuspended: true, step });

/** Which: all that finally failed since a time (of one endpoint, or all), or these. */
export type Which = { endpointId: string | null; failedSince: Date } | { deliveryIds: string[] };

/** Deliveries in one transaction. */
const atOnce = 500;

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
    `
  select d.delivery_id, d.event_id, d.created_at::text as created_at ${which} and (d.created_at, d.delivery_id) > ($6::timestamptz, $7::uuid)
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

/** Orders that they are sent again. The same id twice is one order. */
export async function orderResend(
  work: Work,
  organisationId: number,
  given: { resendId: string; which: Which; by: string },
): Promise<Resend> {
  const { resendId: runId, which, by } = given;
  const before = await resends.find(work.tx, organisationId, runId);
  if (before !== undefined) return before;
  const total = await countResendable(work.tx, organisationId, which, new Date(work.nowMs));
  const input =
    'deliveryIds' in which
      ? { endpoint_id: null, failed_since: null, delivery_ids: which.deliveryIds }
      : { endpoint_id: which.endpointId, failed_since: which.failedSince.toISOString(), delivery_ids: null };
  const progress = { total, resent: 0, reached_at: '-infinity', reached_id: nilUuid };
  await resends.order(work, organisationId, { runId, by, input, progress });
  return (await resends.find(work.tx, organisationId, runId))!;
}

function whichOf({ endpoint_id: endpointId, failed_since: failedSince, delivery_ids: deliveryIds }: Resend): Which {
  return deliveryIds === null ? { endpointId, failedSince: new Date(failedSince!) } : { deliveryIds };
}

async function step(work: Work, order: Resend): Promise<Stepped<Progress>> {
  const { organisation_id: id, created_at: before } = order;
  const { kind, values } = bound(id, whichOf(order), before);
  type Next = { delivery_id: string; event_id: string; created_at: string };
  const next = await work.tx.query<Next>(nexts[kind], [...values, order.reached_at, order.reached_id]);
  const last = next.at(-1);
  let sent = 0;
  if (last !== undefined) {
    await work.tx.query(lockEvents, [id, next.map((one) => one.event_id)]);
    const ids = next.map((one) => one.delivery_id);
    sent = (await work.tx.query(resend, [id, ids, new Date(work.nowMs), before])).length;
    wakeWorkers(work, id);
  }
  const reached = last === undefined ? {} : { reached_at: last.created_at, reached_id: last.delivery_id };
  return {
    status: next.length < atOnce ? 'finished' : 'running',
    progress: { resent: order.resent + sent, ...reached },
  };
}
