import type { CountedItem } from '../../../src/engine/item-bank/load.ts';
import { probability } from '../../../src/engine/scoring/irt.ts';
import type { ItemParameters } from '../../../src/engine/scoring/irt.ts';
import type { Uniform } from '../../../src/platform/crypto/random.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import type { DeliveryPool } from '../../../src/sittings/selection/pool.ts';
import type { Answers } from '../../../tools/item-bank/calibration/answers.ts';
import type { CalibrationItem } from '../../../tools/item-bank/calibration/model.ts';
import { deliver } from '../../../tools/item-bank/simulation/delivery.ts';
import { simulationRandom, standardNormal } from '../../../tools/item-bank/simulation/random.ts';

export const drawsOf = (seed: string): Uniform => simulationRandom(seededRandom(seed));

export type Answered = { item: number; right: boolean; device?: string; version?: string };

export function answersOf(sittings: readonly (readonly Answered[])[]): Answers {
  const all = sittings.flat();
  const starts = new Int32Array(sittings.length + 1);
  sittings.forEach((own, s) => (starts[s + 1] = starts[s]! + own.length));
  const labels = (of: (one: Answered) => string | undefined) => {
    const texts = [...new Set(all.map((one) => of(one) ?? ''))];
    return { texts, codes: Uint16Array.from(all, (one) => texts.indexOf(of(one) ?? '')) };
  };
  return {
    starts,
    items: Int32Array.from(all, ({ item }) => item),
    rights: Uint8Array.from(all, ({ right }) => Number(right)),
    labels: {
      device: labels(({ device }) => device),
      extra_time: labels(() => undefined),
      language: labels(() => undefined),
      bank_version: labels(({ version }) => version),
    },
  };
}

export const toCalibrate = (items: readonly (ItemParameters & Partial<CountedItem>)[]): CalibrationItem[] =>
  items.map(({ a, b, c, level = 'one', domain = 'one', type = 'one' }) => ({
    ...{ a, b, c, level, domain, type },
    isAnchor: false,
  }));

/** An adaptive sitting of a learner who answers by `chance(item)`. */
export function adaptiveSitting(pool: DeliveryPool, chance: (item: number) => number, draw: Uniform): Answered[] {
  const given: Answered[] = [];
  deliver(
    pool,
    (item) => {
      const right = draw.float() < chance(item);
      given.push({ item, right });
      return right;
    },
    draw,
  );
  return given;
}

export function adaptiveSittings(
  pool: DeliveryPool,
  truth: readonly ItemParameters[],
  count: number,
  draw: Uniform,
): Answered[][] {
  return Array.from({ length: count }, () => {
    const theta = standardNormal(draw);
    return adaptiveSitting(pool, (i) => probability(truth[i]!, theta), draw);
  });
}

/** Sittings with `length` items each, drawn at random. */
export function randomSittings(
  truth: readonly ItemParameters[],
  count: number,
  length: number,
  draw: Uniform,
): Answered[][] {
  return Array.from({ length: count }, () => {
    const theta = standardNormal(draw);
    const left = truth.map((_, i) => i);
    return Array.from({ length }, () => {
      const [item] = left.splice(Math.floor(draw.float() * left.length), 1) as [number];
      return { item, right: draw.float() < probability(truth[item]!, theta) };
    });
  });
}

const spread = 1.1;

/** Thirty items from easy to hard for the comparison with mirt. */
export const comparedItems = (c: number): ItemParameters[] =>
  Array.from({ length: 30 }, (_, i) => ({ a: 0.7 + 0.05 * ((7 * i) % 18), b: spread * (-2 + (4 * i) / 29), c }));
export const comparedSittings = (c: number): Answered[][] =>
  randomSittings(comparedItems(c), c === 0 ? 2000 : 5000, c === 0 ? 20 : 30, drawsOf(`mirt ${c}`));
