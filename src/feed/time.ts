/** How positions and dates go in and out: microseconds since 1970 inside, milliseconds (cut, not rounded) outside. */

let lastMs = 0;
let lastText = '1970-01-01T00:00:00.000Z';

export function formatPosition(us: number): string {
  const ms = Math.floor(us / 1000);
  // Neighbours in the feed mostly share their millisecond.
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString();
    lastMs = ms;
  }
  return lastText;
}

const dateTime = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * An RFC 3339 date-time with a zone as milliseconds since 1970 with their fraction kept apart, so that nothing is
 * rounded.
 * @returns null when the text isn't one, or names a day or time that doesn't exist
 */
function parse(text: string): { ms: number; beyond: boolean } | null {
  const match = dateTime.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction = '', zone] = match;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null;
  const leap = second === '60';
  if (Number(day) < 1 || Number(month) < 1 || Number(month) > 12) return null;
  // setUTCFullYear takes the years 0 to 99 as they are, Date.UTC doesn't.
  const check = new Date(Date.UTC(2000, 0, 1));
  check.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (check.getUTCDate() !== Number(day) || check.getUTCMonth() !== Number(month) - 1) return null;
  check.setUTCHours(Number(hour), Number(minute), Number(second));
  let offset = 0;
  if (zone !== 'Z' && zone !== 'z') {
    const [hours, minutes] = [Number(zone!.slice(1, 3)), Number(zone!.slice(4, 6))];
    if (hours > 23 || minutes > 59) return null;
    offset = (hours * 60 + minutes) * 60_000 * (zone![0] === '-' ? -1 : 1);
  }
  // A leap second is the last of a month in UTC (RFC 3339, 5.7), and is read as the first one of the next.
  const next = new Date(check.getTime() - offset);
  if (leap && (next.getUTCDate() !== 1 || next.getUTCHours() !== 0 || next.getUTCMinutes() !== 0)) return null;
  const millis = Number(fraction.slice(0, 3).padEnd(3, '0'));
  return { ms: next.getTime() + millis, beyond: /[1-9]/.test(fraction.slice(3)) };
}

/**
 * Microseconds since 1970, cut to the millisecond: what is stored, `since`, and upper bounds (stored instants are whole
 * milliseconds).
 */
export function parseInstant(text: string): number | null {
  const parsed = parse(text);
  return parsed === null ? null : parsed.ms * 1000;
}

/**
 * Microseconds since 1970 of the first whole millisecond at or after the date-time: lower bounds on stored instants.
 */
export function parseLowerBound(text: string): number | null {
  const parsed = parse(text);
  return parsed === null ? null : (parsed.ms + (parsed.beyond ? 1 : 0)) * 1000;
}
