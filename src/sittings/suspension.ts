import { statement, type Tx } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { readResumedAt } from '../feed/position.ts';
import { suspensionsBetween } from '../organisations/suspension.ts';
import type { SittingRow } from './store.ts';
import { pausedMs } from './working-time.ts';

const paused = statement('sitting.paused')`
  select sitting_id, last_seen_at from sitting
   where organisation_id = $1 and status = 'open' and stop is null and on_screen_since is null order by sitting_id for update`;
const add = statement('sitting.add_paused')`
  update sitting_item i set paused_ms = i.paused_ms + p.ms from unnest($2::uuid[], $3::int8[]) as p(sitting_id, ms)
   where i.organisation_id = $1 and i.sitting_id = p.sitting_id and i.outcome is null`;

/**
 * Adds the learners' pauses up to now when their organisation is suspended. The suspension itself doesn't count as a
 * pause, because learners can't return during it.
 */
export async function addPausesUntilNow(work: UnitOfWork, organisationId: number): Promise<void> {
  const sittings = await work.tx.query<{ sitting_id: string; last_seen_at: Date }>(paused, [organisationId]);
  if (sittings.length === 0) return;
  const resumedAt = await readResumedAt(work.tx, organisationId);
  await work.tx.query(add, [
    organisationId,
    sittings.map((one) => one.sitting_id),
    sittings.map((one) => pausedMs(one.last_seen_at, resumedAt, work.nowMs)),
  ]);
}

/** The number of suspensions during a sitting, and their seconds in total. */
export function suspensionsDuring(
  tx: Tx,
  { organisation_id: id, started_at: from, finished_at: to }: SittingRow,
): Promise<{ count: number; seconds: number }> {
  return suspensionsBetween(tx, id, from, to!);
}
