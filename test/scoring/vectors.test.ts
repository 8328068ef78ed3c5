import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ESTIMATORS, VectorFileError, compareVectors, parseVectors } from '../../src/scoring/vectors.ts';

const file = () => JSON.parse(readFileSync(new URL('../fixtures/irt-reference.json', import.meta.url), 'utf8'));

test('all 200 reference vectors agree within 1e-6 in every estimator and in every status', () => {
  const comparison = compareVectors(parseVectors(file()));
  assert.equal(comparison.count, 200);
  assert.deepEqual(comparison.disagreements, []);
  for (const estimator of ESTIMATORS) {
    assert.ok(comparison.maxAbs[estimator]! <= 1e-6, `${estimator}: ${comparison.maxAbs[estimator]} in ${comparison.worst[estimator]}`);
  }
  assert.ok(comparison.maxAbs.eap_theta! <= 1e-9);
  assert.deepEqual([comparison.compared.eap_theta, comparison.compared.mle, comparison.compared.wle], [200, 348, 398]);
});

test('a shifted figure is found, and named', () => {
  const data = file();
  data.vectors[7].expected.eap.theta += 0.25;
  data.vectors[9].expected.loglik[3] -= 2;
  const comparison = compareVectors(parseVectors(data));
  assert.ok(Math.abs(comparison.maxAbs.eap_theta! - 0.25) < 1e-9);
  assert.equal(comparison.worst.eap_theta, data.vectors[7].id);
  assert.ok(Math.abs(comparison.maxAbs.loglik! - 2) < 1e-9);
});

test('a status that differs is a disagreement, not a difference of zero', () => {
  const data = file();
  const infinite = data.vectors.find((v: { expected: { mle: { status: string } } }) => v.expected.mle.status === 'plus_infinity');
  infinite.expected.mle = { status: 'interior', theta: 4, se: 1 };
  const comparison = compareVectors(parseVectors(data));
  assert.deepEqual(comparison.disagreements, [{ id: infinite.id, estimator: 'mle', expected: 'interior', computed: 'plus_infinity' }]);
});

test('a file of another shape is refused with the place and what was expected', () => {
  const vector = () => structuredClone(file().vectors[0]);
  const cases: [unknown, RegExp][] = [
    [[], /list named "vectors"/],
    [{ vectors: [] }, /empty/],
    [{ vectors: [3] }, /vectors\[0\] must be an object/],
    [{ vectors: [{ ...vector(), prior: { mean: 0, sd: 0 } }] }, /ref-001: prior sd must be above 0/],
    [{ vectors: [{ ...vector(), responses: [1] }] }, /as long as "items" \(27\)/],
    [{ vectors: [{ ...vector(), items: [{ a: 1, b: 0, c: 1 }], responses: [1] }] }, /items\[0\]: c must be/],
    [{ vectors: [{ ...vector(), items: [{ a: 0, b: 0, c: 0 }], responses: [1] }] }, /items\[0\]: a must be/],
    [{ vectors: [{ ...vector(), items: [{ a: 1, b: 0, c: 0 }], responses: [2] }] }, /responses\[0\] must be 1, 0 or null/],
    [{ vectors: [{ ...vector(), expected: { info: [1, 2] } }] }, /expected.info must have 7 values/],
  ];
  for (const [value, message] of cases) {
    assert.throws(() => parseVectors(value), (error) => error instanceof VectorFileError && message.test(error.message), String(message));
  }
});
