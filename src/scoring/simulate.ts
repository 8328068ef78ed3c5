import { simulationRandom, standardNormal } from '../random.ts';
import type { Uniform } from '../random.ts';
import {
  eapNodes,
  standardPrior,
  confidenceInterval,
  logPriorAt,
  logProbabilities,
  momentsOf,
  probability,
  quadratureNodes,
} from './irt.ts';
import type { EapEstimate } from './irt.ts';
import { levelsOf, orderOf } from './levels.ts';
import type { Level, Placement, Subject } from './levels.ts';
import { exposureOf } from './exposure.ts';
import type { Exposure } from './exposure.ts';
import { decidingRule, placeByIrt, reconcile } from './reconcile.ts';
import { placeByRules } from './rules.ts';
import { prepareBank } from './score.ts';
import type { BankVersion, ScoringBank } from './score.ts';

/**
 * Simulation of a bank: learners of known ability answer by the model, and what the engines say is compared with the
 * truth. Because the answers obey the model that scores them, every figure is a ceiling for real use.
 * Delivery is passed in, so that any way of choosing items can be measured.
 */

/** A whole sitting: the indices of the items given, in order, and the final estimate. */
export type Delivered = { given: readonly number[]; ability: EapEstimate };
export type Deliver = (answers: (index: number) => boolean, random: Uniform) => Delivered;
/** The same with the number of items given. */
export type DeliverLength = (answers: (index: number) => boolean, random: Uniform, length: number) => Delivered;

export type SimulationSetup = {
  bank: BankVersion;
  /** The delivery to measure, and as its yardstick random choice under the same rules. */
  adaptive: Deliver;
  random: DeliverLength;
  minPerDomain: number;
  learners: number;
  /** A source of seeds by name: the same name must give the same draws on every run. */
  seed: (name: string) => Uniform;
  /** Called with each condition's name before it runs. */
  progress?: (condition: string) => void;
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
  coverage: number;
  gate: {
    right: number;
    /** Among results whose interval does not hold the Level 1 cut. */
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
  /** The Level 1 decision equals that of the whole bank answered; null where that was not asked for. */
  equalsFullBank: number | null;
  /** The same among results whose interval does not hold the Level 1 cut. */
  equalsFullBankWhenClear: number | null;
  /** Standard errors of those figures that are not shares: shares have √(p(1 − p)/n). */
  standardErrors: { meanItems: number; rmse: number; reliability: number | null };
};

export type SimulationReport = {
  subject: Subject;
  bankVersion: string;
  items: number;
  learners: number;
  cuts: { level: Level; theta: number }[];
  population: ConditionFigures;
  /** Share by which the RMSE is below that of random choice, for the same learners at the same lengths. */
  rmseGain: number;
  rmseGainSe: number;
  randomChoiceRmse: number;
  exposure: Exposure;
  atCuts: { level: Level; theta: number; learners: number; coverage: number; rmse: number }[];
  atCutsCoverage: { pooled: number; lowest: number };
  /** Learners at θ = −2.5 and +2.5 together. */
  extremes: { coverage: number; low: number; high: number; rmse: number };
  stress: { name: StressName; note: string; figures: ConditionFigures }[];
};

export type StressName = 'b_error' | 'population_lower' | 'population_higher' | 'guessers' | 'skips' | 'skips_blind';

export const STRESS = {
  bErrorSd: 0.4,
  bErrorBanks: 20,
  shift: 0.5,
  guesserShare: 0.1,
  skipShare: 0.15,
  extremeTheta: 2.5,
} as const;

/** The learner of one simulated sitting: ability, and the probability of a right answer to each item. */
type Learner = { theta: number; chance: (index: number) => number };
/** `compare` also answers the whole bank, and as many items chosen at random. */
type Condition = {
  name: string;
  learners: number;
  compare?: boolean;
  learner: (draw: Uniform, index: number) => Learner;
};

type Outcome = {
  theta: number;
  estimate: number;
  se: number;
  items: number;
  covered: boolean;
  truth: Placement;
  placement: Placement;
  irt: Placement;
  rules: Placement | null;
  clear: boolean;
  borderline: boolean;
  needsReview: boolean;
  blueprintMet: boolean;
  sameAsFullBank: boolean | null;
  /** The estimate from items chosen at random, where asked for. */
  atRandom: number | null;
};

/** Runs every condition. Takes about a millisecond per learner and condition; the same setup gives the same report. */
export function simulate(setup: SimulationSetup): SimulationReport {
  const bench = makeBench(setup);
  const { bank, cuts } = bench.prepared;
  const n = setup.learners;
  const part = Math.max(1, Math.round(n / 5));
  const honest = (theta: number): Learner => ({ theta, chance: (i) => probability(bank.items[i]!, theta) });
  const population =
    (mean: number) =>
    (draw: Uniform): Learner =>
      honest(mean + standardNormal(draw));

  const exposures = new Float64Array(bank.items.length);
  const main = run(
    bench,
    setup.adaptive,
    { name: 'population', learners: n, compare: true, learner: population(0) },
    exposures,
  );
  const mainFigures = figuresOf(main);
  const randomChoiceRmse = Math.sqrt(meanOf(main, (o) => (o.atRandom! - o.theta) ** 2));

  const atCuts = cuts.map((cut) => {
    const figures = figuresOf(
      run(bench, setup.adaptive, { name: `at ${cut.level}`, learners: part, learner: () => honest(cut.theta) }),
    );
    const { coverage, rmse } = figures;
    return { level: cut.level, theta: cut.theta, learners: part, coverage, rmse };
  });
  const [low, high] = [-STRESS.extremeTheta, STRESS.extremeTheta].map((theta) =>
    figuresOf(run(bench, setup.adaptive, { name: `at ${theta}`, learners: part, learner: () => honest(theta) })),
  ) as [ConditionFigures, ConditionFigures];

  const perturbed = perturbedBanks(setup);
  const stress: [StressName, string, Condition['learner']][] = [
    [
      'b_error',
      `true difficulties differ from the bank's by N(0, ${STRESS.bErrorSd}²), in ${STRESS.bErrorBanks} drawn banks`,
      (draw, k) => {
        const theta = standardNormal(draw);
        const errors = perturbed[k % perturbed.length]!;
        return { theta, chance: (i) => probability({ ...bank.items[i]!, b: bank.items[i]!.b + errors[i]! }, theta) };
      },
    ],
    ['population_lower', `abilities N(−${STRESS.shift}, 1) under the N(0, 1) prior`, population(-STRESS.shift)],
    ['population_higher', `abilities N(+${STRESS.shift}, 1) under the N(0, 1) prior`, population(STRESS.shift)],
    [
      'guessers',
      `${STRESS.guesserShare * 100} % of learners pick at random on every choice item`,
      (draw) => {
        const { theta, chance } = honest(standardNormal(draw));
        const guesses = draw.float() < STRESS.guesserShare;
        return { theta, chance: (i) => (guesses && bank.items[i]!.c > 0 ? bank.items[i]!.c : chance(i)) };
      },
    ],
    [
      'skips',
      `${STRESS.skipShare * 100} % of items skipped where the learner would have had to guess, and counted wrong`,
      (draw) => {
        const { theta, chance } = honest(standardNormal(draw));
        // A right answer is knowledge or a lucky guess: 1 − P = (1 − known)(1 − c). Skips use up guesses, never knowledge.
        return {
          theta,
          chance: (i) => {
            const p = chance(i);
            const { c } = bank.items[i]!;
            return p - c * Math.min(STRESS.skipShare, (1 - p) / (1 - c));
          },
        };
      },
    ],
    [
      'skips_blind',
      `${STRESS.skipShare * 100} % of all items skipped, known or not, and counted wrong`,
      (draw) => {
        const { theta, chance } = honest(standardNormal(draw));
        return { theta, chance: (i) => (1 - STRESS.skipShare) * chance(i) };
      },
    ],
  ];

  return {
    subject: bank.subject,
    bankVersion: bank.version,
    items: bank.items.length,
    learners: n,
    cuts: cuts.map((cut) => ({ ...cut })),
    population: mainFigures,
    rmseGain: 1 - mainFigures.rmse / randomChoiceRmse,
    // The learners are the same, so their two errors are taken together.
    rmseGainSe:
      (mainFigures.rmse / randomChoiceRmse) *
      standardErrorOf(
        main,
        (o) => (squaredError(o) / mainFigures.rmse ** 2 - (o.atRandom! - o.theta) ** 2 / randomChoiceRmse ** 2) / 2,
      ),
    randomChoiceRmse,
    exposure: exposureOf(bank, exposures, n),
    atCuts,
    atCutsCoverage: { pooled: meanOf(atCuts, (x) => x.coverage), lowest: Math.min(...atCuts.map((x) => x.coverage)) },
    extremes: {
      coverage: (low.coverage + high.coverage) / 2,
      low: low.coverage,
      high: high.coverage,
      rmse: Math.sqrt((low.rmse ** 2 + high.rmse ** 2) / 2),
    },
    stress: stress.map(([name, note, learner]) => ({
      name,
      note,
      figures: figuresOf(run(bench, setup.adaptive, { name, learners: n, learner })),
    })),
  };
}

type Bench = {
  setup: SimulationSetup;
  prepared: ScoringBank;
  gateCut: number;
  domainOf: number[];
  workingLevels: readonly Level[];
  nodes: Float64Array;
  logPrior: Float64Array;
  logRight: Float64Array[];
  logWrong: Float64Array[];
};

function makeBench(setup: SimulationSetup): Bench {
  const prepared = prepareBank(setup.bank);
  const { items, domains, subject } = setup.bank;
  const nodes = quadratureNodes(standardPrior, eapNodes);
  const tableOf = (side: 'right' | 'wrong') =>
    items.map((item) => nodes.map((theta) => logProbabilities(item, theta)[side]));
  return {
    setup,
    prepared,
    gateCut: prepared.cuts.find((cut) => cut.level === 'level1')!.theta,
    domainOf: items.map((item) => domains.findIndex((domain) => domain.name === item.domain)),
    workingLevels: levelsOf(subject),
    nodes,
    logPrior: logPriorAt(standardPrior, nodes),
    logRight: tableOf('right'),
    logWrong: tableOf('wrong'),
  };
}

function perturbedBanks({ bank, seed }: SimulationSetup): Float64Array[] {
  const draw = simulationRandom(seed(`${bank.subject}:b_error banks`));
  return Array.from({ length: STRESS.bErrorBanks }, () =>
    Float64Array.from(bank.items, () => STRESS.bErrorSd * standardNormal(draw)),
  );
}

function run(bench: Bench, deliver: Deliver, condition: Condition, exposures?: Float64Array): Outcome[] {
  const { setup } = bench;
  setup.progress?.(condition.name);
  const draw = simulationRandom(setup.seed(`${setup.bank.subject}:${condition.name}`));
  const uniforms = new Float64Array(setup.bank.items.length);
  return Array.from({ length: condition.learners }, (_, k) => {
    const { theta, chance } = condition.learner(draw, k);
    // Every item's answer is settled beforehand, so that the sitting and the whole bank see the same learner.
    for (let i = 0; i < uniforms.length; i++) uniforms[i] = draw.float();
    const answers = (i: number) => uniforms[i]! < chance(i);
    const delivered = deliver(answers, draw);
    if (exposures) for (const i of delivered.given) exposures[i]!++;
    const outcome = outcomeOf(bench, theta, answers, delivered);
    if (!condition.compare) return outcome;
    return {
      ...outcome,
      sameAsFullBank: fullBankTheta(bench, answers) >= bench.gateCut === orderOf(outcome.placement) >= 1,
      atRandom: setup.random(answers, draw, delivered.given.length).ability.theta,
    };
  });
}

function outcomeOf(
  bench: Bench,
  theta: number,
  answers: (i: number) => boolean,
  { given, ability }: Delivered,
): Outcome {
  const { setup, prepared, gateCut } = bench;
  const { cuts } = prepared;
  const { items, domains, subject } = setup.bank;
  const ci = confidenceInterval(ability);
  const irt = placeByIrt(cuts, ability.theta);
  const rules = placeByRules(
    cuts,
    given.map((i) => ({ item: items[i]!, right: answers(i) })),
  ).placement;
  const { placement, needsReview } = reconcile(subject, irt, rules);
  const perDomain = domains.map(() => 0);
  for (const i of given) perDomain[bench.domainOf[i]!]!++;
  return {
    theta,
    estimate: ability.theta,
    se: ability.sd,
    items: given.length,
    covered: ci.low <= theta && theta <= ci.high,
    truth: placeByIrt(cuts, theta),
    placement,
    irt,
    rules,
    clear: gateCut < ci.low || gateCut > ci.high,
    borderline: decidingRule(cuts, placement, ability.theta, ci).isBorderline,
    needsReview,
    blueprintMet: domains.every(
      ({ share }, d) =>
        perDomain[d]! >= setup.minPerDomain &&
        Math.abs(perDomain[d]! - share * given.length) <= blueprintToleranceItems,
    ),
    sameAsFullBank: null,
    atRandom: null,
  };
}

/** A domain's count may differ from its share of the items given by this much, which whole items make unavoidable. */
export const blueprintToleranceItems = 1.5;

function fullBankTheta(bench: Bench, answers: (i: number) => boolean): number {
  const logPosterior = bench.logPrior.slice();
  for (let i = 0; i < bench.logRight.length; i++) {
    const logs = (answers(i) ? bench.logRight : bench.logWrong)[i]!;
    for (let k = 0; k < logs.length; k++) logPosterior[k]! += logs[k]!;
  }
  return momentsOf(bench.nodes, logPosterior).theta;
}

function figuresOf(outcomes: readonly Outcome[]): ConditionFigures {
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
  return {
    learners: outcomes.length,
    meanItems: meanOf(outcomes, (o) => o.items),
    bias: meanOf(outcomes, (o) => o.estimate - o.theta),
    rmse,
    meanSe: meanOf(outcomes, (o) => o.se),
    reliability,
    coverage: share((o) => o.covered),
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
    equalsFullBank: outcomes[0]?.sameAsFullBank == null ? null : share((o) => o.sameAsFullBank === true),
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

const squaredError = (o: Outcome) => (o.estimate - o.theta) ** 2;

function meanOf<T>(list: readonly T[], value: (item: T) => number): number {
  let sum = 0;
  for (const item of list) sum += value(item);
  return sum / list.length;
}

/** The standard error of a mean. */
function standardErrorOf<T>(list: readonly T[], value: (item: T) => number): number {
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
