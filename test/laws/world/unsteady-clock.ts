import type { Clock } from '../../../src/platform/time/clock.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import type { Random } from '../../../src/platform/crypto/random.ts';

/** A clock as bad machines have it: two readings in turn may be up to 80 ms the wrong way round, and it can be set. */
export type UnsteadyClock = Clock & { leap(ms: number): void };

export function unsteadyClock(random: Random): UnsteadyClock {
  let setBy = 0;
  return {
    nowMs: () => systemClock.nowMs() + setBy + Math.floor((random.float() - 0.5) * 80),
    monotonicMs: systemClock.monotonicMs,
    leap: (ms) => {
      setBy += ms;
    },
  };
}
