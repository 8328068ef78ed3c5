import { simulationRandom, standardNormal } from './random.ts';
import type { Uniform } from '../../../src/platform/crypto/random.ts';
import { widened, widenedPosterior } from '../../../src/engine/scoring/calibration.ts';
import {
  eapNodes,
  standardPrior,
  confidenceInterval,
  information,
  logPriorAt,
  logProbabilities,
  quadratureNodes,
} from '../../../src/engine/scoring/irt.ts';
import type { EapEstimate, Posterior } from '../../../src/engine/scoring/irt.ts';
import { orderOf } from '../../../src/engine/scoring/levels.ts';
import type { Level, Placement, Subject } from '../../../src/engine/scoring/levels.ts';
import { personFit } from '../../../src/engine/scoring/person-fit.ts';
import { levelProbabilities } from '../../../src/engine/scoring/probabilities.ts';
import { decidingRule, placeByIrt, reconcile } from '../../../src/engine/scoring/reconcile.ts';
import { placeByRules } from '../../../src/engine/scoring/rules.ts';
import { type BankVersion, prepareBank, type ScoringBank } from '../../../src/engine/scoring/score.ts';
import { changeConditions, comparedOf, domainConditions, honest, stress, stressConditions } from './conditions.ts';
import type { ChangeName, Learner, MakeLearner, SimulatedItem, StressName } from './conditions.ts';
import { DeliveredContent, exposureOf, fullBankTheta, minGiven, overlapOf, tooHardOf } from './delivered.ts';
import type { AtAbility, ContentFigures, Exposure, Grid } from './delivered.ts';
import { decisionsAt, domainFiguresOf, figuresOf, meanOf, squaredError, standardErrorOf } from './figures.ts';
import type { ConditionFigures, Decisions, DomainFigures, Outcome } from './figures.ts';

/**
 * Simulates a bank: learners of known ability answer by the model, and the results are compared with the truth. Real
 * answers fit the model less well, so every figure is an upper limit. Delivery is a parameter, so that any selection of
 * items can be measured.
 */

/** A sitting: the indices of the delivered items in order, and the final estimate. */
export type Delivered = { given: readonly number[]; ability: EapEstimate; posterior: Posterior };
/** `seen`: IDs of items that the learner had recently. */
export type Deliver = (answers: (index: number) => boolean, random: Uniform, seen?: Iterable<string>) => Delivered;
/** Delivers the stated number of items. */
export type DeliverLength = (answers: (index: number) => boolean, random: Uniform, length: number) => Delivered;

export type SimulationSetup = {
  bank: BankVersion<SimulatedItem>;
  /** The delivery to measure, and random choice under the same rules as its yardstick. */
  adaptive: Deliver;
  random: DeliverLength;
  minPerDomain: number;
  learners: number;
  /** A source of seeds by name. The same name must give the same draws in every run. */
  seed: (name: string) => Uniform;
  /** Called after each sitting. */
  progress?: () => void;
};

export type SimulationReport = {
  subject: Subject;
  bankVersion: string;
  items: number;
  learners: number;
  cuts: { level: Level; theta: number }[];
  population: ConditionFigures;
  /** By which share the RMSE is below that of random choice, for the same learners and lengths. */
  rmseGain: number;
  rmseGainSe: number;
  randomChoiceRmse: number;
  exposure: Exposure;
  /** The share of sittings that used each item, the highest share first. */
  exposures: { id: string; share: number }[];
  content: ContentFigures;
  /** The decisions at each cut: for all learners, and for results whose reported interval excludes the cut. */
  decisions: Decisions[];
  atCuts: { level: Level; theta: number; learners: number; coverage: number; reportedCoverage: number; rmse: number }[];
  /** The reported intervals of learners at θ = −2.5 and θ = +2.5 together. */
  extremes: { coverage: number; low: number; high: number; rmse: number };
  abilities: AtAbility[];
  minGiven: { share: number; item: string; under: string[]; learners: number };
  stress: { name: StressName; note: string; figures: ConditionFigures }[];
  /** Learners whose domains differ by a standard deviation of half a logit; then those who also meet the harsh bank. */
  domains: [DomainFigures, DomainFigures];
  changes: { name: ChangeName; note: string; learners: number; found: number }[];
  /** Several sittings of one learner within a year. */
  retakes: { sitting: number; learners: number; rmse: number; se: number; meanItems: number; repeated: number }[];
};

export const maxTypeShare = 0.6;
export const givenLeast = 0.01;
const sittingsInARow = 5;
const gridAbilities = Array.from({ length: 13 }, (_, n) => -3 + n / 2);

/**
 * `compare`: the learner also answers all items of the bank, and as many random items. `judge`: probabilities and
 * person fit are also measured.
 */
type Condition = {
  name: string;
  learners: number;
  compare?: boolean;
  judge?: boolean;
  learner: MakeLearner;
};

/** The outcomes of one condition as plain data, because another thread can have run the condition. */
export type ConditionResult = {
  outcomes: Outcome[];
  /** The indices of each sitting's items, in order. */
  given: (readonly number[])[];
  /** Only for the condition `retakes`, whose sittings follow one another. */
  retakes: SimulationReport['retakes'];
};

/** A simulation as independent conditions, each with its own random stream. */
export type Simulation = { bench: Bench; conditions: ReadonlyMap<string, Condition> };

const retakesName = 'retakes';
const atName = (place: string | number): string => `at ${place}`;
const gridName = (theta: number): string => `θ ${theta}`;

export function prepareSimulation(setup: SimulationSetup): Simulation {
  const bench = makeBench(setup);
  const { items, subject } = setup.bank;
  const n = setup.learners;
  const part = Math.max(Math.min(n, 200), Math.round(n / 8));
  const plain = honest(items);
  const at = (name: string, theta: number, learners: number): Condition => ({
    name,
    learners,
    learner: () => plain(theta),
  });
  const conditions: Condition[] = [
    { name: 'population', learners: n, compare: true, judge: true, learner: (draw) => plain(standardNormal(draw)) },
    ...[-stress.extremeTheta, stress.extremeTheta].map((theta) => at(atName(theta), theta, part)),
    ...gridAbilities.map((theta) => at(gridName(theta), theta, Math.max(20, Math.round(n / 20)))),
    ...bench.prepared.cuts.map(({ level, theta }) => at(atName(level), theta, part)),
    ...stressConditions(subject, items, setup.seed).map(({ name, learner }) => ({
      name,
      learners: name === 'harsh' ? 2 * part : part,
      judge: name === 'harsh',
      learner,
    })),
    ...changeConditions(items).map(({ name, learner }) => ({ name, learners: part, judge: true, learner })),
    ...domainConditions(setup.bank, setup.seed).map(({ name, learner }) => ({ name, learners: 2 * part, learner })),
    { name: retakesName, learners: Math.max(10, Math.round(part / 2)), learner: (draw) => plain(standardNormal(draw)) },
  ];
  return { bench, conditions: new Map(conditions.map((condition) => [condition.name, condition])) };
}

export const sittingsOf = ({ name, learners }: Condition): number =>
  name === retakesName ? sittingsInARow * learners : learners;

/** Takes some milliseconds for each sitting. The same setup gives the same result. */
export function runCondition({ bench, conditions }: Simulation, name: string): ConditionResult {
  const condition = conditions.get(name)!;
  return name === retakesName
    ? { outcomes: [], given: [], retakes: retakesOf(bench, condition) }
    : { ...run(bench, condition), retakes: [] };
}

/** Runs all conditions one after another. */
export function simulate(setup: SimulationSetup): SimulationReport {
  const simulation = prepareSimulation(setup);
  const names = [...simulation.conditions.keys()];
  return reportOf(simulation, new Map(names.map((name) => [name, runCondition(simulation, name)])));
}

/** How much smaller the error is than with random choice. */
function gainOver(
  outcomes: readonly Outcome[],
  rmse: number,
): Pick<SimulationReport, 'rmseGain' | 'rmseGainSe' | 'randomChoiceRmse'> {
  const randomChoiceRmse = Math.sqrt(meanOf(outcomes, (o) => (o.atRandom! - o.theta) ** 2));
  // Both errors are of the same learners, so the standard error is of their difference.
  const se = standardErrorOf(
    outcomes,
    (o) => (squaredError(o) / rmse ** 2 - (o.atRandom! - o.theta) ** 2 / randomChoiceRmse ** 2) / 2,
  );
  const ratio = rmse / randomChoiceRmse;
  return { rmseGain: 1 - ratio, rmseGainSe: ratio * se, randomChoiceRmse };
}

const extremesOf = (low: ConditionFigures, high: ConditionFigures): SimulationReport['extremes'] => ({
  coverage: (low.reportedCoverage + high.reportedCoverage) / 2,
  low: low.reportedCoverage,
  high: high.reportedCoverage,
  rmse: Math.sqrt((low.rmse ** 2 + high.rmse ** 2) / 2),
});

/** Combines the outcomes of all conditions. */
export function reportOf({ bench }: Simulation, results: ReadonlyMap<string, ConditionResult>): SimulationReport {
  const { setup, prepared } = bench;
  const { bank, cuts } = prepared;
  const { items } = setup.bank;
  const n = setup.learners;
  const resultOf = (name: string) => results.get(name)!;
  const figures = (name: string) => figuresOf(resultOf(name).outcomes);
  const main = resultOf('population').outcomes;
  const population = figuresOf(main);
  const counts = countsOf(bench, resultOf('population'));
  const content = new DeliveredContent(setup.bank);
  for (const given of resultOf('population').given) content.add(given, maxTypeShare);
  const grid = gridAbilities.map((theta) => abilityOf(bench, theta, resultOf(gridName(theta))));

  return {
    subject: bank.subject,
    bankVersion: bank.version,
    items: items.length,
    learners: n,
    cuts: cuts.map((cut) => ({ ...cut })),
    population,
    ...gainOver(main, population.rmse),
    exposure: exposureOf(bank, counts, resultOf('population').given),
    exposures: items
      .map(({ id }, i) => ({ id, share: counts[i]! / n }))
      .sort((a, b) => b.share - a.share || (a.id < b.id ? -1 : 1)),
    content: content.figures(),
    decisions: cuts.map((cut) => decisionsAt(cut, main)),
    atCuts: cuts.map(({ level, theta }) => {
      const { learners, coverage, reportedCoverage, rmse } = figures(atName(level));
      return { level, theta, learners, coverage, reportedCoverage, rmse };
    }),
    extremes: extremesOf(figures(atName(-stress.extremeTheta)), figures(atName(stress.extremeTheta))),
    abilities: grid,
    minGiven: minGiven(
      bank,
      ['population', ...gridAbilities.map(gridName)].flatMap((name) => sittingsWith(resultOf(name))),
      givenLeast,
    ),
    stress: stressConditions(bank.subject, items, setup.seed).map(({ name, note }) => ({
      name,
      note,
      figures: figures(name),
    })),
    domains: [domainFiguresOf(resultOf('domains').outcomes), domainFiguresOf(resultOf('domains harsh').outcomes)],
    changes: changeConditions(items).map(({ name, note }) => {
      const { learners, changed } = figures(name);
      return { name, note, learners, found: changed! };
    }),
    retakes: resultOf(retakesName).retakes,
  };
}

type Bench = Grid & {
  setup: SimulationSetup;
  prepared: ScoringBank;
  gateCut: number;
  domainOf: number[];
};

function makeBench(setup: SimulationSetup): Bench {
  const prepared = prepareBank(setup.bank);
  const { items, domains } = setup.bank;
  const nodes = quadratureNodes(standardPrior, eapNodes);
  const tableOf = (side: 'right' | 'wrong') =>
    items.map((item) => nodes.map((theta) => logProbabilities(item, theta)[side]));
  return {
    setup,
    prepared,
    gateCut: prepared.cuts.find((cut) => cut.level === 'level1')!.theta,
    domainOf: items.map((item) => domains.findIndex((domain) => domain.name === item.domain)),
    nodes,
    logPrior: logPriorAt(standardPrior, nodes),
    logRight: tableOf('right'),
    logWrong: tableOf('wrong'),
  };
}

function run(bench: Bench, condition: Condition): Pick<ConditionResult, 'outcomes' | 'given'> {
  const { setup } = bench;
  const draw = drawsOf(bench, condition);
  const uniforms = new Float64Array(setup.bank.items.length);
  const given: (readonly number[])[] = [];
  const outcomes = Array.from({ length: condition.learners }, (_, k) => {
    const learner = condition.learner(draw, k);
    // The right and wrong answers to all items are drawn first, so that the sitting and the full bank test the same
    // learner.
    for (let i = 0; i < uniforms.length; i++) uniforms[i] = draw.float();
    const { delivered, rights } = sit(setup.adaptive, learner, uniforms, draw);
    given.push(delivered.given);
    setup.progress?.();
    const outcome = outcomeOf(bench, learner, rights, delivered, condition.judge === true);
    if (!condition.compare) return outcome;
    const answers = (i: number) => uniforms[i]! < learner.chance(i, 1);
    return {
      ...outcome,
      sameAsFullBank: fullBankTheta(bench, answers) >= bench.gateCut === orderOf(outcome.placement) >= 1,
      atRandom: setup.random(answers, draw, delivered.given.length).ability.theta,
    };
  });
  return { outcomes, given };
}

const drawsOf = ({ setup }: Bench, { name }: Condition): Uniform =>
  simulationRandom(setup.seed(`${setup.bank.subject}:${name}`));

/** One sitting with its right and wrong answers, in order. */
function sit(
  deliver: Deliver,
  { chance }: Learner,
  uniforms: Float64Array,
  draw: Uniform,
  seen: Iterable<string> = [],
): { delivered: Delivered; rights: boolean[] } {
  const rights: boolean[] = [];
  const answers = (i: number) => {
    const right = uniforms[i]! < chance(i, rights.length + 1);
    rights.push(right);
    return right;
  };
  return { delivered: deliver(answers, draw, seen), rights };
}

function outcomeOf(
  bench: Bench,
  { theta, deviations }: Learner,
  rights: readonly boolean[],
  { given, ability, posterior }: Delivered,
  judge: boolean,
): Outcome {
  const { setup, prepared, gateCut } = bench;
  const { cuts } = prepared;
  const { items, domains, subject } = setup.bank;
  const answers = given.map((i, k) => ({ item: items[i]!, right: rights[k]! }));
  const model = confidenceInterval(ability);
  const ci = confidenceInterval(widened(ability));
  const irt = placeByIrt(cuts, ability.theta);
  const rules = placeByRules(cuts, answers).placement;
  const { placement, needsReview } = reconcile(subject, irt, rules);
  const truth = placeByIrt(cuts, theta);
  const perDomain = domains.map(() => 0);
  for (const i of given) perDomain[bench.domainOf[i]!]!++;
  return {
    theta,
    estimate: ability.theta,
    se: ability.sd,
    items: given.length,
    right: rights.filter(Boolean).length,
    tooHard: tooHardOf(bench, items, given, rights),
    domains: deviations === undefined ? null : comparedOf(deviations, domains, answers),
    covered: model.low <= theta && theta <= model.high,
    reportedCovered: ci.low <= theta && theta <= ci.high,
    truth,
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
    probabilities: judge
      ? {
          stated: Object.values(levelProbabilities(subject, cuts, widenedPosterior(posterior))),
          truth: rungOf(cuts, truth),
        }
      : null,
    changed: judge ? ['better', 'worse'].includes(personFit(answers).change ?? '') : null,
    sameAsFullBank: null,
    atRandom: null,
  };
}

const rungOf = (cuts: readonly { level: Level }[], placement: Placement): number =>
  1 + cuts.findIndex(({ level }) => level === placement);

/** The largest difference between a domain's count and its share of the items, which integers make unavoidable. */
export const blueprintToleranceItems = 1.5;

/** The true ability and the items of each sitting. */
const sittingsWith = ({ outcomes, given }: ConditionResult): { theta: number; given: readonly number[] }[] =>
  outcomes.map(({ theta }, k) => ({ theta, given: given[k]! }));

function countsOf({ setup }: Bench, { given }: ConditionResult): Float64Array {
  const counts = new Float64Array(setup.bank.items.length);
  for (const items of given) for (const i of items) counts[i]!++;
  return counts;
}

function abilityOf(bench: Bench, theta: number, result: ConditionResult): AtAbility {
  const { items } = bench.setup.bank;
  const counts = countsOf(bench, result);
  const { learners, rmse, bias, meanSe, meanItems, standardErrors } = figuresOf(result.outcomes);
  let total = 0;
  for (const given of result.given) for (const i of given) total += information(items[i]!, theta);
  return {
    theta,
    learners,
    rmse,
    bias,
    meanSe,
    meanItems,
    meanInformation: total / learners,
    itemsSe: standardErrors.meanItems,
    right: meanOf(result.outcomes, (o) => o.right) / meanItems,
    tooHard: meanOf(result.outcomes, (o) => o.tooHard),
    overlap: overlapOf(counts, result.given),
    highest: Math.max(...counts) / learners,
  };
}

/**
 * Simulates several sittings of each learner within a year. The ability stays the same, and answers to repeated items
 * are drawn again.
 */
function retakesOf(bench: Bench, condition: Condition): SimulationReport['retakes'] {
  const { setup } = bench;
  const { items } = setup.bank;
  const { learners } = condition;
  const draw = drawsOf(bench, condition);
  const uniforms = new Float64Array(items.length);
  const sittings = Array.from({ length: sittingsInARow }, () => ({ squares: [] as number[], items: 0, repeated: 0 }));
  for (let k = 0; k < learners; k++) {
    const learner = condition.learner(draw, k);
    const seen = new Set<string>();
    for (const sitting of sittings) {
      for (let i = 0; i < uniforms.length; i++) uniforms[i] = draw.float();
      const { given, ability } = sit(setup.adaptive, learner, uniforms, draw, [...seen]).delivered;
      setup.progress?.();
      sitting.squares.push((ability.theta - learner.theta) ** 2);
      sitting.items += given.length;
      for (const i of given) {
        if (seen.has(items[i]!.id)) sitting.repeated++;
        seen.add(items[i]!.id);
      }
    }
  }
  return sittings.map(({ squares, items: given, repeated }, n) => {
    const rmse = Math.sqrt(meanOf(squares, (square) => square));
    return {
      sitting: n + 1,
      learners,
      rmse,
      se: standardErrorOf(squares, (square) => square) / (2 * rmse),
      meanItems: given / learners,
      repeated: repeated / given,
    };
  });
}
