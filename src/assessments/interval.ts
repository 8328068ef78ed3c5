import { belowEntry } from '../scoring/levels.ts';

import type { ResultContent } from './body.ts';

/** What a result's probabilities say beside its placement. */

/** Every name of a level, lowest first; Entry Level as a whole, where it has no steps, stands with all of them. */
const ladder: Record<string, readonly [low: number, high: number]> = {
  [belowEntry]: [0, 0],
  'Entry Level 1': [1, 1],
  'Entry Level 2': [2, 2],
  'Entry Level 3': [3, 3],
  'Entry Level': [1, 3],
  'Level 1': [4, 4],
  'Level 2': [5, 5],
  'Level 3': [6, 6],
};

type Probabilities = ResultContent['level_probabilities'];

/** The levels with their probabilities, lowest first; null where they are unknown, or name levels that nobody can order. */
function ordered(probabilities: Probabilities): (readonly [name: string, probability: number])[] | null {
  if (probabilities === null) return null;
  const entries = Object.entries(probabilities);
  if (entries.length === 0 || entries.some(([name]) => !Object.hasOwn(ladder, name))) return null;
  return entries.sort(([x], [y]) => ladder[x]![0] - ladder[y]![0]);
}

/** From the lowest to the highest level of the middle 95 %. */
export type LevelInterval = { low: string; high: string };

const tail = 0.025;
/** Published probabilities are thousandths, or were rounded by whoever made them. */
const rounding = 1e-9;

export function levelInterval(probabilities: Probabilities): LevelInterval | null {
  const found = ordered(probabilities);
  if (found === null) return null;
  const reaching = (share: number) => {
    let sum = 0;
    for (const [name, probability] of found) {
      sum += probability;
      if (sum > share + rounding) return name;
    }
    return found.at(-1)![0];
  };
  return { low: reaching(tail), high: reaching(1 - tail - 2 * rounding) };
}

/** How likely the learner is below a level; null where nothing tells. */
export function probabilityBelow(probabilities: Probabilities, level: 'Level 1' | 'Level 2'): number | null {
  const found = ordered(probabilities);
  if (found === null) return null;
  const sum = found.reduce((total, [name, one]) => (ladder[name]![1] < ladder[level]![0] ? total + one : total), 0);
  return Math.round(sum * 1000) / 1000;
}

/** What a result is placed at, in a word. */
export const placementOf = ({ working_level, rqf_level, below_level_1 }: ResultContent): string =>
  working_level ?? rqf_level ?? (below_level_1 === true ? belowEntry : 'Not placed');
