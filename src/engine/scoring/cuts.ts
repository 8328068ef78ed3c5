import { bisect, type ItemParameters, probability } from './irt.ts';
import { type Level, levelName, levelsOf, type Subject } from './levels.ts';

/** The standard: the expected share right on a level's items for a learner who just meets the level. */
export const defaultTau = 0.65;

/** An item as scoring sees it. `domain` is the name in results. */
export type ScoredItem = ItemParameters & { id: string; subject: Subject; domain: string; level: Level };

/** The cut of each level, lowest level first, in θ. */
export type Cut = { level: Level; theta: number };

/** The bank can't be used for scoring. The message names the level or item. */
export class BankFault extends Error {}

const searchBound = 20;

/**
 * The ability at which the mean probability over `items` equals τ (test characteristic curve method).
 * @throws BankFault if there are no items, or guessing alone reaches τ
 */
export function cutFor(items: readonly ItemParameters[], tau: number = defaultTau): number {
  if (items.length === 0) throw new BankFault('A cut score needs at least one item of its level.');
  const mean = (theta: number) => items.reduce((sum, item) => sum + probability(item, theta), 0) / items.length;
  if (mean(-searchBound) >= tau || mean(searchBound) <= tau) {
    throw new BankFault(`No ability between ±${searchBound} gives a mean probability of ${tau}.`);
  }
  return bisect((theta) => mean(theta) < tau, -searchBound, searchBound);
}

/**
 * The cuts of all levels of a subject. Both engines use them, so "65 % of Level 1" and "θ at the Level 1 cut" are one
 * standard.
 * @throws BankFault if a level has no items or the cuts do not rise
 */
export function solveCuts(subject: Subject, items: readonly ScoredItem[], tau: number = defaultTau): Cut[] {
  const cuts = levelsOf(subject).map((level): Cut => {
    const own = items.filter((item) => item.level === level);
    if (own.length === 0) throw new BankFault(`The ${subject} bank has no ${levelName(level)} items.`);
    return { level, theta: cutFor(own, tau) };
  });
  for (let i = 1; i < cuts.length; i++) {
    const lower = cuts[i - 1]!;
    const upper = cuts[i]!;
    if (upper.theta <= lower.theta) {
      throw new BankFault(
        `The ${subject} cuts must rise with level: ${levelName(upper.level)} (${upper.theta.toFixed(3)}) is not above ${levelName(lower.level)} (${lower.theta.toFixed(3)}).`,
      );
    }
  }
  return cuts;
}
