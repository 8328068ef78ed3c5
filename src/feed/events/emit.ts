import { formatMs } from '../../platform/time/clock.ts';
import { batcher } from '../../platform/db/batcher.ts';
import { type Database, statement, type Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { type EventType, learnerGroupsUpdated } from '../../platform/validation/event-types.ts';

/**
 * SQL that makes the IDs of events and deliveries (decision 0007). An ID contains the event's day, so that a query by
 * ID finds the partition of the month. Layout: 32 zero bits, 16 bits for the day since 1970, then random bits or a hash
 * (a version 8 UUID, RFC 9562).
 */
export const eventIdAt = (at: string, id: string): string =>
  `(left(event_day(${at})::text, 14) || '8' || substr(${id}::text, 16))::uuid`;

export const deliveryIdOf = (event: string, endpoint: string): string =>
  `(left(${event}::text, 15) || substr(md5(${event}::text || ${endpoint}), 14, 3) || '-a'
             || substr(md5(${event}::text || ${endpoint}), 18))::uuid`;

/** The NOTIFY channel that wakes delivery workers. The payload is the ID of the organisation with new deliveries. */
export const deliveryChannel = 'ars_delivery';

// The groups of an event are one array, so that one `&&` compares them with the groups of an endpoint.
const insert = statement('event.insert')`
  with occurred as materialized (
    select ${eventIdAt('$3::timestamptz', 'event_id')} as event_id, payload, groups::uuid[] as groups
      from unnest($4::uuid[], $5::text[], $6::text[]) as e(event_id, payload, groups)),
  written as (
    insert into event (organisation_id, event_id, type, occurred_at, payload)
    select $1, event_id, $2, $3, payload from occurred),
  fanned as (
    insert into delivery (organisation_id, delivery_id, endpoint_id, event_id, next_attempt_at, created_at)
    select $1, ${deliveryIdOf('occurred.event_id', 'w.endpoint_id')}, w.endpoint_id, occurred.event_id, $3, $3
      from webhook_endpoint w cross join occurred
     where w.organisation_id = $1 and $2 = any(w.event_types) and (w.group_ids is null or w.group_ids && occurred.groups)
    returning 1)
  select count(*) as count from fanned`;
const notify = statement('event.notify')`select pg_notify($1, id::text) from unnest($2::int8[]) as o(id)`;

export async function notifyWorkers(tx: Tx, organisationIds: number[]): Promise<void> {
  await tx.query(notify, [deliveryChannel, organisationIds]);
}

const wakers = new WeakMap<Database, (organisationId: number) => Promise<void>>();

function wakerOf(db: Database): (organisationId: number) => Promise<void> {
  let waker = wakers.get(db);
  if (waker === undefined) {
    const connection = db.dedicated({ synchronousCommit: false });
    waker = batcher<number, void>(async (ids) => {
      await notifyWorkers(connection, [...new Set(ids)]);
      return new Array<void>(ids.length).fill(undefined);
    }, 1000);
    wakers.set(db, waker);
  }
  return waker;
}

/** Wakes workers after the commit. NOTIFY inside the transaction would serialise the commits of all organisations. */
export function wakeWorkers(work: UnitOfWork, organisationId: number): void {
  const once = `${deliveryChannel}:${organisationId}`;
  if (work.opened.has(once)) return;
  work.opened.set(once, true);
  work.afterCommit((db) => wakerOf(db)(organisationId));
}

/** `groupIds`: the payload's groups. An endpoint with restricted groups gets the event if it has one of them. */
type Occurrence = { payload: string; groupIds: string[] };

/**
 * Writes events, and a delivery of each event for each subscribed endpoint, in the transaction that causes the events.
 * Deliveries to paused and disabled endpoints wait. The caller holds the feed's lock.
 */
export async function emit(
  work: UnitOfWork,
  organisationId: number,
  type: EventType,
  occurrences: Occurrence[],
): Promise<void> {
  if (occurrences.length === 0) return;
  const [row] = await work.tx.query<{ count: number }>(insert, [
    organisationId,
    type,
    new Date(work.nowMs),
    occurrences.map(() => work.uuid()),
    occurrences.map((occurrence) => occurrence.payload),
    occurrences.map((occurrence) => `{${occurrence.groupIds.join(',')}}`),
  ]);
  if (row!.count > 0) wakeWorkers(work, organisationId);
}

/**
 * Writes one event for each learner. An endpoint with restricted groups receives the event if the learner joined or
 * left one of these groups.
 */
export function emitGroupsUpdated(
  work: UnitOfWork,
  organisationId: number,
  changes: { learner_ref: string; added: string[]; removed: string[] }[],
): Promise<void> {
  const occurred_at = formatMs(work.nowMs);
  const occurrences = changes.map(({ learner_ref, added, removed }) => ({
    payload: JSON.stringify({ event: learnerGroupsUpdated, learner_ref, added, removed, occurred_at }),
    groupIds: [...added, ...removed],
  }));
  return emit(work, organisationId, learnerGroupsUpdated, occurrences);
}
