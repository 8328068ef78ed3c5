import { calibratedFromUs } from '../../../engine/scoring/calibration.ts';
import { belowEntry, levelName, levelsOf } from '../../../engine/scoring/levels.ts';
import type { ResultContent } from '../body.ts';
import { levels } from '../facet.ts';

/** Each level name as a range of steps, lowest first. Entry Level without a sub-level covers all three sub-levels. */
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

/** The levels with their probabilities, lowest first. Null without probabilities or with an unknown level. */
function ordered(probabilities: Probabilities): (readonly [name: string, probability: number])[] | null {
  if (probabilities === null) return null;
  const entries = Object.entries(probabilities);
  if (entries.length === 0 || entries.some(([name]) => !Object.hasOwn(ladder, name))) return null;
  return entries.sort(([x], [y]) => ladder[x]![0] - ladder[y]![0]);
}

/** The lowest and the highest level of the interval that contains the middle 95 % of the probability. */
export type LevelInterval = { low: string; high: string };

const tail = 0.025;
/** Published probabilities are rounded, so their sums are compared with this tolerance. */
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

/** Whether two intervals share a level. If they do, the difference between the results may be measurement error. */
export function overlap(one: LevelInterval, other: LevelInterval): boolean {
  return ladder[one.low]![0] <= ladder[other.high]![1] && ladder[other.low]![0] <= ladder[one.high]![1];
}

export function probabilityBelow(probabilities: Probabilities, level: 'Level 1' | 'Level 2'): number | null {
  const found = ordered(probabilities);
  if (found === null) return null;
  const sum = found.reduce((total, [name, one]) => (ladder[name]![1] < ladder[level]![0] ? total + one : total), 0);
  return Math.round(sum * 1000) / 1000;
}

export const levelOf = ({ working_level, rqf_level, below_level_1 }: ResultContent): string | null =>
  working_level ?? rqf_level ?? (below_level_1 === true ? belowEntry : null);

export const placementOf = (content: ResultContent): string => levelOf(content) ?? 'Not placed';

type OfSource = { source: 'imported' | 'sitting'; content: ResultContent };

/** Whether items that are not calibrated decided the level. If a person sets the level, no probabilities remain. */
export const isProvisional = ({ source, content }: OfSource): boolean =>
  source === 'sitting' && content.level_probabilities !== null && content.assessed_at_us < calibratedFromUs;

export const placementWords = (row: OfSource): string =>
  `${placementOf(row.content)}${isProvisional(row) ? ' (provisional)' : ''}`;

export const provisionalWords =
  'Provisional: the authors judged how hard the questions are. Learners’ answers have not confirmed it yet.';

export const closeWords =
  'Close to the line between two levels: the likeliest level has a probability below 70 %, and another at least 30 %.';

/** A result's index on its subject's ladder; null if the ladder does not have its working level. */
function stepOf({ subject, working_level, below_level_1 }: ResultContent): number | null {
  if (working_level === null) return null;
  if (working_level === belowEntry) return below_level_1 === true ? 0 : null;
  const step = levelsOf(subject).findIndex((level) => levelName(level) === working_level);
  return step < 0 ? null : step + 1;
}

const wholeLevel = ({ rqf_level, below_level_1 }: ResultContent) =>
  levels.findIndex((level) => level.rqf_level === rqf_level && level.below_level_1 === below_level_1);

/**
 * How many levels a learner gained between two results. Entry sub-levels count only if both results have them. Null if
 * a result is not placed.
 */
export function levelsGained(first: ResultContent, latest: ResultContent): number | null {
  const [from, to] = [wholeLevel(first), wholeLevel(latest)];
  if (from <= 0 || to <= 0) return null;
  const [fromStep, toStep] = [stepOf(first), stepOf(latest)];
  return fromStep === null || toStep === null ? to - from : toStep - fromStep;
}

export function intervalWords(probabilities: Record<string, number> | null): string {
  const found = levelInterval(probabilities);
  if (found === null) return 'Not recorded';
  return found.low === found.high ? found.low : `${found.low} to ${found.high}`;
}
