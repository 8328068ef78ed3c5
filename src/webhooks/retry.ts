import type { Random } from '../random.ts';
import type { Attempt } from './send.ts';

/** When a failed delivery is attempted again, and when no more. Durations are milliseconds. */

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Each wait varies by this share, so that deliveries that failed together don't all come back together. */
export const jitter = 0.15;

/** The longest wait that a receiver's `Retry-After` can ask for. */
export const maxRetryAfterMs = unitMs.d!;

const maxWaits = 50;
const maxWaitMs = 30 * unitMs.d!;

/** Reads `5s,5m,30m`: the waits after the first, second … failed attempt. Throws a RangeError that says what is wrong. */
export function parseSchedule(text: string): number[] {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.length > maxWaits)
    throw new RangeError(`A retry schedule has at most ${maxWaits} waits, not ${parts.length}.`);
  return parts.map((part, index) => {
    const match = /^(\d{1,7})([smhd])$/.exec(part);
    if (match === null) {
      throw new RangeError(
        `Wait ${index + 1} of the retry schedule is "${part}"; each must be a whole number and a unit (s, m, h or d), as in 5s,5m,2h.`,
      );
    }
    const waitMs = Number(match[1]) * unitMs[match[2]!]!;
    if (waitMs > maxWaitMs)
      throw new RangeError(`Wait ${index + 1} of the retry schedule is "${part}"; the longest is 30d.`);
    return waitMs;
  });
}

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

export function verdictOf(attempt: Pick<Attempt, 'outcome' | 'status_code'>): Verdict {
  if (attempt.outcome === 'succeeded') return 'delivered';
  if (attempt.outcome === 'aborted') return 'unfinished';
  return attempt.status_code === 410 ? 'gone' : 'retry';
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
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

/** `Retry-After` (RFC 9110, 10.2.3), in seconds or as a date, as a wait from now of at most a day; null if it can't be read. */
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
