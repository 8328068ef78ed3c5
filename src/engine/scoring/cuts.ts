import { bisect, type ItemParameters, probability } from './irt.ts';
import { type Level, levelName, levelsOf, type Subject } from './levels.ts';

/** The standard: a learner who just meets a level is expected to answer this share of the level's items right. */
export const defaultTau = 0.65;

/** The members of an item that scoring uses. `domain` is the name that results show. */
export type ScoredItem = ItemParameters & { id: string; subject: Subject; domain: string; level: Level };

/** The ability (θ) from which a learner meets the level. */
export type Cut = { level: Level; theta: number };

/** Thrown if a bank can't be used for scoring. The message names the level or item. */
export class BankFault extends Error {}

const searchBound = 20;

/**
 * Finds the ability at which the mean probability over `items` equals `tau` (test characteristic curve method).
 * @throws BankFault if there are no items, or if guessing alone reaches `tau`
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
 * Finds the cuts of all levels of a subject. Both the IRT engine and the rule engine use these cuts.
 * @throws BankFault if a level has no items, or if the cuts don't rise from level to level
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
