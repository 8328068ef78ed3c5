export const monthNames = 'January February March April May June July August September October November December'.split(
  ' ',
);

/**
 * The source of time, which functions take as a parameter. A test ensures that other code does not read the system
 * clock.
 */
export type Clock = {
  nowMs(): number;
  /** Milliseconds from an arbitrary start, for durations only. */
  monotonicMs(): number;
};

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};

/** Adds calendar months. If the resulting month is too short for the day, the result is the month's last day. */
export function monthsAfter(atMs: number, months: number): Date {
  const at = new Date(atMs);
  const first = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1));
  const days = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  first.setUTCDate(Math.min(at.getUTCDate(), days));
  return new Date(first.getTime() + (atMs % 86_400_000));
}

/** RFC 3339 in UTC with exactly three decimals, the service's only format. */
export function formatMs(ms: number): string {
  return new Date(ms).toISOString();
}
