import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linked, meanSigma, robustZ, stockingLord } from '../../../tools/item-bank/calibration/linking.ts';
import { comparedItems, drawsOf } from './simulated.ts';
import { standardNormal } from '../../../tools/item-bank/simulation/random.ts';

const bank = comparedItems(0.1);
/** The estimates are on a scale with θ(bank) = 1.2 · θ + 0.4. */
const found = bank.map((item) => linked(item, { slope: 1 / 1.2, shift: -0.4 / 1.2 }));
const pairs = bank.map((item, i) => ({ bank: item, found: found[i]! }));

for (const [name, method] of Object.entries({ meanSigma, stockingLord }))
  test(`${name} finds the link`, () => {
    const { slope, shift } = method(pairs);
    assert.ok(Math.abs(slope - 1.2) < 1e-6 && Math.abs(shift - 0.4) < 1e-6, `${slope}, ${shift}`);
  });

test('one anchor that has drifted stands out, and hardly moves the link', () => {
  const draw = drawsOf('drift');
  const drifted = pairs.map((pair, i) => ({
    ...pair,
    found: { ...pair.found, b: pair.found.b + 0.05 * standardNormal(draw) + (i === 7 ? 0.8 : 0) },
  }));
  const link = stockingLord(drifted);
  assert.ok(Math.abs(link.slope - 1.2) < 0.06 && Math.abs(link.shift - 0.4) < 0.06, `${link.slope}, ${link.shift}`);
  const z = robustZ(drifted.map((pair) => linked(pair.found, link).b - pair.bank.b));
  assert.ok(z[7]! > 5, `${z[7]}`);
  assert.ok(
    z.every((one, i) => i === 7 || Math.abs(one) < 3.5),
    z.join(' '),
  );
});

test('differences without spread have no z', () => {
  assert.deepEqual(robustZ([0.2, 0.2, 0.2]), [0, 0, 0]);
});
