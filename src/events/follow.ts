import { setTimeout as wait } from 'node:timers/promises';
import type { Tx } from '../db/database.ts';
import { DatabaseUnavailable, statement } from '../db/database.ts';

export type FollowedEvent = { number: number; event_id: string; type: string; occurred_at: Date; payload: string };

const newest = statement(
  'event.newest',
  'select coalesce(max(number), 0) as number from event where organisation_id = $1',
);
const later = statement(
  'event.later',
  `
  select number, event_id, type, occurred_at, payload from event
   where organisation_id = $1 and number > $2 and emptied is null order by number limit 100`,
);

const pollMs = 250;

/** The number of the organisation's last event so far: where to follow from. */
export async function lastEvent(tx: Tx, organisationId: number): Promise<number> {
  return (await tx.query<{ number: number }>(newest, [organisationId]))[0]!.number;
}

/**
 * An organisation's events after a number, in the order of their commits. Events are numbered under the feed's lock, so none
 * appears behind one that was seen before and none is missed. Goes on over interruptions of the database; ends with the signal.
 */
export async function* followEvents(
  tx: Tx,
  organisationId: number,
  after: number,
  types: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<FollowedEvent> {
  let last = after;
  while (!signal.aborted) {
    let rows: FollowedEvent[] = [];
    try {
      rows = await tx.query<FollowedEvent>(later, [organisationId, last]);
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
    }
    for (const row of rows) {
      if (types.includes(row.type)) yield row;
      last = row.number;
      if (signal.aborted) return;
    }
    if (rows.length === 0) await wait(pollMs, undefined, { signal }).catch(() => {});
  }
}
