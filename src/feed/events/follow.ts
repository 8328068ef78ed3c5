import { setTimeout as wait } from 'node:timers/promises';
import { statement, type Tx } from '../../platform/db/database.ts';
import { DatabaseUnavailable } from '../../platform/db/connection/unavailable.ts';

export type FollowedEvent = { number: number; event_id: string; type: string; occurred_at: Date; payload: string };

/** A follower remembers this many event IDs, so it recognises a failover that lost at most as many events. */
const maxKnown = 1000;

const newest = statement('event.newest')`
  select number, event_id, occurred_at from event where organisation_id = $1 order by number desc limit 1`;
const newestOfEach = statement('event.newest_of_each')`
  select f.organisation_id, coalesce(e.number, 0) as number
    from feed f left join lateral (
      select number from event e where e.organisation_id = f.organisation_id order by number desc limit 1) e on true
   where f.organisation_id = any($1)`;
const numberOf = statement('event.number_of')`
  select coalesce(
    (select number from event where organisation_id = $1 and event_id = $2),
    (select number - 1 from event where organisation_id = $1 and occurred_at >= $3 order by occurred_at, number limit 1),
    (select number from event where organisation_id = $1 order by number desc limit 1), 0) as number`;
const stored = statement('event.is_stored')`
  select from event where organisation_id = $1 and event_id = $2 and emptied is null`;
const later = statement('event.later')`
  select number, event_id, type, occurred_at, payload from event
   where organisation_id = $1 and number > $2 and emptied is null and event_id <> all($3::uuid[]) order by number limit 100`;
const recent = statement('event.recent')`
  select number, event_id from event where organisation_id = $1 and number <= $2 order by number desc limit ${maxKnown}`;
const stillThere = statement('event.still_there')`
  select event_id from event where organisation_id = $1 and number = $2`;

const pollMs = 250;

type EventPosition = Pick<FollowedEvent, 'number' | 'event_id' | 'occurred_at'>;

export async function newestEvent(tx: Tx, organisationId: number): Promise<EventPosition | null> {
  return (await tx.query<EventPosition>(newest, [organisationId]))[0] ?? null;
}

/**
 * Finds the number after which a follower continues. If the event was lost, the follower continues with the first event
 * since `atMs`.
 */
export async function numberAt(
  tx: Tx,
  organisationId: number,
  { eventId, atMs }: { eventId: string; atMs: number },
): Promise<number> {
  return (await tx.query<{ number: number }>(numberOf, [organisationId, eventId, new Date(atMs)]))[0]!.number;
}

/** Whether the event still has its payload. */
export async function isStored(tx: Tx, organisationId: number, eventId: string): Promise<boolean> {
  return (await tx.query(stored, [organisationId, eventId])).length > 0;
}

/** Waits until the number of the organisation's last event differs from `lastNumber`, or until the signal aborts. */
type EventPoller = (organisationId: number, lastNumber: number, signal: AbortSignal) => Promise<void>;

const alone: EventPoller = async (_organisation, _lastNumber, signal) => {
  await wait(pollMs, undefined, { signal }).catch(() => {});
};

export function createEventPoller(tx: Tx): EventPoller {
  const waiting = new Set<{ organisationId: number; lastNumber: number; go: () => void }>();
  let timer: NodeJS.Timeout | null = null;
  const poll = async () => {
    const ids = [...new Set([...waiting].map((one) => one.organisationId))];
    const rows = await tx.query<{ organisation_id: number; number: number }>(newestOfEach, [ids]).catch(() => []);
    const numbers = new Map(rows.map((row) => [row.organisation_id, row.number]));
    for (const one of [...waiting])
      if ((numbers.get(one.organisationId) ?? one.lastNumber) !== one.lastNumber) one.go();
    timer = null;
    pollSoon();
  };
  const pollSoon = () => {
    if (timer === null && waiting.size > 0) timer = setTimeout(() => void poll(), pollMs);
  };
  return (organisationId, lastNumber, signal) =>
    new Promise((resolve) => {
      const one = {
        organisationId,
        lastNumber,
        go() {
          waiting.delete(one);
          signal.removeEventListener('abort', one.go);
          resolve();
        },
      };
      if (signal.aborted) return resolve();
      waiting.add(one);
      signal.addEventListener('abort', one.go);
      pollSoon();
    });
}

/**
 * Yields events after a number, in the order of their commits. Numbers are given under the feed's lock, so a lower
 * number never appears later. If a failover loses commits, new events reuse the lost numbers, and the follower
 * continues from the oldest ID that it remembers. Only the signal ends the generator; outages of the database do not.
 */
export async function* followEvents(
  tx: Tx,
  organisationId: number,
  after: number,
  types: readonly string[],
  signal: AbortSignal,
  poller: EventPoller = alone,
): AsyncGenerator<FollowedEvent> {
  let knownIds: Map<number, string> | null = null;
  while (!signal.aborted) {
    let rows: FollowedEvent[] = [];
    try {
      knownIds ??= await recentUntil(tx, organisationId, after);
      const last = [...knownIds.keys()].at(-1) ?? after;
      const [there] =
        knownIds.size === 0 ? [] : await tx.query<{ event_id: string }>(stillThere, [organisationId, last]);
      const from = there?.event_id === knownIds.get(last) ? last : Math.min(...knownIds.keys()) - 1;
      rows = await tx.query<FollowedEvent>(later, [organisationId, from, from === last ? [] : [...knownIds.values()]]);
      // A remembered event with one of these numbers was lost in a failover.
      if (rows.length > 0) for (const number of knownIds.keys()) if (number >= rows[0]!.number) knownIds.delete(number);
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
    }
    for (const row of rows) {
      if (types.includes(row.type)) yield row;
      knownIds!.set(row.number, row.event_id);
      if (knownIds!.size > maxKnown) knownIds!.delete(knownIds!.keys().next().value!);
      if (signal.aborted) return;
    }
    if (rows.length === 0) await poller(organisationId, [...(knownIds?.keys() ?? [])].at(-1) ?? after, signal);
  }
}

async function recentUntil(tx: Tx, organisationId: number, number: number): Promise<Map<number, string>> {
  const rows = await tx.query<{ number: number; event_id: string }>(recent, [organisationId, number]);
  return new Map(rows.reverse().map((row) => [row.number, row.event_id]));
}
