// Tier: full. Simulates 900 sittings.
import { suite, test } from 'node:test';
import { loadBank, renderItem } from '../../../src/engine/item-bank/load.ts';
import { withOrderOf } from '../../../src/engine/item-bank/option-order.ts';
import { probability } from '../../../src/engine/scoring/irt.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { normal } from '../../../src/sandbox/data/results.ts';
import { preparePool } from '../../../src/sittings/selection/pool.ts';
import { AdaptiveSitting, drawSeed } from '../../../src/sittings/selection/selection.ts';
import { KeyPlaces } from './key-places.ts';

suite('keys are even over places in simulated sittings', () => {
  const bank = loadBank();
  for (const subject of subjects)
    test(subject, () => {
      const pool = preparePool(bank.subjects[subject].version);
      const places = new KeyPlaces();
      for (let learner = 0; learner < 300; learner++) {
        const random = seededRandom(`key places ${subject} ${learner}`);
        const ability = normal(random);
        const sitting = new AdaptiveSitting(pool, { seed: drawSeed(random) });
        for (let step = sitting.next(); step.kind === 'item'; step = sitting.next()) {
          const item = pool.bank.items[pool.indexById.get(step.itemId)!]!;
          sitting.record({ itemId: item.id, outcome: random.float() < probability(item, ability) ? 'right' : 'wrong' });
          for (let n = 0; n < 5; n++) {
            const seed = random.bytes(8).toString('hex');
            places.add(withOrderOf(renderItem(bank.item(item.id)!, seed), seed));
          }
        }
      }
      places.assertEven(100 * 5, subject);
    });
});
