import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastRandom, seededRandom } from '../../src/platform/crypto/random.ts';
import { simulationRandom, standardNormal } from '../../tools/item-bank/simulation/random.ts';

test('law 7: a seed gives simulations the same draws on every machine and in every release', () => {
  assert.equal(simulationRandom(seededRandom('a')).float(), 0.378021571638133);
});

test('standardNormal: mean 0, variance 1', () => {
  const random = fastRandom('normal');
  const draws = Array.from({ length: 40_000 }, () => standardNormal(random));
  const mean = draws.reduce((sum, x) => sum + x, 0) / draws.length;
  const variance = draws.reduce((sum, x) => sum + (x - mean) ** 2, 0) / draws.length;
  assert.ok(Math.abs(mean) < 0.02, String(mean));
  assert.ok(Math.abs(variance - 1) < 0.03, String(variance));
});
