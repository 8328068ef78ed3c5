import type { App } from '../../platform/app.ts';
import { type Tx, statement } from '../../platform/db/database.ts';
import { advisoryLocks } from '../../platform/db/locks.ts';
import { type ByMonths, changeMonths, makeMonths, monthsBefore } from '../../platform/db/months.ts';
import { pruneNotices } from './endpoints/notices.ts';
import { resends } from './resend.ts';

/** Finished deliveries, including dead letters, and their events are kept for at least this time. */
export const keepMs = 30 * 24 * 3600_000;

/**
 * Events, deliveries and attempts are partitioned by month. The IDs of all three contain the day of the event
 * (docs/decisions/0007-lease-endpoint-queues.md).
 */
const ofEvents: ByMonths = {
  table: 'event',
  along: ['delivery', 'delivery_attempt'],
  make: 'make_event_month',
  lock: advisoryLocks.eventMonths,
  ahead: 1,
};

export const makeEventMonths = (app: App): Promise<void> => makeMonths(app, ofEvents);

// A month is kept if it has recent dead letters or deliveries of a paused endpoint, because these may be sent again.
// Citus needs a column in the subquery.
const awaitedIn = (part: string) =>
  statement(`delivery.awaited_in${part}`)`
  select exists (
    select 1 from delivery${part} d join webhook_endpoint w using (organisation_id, endpoint_id)
     where d.status = 'pending' and (w.status = 'active' or d.next_attempt_at >= $1) or d.status = 'dead' and d.finished_at >= $1) as so`;
const isAwaited = async (tx: Tx, part: string, since: Date): Promise<boolean> =>
  (await tx.query<{ so: boolean }>(awaitedIn(part), [since]))[0]!.so;

/** Drops months that ended before the retention time, unless a delivery of the month still waits. */
export async function dropEventMonths(app: App): Promise<void> {
  const since = new Date(app.clock.nowMs() - keepMs);
  for (const { name } of await monthsBefore(app.db, ofEvents, since)) {
    const part = name.slice('event'.length);
    if (await isAwaited(app.db, part, since)) continue;
    await changeMonths(app.db, ofEvents, async (tx) => {
      if ((await tx.query('select from pg_class where oid = to_regclass($1)', [name])).length === 0) return;
      await tx.query('lock table only event, only delivery, only delivery_attempt in access exclusive mode');
      // A delivery may have been sent again since the month was first checked.
      if (await isAwaited(tx, part, since)) return;
      await tx.query(`drop table event${part}, delivery${part}, delivery_attempt${part}`);
    });
    app.log.info('webhook.month_dropped', { name });
  }
}

// The default partitions contain rows that were written while the partition of their month was missing. Citus requires
// a statement for each organisation.
const withRows = statement('prune.whose_rows')`
  select organisation_id from event_default union select organisation_id from delivery_default`;
const deleteDeliveries = statement('prune.deliveries')`
  with gone as (
    delete from delivery_default d
     where d.organisation_id = $1
       and (d.finished_at < $2 or d.status = 'pending' and d.next_attempt_at < $2 and not exists (
         select from webhook_endpoint w where w.organisation_id = $1 and w.endpoint_id = d.endpoint_id and w.status = 'active'))
    returning d.delivery_id),
  attempts as (
    delete from delivery_attempt_default a using gone where a.organisation_id = $1 and a.delivery_id = gone.delivery_id)
  select count(*) as count from gone`;
// Locked events are left out, because a replay locks events before it creates deliveries.
const deleteEvents = statement('prune.events')`
  with old as (
    select e.event_id from event_default e
     where e.organisation_id = $1 and e.occurred_at < $2 and not exists (
       select from delivery_default d where d.organisation_id = $1 and d.event_id = e.event_id)
       for update of e skip locked),
  gone as (
    delete from event_default e using old where e.organisation_id = $1 and e.event_id = old.event_id returning 1)
  select count(*) as count from gone`;

/**
 * Deletes old rows of the default partitions, old notices and old resend jobs.
 * @returns the numbers of deleted deliveries and events
 */
export async function pruneDeliveries({ db, clock, log }: App): Promise<{ deliveries: number; events: number }> {
  const before = new Date(clock.nowMs() - keepMs);
  await pruneNotices(db, before);
  await resends.prune({ db, clock });
  const removed = { deliveries: 0, events: 0 };
  for (const { organisation_id: id } of await db.query<{ organisation_id: number }>(withRows)) {
    removed.deliveries += (await db.query<{ count: number }>(deleteDeliveries, [id, before]))[0]!.count;
    removed.events += (await db.query<{ count: number }>(deleteEvents, [id, before]))[0]!.count;
  }
  if (removed.deliveries + removed.events > 0) log.info('webhook.pruned', removed);
  return removed;
}
