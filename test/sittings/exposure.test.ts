import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../src/random.ts';
import { planAdmission } from '../../src/sittings/exposure.ts';
import { syntheticBank } from '../scoring/synthetic-bank.ts';

test('admission brings the highest exposure down to near its target, and the same draws give the same plan', () => {
  const bank = syntheticBank('maths', 8);
  const plan = () => planAdmission(bank, seededRandom('plan'), { learners: 500, rounds: 5, target: 0.5 });
  const { admission, highest } = plan();
  assert.ok(highest[0]! > 0.65, 'without control the best items are in most sittings');
  assert.ok(highest.at(-1)! < 0.6, String(highest));
  assert.ok(Object.values(admission).every((share) => share > 0 && share < 1));
  assert.ok(Object.keys(admission).length > 0 && Object.keys(admission).length < bank.items.length / 2);
  assert.deepEqual(plan(), { admission, highest });
});
