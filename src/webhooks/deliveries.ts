import { deliveryIdOf } from '../events/ids.ts';
import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';
import type { Emptied } from '../events/cancel.ts';
import { wakeWorkers } from '../events/emit.ts';
import { limits } from '../limits.ts';

/** Deliveries, and sending them again. */

export const deliveryStatuses = ['pending', 'succeeded', 'dead', 'cancelled'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** How long finished deliveries, dead letters among them, and their events are kept at least: they go with their month. */
export const keepMs = 30 * 24 * 3600_000;

// A fresh schedule; attempts before it stay listed. What is under way is not sent twice unless it fails: its own
// outcome comes first.
const again = `status = 'pending', next_attempt_at = $3, finished_at = null, resent_after = d.attempts`;
// Events that are sent again are locked first, and only then is it asked whether they were emptied: see cancelEvents.
const emptiedOf = statement(
  'delivery.emptied_of',
  `
  select e.emptied from event e
   where e.organisation_id = $1 and e.event_id = (
     select d.event_id from delivery d join webhook_endpoint w using (organisation_id, endpoint_id)
      where d.organisation_id = $1 and d.delivery_id = $2)
     for share of e`,
);
const redeliver = statement(
  'delivery.redeliver',
  `update delivery d set ${again} where d.organisation_id = $1 and d.delivery_id = $2 returning d.delivery_id`,
);
const lockRange = statement(
  'delivery.lock_range',
  `
  with locked as (
    select event_id from event where organisation_id = $1 and occurred_at >= $2 and occurred_at < $3 and emptied is null
     order by event_id for share)
  select count(*) as count from locked`,
);
const stepEnd = statement(
  'delivery.step_end',
  `
  select occurred_at from event where organisation_id = $1 and occurred_at >= $2 and occurred_at < $3
   order by occurred_at offset $4 limit 1`,
);
// In the order of the ids, as the workers' outcomes are, so that the two don't wait for each other in a circle.
const replay = statement(
  'delivery.replay',
  `
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
    -- One that is cancelled by now had its event emptied meanwhile.
    on conflict (organisation_id, delivery_id) do update set ${again} where d.status <> 'cancelled'
    returning 1)
  select count(*) as count from resent`,
);

/**
 * Sends one delivery again, whatever became of it; it keeps its id, and waits while its endpoint is paused or disabled.
 * @returns null, or why nothing is sent: the organisation has no such delivery or has removed its endpoint (`unknown`),
 * or what it told of is gone
 */
export async function redeliverOne(
  work: Work,
  organisationId: number,
  deliveryId: string,
): Promise<'unknown' | Emptied | null> {
  const [event] = await work.tx.query<{ emptied: Emptied | null }>(emptiedOf, [organisationId, deliveryId]);
  if (event === undefined) return 'unknown';
  if (event.emptied !== null) return event.emptied;
  await work.tx.query(redeliver, [organisationId, deliveryId, new Date(work.nowMs)]);
  wakeWorkers(work, organisationId);
  return null;
}

/**
 * Sends an endpoint every event of the range, from inclusive and to exclusive, that it has had or that it is subscribed
 * to now; what it has had keeps its delivery id. Subscribed events of before its registration are among them, those of
 * withdrawn results and erased learners are not.
 * @returns how many
 */
export async function replayRange(
  work: Work,
  organisationId: number,
  endpointId: string,
  from: Date,
  to: Date,
): Promise<number> {
  await work.tx.query(lockRange, [organisationId, from, to]);
  const [row] = await work.tx.query<{ count: number }>(replay, [
    organisationId,
    endpointId,
    new Date(work.nowMs),
    from,
    to,
  ]);
  wakeWorkers(work, organisationId);
  return row!.count;
}

/**
 * The first step of such a range: workers wait for the deliveries that a transaction sends again, so a large range takes
 * several. Events of one instant go together.
 * @param most events of a step, about
 * @returns how many, and where the next step begins; null: that was the last one
 */
export async function replayStep(
  work: Work,
  organisationId: number,
  endpointId: string,
  { from, to }: { from: Date; to: Date },
  most: number = limits.replayedAtOnce,
): Promise<{ count: number; next: Date | null }> {
  const [last] = await work.tx.query<{ occurred_at: Date }>(stepEnd, [organisationId, from, to, most - 1]);
  const until = Math.min(to.getTime(), last === undefined ? Infinity : last.occurred_at.getTime() + 1);
  const count = await replayRange(work, organisationId, endpointId, from, new Date(until));
  return { count, next: until < to.getTime() ? new Date(until) : null };
}
