import type { Random } from '../random.ts';
import { maxRetryAfterMs } from './retry-after.ts';
import type { Attempt } from './send.ts';

/** When a failed delivery is attempted again, and when no more. Durations are milliseconds. */

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Each wait varies by this share, so that deliveries that failed together don't all come back together. */
export const jitter = 0.15;

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
