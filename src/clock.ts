/** Time, injected: nothing else in the source tree may read the system clock (a test keeps this). */
export type Clock = {
  /** Milliseconds since 1970, an integer. */
  nowMs(): number;
  /** Milliseconds from an arbitrary start, never going back; for durations only. */
  monotonicMs(): number;
};

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** A clock that stands still until it is told to move. */
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

/** RFC 3339 in UTC with exactly three decimals, the only form in which the service writes a date-time. */
export function formatMs(ms: number): string {
  return new Date(ms).toISOString();
}
