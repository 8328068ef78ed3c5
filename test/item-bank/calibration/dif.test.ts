import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logisticDif, mantelHaenszel } from '../../../tools/item-bank/calibration/dif.ts';
import { discoveries } from '../../../tools/item-bank/calibration/fit.ts';
import { chiSquareTail } from '../../../tools/item-bank/calibration/numbers.ts';
import { matchedAnswers } from './matched.ts';

const near = (x: number, y: number, by = 1e-6) => assert.ok(Math.abs(x - y) <= by, `${x} against ${y}`);

test('Mantel–Haenszel gives what R gives (mantelhaen.test of 4.2.2)', () => {
  const { delta, se, p, size } = mantelHaenszel(matchedAnswers())!;
  near(delta, -2.35 * Math.log(1.44132306298));
  near(se, 2.35 * 0.174311045321);
  near(p, 0.043537597123);
  assert.equal(size, 'A');
});

test('logistic regression gives what R gives (glm of 4.2.2)', () => {
  const { shift, se, uniformP, nonUniformP, rSquared } = logisticDif(matchedAnswers())!;
  near(shift, -0.331132032677);
  near(se, 0.172449206445);
  near(uniformP, 0.0540440323066);
  near(nonUniformP, 0.696402218498);
  near(rSquared, 0.00528619445417);
});

test('ETS classes: a large difference is C, whichever group it favours', () => {
  const large = matchedAnswers().map((one) => ({
    ...one,
    right: one.isFocal ? one.ability > 0.9 : one.ability > -0.4,
  }));
  const mixed = large.map((one, n) => (n % 4 === 0 ? { ...one, right: n % 8 === 0 } : one));
  assert.equal(mantelHaenszel(mixed)!.size, 'C');
  assert.ok(mantelHaenszel(mixed)!.delta < 0, 'harder for the focal group');
  const other = mantelHaenszel(mixed.map((one) => ({ ...one, isFocal: !one.isFocal })))!;
  assert.ok(other.size === 'C' && other.delta > 0);
});

test('answers that all are right give no figures', () => {
  const right = matchedAnswers().map((one) => ({ ...one, right: true }));
  assert.equal(mantelHaenszel(right), null);
  assert.equal(logisticDif(right), null);
});

test('χ² tails are those of R (pchisq)', () => {
  near(chiSquareTail(0.3, 1), 0.58388242077037, 1e-12);
  near(chiSquareTail(3.84, 1), 0.05004352124871, 1e-12);
  near(chiSquareTail(12, 5), 0.03478778050624, 1e-12);
  near(chiSquareTail(250, 200), 0.00937913166883, 1e-12);
  assert.equal(chiSquareTail(0, 3), 1);
});

test('of many tests, only those stay that keep false alarms rare (Benjamini & Hochberg 1995)', () => {
  // The example of their article, with its limit 0.05.
  const ps = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719, 0.6528, 0.759, 1,
  ];
  assert.deepEqual([...discoveries(ps, 0.05)].sort(), [0, 1, 2, 3]);
  assert.equal(discoveries([], 0.05).size, 0);
});
