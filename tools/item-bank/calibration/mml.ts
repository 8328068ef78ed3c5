import type { Answers } from './answers.ts';
import type { ItemParameters } from '../../../src/engine/scoring/irt.ts';
import { coordinatesOf, nodes, parametersOf, slopesAt } from './model.ts';
import type { CalibrationItem, Coordinates } from './model.ts';
import type { Square } from './numbers.ts';
import { solve, square } from './numbers.ts';
import type { Prior } from './priors.ts';
import { BankPrior } from './priors.ts';

/**
 * Marginal maximum likelihood by the EM algorithm (Bock & Aitkin 1981, Psychometrika 46(4)) with priors on log a, b and
 * logit c (Mislevy 1986). Items that a sitting did not show are left out of its likelihood. Adaptive selection depends
 * on answers that are in the likelihood, so the estimates stay consistent (missing at random: Rubin 1976; Mislevy & Wu
 * 1996).
 */

/** `2pl`: c keeps the bank's value. `3pl`: c is estimated too for items that can be guessed. */
export type Model = '2pl' | '3pl';
/** The distribution of ability among the sittings. */
export type Group = { mean: number; sd: number };

export type Estimate = {
  items: ItemParameters[];
  answers: Int32Array;
  group: Group;
  logLikelihood: number;
  rounds: number;
  hasConverged: boolean;
};

export type MmlOptions = {
  model: Model;
  prior: Prior;
  /** Estimates the mean and spread of ability. Without anchors, this needs a prior on b. */
  isGroupFree: boolean;
  start?: readonly ItemParameters[];
  tolerance?: number;
  maxRounds?: number;
  /** Called before each round. Throws to stop. */
  pause?: (round: number) => Promise<void>;
};

const smallest = 1e-10;

/** The posterior of one sitting at the nodes, and the range of nodes that matter. */
export type SittingPosterior = { weights: Float64Array; from: number; to: number; logLikelihood: number };

/** Computes posteriors of sittings under fixed parameters. The result is overwritten by the next call. */
export class Posteriors {
  readonly #right: Float64Array;
  readonly #wrong: Float64Array;
  readonly #logPrior: Float64Array;
  readonly #out: SittingPosterior = { weights: new Float64Array(nodes.length), from: 0, to: 0, logLikelihood: 0 };

  constructor(items: readonly ItemParameters[], { mean, sd }: Group) {
    const size = nodes.length;
    this.#right = new Float64Array(items.length * size);
    this.#wrong = new Float64Array(items.length * size);
    items.forEach((item, i) => {
      nodes.forEach((theta, k) => {
        const { p } = slopesAt(item, theta);
        this.#right[i * size + k] = Math.log(p);
        this.#wrong[i * size + k] = Math.log1p(-p);
      });
    });
    const density = nodes.map((theta) => Math.exp(-0.5 * ((theta - mean) / sd) ** 2));
    const total = density.reduce((sum, one) => sum + one, 0);
    this.#logPrior = density.map((one) => Math.log(Math.max(one / total, 1e-300)));
  }

  /** @param upTo only the answers before this one */
  of({ items, rights }: Answers, from: number, upTo: number): SittingPosterior {
    const out = this.#out;
    const { weights } = out;
    const size = nodes.length;
    weights.set(this.#logPrior);
    for (let n = from; n < upTo; n++) {
      const table = rights[n] === 1 ? this.#right : this.#wrong;
      const row = items[n]! * size;
      for (let k = 0; k < size; k++) weights[k]! += table[row + k]!;
    }
    let top = -Infinity;
    for (let k = 0; k < size; k++) if (weights[k]! > top) top = weights[k]!;
    let sum = 0;
    for (let k = 0; k < size; k++) sum += weights[k] = weights[k]! - top < -40 ? 0 : Math.exp(weights[k]! - top);
    for (let k = 0; k < size; k++) weights[k]! /= sum;
    out.from = 0;
    out.to = size - 1;
    while (weights[out.from]! < smallest) out.from++;
    while (weights[out.to]! < smallest) out.to--;
    out.logLikelihood = top + Math.log(sum);
    return out;
  }
}

/** Expected numbers of answers and of right answers for each item and node, and the moments of ability. */
type Expected = { shown: Float64Array; right: Float64Array; group: Group; logLikelihood: number };

function expect(answers: Answers, items: readonly ItemParameters[], group: Group): Expected {
  const size = nodes.length;
  const shown = new Float64Array(items.length * size);
  const right = new Float64Array(items.length * size);
  const posteriors = new Posteriors(items, group);
  const sittings = answers.starts.length - 1;
  let [logLikelihood, first, second] = [0, 0, 0];
  for (let s = 0; s < sittings; s++) {
    const [begin, end] = [answers.starts[s]!, answers.starts[s + 1]!];
    const { weights, from, to, logLikelihood: own } = posteriors.of(answers, begin, end);
    logLikelihood += own;
    for (let k = from; k <= to; k++) {
      first += weights[k]! * nodes[k]!;
      second += weights[k]! * nodes[k]! ** 2;
    }
    for (let n = begin; n < end; n++) {
      const row = answers.items[n]! * size;
      for (let k = from; k <= to; k++) shown[row + k]! += weights[k]!;
      if (answers.rights[n] === 1) for (let k = from; k <= to; k++) right[row + k]! += weights[k]!;
    }
  }
  const mean = first / sittings;
  return { shown, right, group: { mean, sd: Math.sqrt(second / sittings - mean ** 2) }, logLikelihood };
}

/** Limits keep a first step from an odd start within what an item can be. */
const bounds: readonly [number, number][] = [
  [Math.log(0.05), Math.log(8)],
  [-8, 8],
  [-6, 2],
];
const maxStep = 0.5;
const newtonSteps = 4;

/** Maximises one item's expected log likelihood and prior by Fisher scoring, in place. @returns its information */
function maximise(at: Coordinates, count: 2 | 3, i: number, expected: Expected, prior: Prior): Coordinates {
  const size = nodes.length;
  const mean = prior.mean(i);
  const precision = prior.precision(i);
  const diagonal: Coordinates = [0, 0, 0];
  for (let step = 0; step < newtonSteps; step++) {
    const matrix: Square = square(count);
    const gradient = new Float64Array(count);
    const item = parametersOf(at);
    for (let k = 0; k < size; k++) {
      const shown = expected.shown[i * size + k]!;
      if (shown < smallest) continue;
      const { p, first } = slopesAt(item, nodes[k]!);
      const scale = 1 / (p * (1 - p));
      const residual = (expected.right[i * size + k]! - shown * p) * scale;
      for (let x = 0; x < count; x++) {
        gradient[x]! += residual * first[x]!;
        for (let y = 0; y < count; y++) matrix.values[x * count + y]! += shown * scale * first[x]! * first[y]!;
      }
    }
    for (let x = 0; x < count; x++) {
      diagonal[x] = matrix.values[x * count + x]!;
      gradient[x]! += precision[x]! * (mean[x]! - at[x]!);
      // Full maxima over a and b overstate a, because b is fitted to the same answers: a counts with b integrated out
      // (Cox & Reid 1987, JRSS B 49(1)).
      if (x === 1 && prior.integratesB) gradient[0]! -= diagonal[1] / (diagonal[1] + precision[1]);
      matrix.values[x * count + x]! += precision[x]! + 1e-9;
    }
    const move = solve(matrix, gradient);
    if (move === null) break;
    for (let x = 0; x < count; x++) {
      const [min, max] = bounds[x]!;
      const to = at[x]! + Math.max(-maxStep, Math.min(maxStep, move[x]!));
      at[x] = Math.max(min, Math.min(max, to));
    }
  }
  return diagonal;
}

/** Estimates all items that have answers and are no anchors. */
export async function estimate(
  answers: Answers,
  items: readonly CalibrationItem[],
  options: MmlOptions,
): Promise<Estimate> {
  const { model, prior, isGroupFree, start = items, tolerance = 1e-4, maxRounds = 500, pause } = options;
  const counts = new Int32Array(items.length);
  for (const item of answers.items) counts[item]!++;
  const at = start.map(coordinatesOf);
  const current = start.map(({ a, b, c }): ItemParameters => ({ a, b, c }));
  const none: Coordinates = [0, 0, 0];
  const information = items.map(() => none);
  let group: Group = { mean: 0, sd: 1 };
  let [round, change, logLikelihood] = [0, Infinity, -Infinity];
  while (change > tolerance && round < maxRounds) {
    round++;
    await pause?.(round);
    const expected = expect(answers, current, group);
    ({ logLikelihood } = expected);
    change = 0;
    items.forEach((item, i) => {
      if (item.isAnchor || counts[i] === 0) return;
      const before = at[i]!.slice();
      information[i] = maximise(at[i]!, isFree(model, item) ? 3 : 2, i, expected, prior);
      current[i] = { ...parametersOf(at[i]!), ...(isFree(model, item) ? {} : { c: item.c }) };
      at[i]!.forEach((value, x) => (change = Math.max(change, value === before[x] ? 0 : Math.abs(value - before[x]!))));
    });
    if (prior instanceof BankPrior) prior.learn({ at, information, answers: counts });
    if (isGroupFree) {
      change = Math.max(change, Math.abs(expected.group.mean - group.mean), Math.abs(expected.group.sd - group.sd));
      ({ group } = expected);
    }
  }
  return { items: current, answers: counts, group, logLikelihood, rounds: round, hasConverged: change <= tolerance };
}

/** Whether c is estimated: a c of 0 says that the item cannot be guessed. */
export const isFree = (model: Model, { c }: ItemParameters): boolean => model === '3pl' && c > 0;
