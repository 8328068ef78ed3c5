import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { probability } from '../../../src/engine/scoring/irt.ts';
import { personFit, minPersonFitAnswers } from '../../../src/engine/scoring/person-fit.ts';
import type { ScoredAnswer } from '../../../src/engine/scoring/rules.ts';
import { syntheticBank } from './synthetic-bank.ts';

const bank = syntheticBank('maths').items.filter((item) => Math.abs(item.b) < 1.6);

/** Answers of a learner whose chance may change from some question on. */
function answers(seed: string, count: number, chance: (p: number, k: number) => number, after = 0): ScoredAnswer[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, (_, k) => {
    // Harder ones later for somebody who is helped, easier for somebody who gives up, as delivery gives them.
    const near = bank.filter((item) => Math.abs(item.b - (k < 20 ? 0 : after)) < 0.6);
    const item = near[Math.floor(random.float() * near.length)]!;
    return { item, right: random.float() < chance(probability(item, 0), k) };
  });
}

function share(chance: (p: number, k: number) => number, found: 'better' | 'worse' | 'none', after = 0): number {
  const fits = Array.from({ length: 200 }, (_, n) => personFit(answers(`fit ${n}`, 34, chance, after)).change);
  return fits.filter((change) => change === found).length / fits.length;
}

suite('a change in the middle', () => {
  test('is hardly ever found where there is none', () => assert.ok(share((p) => p, 'none') >= 0.94));
  test('is found in most who are helped from question 16 on, and called better', () =>
    assert.ok(share((p, k) => (k < 15 ? p : 0.95), 'better', 1) >= 0.6));
  test('is found in most who give up there, and called worse', () =>
    assert.ok(share((p, k) => (k < 15 ? p : 0.05), 'worse', -1) >= 0.6));
  test('of two logits is found in most', () =>
    assert.ok(share((p, k) => (k < 15 ? p : (p * Math.exp(2)) / (1 - p + p * Math.exp(2))), 'better', 1) >= 0.6));
  test('turned round in time is the opposite change', () => {
    const list = answers('turned', 30, (_p, k) => (k < 15 ? 0.1 : 0.9));
    assert.deepEqual([personFit(list).change, personFit(list.toReversed()).change], ['better', 'worse']);
  });
});

test('with too few answers nothing is said', () => {
  assert.equal(personFit(answers('few', minPersonFitAnswers - 1, (_p, k) => (k < 10 ? 0 : 1))).change, null);
  assert.notEqual(personFit(answers('enough', minPersonFitAnswers, (_p, k) => (k < 10 ? 0 : 1))).change, null);
});

test('by hand: two answers, one right and then one wrong', () => {
  const item = { ...bank[0]!, a: 1, b: 0, c: 0 };
  const fit = personFit([true, false].map((right) => ({ item, right })));
  // The change can only have come between them. Sums over abilities from −20 to 20, as fine as the mean of two is.
  const sum = (after: number) => {
    let total = 0;
    for (let theta = -20; theta <= 20; theta += 0.001)
      total += Math.exp(-(theta ** 2) / 2) * probability(item, theta) * (1 - probability(item, theta + after));
    return total;
  };
  assert.ok(Math.abs(fit.better - Math.log(sum(2) / sum(0))) < 1e-3);
  assert.ok(Math.abs(fit.worse - Math.log(sum(-2) / sum(0))) < 1e-3);
  assert.equal(fit.change, null);
});
