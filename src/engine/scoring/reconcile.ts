import type { Cut } from './cuts.ts';
import { type Level, levelsOf, type Order, orderOf, type Placement, type Subject } from './levels.ts';

export type Reconciliation = {
  placement: Placement;
  /** The engines are a full level or more apart, without Entry sub-levels. */
  needsReview: boolean;
  /** The rule that applied. `irt_only`: the rule engine could judge no level. */
  basis: 'equal' | 'irt_within_one' | 'midpoint' | 'irt_only';
  /** Distance of the engines in full levels. */
  apart: number;
};

/** The nearer of the two cuts around a placement. It decides whether the result is borderline. */
export type DecidingRule = {
  level: Level;
  /** The cut, in θ. */
  threshold: number;
  /** The side of the ability estimate. An estimate at the cut meets the level. */
  side: 'at_or_above' | 'below';
  /** Whether the placement meets the level. It differs from `side` only if the engines were far apart. */
  met: boolean;
  /** The cut lies inside the 95 % confidence interval, or on its end. */
  isBorderline: boolean;
};

/** The highest level whose cut the ability reaches. `cuts` rise. */
export function placeByIrt(cuts: readonly Cut[], theta: number): Placement {
  let placement: Placement = 'below_entry';
  for (const cut of cuts) if (theta >= cut.theta) placement = cut.level;
  return placement;
}

/** Equal: that level. One apart: IRT's. Two or more apart: the midpoint, rounded down. */
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

/** If the midpoint is Entry, the sub-level nearest to IRT's placement. */
function placementAt(subject: Subject, order: Order, irt: Placement): Placement {
  if (order === -1) return 'below_entry';
  const candidates: Level[] = levelsOf(subject).filter((level) => orderOf(level) === order);
  return orderOf(irt) < order ? candidates[0]! : candidates.at(-1)!;
}

/**
 * The cut nearest to the ability among the cut that was met and the next. At equal distance, the cut that was met. All
 * levels count, with Entry sub-levels, so that every placement can be borderline.
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
