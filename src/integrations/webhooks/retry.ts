import type { Random } from '../../platform/crypto/random.ts';

/** Each wait varies by this share, so that deliveries that failed together are retried at different times. */
export const jitter = 0.15;

type Failure = { attempt: number; schedule: readonly number[]; random: Random; retryAfterMs?: number | null };

/**
 * The wait in milliseconds after a failed attempt, or 'dead' after the last attempt. A `Retry-After` never shortens the
 * wait. With `Retry-After`, jitter only lengthens the wait.
 * @param attempt counted from 1
 */
export function nextAttempt({ attempt, schedule, random, retryAfterMs = null }: Failure): number | 'dead' {
  if (!Number.isInteger(attempt) || attempt < 1) throw new RangeError('Attempts are counted from 1.');
  const baseMs = schedule[attempt - 1];
  if (baseMs === undefined) return 'dead';
  const share = random.float();
  const scheduledMs = Math.round(baseMs * (1 - jitter + 2 * jitter * share));
  if (retryAfterMs === null) return scheduledMs;
  return Math.max(scheduledMs, Math.round(Math.min(retryAfterMs, maxRetryAfterMs) * (1 + jitter * share)));
}

/**
 * `gone` (410) also disables the endpoint. `unfinished`: the worker broke the attempt off, so the attempt does not
 * count.
 */
export type Verdict = 'delivered' | 'retry' | 'gone' | 'unfinished';

export function verdictOf(attempt: { outcome: string; status_code: number | null }): Verdict {
  if (attempt.outcome === 'succeeded') return 'delivered';
  if (attempt.outcome === 'aborted') return 'unfinished';
  return attempt.status_code === 410 ? 'gone' : 'retry';
}

export const maxRetryAfterMs = 24 * 3600_000;

const httpDate =
  /^(?:[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/;

/**
 * Reads the three forms of an HTTP-date (RFC 9110, 5.6.7) as milliseconds since 1970; NaN: the text has none of the
 * forms.
 */
function parseHttpDate(text: string, nowMs: number): number {
  // A year of 2 digits means the latest year with these digits that is at most 50 years ahead.
  const full = text.replace(
    /^([A-Z][a-z]{2})[a-z]{3,6}, (\d\d)-([A-Z][a-z]{2})-(\d\d) /,
    (...[, day, n, month, year]) => {
      const latest = new Date(nowMs).getUTCFullYear() + 50;
      return `${day}, ${n} ${month} ${latest - ((latest - Number(year)) % 100)} `;
    },
  );
  return httpDate.test(full) ? Date.parse(full.endsWith('GMT') ? full : `${full} GMT`) : NaN;
}

/** The wait in milliseconds of a `Retry-After` (RFC 9110, 10.2.3), at most a day; null if it is not valid. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null;
  const text = value.trim();
  const waitMs = /^\d+$/.test(text) ? Number(text) * 1_000 : parseHttpDate(text, nowMs) - nowMs;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), maxRetryAfterMs);
}
