import type { Feed } from '../feed/position.ts';
import type { SittingRow } from './store.ts';

/**
 * One display of a question never costs more than this, however long it stays on the screen: a learner whose connection
 * was lost, or who was called away, loses no more working time.
 */
export const maxDisplayMs = 10 * 60_000;

/** A sitting that nobody has touched for this long is closed; it counts from the resumption of its organisation. */
export const idleMs = 48 * 3600_000;

/** Until when a sitting that nobody touches stays open, unless its organisation is suspended before. */
export function idleEnd(lastSeenAt: Date, resumedAt: Date | null): Date {
  return new Date(Math.max(lastSeenAt.getTime(), resumedAt?.getTime() ?? 0) + idleMs);
}

/**
 * Whether nobody has touched a sitting since then, though they could. While its organisation is suspended nobody can, and it is
 * left as it is: it may have been exported (docs/decisions/0013).
 * @param feed of its organisation, locked: a suspension waits for what follows, or is seen here
 */
export function isGivenUp(
  sitting: Pick<SittingRow, 'last_seen_at'>,
  { suspended, resumedAt }: Pick<Feed, 'suspended' | 'resumedAt'>,
  since: Date,
): boolean {
  return !suspended && sitting.last_seen_at < since && (resumedAt === null || resumedAt < since);
}

/**
 * How much of a pause that ends now is still to be added: all of it, or what lies behind the resumption of its organisation, where
 * that was suspended meanwhile (src/sittings/suspension.ts). A clock that was set back makes a pause of nothing.
 */
export function pausedMs(lastSeenAt: Date, resumedAt: Date | null, nowMs: number): number {
  return Math.max(0, nowMs - Math.max(lastSeenAt.getTime(), resumedAt?.getTime() ?? 0));
}

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
  return Math.min(maxDisplayMs, Math.max(0, nowMs - sitting.on_screen_since.getTime()));
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
