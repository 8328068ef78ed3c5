import { statement, type Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { Emptied } from '../../feed/events/cancel.ts';
import { wakeWorkers, deliveryIdOf } from '../../feed/events/emit.ts';
import { type JobRow, type Stepped, jobsOf } from '../../feed/jobs/jobs.ts';
import { limits } from '../../platform/config/limits.ts';
import { nilUuid } from '../../platform/crypto/random.ts';

/**
 * Sends deliveries again: one delivery, all of a time range, or many in the background. Each function locks the events
 * in one statement, and checks in the next whether they were emptied (see cancelEvents).
 */

// The retry schedule begins again. A delivery with an attempt under way is sent again only if that attempt fails.
const again = `status = 'pending', next_attempt_at = $3, finished_at = null, resent_after = d.attempts`;

const emptiedOf = statement('delivery.emptied_of')`
  select e.emptied from event e
   where e.organisation_id = $1 and e.event_id = (
     select d.event_id from delivery d join webhook_endpoint w using (organisation_id, endpoint_id)
      where d.organisation_id = $1 and d.delivery_id = $2)
     for share of e`;
const redeliver = statement('delivery.redeliver')`
  update delivery d set ${again} where d.organisation_id = $1 and d.delivery_id = $2 returning d.delivery_id`;

/**
 * Sends one delivery again, whatever its status. The delivery keeps its ID, and waits while its endpoint is paused or
 * disabled.
 * @returns null if the delivery is sent; `unknown` if the organisation has no such delivery or has removed its
 * endpoint; otherwise why the event was emptied
 */
export async function redeliverOne(work: UnitOfWork, organisationId: number, deliveryId: string) {
  const [event] = await work.tx.query<{ emptied: Emptied | null }>(emptiedOf, [organisationId, deliveryId]);
  if (event === undefined) return 'unknown';
  if (event.emptied !== null) return event.emptied;
  await work.tx.query(redeliver, [organisationId, deliveryId, new Date(work.nowMs)]);
  wakeWorkers(work, organisationId);
  return null;
}

const lockRange = statement('delivery.lock_range')`
  with locked as (
    select event_id from event where organisation_id = $1 and occurred_at >= $2 and occurred_at < $3 and emptied is null
     order by event_id for share)
  select count(*) as count from locked`;
const stepEnd = statement('delivery.step_end')`
  select occurred_at from event where organisation_id = $1 and occurred_at >= $2 and occurred_at < $3
   order by occurred_at offset $4 limit 1`;
// Rows are written in the order of their IDs, as in outcome.ts, so that a replay and a worker cannot deadlock.
const replay = statement('delivery.replay')`
  with chosen as (
    select e.event_id from event e join webhook_endpoint w on w.organisation_id = e.organisation_id and w.endpoint_id = $2
     where e.organisation_id = $1 and e.occurred_at >= $4 and e.occurred_at < $5 and e.emptied is null and e.type = any(w.event_types)
       and (w.group_ids is null or w.group_ids && (
         select coalesce(array_agg(g::uuid), '{}') from jsonb_array_elements_text(
           coalesce(e.payload::jsonb -> 'group_ids', '[]') || coalesce(e.payload::jsonb -> 'added', '[]') || coalesce(e.payload::jsonb -> 'removed', '[]')) as g))
    union
    select d.event_id from delivery d join event e on e.organisation_id = $1 and e.event_id = d.event_id
     where d.organisation_id = $1 and d.endpoint_id = $2 and e.occurred_at >= $4 and e.occurred_at < $5 and e.emptied is null),
  resent as (
    insert into delivery as d (organisation_id, delivery_id, endpoint_id, event_id, next_attempt_at, created_at)
    select $1, ${deliveryIdOf('event_id', '$2::uuid')}, $2, event_id, $3, $3 from chosen order by 2
    -- The event of a cancelled delivery was emptied meanwhile.
    on conflict (organisation_id, delivery_id) do update set ${again} where d.status <> 'cancelled'
    returning 1)
  select count(*) as count from resent`;

/**
 * Sends an endpoint the events of a time range that it has received or now subscribes to, even from before its
 * registration. Existing deliveries keep their IDs; events of withdrawn results and erased learners are left out.
 * @param to exclusive
 * @returns the number of deliveries
 */
export async function replayRange(work: UnitOfWork, organisationId: number, endpointId: string, from: Date, to: Date) {
  await work.tx.query(lockRange, [organisationId, from, to]);
  const values = [organisationId, endpointId, new Date(work.nowMs), from, to];
  const [row] = await work.tx.query<{ count: number }>(replay, values);
  wakeWorkers(work, organisationId);
  return row!.count;
}

/**
 * Replays the first step of a large range. A replay takes several steps, because workers wait for the rows that a
 * transaction changes.
 * @param max the most events of a step; a step may have a few more, because events of one instant stay together
 * @returns the number of deliveries, and where the next step begins; null: this was the last step
 */
export async function replayStep(
  work: UnitOfWork,
  organisationId: number,
  endpointId: string,
  { from, to }: { from: Date; to: Date },
  max: number = limits.replayedAtOnce,
): Promise<{ count: number; next: Date | null }> {
  const [last] = await work.tx.query<{ occurred_at: Date }>(stepEnd, [organisationId, from, to, max - 1]);
  const until = Math.min(to.getTime(), last === undefined ? Infinity : last.occurred_at.getTime() + 1);
  const count = await replayRange(work, organisationId, endpointId, from, new Date(until));
  return { count, next: until < to.getTime() ? new Date(until) : null };
}

/**
 * A job that sends deliveries again in the background, in the order of their creation. Deliveries that ended after the
 * job was created are left out.
 */
type Input = { endpoint_id: string | null; failed_since: string | null; delivery_ids: string[] | null };
/** `reached_at` is text, because a Date has no microseconds. */
type Progress = { total: number; resent: number; reached_at: string; reached_id: string };
export type Resend = JobRow & Input & Progress;

export const resends = jobsOf<Input, Progress>({
  kind: 'resend',
  kept: { which: 'ended', ms: limits.resendsKeptMs },
  evenSuspended: true,
  step,
});

/** All dead letters since a time, of one endpoint or of all endpoints; or the deliveries with these IDs. */
export type Which = { endpointId: string | null; failedSince: Date } | { deliveryIds: string[] };

const deliveriesOfStep = 500;

// $2: endpoint, $3: failed since, $4: IDs, $5: ended before. Each of the next two constants adds conditions for which
// PostgreSQL uses another index.
const chosen = `
    from webhook_endpoint w
    join delivery d on d.organisation_id = w.organisation_id and d.endpoint_id = w.endpoint_id
    join event e on e.organisation_id = d.organisation_id and e.event_id = d.event_id
   where w.organisation_id = $1 and ($2::uuid is null or w.endpoint_id = $2) and e.emptied is null and d.finished_at <= $5`;
const failed = `${chosen} and d.status = 'dead' and d.finished_at >= $3 and $4::uuid[] is null`;
const selected = `${chosen} and d.status in ('dead', 'succeeded') and d.delivery_id = any($4) and $3::timestamptz is null`;
const countOf = (which: string) => statement('resend.count')`select count(*) as count ${which}`;
const nextOf = (which: string) =>
  statement('resend.next')`
  select d.delivery_id, d.event_id, d.created_at::text as created_at ${which} and (d.created_at, d.delivery_id) > ($6::timestamptz, $7::uuid)
   order by d.created_at, d.delivery_id limit ${deliveriesOfStep}`;
const lockEvents = statement('resend.lock_events')`
  with locked as (
    select event_id from event where organisation_id = $1 and event_id = any($2) order by event_id for share)
  select count(*) as count from locked`;
const resend = statement('resend.deliveries')`
  with locked as (
    select d.delivery_id from delivery d join event e on e.organisation_id = d.organisation_id and e.event_id = d.event_id
     where d.organisation_id = $1 and d.delivery_id = any($2) and d.status in ('dead', 'succeeded') and d.finished_at <= $4
       and e.emptied is null
     order by d.delivery_id for update of d)
  update delivery d set ${again}
    from locked l where d.organisation_id = $1 and d.delivery_id = l.delivery_id returning d.delivery_id`;

const inputOf = (which: Which): Input =>
  'deliveryIds' in which
    ? { endpoint_id: null, failed_since: null, delivery_ids: which.deliveryIds }
    : { endpoint_id: which.endpointId, failed_since: which.failedSince.toISOString(), delivery_ids: null };

const bound = (organisationId: number, input: Input, before: Date) => ({
  which: input.delivery_ids === null ? failed : selected,
  values: [organisationId, input.endpoint_id, input.failed_since, input.delivery_ids, before],
});

export async function countResendable(tx: Tx, organisationId: number, which: Which, now: Date): Promise<number> {
  const { which: text, values } = bound(organisationId, inputOf(which), now);
  return (await tx.query<{ count: number }>(countOf(text), values))[0]!.count;
}

/** Creates the job. If the ID already has a job, that job is returned. */
export async function orderResend(
  work: UnitOfWork,
  organisationId: number,
  { resendId: runId, which, by }: { resendId: string; which: Which; by: string },
): Promise<Resend> {
  const before = await resends.find(work.tx, organisationId, runId);
  if (before !== undefined) return before;
  const total = await countResendable(work.tx, organisationId, which, new Date(work.nowMs));
  const progress = { total, resent: 0, reached_at: '-infinity', reached_id: nilUuid };
  await resends.order(work, organisationId, { runId, by, input: inputOf(which), progress });
  return (await resends.find(work.tx, organisationId, runId))!;
}

async function step(work: UnitOfWork, order: Resend): Promise<Stepped<Progress>> {
  const { organisation_id: id, created_at: before } = order;
  const { which, values } = bound(id, order, before);
  type Next = { delivery_id: string; event_id: string; created_at: string };
  const next = await work.tx.query<Next>(nextOf(which), [...values, order.reached_at, order.reached_id]);
  const last = next.at(-1);
  let progress: Partial<Progress> = {};
  if (last !== undefined) {
    await work.tx.query(lockEvents, [id, next.map((one) => one.event_id)]);
    const ids = next.map((one) => one.delivery_id);
    const sent = await work.tx.query(resend, [id, ids, new Date(work.nowMs), before]);
    wakeWorkers(work, id);
    progress = { resent: order.resent + sent.length, reached_at: last.created_at, reached_id: last.delivery_id };
  }
  return { status: next.length < deliveriesOfStep ? 'finished' : 'running', progress };
}
