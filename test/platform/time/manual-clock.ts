import type { Clock } from '../../../src/platform/time/clock.ts';

/** A clock that changes only when it is set. */
export type ManualClock = Clock & { advance(ms: number): void; set(ms: number): void };

export function manualClock(startMs: number): ManualClock {
  let now = startMs;
  return {
    nowMs: () => now,
    monotonicMs: () => now,
    advance: (ms) => {
      now += ms;
    },
    set: (ms) => {
      now = ms;
    },
  };
}
