import type { BankVersion } from '../../../src/engine/scoring/score.ts';
import { levelsOf } from '../../../src/engine/scoring/levels.ts';
import type { Level, Subject } from '../../../src/engine/scoring/levels.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import type { DeliveryItem } from '../../../src/sittings/selection/pool.ts';

const centres: Record<Level, number> = {
  entry: -2.2,
  entry1: -2.7,
  entry2: -2.1,
  entry3: -1.5,
  level1: -0.9,
  level2: 0.2,
  level3: 1.3,
};

const domains: Record<Subject, { name: string; share: number }[]> = {
  digital: ['Devices', 'Creating', 'Communicating', 'Transacting', 'Safety'].map((name) => ({ name, share: 0.2 })),
  english: ['Reading', 'Spelling', 'Punctuation', 'Grammar', 'Writing'].map((name, i) => ({
    name,
    share: i === 0 ? 0.32 : 0.17,
  })),
  maths: [
    { name: 'Number', share: 0.4 },
    { name: 'Measures', share: 0.35 },
    { name: 'Data', share: 0.25 },
  ],
};

/** A made-up bank with `perCell` items in each level × domain; every third item is a choice item with c = 0.25. */
export function syntheticBank(subject: Subject, perCell: number = 8, seed: string = 'bank'): BankVersion<DeliveryItem> {
  const random = seededRandom(`${seed}:${subject}`);
  const items: DeliveryItem[] = [];
  for (const level of levelsOf(subject)) {
    for (const [d, domain] of domains[subject].entries()) {
      for (let k = 0; k < perCell; k++) {
        items.push({
          id: `${subject}-${level}-${d}-${k}`,
          subject,
          domain: domain.name,
          level,
          a: 0.9 + 0.4 * random.float(),
          b: centres[level] + (random.float() - 0.5) * 1.2,
          c: k % 3 === 2 ? 0.25 : 0,
        });
      }
    }
  }
  return { subject, version: 'synthetic-1', domains: domains[subject], items };
}
