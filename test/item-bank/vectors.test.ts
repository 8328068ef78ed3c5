import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { map } from '../../src/engine/scoring/irt.ts';
import { estimators, VectorFileError, compareVectors, parseVectors } from '../../tools/item-bank/vectors.ts';

const file = () => JSON.parse(readFileSync(new URL('../fixtures/irt-reference.json', import.meta.url), 'utf8'));

test('all 200 reference vectors agree within 1e-6 in every estimator and in every status', () => {
  const comparison = compareVectors(parseVectors(file()));
  assert.equal(comparison.count, 200);
  assert.deepEqual(comparison.disagreements, []);
  for (const estimator of estimators) {
    assert.ok(
      comparison.maxAbs[estimator]! <= 1e-6,
      `${estimator}: ${comparison.maxAbs[estimator]} in ${comparison.worst[estimator]}`,
    );
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
  const infinite = data.vectors.find(
    (v: { expected: { mle: { status: string } } }) => v.expected.mle.status === 'plus_infinity',
  );
  infinite.expected.mle = { status: 'interior', theta: 4, se: 1 };
  const comparison = compareVectors(parseVectors(data));
  assert.deepEqual(comparison.disagreements, [
    { id: infinite.id, estimator: 'mle', expected: 'interior', computed: 'plus_infinity' },
  ]);
});

test('a figure that is not finite is a disagreement: no maximum of a list can show it', () => {
  const [vector] = parseVectors(file());
  const items = [{ a: 1, b: Number.NaN, c: 0 }];
  const { maxAbs, disagreements } = compareVectors([
    {
      ...vector!,
      items,
      responses: [1],
      expected: { ...vector!.expected, map: null, mle: null, wle: null, info: null, loglik: null },
    },
  ]);
  assert.equal(maxAbs.eap_theta, null);
  assert.deepEqual(
    disagreements.map(({ estimator, computed }) => [estimator, computed]),
    [
      ['eap_theta', 'NaN'],
      ['eap_sd', 'NaN'],
    ],
  );
});

test('the mode under a wide prior is found among the items, however far the prior reaches', () => {
  const wide = (responses: (0 | 1)[]) =>
    map(
      [
        { a: 3, b: 0, c: 0 },
        { a: 0.3, b: 2, c: 0 },
      ],
      responses,
      { mean: 0, sd: 100 },
    );
  assert.ok(Math.abs(wide([1, 0]).theta - 1.0354) < 1e-3, String(wide([1, 0]).theta));
  assert.ok(wide([1, 1]).theta > 15 && wide([1, 1]).theta < 40);
});

test('a file of another shape is refused with the place and what was expected', () => {
  const vector = () => structuredClone(file().vectors[0]);
  const cases: [unknown, RegExp][] = [
    [[], /list named "vectors"/],
    [{ vectors: [] }, /empty/],
    [{ vectors: [3] }, /vectors\[0\] must be an object/],
    [{ vectors: [{ ...vector(), prior: { mean: 0, sd: 0 } }] }, /ref-001: prior: sd must be from 0.01 to 100/],
    [{ vectors: [{ ...vector(), responses: [1] }] }, /as long as "items" \(27\)/],
    [{ vectors: [{ ...vector(), items: [{ a: 1, b: 0, c: 1 }], responses: [1] }] }, /items\[0\]: c must be/],
    [{ vectors: [{ ...vector(), items: [{ a: 0, b: 0, c: 0 }], responses: [1] }] }, /items\[0\]: a must be/],
    [
      { vectors: [{ ...vector(), items: [{ a: 1, b: 0, c: 0 }], responses: [2] }] },
      /responses\[0\] must be 1, 0 or null/,
    ],
    [
      { vectors: [{ ...vector(), items: [{ a: 1e300, b: 0, c: 0 }], responses: [1] }] },
      /items\[0\]: a must be from 0.01 to 100/,
    ],
    [
      { vectors: [{ ...vector(), items: [{ a: 1, b: 1e300, c: 0 }], responses: [1] }] },
      /items\[0\]: b must be from -1000 to 1000/,
    ],
    [{ vectors: [{ ...vector(), prior: { mean: 0, sd: 1e6 } }] }, /sd must be from 0.01 to 100/],
    [{ vectors: [{ ...vector(), expected: { theta_grid: [1e300], info: [1] } }] }, /theta must be from -1000 to 1000/],
    [{ vectors: [{ ...vector(), expected: { epa: { theta: 0, sd: 1 } } }] }, /at least one of "eap"/],
    [{ vectors: [{ ...vector(), expected: { info: [1, 2] } }] }, /expected.info must have 7 values/],
  ];
  for (const [value, message] of cases) {
    assert.throws(
      () => parseVectors(value),
      (error) => error instanceof VectorFileError && message.test(error.message),
      String(message),
    );
  }
});
