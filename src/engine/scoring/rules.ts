import { probability } from './irt.ts';
import type { Cut, ScoredItem } from './cuts.ts';
import type { Level, Placement } from './levels.ts';

/** A level with fewer scored items in its band is not judged. */
export const bandMinItems = 8;

/** A scored item. A skipped item counts as wrong, and as no answer. */
export type ScoredAnswer = { item: ScoredItem; right: boolean; skipped?: boolean };

/**
 * The rule for one level, checkable by hand. The band is the level with the next lower and higher levels. `s` is
 * S_L = Σ P(cut) over the band's items. `needed` is the smallest whole number right that reaches it.
 */
export type LevelRule = {
  level: Level;
  band: Level[];
  bandRight: number;
  bandItems: number;
  s: number | null;
  needed: number | null;
  outcome: 'pass' | 'fail' | 'not_judged';
  /** Right and given among the level's own items, for the reader only. */
  right: number;
  items: number;
};

/** `placement` is null if no level could be judged. */
export type RulePlacement = { placement: Placement | null; levels: LevelRule[] };

/**
 * The number-right engine. The placement is the highest level passed without a failure below it, or else the level
 * below the lowest failure. Levels with too few items are neither passed nor failed. Adaptive delivery leaves out
 * levels below the learner's answers, so a level that is not judged is no evidence against the learner.
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
