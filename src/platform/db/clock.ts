import type { Clock } from '../time/clock.ts';
import { statement, type Tx } from './database.ts';

const now = statement('clock.of_the_database')`select clock_timestamp() as at`;

export type DatabaseClock = Clock & { adjust(tx: Tx): Promise<void> };

/** The database's time, continued by the monotonic clock, so a wrong system clock does not matter. */
export function databaseClock(system: Clock): DatabaseClock {
  let offsetMs = system.nowMs() - system.monotonicMs();
  return {
    nowMs: () => Math.floor(system.monotonicMs() + offsetMs),
    monotonicMs: () => system.monotonicMs(),
    async adjust(tx) {
      const askedMs = system.monotonicMs();
      const [row] = await tx.query<{ at: Date }>(now);
      const halfMs = (system.monotonicMs() - askedMs) / 2;
      const foundMs = row!.at.getTime() - askedMs - halfMs;
      // A difference within the uncertainty of the round trip does not change the clock.
      if (Math.abs(foundMs - offsetMs) > halfMs + 1) offsetMs = foundMs;
    },
  };
}
