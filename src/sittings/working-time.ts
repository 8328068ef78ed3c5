import type { Feed } from '../feed/position.ts';
import type { SittingRow } from './store.ts';

/** The most working time that one display of a question costs: learners may lose the connection or be away. */
export const maxDisplayMs = 10 * 60_000;

/** An untouched sitting is closed after this time, which starts again when a suspended organisation resumes. */
export const idleMs = 48 * 3600_000;

/** Returns when an untouched sitting will be closed, unless its organisation is suspended first. */
export function idleEnd(lastSeenAt: Date, resumedAt: Date | null): Date {
  return new Date(Math.max(lastSeenAt.getTime(), resumedAt?.getTime() ?? 0) + idleMs);
}

/**
 * Whether a sitting was last touched before `since`. During a suspension a sitting stays open, because learners can't
 * return and the sitting may have been exported (docs/decisions/0013).
 * @param feed the organisation's feed, locked so that no suspension happens during this unit of work
 */
export function isAbandoned(
  sitting: Pick<SittingRow, 'last_seen_at'>,
  { suspended, resumedAt }: Pick<Feed, 'suspended' | 'resumedAt'>,
  since: Date,
): boolean {
  return !suspended && sitting.last_seen_at < since && (resumedAt === null || resumedAt < since);
}

/**
 * Returns the milliseconds to add to the sitting's paused time. After a suspension they count from `resumedAt`, because
 * the suspension has added the earlier part. If the clock was set back, the result is 0.
 */
export function pausedMs(lastSeenAt: Date, resumedAt: Date | null, nowMs: number): number {
  return Math.max(0, nowMs - Math.max(lastSeenAt.getTime(), resumedAt?.getTime() ?? 0));
}

/** Within this time, only the first touch of a sitting is stored. */
export const seenMs = 60_000;

/** An item that the learner saw within this time counts as seen. */
export const seenForMs = 365 * 24 * 3600_000;

type Timed = Pick<SittingRow, 'used_ms' | 'on_screen_since' | 'time_limit_ms'>;

/** Returns the working time of the question on the screen. It is 0 during a pause and if the clock was set back. */
export function displayMs(sitting: Timed, nowMs: number): number {
  if (sitting.on_screen_since === null) return 0;
  return Math.min(maxDisplayMs, Math.max(0, nowMs - sitting.on_screen_since.getTime()));
}

export function usedMs(sitting: Timed, nowMs: number): number {
  return Math.min(sitting.time_limit_ms, sitting.used_ms + displayMs(sitting, nowMs));
}

export function remainingMs(sitting: Timed, nowMs: number): number {
  return sitting.time_limit_ms - usedMs(sitting, nowMs);
}

export function timeLimitMs(usualMs: number, extraTimePct: number): number {
  return Math.round((usualMs * (100 + extraTimePct)) / 100);
}
