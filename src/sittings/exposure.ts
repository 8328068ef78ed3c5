import { probability } from '../scoring/irt.ts';
import { standardNormal } from '../random.ts';
import type { Uniform } from '../random.ts';
import { deliver, preparePool } from './selection.ts';
import type { DeliveryItem, DeliverySettings } from './selection.ts';
import type { BankVersion } from '../scoring/score.ts';

/** The most informative items would otherwise be in most sittings; this keeps each in at most this share of them. */
export const exposureTarget = 0.5;

export type AdmissionPlan = {
  /** Items that need a limit, with the share of sittings that may use them, to three decimals. */
  admission: Record<string, number>;
  /** The highest exposure seen in each round. */
  highest: number[];
};

/**
 * Finds each item's admission by simulation (Sympson & Hetter 1985): in every round learners from N(0, 1) sit, and the
 * admission of an item is scaled by target / exposure, never above 1. The same draws give the same plan.
 */
export function planAdmission(
  bank: BankVersion<DeliveryItem>,
  random: Uniform,
  {
    learners = 1500,
    rounds = 8,
    target = exposureTarget,
    settings,
  }: { learners?: number; rounds?: number; target?: number; settings?: DeliverySettings } = {},
): AdmissionPlan {
  const admission = bank.items.map(() => 1);
  const highest: number[] = [];
  const items = () => bank.items.map((item, i) => ({ ...item, admission: admission[i]! }));
  for (let round = 0; round < rounds; round++) {
    const pool = preparePool({ ...bank, items: items() }, settings);
    const counts = bank.items.map(() => 0);
    for (let k = 0; k < learners; k++) {
      const theta = standardNormal(random);
      const { given } = deliver(pool, (i) => random.float() < probability(bank.items[i]!, theta), random);
      for (const i of given) counts[i]!++;
    }
    highest.push(Math.max(...counts) / learners);
    counts.forEach((count, i) => {
      if (count > 0) admission[i] = Math.min(1, (admission[i]! * target * learners) / count);
    });
  }
  const rounded = admission.map((share) => Math.round(share * 1000) / 1000);
  return {
    admission: Object.fromEntries(bank.items.flatMap((item, i) => (rounded[i]! < 1 ? [[item.id, rounded[i]!]] : []))),
    highest,
  };
}
