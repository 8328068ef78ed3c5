import type { App } from '../app.ts';
import type { Statement, Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { deliveryIdOf } from '../events/ids.ts';
import { keepMs } from './deliveries.ts';
import { pruneNotices } from './notices.ts';
import { resends } from './resend.ts';
import { renewEncryption } from './secrets.ts';

/** What the workers tidy in the background, in small steps that anybody may repeat. */

const stepRows = 5000;
const everyMs = 3600_000;
/** A service that is started more often than hourly prunes too. */
const firstMs = 60_000;

// What follows deletes rows of one organisation, $1: at most $2 in a step.
const deleteOld = (part: '' | '_default', still: string) => `gone as (
    delete from delivery${part} d using old where d.organisation_id = $1 and d.delivery_id = old.delivery_id and ${still}
    returning d.delivery_id),
  attempts as (
    delete from delivery_attempt${part} a using gone where a.organisation_id = $1 and a.delivery_id = gone.delivery_id)
  select count(*) as count from gone`;

// What failed or waits for removed endpoints: the removal itself, which holds the feed's lock, leaves them. The others go
// with their month: there may be very many, and nobody sees them any more.
const isOrphan = `(d.status = 'pending' or d.status = 'dead') and not exists (
       select from webhook_endpoint w where w.organisation_id = d.organisation_id and w.endpoint_id = d.endpoint_id)`;
const withOrphans = statement(
  'prune.with_orphans',
  `select distinct d.organisation_id from delivery d where ${isOrphan}`,
);
const orphans = statement(
  'prune.orphans',
  `
  with old as (
    select d.delivery_id from delivery d where d.organisation_id = $1 and ${isOrphan} limit $2),
  ${deleteOld('', 'true')}`,
);

// What belongs to no month goes by itself. A delivery for an active endpoint that isn't finished is never touched, however old
// it is.

// A delivery's id is made from its event and its endpoint, so whether an event still has any needs no index on events.
const hasNoDeliveries = `not exists (
       select from webhook_endpoint w join delivery_default d on d.organisation_id = $1 and d.delivery_id = ${deliveryIdOf('e.event_id', 'w.endpoint_id')}
        where w.organisation_id = $1)`;

const withUndated = statement(
  'prune.whose_default',
  'select organisation_id from event_default union select organisation_id from delivery_default',
);
// The condition behind "using" holds, too, for what was sent again while the statement waited for it.
const undatedDeliveries = statement(
  'prune.deliveries_default',
  `
  with old as (
    select d.delivery_id
      from webhook_endpoint w cross join lateral (
        select d.delivery_id from delivery_default d
         where d.organisation_id = $1 and d.endpoint_id = w.endpoint_id and d.created_at < $3
           and (d.finished_at < $3 or d.status = 'pending' and w.status <> 'active' and d.next_attempt_at < $3)
         order by d.created_at limit $2) d
     where w.organisation_id = $1 limit $2),
  ${deleteOld('_default', "(d.finished_at < $3 or d.status = 'pending' and d.next_attempt_at < $3)")}`,
);
// A replay locks events, and makes deliveries then. What is locked is passed over; whether what is locked here still has no
// deliveries is asked by the next statement, which sees what was made meanwhile.
const lockUndatedEvents = statement(
  'prune.lock_events_default',
  `
  select e.event_id from event_default e where e.organisation_id = $1 and e.occurred_at < $3 and ${hasNoDeliveries}
   order by e.occurred_at limit $2 for update of e skip locked`,
);
const undatedEvents = statement(
  'prune.events_default',
  `
  with gone as (
    delete from event_default e where e.organisation_id = $1 and e.event_id = any($2) and ${hasNoDeliveries} returning 1)
  select count(*) as count from gone`,
);

type Count = { count: number };

/** Repeats a step until it removes less than it may. @returns how many were removed */
async function inSteps(step: () => Promise<number>): Promise<number> {
  for (let total = 0; ;) {
    const removed = await step();
    total += removed;
    if (removed < stepRows) return total;
  }
}

/**
 * Removes what has been kept for its time and is in no month, and what nobody will ask for any more. Months go whole
 * (months.ts).
 * @returns how many of each were removed
 */
export async function pruneDeliveries(app: App): Promise<{ deliveries: number; events: number }> {
  const { db } = app;
  const before = new Date(app.clock.nowMs() - keepMs);
  const count = async (tx: Tx, sql: Statement, values: unknown[]) => (await tx.query<Count>(sql, values))[0]!.count;
  const organisations = async (sql: Statement) =>
    (await db.query<{ organisation_id: number }>(sql)).map((row) => row.organisation_id);
  await pruneNotices(db, before);
  await resends.prune(db, 'ended', before);
  const removed = { deliveries: 0, events: 0 };
  for (const id of await organisations(withOrphans))
    removed.deliveries += await inSteps(() => count(db, orphans, [id, stepRows]));
  for (const id of await organisations(withUndated)) {
    removed.deliveries += await inSteps(() => count(db, undatedDeliveries, [id, stepRows, before]));
    removed.events += await inSteps(() =>
      db.transaction(async (tx) => {
        const old = await tx.query<{ event_id: string }>(lockUndatedEvents, [id, stepRows, before]);
        return count(tx, undatedEvents, [id, old.map((event) => event.event_id)]);
      }),
    );
  }
  return removed;
}

/**
 * Does both now and then.
 * @returns what ends it
 */
export function startPruning(app: App, failed: (error: unknown) => void): () => void {
  const tidy = async () => {
    const pruned = await pruneDeliveries(app);
    app.log.info('webhook.pruned', { ...pruned, secrets_renewed: await renewEncryption(app) });
  };
  const soon = setTimeout(() => void tidy().catch(failed), firstMs);
  const often = setInterval(() => void tidy().catch(failed), everyMs);
  soon.unref();
  often.unref();
  return () => {
    clearTimeout(soon);
    clearInterval(often);
  };
}
