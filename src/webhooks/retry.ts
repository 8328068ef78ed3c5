import type { Random } from '../random.ts';
import { maxRetryAfterMs } from './retry-after.ts';
import type { Attempt } from './send.ts';

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

export function verdictOf(attempt: Pick<Attempt, 'outcome' | 'status_code'>): Verdict {
  if (attempt.outcome === 'succeeded') return 'delivered';
  if (attempt.outcome === 'aborted') return 'unfinished';
  return attempt.status_code === 410 ? 'gone' : 'retry';
}
