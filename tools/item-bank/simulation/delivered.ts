import { momentsOf } from '../../../src/engine/scoring/irt.ts';
import type { BankVersion } from '../../../src/engine/scoring/score.ts';
import type { SimulatedItem } from './conditions.ts';

/** The exposure of items: the share of the most used item, and the items that two sittings have in common. */
export type Exposure = {
  highest: number;
  highestItem: string;
  neverGiven: number;
  over40Percent: number;
  overlap: Overlap;
};

/** The share of items that two learners have in common, with its standard error. Null for fewer than three learners. */
export type Overlap = { share: number; se: number | null };

export function exposureOf(
  bank: BankVersion,
  counts: Float64Array,
  sittings: readonly (readonly number[])[],
): Exposure {
  const learners = sittings.length;
  const rates = Array.from(counts, (count) => count / learners);
  const highest = Math.max(...rates);
  return {
    highest,
    highestItem: bank.items[rates.indexOf(highest)]!.id,
    neverGiven: rates.filter((rate) => rate === 0).length,
    over40Percent: rates.filter((rate) => rate > 0.4).length,
    overlap: overlapOf(counts, sittings),
  };
}

/**
 * The expected share of items that two random learners have in common (Chen, Ankenmann & Spray 2003). Pairs share
 * learners, so the standard error is a jackknife estimate: each learner is left out in turn.
 */
export function overlapOf(counts: Float64Array, sittings: readonly (readonly number[])[]): Overlap {
  const learners = sittings.length;
  let pairs = 0;
  let given = 0;
  for (const count of counts) {
    pairs += count * (count - 1);
    given += count;
  }
  const share = learners > 1 ? pairs / (learners - 1) / given : 0;
  if (learners < 3) return { share, se: null };
  const without = sittings.map((own) => {
    const shared = own.reduce((sum, i) => sum + counts[i]! - 1, 0);
    return (pairs - 2 * shared) / (learners - 2) / (given - own.length);
  });
  const mean = without.reduce((sum, one) => sum + one, 0) / learners;
  const squares = without.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  return { share, se: Math.sqrt((squares * (learners - 1)) / learners) };
}

/**
 * Questions on texts of Levels 1 and 2 must include these skill groups. A goal sets the minimum of their share.
 */
const interpretive = ['inference', 'purpose', 'language'];

/** Counts the kinds of delivered questions. */
export class DeliveredContent {
  readonly #bank: BankVersion<SimulatedItem>;
  readonly #types = new Map<string, number>();
  readonly #statements = new Set<string>();
  #given = 0;
  #sittings = 0;
  #highest = 0;
  #over = 0;
  #reading = 0;
  #interpretive = 0;

  constructor(bank: BankVersion<SimulatedItem>) {
    this.#bank = bank;
  }

  add(given: readonly number[], maxTypeShare: number): void {
    const own = new Map<string, number>();
    this.#sittings++;
    this.#given += given.length;
    for (const i of given) {
      const { type = 'unknown', statement, skillGroup, domain, level } = this.#bank.items[i]!;
      own.set(type, (own.get(type) ?? 0) + 1);
      this.#types.set(type, (this.#types.get(type) ?? 0) + 1);
      if (statement !== undefined) this.#statements.add(statement);
      if (domain !== 'Reading' || (level !== 'level1' && level !== 'level2')) continue;
      this.#reading++;
      if (interpretive.includes(skillGroup ?? '')) this.#interpretive++;
    }
    const share = Math.max(...own.values()) / given.length;
    this.#highest = Math.max(this.#highest, share);
    if (share > maxTypeShare) this.#over++;
  }

  figures(): ContentFigures {
    const all = new Set(this.#bank.items.flatMap(({ statement }) => statement ?? []));
    return {
      types: [...this.#types]
        .map(([type, count]) => ({ type, share: count / this.#given }))
        .sort((x, y) => y.share - x.share || (x.type < y.type ? -1 : 1)),
      highestTypeShare: this.#highest,
      sittingsOverTypeShare: this.#over / this.#sittings,
      statements: all.size,
      statementsReached: all.size === 0 ? null : [...all].filter((one) => this.#statements.has(one)).length / all.size,
      interpretive: this.#reading === 0 ? null : this.#interpretive / this.#reading,
      interpretiveBase: this.#reading,
    };
  }
}

export type ContentFigures = {
  /** The share of each response type, the most used type first. */
  types: { type: string; share: number }[];
  /** The largest share of one type in a sitting, and the share of sittings over the limit. */
  highestTypeShare: number;
  sittingsOverTypeShare: number;
  statements: number;
  /** The share of the bank's statements that were tested. Null if the items name no statements. */
  statementsReached: number | null;
  /**
   * The share of inference, purpose and language among the reading questions of Levels 1 and 2. Null if there are none.
   */
  interpretive: number | null;
  interpretiveBase: number;
};

/** Figures of the sittings at one ability. */
export type AtAbility = {
  theta: number;
  learners: number;
  rmse: number;
  meanSe: number;
  bias: number;
  meanItems: number;
  meanInformation: number;
  itemsSe: number;
  /** The share of right answers, and the mean number of items that were too hard. */
  right: number;
  tooHard: number;
  /** The share of items that two of the learners have in common, and the share of the most used item. */
  overlap: Overlap;
  highest: number;
};

/** A learner within this distance of an item's difficulty is near the item's level. */
const near = 0.75;

/**
 * The smallest share of learners near an item's level who get the item, and the items that fewer than `least` of them
 * get.
 */
export function minGiven(
  bank: BankVersion,
  sittings: readonly { theta: number; given: readonly number[] }[],
  min: number,
): { share: number; learners: number; item: string; under: string[] } {
  const lowest = sittings.reduce((low, { theta }) => Math.min(low, theta), Infinity);
  const highest = sittings.reduce((high, { theta }) => Math.max(high, theta), -Infinity);
  const shares = bank.items.map(({ id, b }) => {
    // If no learner is near an item, the nearest learners count.
    const from = Math.min(b, highest) - near;
    const to = Math.max(b, lowest) + near;
    return { id, from, to, learners: 0, given: 0, share: 0 };
  });
  for (const { theta, given } of sittings) {
    for (const one of shares) if (one.from <= theta && theta <= one.to) one.learners++;
    for (const i of given) if (shares[i]!.from <= theta && theta <= shares[i]!.to) shares[i]!.given++;
  }
  for (const one of shares) one.share = one.given / one.learners;
  const rarest = shares.reduce((low, one) => (one.share < low.share ? one : low));
  return {
    share: rarest.share,
    learners: rarest.learners,
    item: rarest.id,
    under: shares.filter(({ share }) => share < min).map(({ id }) => id),
  };
}

/** The limit of decision 0017 for questions after the first eight. */
const easyFrom = 8;
const maxAbove = 1.5;

/** The logs of each item's probabilities at the nodes. */
export type Grid = { nodes: Float64Array; logPrior: Float64Array; logRight: Float64Array[]; logWrong: Float64Array[] };

/** Counts the items that were too hard for the estimate at their time. */
export function tooHardOf(
  { nodes, logPrior, logRight, logWrong }: Grid,
  items: readonly SimulatedItem[],
  given: readonly number[],
  rights: readonly boolean[],
): number {
  const logPosterior = logPrior.slice();
  let count = 0;
  given.forEach((i, n) => {
    const { theta } = momentsOf(nodes, logPosterior);
    if (n >= easyFrom && items[i]!.b > theta + maxAbove) count++;
    const logs = (rights[n] ? logRight : logWrong)[i]!;
    for (let k = 0; k < logs.length; k++) logPosterior[k]! += logs[k]!;
  });
  return count;
}

/** The estimate after all items of the bank. */
export function fullBankTheta(grid: Grid, answers: (i: number) => boolean): number {
  const logPosterior = grid.logPrior.slice();
  for (let i = 0; i < grid.logRight.length; i++) {
    const logs = (answers(i) ? grid.logRight : grid.logWrong)[i]!;
    for (let k = 0; k < logs.length; k++) logPosterior[k]! += logs[k]!;
  }
  return momentsOf(grid.nodes, logPosterior).theta;
}
