import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  confidenceInterval,
  eap,
  information,
  logProbabilities,
  map,
  mle,
  probability,
  wle,
} from '../../../src/engine/scoring/irt.ts';
import type { ItemParameters, Response } from '../../../src/engine/scoring/irt.ts';

const item = fc.record({
  a: fc.double({ min: 0.3, max: 2.8, noNaN: true }),
  b: fc.double({ min: -4, max: 4, noNaN: true }),
  c: fc.constantFrom(0, 0, 0.2, 0.25, 0.33),
});
const theta = fc.double({ min: -12, max: 12, noNaN: true });
const sitting = fc.array(fc.tuple(item, fc.constantFrom<Response>(0, 1, null)), { minLength: 1, maxLength: 40 });

function close(actual: number, expected: number, tolerance: number): void {
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not within ${tolerance} of ${expected}`);
}

test('probability lies between guessing and one, and log probabilities are its logs', () => {
  fc.assert(
    fc.property(item, theta, (i, t) => {
      const p = probability(i, t);
      assert.ok(p >= i.c && p <= 1);
      const logs = logProbabilities(i, t);
      close(Math.exp(logs.right), p, 1e-12);
      close(Math.exp(logs.wrong), 1 - p, 1e-12);
    }),
  );
});

test('log probabilities stay finite far out, where a plain logarithm does not', () => {
  for (const c of [0, 0.25]) {
    for (const t of [-800, -60, 60, 800]) {
      const logs = logProbabilities({ a: 2.5, b: 0, c }, t);
      assert.ok(Number.isFinite(logs.right) && Number.isFinite(logs.wrong), `c ${c}, theta ${t}`);
    }
  }
});

test('information equals P′² / (P·Q) by numerical differentiation', () => {
  fc.assert(
    fc.property(item, fc.double({ min: -4, max: 4, noNaN: true }), (i, t) => {
      const h = 1e-5;
      const slope = (probability(i, t + h) - probability(i, t - h)) / (2 * h);
      const p = probability(i, t);
      if (p * (1 - p) < 1e-4) return;
      close(information(i, t), slope ** 2 / (p * (1 - p)), 1e-5);
    }),
  );
});

test('EAP is finite, with a positive SD, for every pattern, all right and all wrong included', () => {
  fc.assert(
    fc.property(fc.array(item, { minLength: 1, maxLength: 40 }), fc.constantFrom<Response>(0, 1), (items, same) => {
      const estimate = eap(
        items,
        items.map(() => same),
      );
      assert.ok(Number.isFinite(estimate.theta) && Math.abs(estimate.theta) < 8);
      // Answers can only narrow a normal prior where the likelihood is log-concave, which guessing (c above 0) breaks.
      assert.ok(
        Number.isFinite(estimate.sd) && estimate.sd > 0 && (estimate.sd <= 1.0001 || items.some((one) => one.c > 0)),
      );
      assert.equal(Math.sign(estimate.theta), same === 1 ? 1 : -1);
    }),
  );
});

test('turning a wrong answer into a right one raises EAP', () => {
  fc.assert(
    fc.property(sitting, fc.nat(), (pairs, at) => {
      const items = pairs.map(([i]) => i);
      const responses = pairs.map(([, r]) => r);
      const k = at % items.length;
      const wrong = eap(items, responses.with(k, 0));
      const right = eap(items, responses.with(k, 1));
      assert.ok(right.theta > wrong.theta);
    }),
  );
});

test('items that were not administered change nothing', () => {
  fc.assert(
    fc.property(sitting, item, (pairs, extra) => {
      const items = pairs.map(([i]) => i);
      const responses = pairs.map(([, r]) => r);
      assert.deepEqual(eap([...items, extra], [...responses, null]), eap(items, responses));
      assert.deepEqual(mle([...items, extra], [...responses, null]), mle(items, responses));
    }),
    { numRuns: 25 },
  );
});

test('without answers the prior stands and the likelihood has nothing to say', () => {
  const prior = { mean: 0.4, sd: 1.2 };
  const items: ItemParameters[] = [{ a: 1, b: 0, c: 0 }];
  close(eap(items, [null], prior).theta, 0.4, 1e-12);
  close(eap(items, [null], prior).sd, 1.2, 1e-9);
  assert.deepEqual(map(items, [null], prior), { theta: 0.4, se: 1.2 });
  assert.deepEqual(mle(items, [null]), { status: 'no_answers', theta: null, se: null });
  assert.deepEqual(wle(items, [null]), { status: 'no_answers', theta: null, se: null });
});

test('in the Rasch model the maximum lies where the expected score is the observed score', () => {
  const items = [-1.2, -0.4, 0.1, 0.9, 1.7].map((b) => ({ a: 1, b, c: 0 }));
  const estimate = mle(items, [1, 1, 0, 1, 0]);
  assert.equal(estimate.status, 'interior');
  close(
    items.reduce((sum, i) => sum + probability(i, estimate.theta!), 0),
    3,
    1e-9,
  );
});

test('perfect and zero scores have no finite maximum but a finite weighted likelihood estimate', () => {
  const items = [-1, 0, 1].map((b) => ({ a: 1.2, b, c: 0 }));
  assert.equal(mle(items, [1, 1, 1]).status, 'plus_infinity');
  assert.equal(mle(items, [0, 0, 0]).status, 'minus_infinity');
  const high = wle(items, [1, 1, 1]);
  const low = wle(items, [0, 0, 0]);
  close(high.theta!, -low.theta!, 1e-9);
});

test('the interval is the estimate with 1.959964 standard deviations on either side', () => {
  assert.deepEqual(confidenceInterval({ theta: 1, sd: 0.5 }), { low: 1 - 0.979982, high: 1 + 0.979982 });
});
