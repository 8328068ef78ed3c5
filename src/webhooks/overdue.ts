import { systemClock } from '../clock.ts';

/** What is under way, and what of it takes too long. */
export type Watch<T> = {
  begin(one: T): void;
  end(one: T): void;
  /** What has begun, has not ended and isn't overdue, the oldest first. */
  underWay(): T[];
};

/**
 * Tells once of each that is under way for longer than `ms`. All have the same time, so they are overdue in the order in which
 * they began, and one timer does for thousands a second. It keeps no process alive: whatever is under way does.
 */
export function watchOverdue<T>(ms: number, overdue: (one: T) => void): Watch<T> {
  const endsMs = new Map<T, number>();
  let looking = false;

  function lookIn(waitMs: number): void {
    looking = true;
    setTimeout(look, waitMs).unref();
  }

  function look(): void {
    const nowMs = systemClock.monotonicMs();
    for (const [one, endMs] of endsMs) {
      if (endMs > nowMs) return lookIn(endMs - nowMs);
      endsMs.delete(one);
      overdue(one);
    }
    looking = false;
  }

  return {
    begin(one) {
      endsMs.set(one, systemClock.monotonicMs() + ms);
      if (!looking) lookIn(ms);
    },
    end(one) {
      endsMs.delete(one);
    },
    underWay: () => [...endsMs.keys()],
  };
}
