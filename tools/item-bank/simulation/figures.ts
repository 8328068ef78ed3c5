import type { Compared } from '../../../src/engine/scoring/compare-domains.ts';
import { widened } from '../../../src/engine/scoring/calibration.ts';
import { confidenceInterval } from '../../../src/engine/scoring/irt.ts';
import type { Level, Placement } from '../../../src/engine/scoring/levels.ts';
import { isClose } from '../../../src/engine/scoring/probabilities.ts';
import { orderOf } from '../../../src/engine/scoring/levels.ts';

/** The outcome of one simulated sitting. */
export type Outcome = {
  theta: number;
  estimate: number;
  /** The standard error by the model. */
  se: number;
  items: number;
  right: number;
  /** The items after question 8 that are more than 1.5 logits above the estimate at that time. */
  tooHard: number;
  /** Each domain's true difference from the learner's others, and what the result says. Null if domains are equal. */
  domains: readonly { difference: number; compared: Compared | null }[] | null;
  /** Whether the model's interval and the reported interval contain the true ability. */
  covered: boolean;
  reportedCovered: boolean;
  truth: Placement;
  placement: Placement;
  irt: Placement;
  rules: Placement | null;
  /** Whether the reported interval excludes the Level 1 cut. */
  clear: boolean;
  borderline: boolean;
  needsReview: boolean;
  blueprintMet: boolean;
  /**
   * The stated probabilities from the lowest level up, and the index of the true level. Null if the condition does not
   * measure them.
   */
  probabilities: { stated: readonly number[]; truth: number } | null;
  /** Whether person fit finds a change in the middle. Null if the condition does not measure it. */
  changed: boolean | null;
  sameAsFullBank: boolean | null;
  /** The estimate from randomly chosen items, if the condition measures it. */
  atRandom: number | null;
};

/** Figures of one condition. Shares are from 0 to 1. A figure without data is null. */
export type ConditionFigures = {
  learners: number;
  meanItems: number;
  bias: number;
  rmse: number;
  meanSe: number;
  /** The squared correlation of estimate and truth. Null if all learners have the same ability. */
  reliability: number | null;
  /** Shares of intervals that contain the true ability: by the model, and as reported. */
  coverage: number;
  reportedCoverage: number;
  gate: {
    right: number;
    /** Among results whose reported interval excludes the Level 1 cut. */
    rightWhenClear: number | null;
    clear: number;
    /** Shares of all learners: placed below Level 1 although at or above it, and the reverse. */
    falseBelow: number;
    falseAbove: number;
  };
  rqf: { right: number; withinOne: number; workingLevelRight: number };
  /**
   * The share of results that are neither borderline nor for review, and how many of these have the right RQF level.
   */
  unflagged: { share: number; right: number | null };
  reviewRate: number;
  borderlineRate: number;
  /** The share of results that pages call close to a line. Null if the condition does not measure probabilities. */
  closeRate: number | null;
  irtAlone: { rqfRight: number };
  rulesAlone: { rqfRight: number; belowEntryWrongly: number };
  blueprintMet: number;
  /**
   * The distance between stated probabilities and true shares, for all levels and for the likeliest level. Null if the
   * condition does not measure it.
   */
  probabilityGap: { levels: Gap; likeliest: Gap } | null;
  /** The share of sittings in which person fit finds a change. Null if the condition does not measure it. */
  changed: number | null;
  /**
   * The share of Level 1 decisions that equal the decision after all items of the bank. Null if the condition does not
   * measure it.
   */
  equalsFullBank: number | null;
  /** The same share among results whose reported interval excludes the Level 1 cut. */
  equalsFullBankWhenClear: number | null;
  /** Standard errors of figures that are not shares. The standard error of a share is √(p(1 − p)/n). */
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
    closeRate: first?.probabilities == null ? null : share((o) => isClose(o.probabilities!.stated)),
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
      // The delta method for the root of a mean and for a squared correlation.
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

/**
 * The mean distance between stated probabilities and true shares. Probabilities are grouped by tenths, weighted by
 * their number.
 */
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

/** What results say of domains that differ. Each share is of domains that are compared, with the number of these. */
export type DomainFigures = {
  /** Domains at least `weakerBy` weaker, domains weaker by about as much, and domains that are not weaker. */
  weakNamed: ShareOf;
  aboutNamed: ShareOf;
  wronglyNamed: ShareOf;
  /** Of the domains that are named as weaker, those that are not. */
  wrongOfNamed: ShareOf;
  /** The domains that are compared, of all. */
  compared: ShareOf;
};
export type ShareOf = { share: number | null; of: number };

export const weakerBy = 0.7;
const about = 0.1;

export function domainFiguresOf(outcomes: readonly Outcome[]): DomainFigures {
  const all = outcomes.flatMap(({ domains }) => domains ?? []);
  const compared = all.filter((one) => one.compared !== null);
  const isNamed = (one: (typeof all)[number]) => one.compared === 'weaker';
  const shareOf = (base: typeof all, test: (one: (typeof all)[number]) => boolean): ShareOf => ({
    share: base.length === 0 ? null : base.filter(test).length / base.length,
    of: base.length,
  });
  const isWeak = ({ difference }: (typeof all)[number]) => difference <= -weakerBy;
  const isAbout = ({ difference }: (typeof all)[number]) => Math.abs(difference + weakerBy) <= about;
  const isNotWeaker = ({ difference }: (typeof all)[number]) => difference >= 0;
  return {
    weakNamed: shareOf(compared.filter(isWeak), isNamed),
    aboutNamed: shareOf(compared.filter(isAbout), isNamed),
    wronglyNamed: shareOf(compared.filter(isNotWeaker), isNamed),
    wrongOfNamed: shareOf(compared.filter(isNamed), isNotWeaker),
    compared: shareOf(all, (one) => one.compared !== null),
  };
}

export const squaredError = (o: Outcome): number => (o.estimate - o.theta) ** 2;

export function meanOf<T>(list: readonly T[], value: (item: T) => number): number {
  let sum = 0;
  for (const item of list) sum += value(item);
  return sum / list.length;
}

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
