import { probability } from './irt.ts';
import type { Cut, ScoredItem } from './cuts.ts';
import type { Level, Placement } from './levels.ts';

/** A level with fewer scored items in its band is not judged. */
export const bandMinItems = 8;

/** An item with its mark. A skipped item counts as wrong, but not as an answer. */
export type ScoredAnswer = { item: ScoredItem; right: boolean; skipped?: boolean };

/**
 * The rule for one level, with all numbers to check it by hand. `band`: the level itself, the next lower and the next
 * higher level. `s`: S_L = Σ P(cut) over the band's items. `needed`: the smallest whole number of right answers that
 * reaches `s`.
 */
export type LevelRule = {
  level: Level;
  band: Level[];
  bandRight: number;
  bandItems: number;
  s: number | null;
  needed: number | null;
  outcome: 'pass' | 'fail' | 'not_judged';
  /** The right answers and the items of the level itself. They inform readers; the rule doesn't use them. */
  right: number;
  items: number;
};

/** `placement` is null if no level could be judged. */
export type RulePlacement = { placement: Placement | null; levels: LevelRule[] };

/**
 * The number-right engine. It places a learner at the highest level that is passed without a failure below, or else at
 * the level below the lowest failure. A level with too few items isn't judged. That is no evidence against the learner,
 * because adaptive delivery leaves out levels below the learner's answers.
 */
export function placeByRules(cuts: readonly Cut[], answers: readonly ScoredAnswer[]): RulePlacement {
  const levels = cuts.map((_, i) => judge(cuts, i, answers));
  const judged = levels.filter((rule) => rule.outcome !== 'not_judged');
  const failedAt = judged.findIndex((rule) => rule.outcome === 'fail');
  const passed = (failedAt === -1 ? judged : judged.slice(0, failedAt)).at(-1);
  if (passed) return { placement: passed.level, levels };
  const lowest = judged[0];
  if (!lowest) return { placement: null, levels };
  return { placement: levels[levels.indexOf(lowest) - 1]?.level ?? 'below_entry', levels };
}

function judge(cuts: readonly Cut[], index: number, answers: readonly ScoredAnswer[]): LevelRule {
  const { level, theta } = cuts[index]!;
  const band = cuts.slice(Math.max(0, index - 1), index + 2).map((cut) => cut.level);
  const inBand = answers.filter((answer) => band.includes(answer.item.level));
  const own = inBand.filter((answer) => answer.item.level === level);
  const bandRight = inBand.filter((answer) => answer.right).length;
  const facts = {
    level,
    band,
    bandRight,
    bandItems: inBand.length,
    right: own.filter((answer) => answer.right).length,
    items: own.length,
  };
  if (inBand.length < bandMinItems) return { ...facts, s: null, needed: null, outcome: 'not_judged' };
  const s = inBand.reduce((sum, answer) => sum + probability(answer.item, theta), 0);
  return { ...facts, s, needed: Math.ceil(s), outcome: bandRight >= s ? 'pass' : 'fail' };
}
