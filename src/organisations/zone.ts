import { monthsAfter } from '../platform/time/clock.ts';
import { parseInstant } from '../feed/time.ts';

/** Days as people choose them, by the clocks of their organisation. */

function offsetMs(atMs: number, zone: string): number {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(atMs);
  const text = parts.find((part) => part.type === 'timeZoneName')?.value ?? 'GMT';
  const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(text) ?? [];
  return sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** When a day such as `2027-01-31` is over in a zone; null for what is no day. */
export function endOfDay(day: string, zone: string): Date | null {
  const us = /^\d{4}-\d\d-\d\d$/.test(day) ? parseInstant(`${day}T00:00:00Z`) : null;
  if (us === null) return null;
  const nextMs = us / 1000 + 24 * 3600_000;
  // Looked at twice: the offset of the first guess may be that of the other side of a change of clocks.
  const guessMs = nextMs - offsetMs(nextMs, zone);
  return new Date(nextMs - offsetMs(guessMs, zone));
}

/**
 * The last instant of a day: until when something works whose last day it is. It is still in that day, so that a page which
 * shows the end by its day shows the one that was chosen.
 */
export function lastInstantOf(day: string, zone: string): Date | null {
  const end = endOfDay(day, zone);
  return end === null ? null : new Date(end.getTime() - 1);
}

/** The day that an instant is in, in a zone. */
export function dayOf(at: Date, zone: string): string {
  return new Date(at.getTime() + offsetMs(at.getTime(), zone)).toISOString().slice(0, 10);
}

const midnightMs = (day: string): number => Date.parse(`${day}T00:00:00Z`);
const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** So many calendar months after a day such as `2027-01-31`: the same day of the month, or its last. */
export const dayMonthsAfter = (day: string, months: number): string =>
  dayAt(monthsAfter(midnightMs(day), months).getTime());

/** So many days after a day. */
export const dayAfter = (day: string, days: number): string => dayAt(midnightMs(day) + days * 24 * 3600_000);

/** When a day begins in a zone: where the one before is over. */
export function startOfDay(day: string, zone: string): Date | null {
  const us = /^\d{4}-\d\d-\d\d$/.test(day) ? parseInstant(`${day}T00:00:00Z`) : null;
  return us === null ? null : endOfDay(new Date(us / 1000 - 24 * 3600_000).toISOString().slice(0, 10), zone);
}
