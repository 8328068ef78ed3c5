import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadBank } from '../../../src/engine/item-bank/load.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import { calibratedFromUs, calibrationSd, widened, widenedPosterior } from '../../../src/engine/scoring/calibration.ts';
import { momentsOf, posteriorOf, standardPrior } from '../../../src/engine/scoring/irt.ts';
import { levelProbabilities } from '../../../src/engine/scoring/probabilities.ts';

const items = Array.from({ length: 30 }, (_, k) => ({ a: 1.1, b: -1.5 + k / 10, c: k % 3 === 0 ? 0.2 : 0 }));
const posterior = posteriorOf(
  items,
  items.map((_, k) => (k < 17 ? 1 : 0)),
  standardPrior,
);
const ability = momentsOf(posterior.theta, posterior.logWeights);

test('widening keeps the estimate and adds the variance of the calibration, in the figure and in the posterior alike', () => {
  const wide = widenedPosterior(posterior);
  const moments = momentsOf(wide.theta, wide.logWeights);
  assert.ok(Math.abs(moments.theta - ability.theta) < 1e-6, `${moments.theta} against ${ability.theta}`);
  assert.ok(Math.abs(moments.sd - widened(ability).sd) < 1e-6, `${moments.sd} against ${widened(ability).sd}`);
  assert.equal(widened(ability).sd, Math.sqrt(ability.sd ** 2 + calibrationSd ** 2));
});

test('widened probabilities claim less: the likeliest level is less likely, the furthest more', () => {
  const cuts = (['entry', 'level1', 'level2', 'level3'] as const).map((level, k) => ({ level, theta: k - 1.2 }));
  const narrow = Object.values(levelProbabilities('digital', cuts, posterior));
  const wide = Object.values(levelProbabilities('digital', cuts, widenedPosterior(posterior)));
  assert.ok(Math.max(...wide) < Math.max(...narrow));
  assert.ok(Math.min(...wide) >= Math.min(...narrow));
  assert.equal(Math.round(1000 * wide.reduce((sum, share) => sum + share, 0)), 1000);
});

test('results are provisional for as long as an item of the bank is', () => {
  const bank = loadBank();
  const items = subjects.flatMap((subject) => bank.subjects[subject].items);
  assert.equal(
    calibratedFromUs === Infinity,
    items.some(({ calibration }) => calibration === 'provisional'),
  );
});
