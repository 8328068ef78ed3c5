import type { SittingRow } from './store.ts';

/**
 * One display of a question never costs more than this, however long it stays on the screen: a learner whose connection
 * was lost, or who was called away, loses no more working time.
 */
export const displayMsMost = 10 * 60_000;

/** A sitting that nobody has touched for this long is closed. */
export const idleMs = 48 * 3600_000;

/** Who looks at a sitting again within this time has just been seen. */
export const seenMs = 60_000;

/** An item that was shown within this time counts as seen. */
export const seenForMs = 365 * 24 * 3600_000;

type Timed = Pick<SittingRow, 'used_ms' | 'on_screen_since' | 'time_limit_ms'>;

/**
 * Working time of the question that is on the screen now; none while the sitting is paused or the clock was set back.
 */
export function displayMs(sitting: Timed, nowMs: number): number {
  if (sitting.on_screen_since === null) return 0;
  return Math.min(displayMsMost, Math.max(0, nowMs - sitting.on_screen_since.getTime()));
}

/** Working time so far, never above the limit. */
export function usedMs(sitting: Timed, nowMs: number): number {
  return Math.min(sitting.time_limit_ms, sitting.used_ms + displayMs(sitting, nowMs));
}

export function remainingMs(sitting: Timed, nowMs: number): number {
  return sitting.time_limit_ms - usedMs(sitting, nowMs);
}

/** The usual limit of the subject with the extra time that the provider decided. */
export function timeLimitMs(usualMs: number, extraTimePct: number): number {
  return Math.round((usualMs * (100 + extraTimePct)) / 100);
}
