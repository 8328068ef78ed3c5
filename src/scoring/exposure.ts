import type { BankVersion } from './score.ts';

/** How often items are given: the most used one, and what two learners' sittings have in common. */
export type Exposure = {
  highest: number;
  highestItem: string;
  neverGiven: number;
  over40Percent: number;
  overlap: number;
};

/** Overlap: expected share of common items of two learners drawn at random (Chen, Ankenmann & Spray 2003). */
export function exposureOf(bank: BankVersion, counts: Float64Array, learners: number): Exposure {
  const rates = Array.from(counts, (count) => count / learners);
  const highest = Math.max(...rates);
  let pairs = 0;
  let given = 0;
  for (const count of counts) {
    pairs += count * (count - 1);
    given += count;
  }
  return {
    highest,
    highestItem: bank.items[rates.indexOf(highest)]!.id,
    neverGiven: rates.filter((rate) => rate === 0).length,
    over40Percent: rates.filter((rate) => rate > 0.4).length,
    overlap: learners > 1 ? pairs / (learners - 1) / given : 0,
  };
}
