import { monthNames } from '../clock.ts';
import type { Random } from '../random.ts';

/** When a failed delivery is attempted again, and when no more. Durations are milliseconds. */

/** Each wait varies by this share, so that deliveries that failed together don't all come back together. */
export const jitter = 0.15;

/**
 * How long to wait after failed attempt number `attempt` (counted from 1), or 'dead' if it was the last.
 * A `Retry-After` never shortens the wait; its jitter only adds, because coming back sooner than asked would ignore it.
 */
export function nextAttempt({
  attempt,
  schedule,
  random,
  retryAfterMs = null,
}: {
  attempt: number;
  schedule: readonly number[];
  random: Random;
  retryAfterMs?: number | null;
}): number | 'dead' {
  if (!Number.isInteger(attempt) || attempt < 1) throw new RangeError('Attempts are counted from 1.');
  const baseMs = schedule[attempt - 1];
  if (baseMs === undefined) return 'dead';
  const share = random.float();
  const scheduledMs = Math.round(baseMs * (1 - jitter + 2 * jitter * share));
  if (retryAfterMs === null) return scheduledMs;
  return Math.max(scheduledMs, Math.round(Math.min(retryAfterMs, maxRetryAfterMs) * (1 + jitter * share)));
}

/**
 * What an attempt means for its delivery: `gone` (410) also disables the endpoint, and `unfinished` is an attempt that
 * the worker itself broke off, which doesn't count.
 */
export type Verdict = 'delivered' | 'retry' | 'gone' | 'unfinished';

export function verdictOf(attempt: { outcome: string; status_code: number | null }): Verdict {
  if (attempt.outcome === 'succeeded') return 'delivered';
  if (attempt.outcome === 'aborted') return 'unfinished';
  return attempt.status_code === 410 ? 'gone' : 'retry';
}

/** The longest wait that a receiver's `Retry-After` can ask for: a day. */
export const maxRetryAfterMs = 24 * 3600_000;

const months = monthNames.map((name) => name.slice(0, 3));
const dateForms = [
  /^[A-Z][a-z]{2}, (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<h>\d{2}):(?<m>\d{2}):(?<s>\d{2}) GMT$/,
  /^[A-Z][a-z]{5,8}, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<h>\d{2}):(?<m>\d{2}):(?<s>\d{2}) GMT$/,
  /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<h>\d{2}):(?<m>\d{2}):(?<s>\d{2}) (?<year>\d{4})$/,
];

/** The three forms of an HTTP-date (RFC 9110, 5.6.7) in milliseconds since 1970; null if it is none of them. */
function parseHttpDate(text: string, nowMs: number): number | null {
  for (const dateForm of dateForms) {
    const parts = dateForm.exec(text)?.groups;
    if (parts === undefined) continue;
    const month = months.indexOf(parts['month']!);
    const [day, h, m, s] = [Number(parts['day']), Number(parts['h']), Number(parts['m']), Number(parts['s'])];
    if (month < 0 || day < 1 || day > 31 || h > 23 || m > 59 || s > 60) return null;
    let year = Number(parts['year']);
    if (parts['year']!.length === 2) {
      // Two digits mean the latest such year that lies at most 50 years ahead (RFC 9110).
      const thisYear = new Date(nowMs).getUTCFullYear();
      year += thisYear - (thisYear % 100) + 100;
      while (year > thisYear + 50) year -= 100;
    }
    return Date.UTC(year, month, day, h, m, s);
  }
  return null;
}

/**
 * `Retry-After` (RFC 9110, 10.2.3), in seconds or as a date, as a wait from now of at most a day; null if it can't be
 * read.
 */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  let waitMs: number;
  if (/^\d+$/.test(text)) {
    waitMs = Number(text) * 1_000;
  } else {
    const date = parseHttpDate(text, nowMs);
    if (date === null) return null;
    waitMs = date - nowMs;
  }
  return Math.min(Math.max(waitMs, 0), maxRetryAfterMs);
}
