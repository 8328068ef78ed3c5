import type { Cut } from './cuts.ts';
import { type Level, levelsOf, type Order, orderOf, type Placement, type Subject } from './levels.ts';

export type Reconciliation = {
  placement: Placement;
  /** Whether the two engines differ by at least one full level. Sub-levels of Entry Level don't count. */
  needsReview: boolean;
  /** The rule that applied. `irt_only`: the rule engine could judge no level. */
  basis: 'equal' | 'irt_within_one' | 'midpoint' | 'irt_only';
  /** The number of full levels by which the engines differ. */
  apart: number;
};

/**
 * Of the two cuts around a placement, the cut that is nearer to the ability estimate. It decides whether the result is
 * borderline.
 */
export type DecidingRule = {
  level: Level;
  threshold: number;
  /** The side of the cut on which the ability estimate lies. An estimate exactly at the cut meets the level. */
  side: 'at_or_above' | 'below';
  /** Whether the placement meets the level. Differs from `side` only if the engines were more than a level apart. */
  met: boolean;
  /** Whether the cut lies inside the 95 % confidence interval or at one of its ends. */
  isBorderline: boolean;
};

/** Returns the highest level whose cut the ability reaches. `cuts` must rise. */
export function placeByIrt(cuts: readonly Cut[], theta: number): Placement {
  let placement: Placement = 'below_entry';
  for (const cut of cuts) if (theta >= cut.theta) placement = cut.level;
  return placement;
}

/**
 * If the engines agree or differ by one level, the IRT placement applies. If they differ by more, the midpoint applies,
 * rounded down.
 */
export function reconcile(subject: Subject, irt: Placement, rules: Placement | null): Reconciliation {
  if (rules === null) return { placement: irt, needsReview: false, basis: 'irt_only', apart: 0 };
  const irtOrder = orderOf(irt);
  const ruleOrder = orderOf(rules);
  const apart = Math.abs(irtOrder - ruleOrder);
  if (apart === 0) return { placement: irt, needsReview: false, basis: 'equal', apart };
  if (apart === 1) return { placement: irt, needsReview: true, basis: 'irt_within_one', apart };
  const middle = Math.floor((irtOrder + ruleOrder) / 2) as Order;
  return { placement: placementAt(subject, middle, irt), needsReview: true, basis: 'midpoint', apart };
}

/**
 * Returns the level with this order. If Entry Level has sub-levels, the sub-level nearest to the IRT placement is
 * returned.
 */
function placementAt(subject: Subject, order: Order, irt: Placement): Placement {
  if (order === -1) return 'below_entry';
  const candidates: Level[] = levelsOf(subject).filter((level) => orderOf(level) === order);
  return orderOf(irt) < order ? candidates[0]! : candidates.at(-1)!;
}

/**
 * Selects the cut that was met or the next cut, whichever is nearer to the ability. If both are equally near, the cut
 * that was met is selected. Entry sub-levels count as levels, so that every placement can be borderline.
 */
export function decidingRule(
  cuts: readonly Cut[],
  placement: Placement,
  theta: number,
  ci: { low: number; high: number },
): DecidingRule {
  const passed = cuts.findIndex((cut) => cut.level === placement);
  const around = cuts.slice(Math.max(0, passed), passed + 2);
  let nearest = around[0]!;
  for (const cut of around) if (Math.abs(cut.theta - theta) < Math.abs(nearest.theta - theta)) nearest = cut;
  return {
    level: nearest.level,
    threshold: nearest.theta,
    side: theta >= nearest.theta ? 'at_or_above' : 'below',
    met: cuts.indexOf(nearest) <= passed,
    isBorderline: ci.low <= nearest.theta && nearest.theta <= ci.high,
  };
}
