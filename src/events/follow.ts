import { setTimeout as wait } from 'node:timers/promises';
import type { Tx } from '../db/database.ts';
import { DatabaseUnavailable, statement } from '../db/database.ts';

export type FollowedEvent = { number: number; event_id: string; type: string; occurred_at: Date; payload: string };

/**
 * Events that a follower knows by their ids, and so the most that a failover may lose without its missing what comes
 * instead.
 */
const mostKnown = 1000;

const newest = statement(
  'event.newest',
  'select coalesce(max(number), 0) as number from event where organisation_id = $1',
);
const later = statement(
  'event.later',
  `
  select number, event_id, type, occurred_at, payload from event
   where organisation_id = $1 and number > $2 and emptied is null and event_id <> all($3::uuid[]) order by number limit 100`,
);
const known = statement(
  'event.known',
  `
  select number, event_id from event where organisation_id = $1 and number <= $2 order by number desc limit ${mostKnown}`,
);
const stillThere = statement(
  'event.still_there',
  'select event_id from event where organisation_id = $1 and number = $2',
);

const pollMs = 250;

/** The number of the organisation's last event so far: where to follow from. */
export async function lastEvent(tx: Tx, organisationId: number): Promise<number> {
  return (await tx.query<{ number: number }>(newest, [organisationId]))[0]!.number;
}

/**
 * An organisation's events after a number, in the order of their commits. Events are numbered under the feed's lock, so
 * none appears behind one that was seen before and none is missed. A failover that lost commits gives their numbers out
 * again: where the last event is another one now, or none, the follower looks again from the oldest that it knows, by
 * ids. Goes on over interruptions of the database; ends with the signal.
 */
export async function* followEvents(
  tx: Tx,
  organisationId: number,
  after: number,
  types: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<FollowedEvent> {
  // Ids by numbers, the newest last.
  let seen: Map<number, string> | null = null;
  while (!signal.aborted) {
    let rows: FollowedEvent[] = [];
    try {
      seen ??= await knownUntil(tx, organisationId, after);
      const last = [...seen.keys()].at(-1) ?? after;
      const [there] = seen.size === 0 ? [] : await tx.query<{ event_id: string }>(stillThere, [organisationId, last]);
      const from = there?.event_id === seen.get(last) ? last : Math.min(...seen.keys()) - 1;
      rows = await tx.query<FollowedEvent>(later, [organisationId, from, from === last ? [] : [...seen.values()]]);
      // What had these numbers before is lost.
      if (rows.length > 0) for (const number of seen.keys()) if (number >= rows[0]!.number) seen.delete(number);
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
    }
    for (const row of rows) {
      if (types.includes(row.type)) yield row;
      seen!.set(row.number, row.event_id);
      if (seen!.size > mostKnown) seen!.delete(seen!.keys().next().value!);
      if (signal.aborted) return;
    }
    if (rows.length === 0) await wait(pollMs, undefined, { signal }).catch(() => {});
  }
}

async function knownUntil(tx: Tx, organisationId: number, number: number): Promise<Map<number, string>> {
  const rows = await tx.query<{ number: number; event_id: string }>(known, [organisationId, number]);
  return new Map(rows.reverse().map((row) => [row.number, row.event_id]));
}
