import { square, solve } from './numbers.ts';
import type { Square } from './numbers.ts';
import { coordinatesOf } from './model.ts';
import type { CalibrationItem, Coordinates } from './model.ts';

/**
 * What the bank says before any answer. Authors misjudge a level, a domain or a type together, so the difficulties have
 * shared shifts, and each item has an error of its own. The spread of these own errors is estimated with the items
 * (empirical Bayes: Mislevy 1986, Psychometrika 51(2); Fox 2010, Bayesian Item Response Modeling, 4.2).
 */

/** Standard deviations of the shared shifts. Those of levels, domains and types are what the harsh bank assumes. */
const shiftSd = { all: 1, level: 0.3, domain: 0.15, type: 0.15, discrimination: 0.3 } as const;
/** The first values of the items' own errors, and how many items this guess counts for. */
const ownSd = { logA: 0.2, b: 0.3, logitC: 0.5 } as const;
const guessItems = 20;
/** An item with fewer answers says nothing about the spread of the items. */
const spreadMinAnswers = 30;

export type Prior = {
  mean(item: number): Coordinates;
  /** 1 / variance of each coordinate about its mean. */
  precision(item: number): Coordinates;
  integratesB: boolean;
};

/** A prior that hardly matters with 200 answers, to compare new estimates with the bank's. */
export function weakPrior(items: readonly CalibrationItem[]): Prior {
  const means = items.map(coordinatesOf);
  return {
    integratesB: true,
    mean: (i) => means[i]!,
    precision: () => [1 / 0.5 ** 2, 1 / 2 ** 2, 1 / ownSd.logitC ** 2],
  };
}

/** `inner` for these items, and for all others what `outer` has come to. */
export const boundTo = (outer: Prior, inner: Prior, items: ReadonlySet<number>): Prior => ({
  integratesB: true,
  mean: (i) => (items.has(i) ? inner : outer).mean(i),
  precision: (i) => (items.has(i) ? inner : outer).precision(i),
});

/** Estimates of one round: the coordinates, their information and the number of answers. */
export type Round = { at: readonly Coordinates[]; information: readonly Coordinates[]; answers: Int32Array };

export class BankPrior implements Prior {
  readonly integratesB = true;
  readonly names: string[];
  readonly shifts: Float64Array;
  /** The standard deviations of the items' own errors. */
  readonly own: { logA: number; b: number } = { logA: ownSd.logA, b: ownSd.b };
  readonly #bank: Coordinates[];
  readonly #effects: number[][];
  readonly #sds: number[];

  constructor(items: readonly CalibrationItem[]) {
    this.#bank = items.map(coordinatesOf);
    const namesOf = ({ level, domain, type }: CalibrationItem) =>
      ['all', `level ${level}`, `domain ${domain}`, `type ${type}`] as const;
    this.names = ['discrimination', ...new Set(items.flatMap(namesOf))];
    this.#sds = this.names.map((name) => shiftSd[name.split(' ')[0] as keyof typeof shiftSd]);
    this.shifts = new Float64Array(this.names.length);
    this.#effects = items.map((item) => namesOf(item).map((name) => this.names.indexOf(name)));
  }

  mean(i: number): Coordinates {
    const [logA, b, logitC] = this.#bank[i]!;
    return [logA + this.shifts[0]!, this.#effects[i]!.reduce((sum, k) => sum + this.shifts[k]!, b), logitC];
  }

  precision(): Coordinates {
    return [this.own.logA ** -2, this.own.b ** -2, ownSd.logitC ** -2];
  }

  /** Estimates the shifts and the spread from the items of a round. */
  learn({ at, information, answers }: Round): void {
    const system = square(this.names.length);
    const sums = new Float64Array(this.names.length);
    const precision = this.precision();
    this.#addShiftPrecision(system, 0);
    at.forEach((its, i) => {
      for (const coordinate of [0, 1] as const) {
        const info = information[i]![coordinate];
        if (info === 0) continue;
        // The value that the answers alone would give. Its error adds to the item's own.
        const mean = this.mean(i)[coordinate];
        const alone = its[coordinate] + ((its[coordinate] - mean) * precision[coordinate]) / info;
        const weight = 1 / (1 / precision[coordinate] + 1 / info);
        const effects = this.effectsOf(i, coordinate);
        for (const k of effects) {
          sums[k]! += weight * (alone - this.#bank[i]![coordinate]);
          for (const l of effects) system.values[k * system.size + l]! += weight;
        }
      }
    });
    this.shifts.set(solve(system, sums)!);
    const spread = (coordinate: 0 | 1, guess: number) => {
      let sum = guessItems * guess ** 2;
      let count = guessItems;
      at.forEach((its, i) => {
        if (answers[i]! < spreadMinAnswers || information[i]![coordinate] === 0) return;
        const error = its[coordinate] - this.mean(i)[coordinate];
        sum += error ** 2 + 1 / (information[i]![coordinate] + precision[coordinate]);
        count++;
      });
      return Math.sqrt(sum / count);
    };
    [this.own.logA, this.own.b] = [spread(0, ownSd.logA), spread(1, ownSd.b)];
  }

  effectsOf = (item: number, coordinate: 0 | 1): readonly number[] => (coordinate === 0 ? [0] : this.#effects[item]!);

  #addShiftPrecision({ size, values }: Square, from: number): void {
    this.#sds.forEach((sd, k) => (values[(from + k) * size + from + k]! += sd ** -2));
  }

  /**
   * Adds the prior of the shifts to a matrix of information, in rows from `from` on, with their ties to the items.
   * @param rowOf the row of an item's coordinate; −1 if it isn't estimated
   */
  addTo(matrix: Square, from: number, rowOf: (item: number, coordinate: 0 | 1) => number): void {
    const { size, values } = matrix;
    this.#addShiftPrecision(matrix, from);
    this.#bank.forEach((_, i) => {
      for (const coordinate of [0, 1] as const) {
        const row = rowOf(i, coordinate);
        if (row < 0) continue;
        const precision = this.precision()[coordinate];
        const effects = this.effectsOf(i, coordinate);
        for (const k of effects) {
          values[(from + k) * size + row]! -= precision;
          values[row * size + from + k]! -= precision;
          for (const l of effects) values[(from + k) * size + from + l]! += precision;
        }
      }
    });
  }
}
