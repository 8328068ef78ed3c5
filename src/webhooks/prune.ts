import type { App } from '../app.ts';
import type { Statement } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { deliveryIdOf } from '../events/ids.ts';
import { keepMs } from './deliveries.ts';
import { pruneNotices } from './notices.ts';
import { secretContext } from './register.ts';
import { resends } from './resend.ts';
import { SecretUnreadableError } from '../keyring.ts';
import type { EarlierSecret } from './store.ts';
import { nilUuid } from '../uuid.ts';

/** What the workers tidy in the background, in small steps that anybody may repeat. */

const stepRows = 5000;
const everyMs = 3600_000;
/** A service that is started more often than hourly prunes too. */
const firstMs = 60_000;

/** Whose rows a statement is about: everybody's, or on several nodes one organisation's, its third value. */
type Whose = 'everybody' | '$3';

// Ends a statement whose CTE `old` names deliveries: they go with their attempts. `still` holds, too, for what was changed
// while the statement waited for it, as by somebody who sends it again.
const deleteOld = (part: string, whose: Whose, still = 'true') => `gone as (
    delete from delivery${part} d using old where d.organisation_id = ${ofOld(whose)} and d.delivery_id = old.delivery_id and ${still}
    returning d.organisation_id, d.delivery_id),
  attempts as (
    delete from delivery_attempt${part} a using gone where a.organisation_id = ${whose === '$3' ? whose : 'gone.organisation_id'} and a.delivery_id = gone.delivery_id)
  select count(*) as count from gone`;
const ofOld = (whose: Whose) => (whose === '$3' ? whose : 'old.organisation_id');

// What failed or waits for removed endpoints: the removal itself, which holds the feed's lock, leaves them. The others,
// of which there may be very many and which nobody sees any more, go with their month.
const orphanedOf = (status: 'pending' | 'dead') =>
  statement(
    `prune.orphans_${status}`,
    `
  with recursive told as (
    (select organisation_id, endpoint_id from delivery where status = '${status}' order by organisation_id, endpoint_id limit 1)
    union all
    select n.organisation_id, n.endpoint_id
      from told p cross join lateral (
        select d.organisation_id, d.endpoint_id from delivery d
         where d.status = '${status}' and (d.organisation_id, d.endpoint_id) > (p.organisation_id, p.endpoint_id)
         order by d.organisation_id, d.endpoint_id limit 1) n),
  old as (
    select d.organisation_id, d.delivery_id
      from told t cross join lateral (
        select organisation_id, delivery_id from delivery d
         where d.status = '${status}' and d.organisation_id = t.organisation_id and d.endpoint_id = t.endpoint_id limit $1) d
     where not exists (select from webhook_endpoint w where w.organisation_id = t.organisation_id and w.endpoint_id = t.endpoint_id)
     limit $1),
  ${deleteOld('', 'everybody')}`,
  );
const orphaned = [orphanedOf('pending'), orphanedOf('dead')];

// The same on several nodes, organisation by organisation.
const isOrphan = (status: 'pending' | 'dead') => `
  d.status = '${status}' and not exists (select from webhook_endpoint w where w.organisation_id = d.organisation_id and w.endpoint_id = d.endpoint_id)`;
const orphansWhere = (['pending', 'dead'] as const).map((status) => ({
  whose: statement(
    `prune.orphans_${status}_anywhere`,
    `select distinct d.organisation_id from delivery d where ${isOrphan(status)}`,
  ),
  gone: statement(
    `prune.orphans_${status}_where_they_are`,
    `
  with old as (
    select d.delivery_id from delivery d where d.organisation_id = $2 and ${isOrphan(status)} limit $1),
  gone as (
    delete from delivery d using old where d.organisation_id = $2 and d.delivery_id = old.delivery_id returning d.delivery_id),
  attempts as (
    delete from delivery_attempt a using gone where a.organisation_id = $2 and a.delivery_id = gone.delivery_id)
  select count(*) as count from gone`,
  ),
}));

/**
 * What belongs to no month goes by itself.
 * A delivery for an active endpoint that isn't finished is never touched, however old it is.
 */
const finishedIn = (part: string, whose: Whose) => `
  with old as (
    select d.organisation_id, d.delivery_id
      from webhook_endpoint w cross join lateral (
        select d.organisation_id, d.delivery_id from delivery${part} d
         where d.organisation_id = ${whose === '$3' ? whose : 'w.organisation_id'} and d.endpoint_id = w.endpoint_id and d.created_at < $1
           and (d.finished_at < $1 or d.status = 'pending' and w.status <> 'active' and d.next_attempt_at < $1)
         order by d.created_at limit $2) d
     ${whose === '$3' ? 'where w.organisation_id = $3' : ''}
     limit $2),
  ${deleteOld(part, whose, `(d.finished_at < $1 or d.status = 'pending' and d.next_attempt_at < $1)`)}`;

// A delivery's id is made from its event and its endpoint, so whether an event still has any needs no index on events.
const hasDeliveries = (part: string, its: string) => `exists (
             select from webhook_endpoint w join delivery${part} d on d.organisation_id = ${its} and d.delivery_id = ${deliveryIdOf('e.event_id', 'w.endpoint_id')}
              where w.organisation_id = ${its})`;
// Whoever replays events holds them, and makes deliveries then: what is held is passed over, and whether what is locked here
// still has none is asked by the next statement, which sees what was made meanwhile.
const lockEventsIn = (part: string, whose: Whose) => {
  const old = `
        select e.organisation_id, e.event_id from event${part} e
         where e.organisation_id = ${whose === '$3' ? whose : 'o.organisation_id'} and e.occurred_at < $1
           and not ${hasDeliveries(part, whose === '$3' ? whose : 'e.organisation_id')}
         order by e.occurred_at limit $2 for update of e skip locked`;
  return whose === '$3'
    ? old
    : `select e.organisation_id, e.event_id from organisation o cross join lateral (${old}) e limit $2`;
};
const eventsIn = (part: string) => `
  with gone as (
    delete from event${part} e where e.organisation_id = $1 and e.event_id = any($2) and not ${hasDeliveries(part, '$1')} returning 1)
  select count(*) as count from gone`;

const undated = {
  deliveries: statement('prune.deliveries_default', finishedIn('_default', 'everybody')),
  lockEvents: statement('prune.lock_events_default', lockEventsIn('_default', 'everybody')),
  events: statement('prune.events_of_default', eventsIn('_default')),
  whose: statement(
    'prune.whose_default',
    `select organisation_id from event_default union select organisation_id from delivery_default`,
  ),
  deliveriesOf: statement('prune.deliveries_of_default', finishedIn('_default', '$3')),
  lockEventsOf: statement('prune.lock_events_of_default', lockEventsIn('_default', '$3')),
};

const endpointsAtOnce = 500;
const secrets = statement(
  'prune.secrets',
  `
  select organisation_id, endpoint_id, secret, previous_secret, previous_secret_until, earlier_secrets from webhook_endpoint
   where organisation_id > $1 or organisation_id = $1 and endpoint_id > $2 order by organisation_id, endpoint_id limit ${endpointsAtOnce}`,
);
const putSecrets = statement(
  'prune.put_secrets',
  `
  update webhook_endpoint set secret = $4, previous_secret = $5, earlier_secrets = $6, previous_secret_until = case when $5::text is not null then previous_secret_until end
   where organisation_id = $1 and endpoint_id = $2 and secret = $3`,
);

/**
 * Removes what has been kept for its time and is in no month, and what nobody will ask for any more. Months go whole
 * (months.ts).
 * @returns how many of each were removed
 */
export async function pruneDeliveries(app: App): Promise<{ deliveries: number; events: number }> {
  const before = new Date(app.clock.nowMs() - keepMs);
  const all = async (sql: Statement, values: unknown[]) => {
    let total = 0;
    for (;;) {
      const [row] = await app.db.query<{ count: number }>(sql, values);
      total += row!.count;
      if (row!.count < stepRows) return total;
    }
  };
  type Event = { organisation_id: number; event_id: string };
  const allEvents = async (lock: Statement, sql: Statement, values: unknown[]) => {
    let total = 0;
    for (;;) {
      const locked = await app.db.transaction(async (tx) => {
        const old = await tx.query<Event>(lock, values);
        for (const [id, theirs] of Map.groupBy(old, (event) => event.organisation_id)) {
          const [row] = await tx.query<{ count: number }>(sql, [id, theirs.map((event) => event.event_id)]);
          total += row!.count;
        }
        return old.length;
      });
      if (locked < stepRows) return total;
    }
  };
  await pruneNotices(app.db, before);
  await resends.prune(app.db, 'ended', before);
  const removed = { deliveries: 0, events: 0 };
  const spread = app.db.distributed === true;
  const whose = async (sql: Statement) =>
    (await app.db.query<{ organisation_id: number }>(sql)).map((row) => row.organisation_id);
  if (spread)
    for (const { whose: theirs, gone } of orphansWhere)
      for (const id of await whose(theirs)) removed.deliveries += await all(gone, [stepRows, id]);
  else for (const sql of orphaned) removed.deliveries += await all(sql, [stepRows]);
  if (!spread) {
    removed.deliveries += await all(undated.deliveries, [before, stepRows]);
    removed.events += await allEvents(undated.lockEvents, undated.events, [before, stepRows]);
    return removed;
  }
  for (const id of await whose(undated.whose)) {
    removed.deliveries += await all(undated.deliveriesOf, [before, stepRows, id]);
    removed.events += await allEvents(undated.lockEventsOf, undated.events, [before, stepRows, id]);
  }
  return removed;
}

/**
 * Encrypts again, under the service's current secret, what an earlier one encrypted, and forgets rotated secrets whose time is over.
 * @returns how many endpoints were changed
 */
export async function renewEncryption(app: App): Promise<number> {
  let changed = 0;
  let last = { organisation_id: 0, endpoint_id: nilUuid };
  for (;;) {
    const rows = await app.db.query<{
      organisation_id: number;
      endpoint_id: string;
      secret: string;
      previous_secret: string | null;
      previous_secret_until: Date | null;
      earlier_secrets: EarlierSecret[];
    }>(secrets, [last.organisation_id, last.endpoint_id]);
    for (const row of rows) {
      const context = secretContext(row.organisation_id, row.endpoint_id);
      const current = (text: string) => {
        try {
          return app.keyring.isCurrent(text) ? text : app.keyring.encrypt(app.keyring.decrypt(text, context), context);
        } catch (error) {
          // Its deliveries say so; the other endpoints' secrets need not wait for it.
          if (error instanceof SecretUnreadableError) return text;
          throw error;
        }
      };
      const over = row.previous_secret_until === null || row.previous_secret_until.getTime() <= app.clock.nowMs();
      const secret = current(row.secret);
      const previous = row.previous_secret === null || over ? null : current(row.previous_secret);
      const before = JSON.stringify(row.earlier_secrets);
      const earlier = JSON.stringify(
        row.earlier_secrets
          .filter(({ until }) => Date.parse(until) > app.clock.nowMs())
          .map((one) => ({ ...one, secret: current(one.secret) })),
      );
      if (secret === row.secret && previous === row.previous_secret && earlier === before) continue;
      await app.db.query(putSecrets, [row.organisation_id, row.endpoint_id, row.secret, secret, previous, earlier]);
      changed += 1;
    }
    if (rows.length < endpointsAtOnce) return changed;
    last = rows.at(-1)!;
  }
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
