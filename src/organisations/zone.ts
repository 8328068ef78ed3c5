import { monthsAfter } from '../platform/time/clock.ts';
import { parseInstant } from '../feed/time.ts';

/** Converts days such as `2027-01-31` to instants and back, in the time zone of an organisation. */

const dayMs = 24 * 3600_000;

function offsetMs(atMs: number, zone: string): number {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(atMs);
  const text = parts.find((part) => part.type === 'timeZoneName')?.value ?? 'GMT';
  const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(text) ?? [];
  return sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** The instant of a time in the zone. `utcMs`: the same day and time in UTC. */
function midnight(utcMs: number, zone: string): Date {
  // Summer time may begin or end between the guess and midnight, so the offset is read again at the guess.
  const guessMs = utcMs - offsetMs(utcMs, zone);
  return new Date(utcMs - offsetMs(guessMs, zone));
}

function midnightUtcMs(day: string): number | null {
  const us = /^\d{4}-\d\d-\d\d$/.test(day) ? parseInstant(`${day}T00:00:00Z`) : null;
  return us === null ? null : us / 1000;
}

/** @returns the first instant of the day in the zone; null for text that is no day */
export function startOfDay(day: string, zone: string): Date | null {
  const ms = midnightUtcMs(day);
  return ms === null ? null : midnight(ms, zone);
}

/** @returns the start of the next day; null for text that is no day */
export function endOfDay(day: string, zone: string): Date | null {
  const ms = midnightUtcMs(day);
  return ms === null ? null : midnight(ms + dayMs, zone);
}

/** The last millisecond of a day, so that a page in the same zone shows the day that a person chose. */
export function lastInstantOf(day: string, zone: string): Date | null {
  const end = endOfDay(day, zone);
  return end === null ? null : new Date(end.getTime() - 1);
}

/** The instant of a full hour of a day in the zone. */
export const hourOfDay = (day: string, hour: number, zone: string): Date =>
  midnight(midnightUtcMs(day)! + hour * 3600_000, zone);

export function dayOf(at: Date, zone: string): string {
  return new Date(at.getTime() + offsetMs(at.getTime(), zone)).toISOString().slice(0, 10);
}

const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Adds calendar months to a day. If the resulting month is too short, the result is its last day. */
export const dayMonthsAfter = (day: string, months: number): string =>
  dayAt(monthsAfter(midnightUtcMs(day)!, months).getTime());

export const dayAfter = (day: string, days: number): string => dayAt(midnightUtcMs(day)! + days * dayMs);
