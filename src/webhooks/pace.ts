import type { Clock } from '../clock.ts';

/** Deliveries that a killed worker sends again at most, whatever its pace. */
const least = 8;
/** And however quick it is: larger batches gain little. */
const most = 32;
/** Of what it recorded lately, one in so many. */
const oneIn = 1000;
const halfMs = 30_000;

/**
 * How many deliveries may be between their first byte and the departure of their outcome for the database: as many as can
 * arrive twice when the worker is killed, so a thousandth of those of its last minute (docs/decisions/0108).
 */
export type Pace = {
  /** An outcome was recorded. */
  recorded(): void;
  readonly mayRepeat: number;
};

export function createPace(clock: Pick<Clock, 'monotonicMs'>): Pace {
  let sinceMs = clock.monotonicMs();
  let lately = 0;
  let before = 0;

  function turn(): void {
    const passedMs = clock.monotonicMs() - sinceMs;
    if (passedMs < halfMs) return;
    before = passedMs < 2 * halfMs ? lately : 0;
    lately = 0;
    sinceMs += passedMs;
  }

  return {
    recorded() {
      turn();
      lately += 1;
    },
    get mayRepeat() {
      turn();
      return Math.min(most, Math.max(least, Math.floor((before + lately) / oneIn)));
    },
  };
}
