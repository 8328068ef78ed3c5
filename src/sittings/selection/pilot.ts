import { fastRandom, pick } from '../../platform/crypto/random.ts';
import type { Selection } from './content-selection.ts';
import type { DeliveryItem, DeliveryPool } from './pool.ts';
import type { AdaptiveSitting, Asked } from './selection.ts';

/**
 * Pilot questions are on trial: the learner's answers show how hard they are, and are not scored. They look like all
 * other questions. A sitting has at most one at a random place in each of these ranges of positions.
 */
const ranges = [
  [5, 8],
  [10, 13],
  [15, 18],
] as const;

/** If no pilot question fits at its place, a later place within this distance can have it. */
const delay = 2;

/** A pilot question is at most this far from the estimate, in logits. Otherwise it would be noticed. */
const reach = { below: 1.5, above: 1 };

/** After this working time on pilot questions, the sitting gets no more of them. */
export const maxPilotMs = 3 * 60_000;

/**
 * A learner gets a pilot question only if the pace so far would leave this share of the time limit unused. The share is
 * longer than the pilot questions can take: 3 minutes, and the last one at most 10 (`maxDisplayMs`).
 */
const spareShare = 0.25;

/** The selected pilot question, with the number of those that could have been selected. */
export type PilotSelection = { kind: 'pilot'; position: number; theta: number; available: number; itemId: string };

/** @returns the most pilot questions of a new sitting */
export function maxPilotsOf({ pilots }: DeliveryPool, organisation: { pilot_items: boolean }): number {
  return organisation.pilot_items ? Math.min(ranges.length, pilots.length) : 0;
}

type Course = {
  seed: string;
  /** Items that the learner saw lately. */
  seen: readonly string[];
  /** The most pilot questions of the sitting. */
  max: number;
  usedMs: number;
  timeLimitMs: number;
};

/**
 * Selects the pilot question that comes before the scored question `next`. The selection depends only on the stored
 * history and settings, so that the sitting can be replayed.
 * @returns null if no pilot question is due at this position, none fits, or the learner needs the time
 */
export function selectPilot(
  sitting: AdaptiveSitting,
  asked: readonly Asked[],
  next: Selection,
  { seed, seen, max, usedMs, timeLimitMs }: Course,
): PilotSelection | null {
  const { pool, ability } = sitting;
  const position = asked.length + 1;
  const random = fastRandom(`pilot ${seed}`);
  const places = ranges.slice(0, max).map(([from, to]) => from + Math.floor(random.float() * (to - from + 1)));
  const isOpen = (place: number) => !asked.slice(place - 1).some(({ isPilot }) => isPilot);
  if (!places.some((place) => place <= position && position <= place + delay && isOpen(place))) return null;
  const pilotMs = asked.reduce((sum, one) => sum + (one.isPilot ? one.workingMs : 0), 0);
  const longest = (usedMs / asked.length) * (pool.settings.maxItems + max);
  if (pilotMs >= maxPilotMs || longest > (1 - spareShare) * timeLimitMs) return null;
  // The questions on a text follow one another.
  const text = pool.passageOfItem[pool.indexById.get(next.itemId)!]!;
  if (text >= 0 && text === pool.passageOfItem[sitting.given.at(-1)!]) return null;
  const shown = new Set([...seen, ...asked.map(({ itemId }) => itemId)]);
  const texts = new Set(pool.pilots.flatMap(({ id, passage }) => (shown.has(id) ? (passage ?? []) : [])));
  const fits = ({ id, b, enemies = [], passage }: DeliveryItem) =>
    !shown.has(id) &&
    b >= ability.theta - reach.below &&
    b <= ability.theta + reach.above &&
    !(passage && texts.has(passage)) &&
    !asked.some(({ itemId }) => enemies.includes(itemId));
  const available = pool.pilots.filter(fits);
  if (available.length === 0) return null;
  const { id } = pick(fastRandom(`pilot ${seed} ${position}`), available);
  return { kind: 'pilot', position, theta: ability.theta, available: available.length, itemId: id };
}
