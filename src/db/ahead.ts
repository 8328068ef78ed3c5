import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Database } from './database.ts';
import { statement } from './database.ts';

const now = statement('clock.of_the_database', 'select clock_timestamp() as at');

/**
 * Whether the clock is so far ahead of the database's that nothing may be deleted by it: a machine that has just started may
 * be months ahead, and what it deleted as over would be lost.
 */
export async function clockIsAhead({ db, clock, log }: { db: Database; clock: Clock; log: Log }): Promise<boolean> {
  const [row] = await db.query<{ at: Date }>(now);
  const aheadMs = clock.nowMs() - row!.at.getTime();
  if (aheadMs <= limits.clockAheadMs) return false;
  log.error('clock.ahead', { seconds: Math.round(aheadMs / 1000) });
  return true;
}
