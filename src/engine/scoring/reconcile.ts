import type { Cut } from './cuts.ts';
import { levelsOf, orderOf } from './levels.ts';
import type { Level, Order, Placement, Subject } from './levels.ts';

/** The engines' placements and the one that counts. */
export type Reconciliation = {
  placement: Placement;
  /** The engines are a full level or more apart; Entry sub-levels do not count. */
  needsReview: boolean;
  /** Which rule of reconciliation applied; `irt_only` where the rule engine could judge no level. */
  basis: 'equal' | 'irt_within_one' | 'midpoint' | 'irt_only';
  /** Distance of the engines in full levels. */
  apart: number;
};

/** The cut, of the two that bound a placement, that decides whether it is close to a boundary. */
export type DecidingRule = {
  level: Level;
  /** The cut, in θ. */
  threshold: number;
  /** Where the ability estimate lies. At the cut counts as met. */
  side: 'at_or_above' | 'below';
  /** Whether the reconciled placement meets the level; differs from `side` only where the engines were far apart. */
  met: boolean;
  /** The cut lies inside the 95 % confidence interval, its end points included. */
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

/** Where the midpoint is Entry, which neither engine named, the sub-level is the one nearest to IRT's placement. */
function placementAt(subject: Subject, order: Order, irt: Placement): Placement {
  if (order === -1) return 'below_entry';
  const candidates: Level[] = levelsOf(subject).filter((level) => orderOf(level) === order);
  return orderOf(irt) < order ? candidates[0]! : candidates.at(-1)!;
}

/**
 * Of the cuts on either side of the placement, the one passed and the one not passed, the nearer to the ability; at
 * equal distance the one that was passed. All levels count, Entry sub-levels and the lowest included, so that every
 * placement can be told to be close to a boundary.
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
