import { widened } from '../../../src/engine/scoring/calibration.ts';
import { confidenceInterval } from '../../../src/engine/scoring/irt.ts';
import type { Level, Placement } from '../../../src/engine/scoring/levels.ts';
import { orderOf } from '../../../src/engine/scoring/levels.ts';

/** What became of one simulated sitting. */
export type Outcome = {
  theta: number;
  estimate: number;
  /** The model's standard error. */
  se: number;
  items: number;
  /** Whether the model's interval, and the reported one, hold the truth. */
  covered: boolean;
  reportedCovered: boolean;
  truth: Placement;
  placement: Placement;
  irt: Placement;
  rules: Placement | null;
  /** The reported interval does not hold the Level 1 cut. */
  clear: boolean;
  borderline: boolean;
  needsReview: boolean;
  blueprintMet: boolean;
  /** By level, the lowest first, and which of them is true; null where not asked for. */
  probabilities: { stated: readonly number[]; truth: number } | null;
  /** The answers show a change in the middle; null where not asked for. */
  changed: boolean | null;
  sameAsFullBank: boolean | null;
  /** The estimate from items chosen at random, where asked for. */
  atRandom: number | null;
};

/** Figures of one condition. Shares are from 0 to 1; an empty base gives null. */
export type ConditionFigures = {
  learners: number;
  meanItems: number;
  bias: number;
  rmse: number;
  meanSe: number;
  /** Squared correlation of estimate and truth; null where all learners have the same ability. */
  reliability: number | null;
  /** Of the model's interval, and of the reported one. */
  coverage: number;
  reportedCoverage: number;
  gate: {
    right: number;
    /** Among results whose reported interval does not hold the Level 1 cut. */
    rightWhenClear: number | null;
    clear: number;
    /** Shares of all learners: at Level 1 or above but placed below, and the reverse. */
    falseBelow: number;
    falseAbove: number;
  };
  rqf: { right: number; withinOne: number; workingLevelRight: number };
  /** Neither borderline nor for review, and the RQF level right among those. */
  unflagged: { share: number; right: number | null };
  reviewRate: number;
  borderlineRate: number;
  irtAlone: { rqfRight: number };
  rulesAlone: { rqfRight: number; belowEntryWrongly: number };
  blueprintMet: number;
  /**
   * How far stated probabilities are from what came true: of all levels, and of the likeliest; null where not asked
   * for.
   */
  probabilityGap: { levels: Gap; likeliest: Gap } | null;
  /** The share of sittings that show a change in the middle; null where not asked for. */
  changed: number | null;
  /** The Level 1 decision equals that of the whole bank answered; null where that was not asked for. */
  equalsFullBank: number | null;
  /** The same among results whose reported interval does not hold the Level 1 cut. */
  equalsFullBankWhenClear: number | null;
  /** Standard errors of those figures that are not shares: shares have √(p(1 − p)/n). */
  standardErrors: { meanItems: number; rmse: number; reliability: number | null };
};

export function figuresOf(outcomes: readonly Outcome[]): ConditionFigures {
  const share = (test: (o: Outcome) => boolean) => meanOf(outcomes, (o) => (test(o) ? 1 : 0));
  const shareOf = (base: readonly Outcome[], test: (o: Outcome) => boolean) =>
    base.length === 0 ? null : meanOf(base, (o) => (test(o) ? 1 : 0));
  const clear = outcomes.filter((o) => o.clear);
  const unflagged = outcomes.filter((o) => !o.borderline && !o.needsReview);
  const above = (placement: Placement) => orderOf(placement) >= 1;
  const gateRight = (o: Outcome) => above(o.placement) === above(o.truth);
  const rqfRight = (o: Outcome) => orderOf(o.placement) === orderOf(o.truth);
  const rmse = Math.sqrt(meanOf(outcomes, squaredError));
  const reliability = squaredCorrelation(outcomes);
  const [first] = outcomes;
  return {
    learners: outcomes.length,
    meanItems: meanOf(outcomes, (o) => o.items),
    bias: meanOf(outcomes, (o) => o.estimate - o.theta),
    rmse,
    meanSe: meanOf(outcomes, (o) => o.se),
    reliability,
    coverage: share((o) => o.covered),
    reportedCoverage: share((o) => o.reportedCovered),
    gate: {
      right: share(gateRight),
      rightWhenClear: shareOf(clear, gateRight),
      clear: clear.length / outcomes.length,
      falseBelow: share((o) => above(o.truth) && !above(o.placement)),
      falseAbove: share((o) => !above(o.truth) && above(o.placement)),
    },
    rqf: {
      right: share(rqfRight),
      withinOne: share((o) => Math.abs(orderOf(o.placement) - orderOf(o.truth)) <= 1),
      workingLevelRight: share((o) => o.placement === o.truth),
    },
    unflagged: { share: unflagged.length / outcomes.length, right: shareOf(unflagged, rqfRight) },
    reviewRate: share((o) => o.needsReview),
    borderlineRate: share((o) => o.borderline),
    irtAlone: { rqfRight: share((o) => orderOf(o.irt) === orderOf(o.truth)) },
    rulesAlone: {
      rqfRight: share((o) => o.rules !== null && orderOf(o.rules) === orderOf(o.truth)),
      belowEntryWrongly: share((o) => o.rules === 'below_entry' && o.truth !== 'below_entry'),
    },
    blueprintMet: share((o) => o.blueprintMet),
    probabilityGap: first?.probabilities == null ? null : probabilityGaps(outcomes),
    changed: first?.changed == null ? null : share((o) => o.changed === true),
    equalsFullBank: first?.sameAsFullBank == null ? null : share((o) => o.sameAsFullBank === true),
    equalsFullBankWhenClear:
      clear[0]?.sameAsFullBank == null ? null : meanOf(clear, (o) => (o.sameAsFullBank === true ? 1 : 0)),
    standardErrors: {
      meanItems: standardErrorOf(outcomes, (o) => o.items),
      // By the delta method: of a root of a mean, and of a squared correlation.
      rmse: standardErrorOf(outcomes, squaredError) / (2 * rmse || 1),
      reliability: reliability && (2 * Math.sqrt(reliability) * (1 - reliability)) / Math.sqrt(outcomes.length),
    },
  };
}

export type Decisions = { level: Level; right: number; clear: number; rightWhenClear: number | null };

export function decisionsAt(
  { level, theta }: { level: Level; theta: number },
  outcomes: readonly Outcome[],
): Decisions {
  const clear = outcomes.filter((o) => {
    const { low, high } = confidenceInterval(widened({ theta: o.estimate, sd: o.se }));
    return theta < low || theta > high;
  });
  const right = (o: Outcome) => (o.estimate >= theta === o.theta >= theta ? 1 : 0);
  return {
    level,
    right: meanOf(outcomes, right),
    clear: clear.length / outcomes.length,
    rightWhenClear: clear.length === 0 ? null : meanOf(clear, right),
  };
}

/** The mean distance of what was stated from what came true, by tenths, each as heavy as it was often stated. */
export type Gap = { mean: number; se: number; tenths: { stated: number; true: number; results: number }[] };

function probabilityGaps(outcomes: readonly Outcome[]): { levels: Gap; likeliest: Gap } {
  const all: [number, boolean][] = [];
  const likeliest: [number, boolean][] = [];
  for (const { probabilities } of outcomes) {
    const { stated, truth } = probabilities!;
    stated.forEach((p, level) => all.push([p, level === truth]));
    const max = Math.max(...stated);
    likeliest.push([max, stated.indexOf(max) === truth]);
  }
  return { levels: gapOf(all), likeliest: gapOf(likeliest) };
}

function gapOf(statements: readonly (readonly [stated: number, came: boolean])[]): Gap {
  const tenths = Array.from({ length: 10 }, () => ({ stated: 0, came: 0, results: 0 }));
  for (const [stated, came] of statements) {
    const tenth = tenths[Math.min(9, Math.floor(10 * stated))]!;
    tenth.stated += stated;
    tenth.came += came ? 1 : 0;
    tenth.results++;
  }
  const used = tenths.filter(({ results }) => results > 0);
  const sum = (value: (tenth: (typeof used)[number]) => number) => used.reduce((total, one) => total + value(one), 0);
  return {
    mean: sum(({ stated, came }) => Math.abs(stated - came)) / statements.length,
    se: Math.sqrt(sum(({ came, results }) => came * (1 - came / results))) / statements.length,
    tenths: used.map(({ stated, came, results }) => ({ stated: stated / results, true: came / results, results })),
  };
}

export const squaredError = (o: Outcome): number => (o.estimate - o.theta) ** 2;

export function meanOf<T>(list: readonly T[], value: (item: T) => number): number {
  let sum = 0;
  for (const item of list) sum += value(item);
  return sum / list.length;
}

/** The standard error of a mean. */
export function standardErrorOf<T>(list: readonly T[], value: (item: T) => number): number {
  const mean = meanOf(list, value);
  return Math.sqrt(meanOf(list, (item) => (value(item) - mean) ** 2) / list.length);
}

function squaredCorrelation(outcomes: readonly Outcome[]): number | null {
  const x = meanOf(outcomes, (o) => o.theta);
  const y = meanOf(outcomes, (o) => o.estimate);
  const xy = meanOf(outcomes, (o) => (o.theta - x) * (o.estimate - y));
  const spread = meanOf(outcomes, (o) => (o.theta - x) ** 2) * meanOf(outcomes, (o) => (o.estimate - y) ** 2);
  return spread < 1e-18 ? null : xy ** 2 / spread;
}
