import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { seededRandom } from '../../src/random.ts';
import { eap, probability } from '../../src/scoring/irt.ts';
import { personFit, personFitLeast } from '../../src/scoring/person-fit.ts';
import type { ScoredAnswer } from '../../src/scoring/rules.ts';
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

function fitOf(list: readonly ScoredAnswer[]) {
  const { theta } = eap(
    list.map(({ item }) => item),
    list.map(({ right }) => (right ? 1 : 0)),
  );
  return personFit(list, theta);
}

function share(chance: (p: number, k: number) => number, found: 'better' | 'worse' | 'none', after = 0): number {
  const fits = Array.from({ length: 200 }, (_, n) => fitOf(answers(`fit ${n}`, 34, chance, after)).change);
  return fits.filter((change) => change === found).length / fits.length;
}

suite('a change in the middle', () => {
  test('is hardly ever found where there is none', () => assert.ok(share((p) => p, 'none') >= 0.94));
  test('is found in most who are helped from question 16 on, and called better', () =>
    assert.ok(share((p, k) => (k < 15 ? p : 0.95), 'better', 1) >= 0.6));
  test('is found in most who give up there, and called worse', () =>
    assert.ok(share((p, k) => (k < 15 ? p : 0.05), 'worse', -1) >= 0.6));
  test('turned round in time changes its sign', () => {
    const list = answers('turned', 30, (_p, k) => (k < 15 ? 0.1 : 0.9));
    const [there, back] = [fitOf(list), fitOf(list.toReversed())];
    assert.ok(Math.abs(there.halves + back.halves) < 1e-9);
    assert.deepEqual([there.change, back.change], ['better', 'worse']);
  });
});

test('with too few answers nothing is said', () => {
  assert.equal(fitOf(answers('few', personFitLeast - 1, (_p, k) => (k < 10 ? 0 : 1))).change, null);
  assert.notEqual(fitOf(answers('enough', personFitLeast, (_p, k) => (k < 10 ? 0 : 1))).change, null);
});

test('by hand: four equal items, right then wrong', () => {
  const item = { ...bank[0]!, a: 1, b: 0, c: 0 };
  const fit = personFit(
    [true, true, false, false].map((right) => ({ item, right })),
    0,
  );
  // Each answer adds ±½ to the score and ¼ to the information: halves of ±1 and ½, so 4 logits apart, of error 2.
  assert.deepEqual([fit.halves, fit.sum], [-2, 1]);
  assert.equal(fit.change, null);
});
