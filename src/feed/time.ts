/** The service stores times in microseconds since 1970. Clients see milliseconds, truncated and not rounded. */

const digits = (many: number, width: number) => Array.from({ length: many }, (_, n) => String(n).padStart(width, '0'));
const two = digits(60, 2);
const three = digits(1000, 3);
const dayMs = 86_400_000;

let lastMs = 0;
let lastText = '1970-01-01T00:00:00.000Z';
let lastDay = 0;
let lastDayText = '1970-01-01T';

export function formatPosition(us: number): string {
  const ms = Math.floor(us / 1000);
  // Records of one transaction share a millisecond, so the last text is reused. A new `Date` for each record would take
  // a third of a page's time.
  if (ms === lastMs) return lastText;
  const day = Math.floor(ms / dayMs);
  if (day !== lastDay) {
    lastDayText = new Date(ms).toISOString().slice(0, -13);
    lastDay = day;
  }
  const rest = ms - day * dayMs;
  const seconds = Math.floor(rest / 1000);
  const minutes = Math.floor(seconds / 60);
  lastText = `${lastDayText}${two[Math.floor(minutes / 60)]}:${two[minutes % 60]}:${two[seconds % 60]}.${three[rest % 1000]}Z`;
  lastMs = ms;
  return lastText;
}

const dateTime = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/;

const cycleMs = 146_097 * 86_400_000;

function daysOf(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

/**
 * Parses an RFC 3339 date-time with a zone. `beyond`: whether a digit after the milliseconds is not zero.
 * @returns null for other text, or for a day or time that does not exist
 */
function parse(text: string): { ms: number; beyond: boolean } | null {
  const match = dateTime.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const [fraction = '', zone] = match.slice(7);
  if (hour > 23 || minute > 59 || second > 60) return null;
  if (month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return null;
  let offset = 0;
  if (zone !== 'Z' && zone !== 'z') {
    const [hours, minutes] = [Number(zone!.slice(1, 3)), Number(zone!.slice(4, 6))];
    if (hours > 23 || minutes > 59) return null;
    offset = (hours * 60 + minutes) * 60_000 * (zone![0] === '-' ? -1 : 1);
  }
  // Date.UTC reads the years 0 to 99 as 1900 to 1999. Therefore 400 years, a full cycle of the calendar, are added here
  // and subtracted again.
  const ms = Date.UTC(year + 400, month - 1, day, hour, minute, second) - cycleMs - offset;
  // A leap second is valid only at the end of a month in UTC (RFC 3339, 5.7). It is read as the first second of the
  // next month.
  if (second === 60) {
    const next = new Date(ms);
    if (next.getUTCDate() !== 1 || next.getUTCHours() !== 0 || next.getUTCMinutes() !== 0) return null;
  }
  const millis = Number(fraction.slice(0, 3).padEnd(3, '0'));
  return { ms: ms + millis, beyond: /[1-9]/.test(fraction.slice(3)) };
}

/**
 * Parses stored values, `since` and upper bounds.
 * @returns microseconds since 1970, truncated to the millisecond; null for other text
 */
export function parseInstant(text: string): number | null {
  const parsed = parse(text);
  return parsed === null ? null : parsed.ms * 1000;
}

/**
 * Parses lower bounds.
 * @returns the microseconds of the first full millisecond at or after the date-time; null for other text
 */
export function parseLowerBound(text: string): number | null {
  const parsed = parse(text);
  return parsed === null ? null : (parsed.ms + (parsed.beyond ? 1 : 0)) * 1000;
}
