import type { Answers } from './answers.ts';
import type { ItemParameters } from '../../../src/engine/scoring/irt.ts';
import type { Group } from './mml.ts';
import { Posteriors } from './mml.ts';
import { nodes, slopesAt } from './model.ts';
import { chiSquareTail } from './numbers.ts';

/**
 * Item fit from residuals. S-X² (Orlando & Thissen 2000) needs learners who all took the same items. Here each answer is
 * compared with the probability that the learner's answers before it predict. Under the model these residuals are
 * uncorrelated with mean 0, whatever rule selects the items and ends the sitting. An estimate from later answers would
 * not do, because an answer decides which items come after it.
 */

/** For each answer, from the answers before it: the expected ability, P, and the derivative of P by b. */
export type Predictions = { ability: Float64Array; p: Float64Array; slope: Float64Array };

export async function predict(
  answers: Answers,
  items: readonly ItemParameters[],
  group: Group,
  pause?: () => Promise<void>,
): Promise<Predictions> {
  const size = nodes.length;
  const tables = [0, 1].map(() => new Float64Array(items.length * size));
  items.forEach((item, i) => {
    nodes.forEach((theta, k) => {
      const { p, first } = slopesAt(item, theta);
      tables[0]![i * size + k] = p;
      tables[1]![i * size + k] = first[1];
    });
  });
  const total = answers.items.length;
  const out = { ability: new Float64Array(total), p: new Float64Array(total), slope: new Float64Array(total) };
  const posteriors = new Posteriors(items, group);
  for (let s = 0; s < answers.starts.length - 1; s++) {
    if (s % 1000 === 0) await pause?.();
    for (let n = answers.starts[s]!; n < answers.starts[s + 1]!; n++) {
      const { weights, from, to } = posteriors.of(answers, answers.starts[s]!, n);
      const row = answers.items[n]! * size;
      for (let k = from; k <= to; k++) {
        out.ability[n]! += weights[k]! * nodes[k]!;
        out.p[n]! += weights[k]! * tables[0]![row + k]!;
        out.slope[n]! += weights[k]! * tables[1]![row + k]!;
      }
    }
  }
  return out;
}

/** The indices of each item's answers. */
export function answersByItem({ items }: Answers, count: number): number[][] {
  const lists = Array.from({ length: count }, (): number[] => []);
  items.forEach((item, n) => lists[item]!.push(n));
  return lists;
}

export type ItemFit = {
  /** Mean squares of residuals (Wright & Masters 1982), near 1 if the model fits. */
  infit: number;
  outfit: number;
  /** Over groups by ability; null with too few answers. */
  chiSquare: { value: number; df: number; p: number } | null;
};

const answersInGroup = 40;
const maxGroups = 10;
const minGroups = 4;

/** @param estimated the number of the item's parameters that were estimated from these answers */
export function fitOf(own: readonly number[], answers: Answers, predictions: Predictions, estimated: number): ItemFit {
  const { ability, p } = predictions;
  const residual = (n: number) => answers.rights[n]! - p[n]!;
  const variance = (n: number) => p[n]! * (1 - p[n]!);
  const sum = (list: readonly number[], of: (n: number) => number) => list.reduce((total, n) => total + of(n), 0);
  const fit = {
    infit: sum(own, (n) => residual(n) ** 2) / sum(own, variance),
    outfit: sum(own, (n) => residual(n) ** 2 / variance(n)) / own.length,
  };
  const count = Math.min(maxGroups, Math.floor(own.length / answersInGroup));
  if (count < minGroups) return { ...fit, chiSquare: null };
  const ordered = own.toSorted((x, y) => ability[x]! - ability[y]!);
  let value = 0;
  for (let g = 0; g < count; g++) {
    const group = ordered.slice(
      Math.round((g * ordered.length) / count),
      Math.round(((g + 1) * ordered.length) / count),
    );
    value += sum(group, residual) ** 2 / sum(group, variance);
  }
  const df = count - estimated;
  return { ...fit, chiSquare: { value, df, p: chiSquareTail(value, df) } };
}

/** An item in one version of the bank: how far b seems to be from the estimate over all versions. */
export type VersionShift = { version: string; answers: number; shift: number; se: number };

const versionMinAnswers = 100;

/** Compares an item's answers by bank version. Null unless two versions have enough answers. */
export function versionsOf(
  own: readonly number[],
  answers: Answers,
  { p, slope }: Predictions,
): { shifts: VersionShift[]; p: number } | null {
  const { texts, codes } = answers.labels.bank_version;
  const parts = [...Map.groupBy(own, (n) => codes[n]!)].filter(([, list]) => list.length >= versionMinAnswers);
  if (parts.length < 2) return null;
  const sums = parts.map(([code, list]) => {
    const of = (one: (n: number) => number) => list.reduce((total, n) => total + one(n), 0);
    const residual = of((n) => answers.rights[n]! - p[n]!);
    return {
      code,
      count: list.length,
      residual,
      variance: of((n) => p[n]! * (1 - p[n]!)),
      slope: of((n) => slope[n]!),
    };
  });
  const total = (key: 'residual' | 'variance') => sums.reduce((sum, one) => sum + one[key], 0);
  const between = sums.reduce((sum, one) => sum + one.residual ** 2 / one.variance, 0);
  return {
    shifts: sums.map(({ code, count, residual, variance, slope: by }) => ({
      version: texts[code]!,
      answers: count,
      shift: residual / by,
      se: Math.sqrt(variance) / Math.abs(by),
    })),
    p: chiSquareTail(between - total('residual') ** 2 / total('variance'), sums.length - 1),
  };
}

/**
 * The indices that stay significant if at most `rate` of them may be false alarms (Benjamini & Hochberg 1995, JRSS B
 * 57(1)).
 */
export function discoveries(ps: readonly number[], rate: number): Set<number> {
  const ordered = ps.map((p, i) => ({ p, i })).toSorted((x, y) => x.p - y.p);
  const last = ordered.findLastIndex(({ p }, rank) => p <= (rate * (rank + 1)) / ps.length);
  return new Set(ordered.slice(0, last + 1).map(({ i }) => i));
}
