import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { Cut } from '../../../src/engine/scoring/cuts.ts';
import { posteriorOf } from '../../../src/engine/scoring/irt.ts';
import type { ItemParameters, Response } from '../../../src/engine/scoring/irt.ts';
import { isClose, levelProbabilities } from '../../../src/engine/scoring/probabilities.ts';

const cutsAt = (...thetas: number[]): Cut[] =>
  thetas.map((theta, i) => ({ level: (['entry', 'level1', 'level2', 'level3'] as const)[i]!, theta }));

suite('level probabilities', () => {
  test('without answers they are those of the population: areas under the normal curve', () => {
    assert.deepEqual(levelProbabilities('digital', cutsAt(-1, 0, 0.5, 2), posteriorOf([], [])), {
      'Working towards Entry Level': 0.159,
      'Entry Level': 0.341,
      'Level 1': 0.191,
      'Level 2': 0.286,
      'Level 3': 0.023,
    });
  });

  test('of three answers, against numbers by adaptive quadrature (QUADPACK)', () => {
    const items = [
      { a: 1, b: -1, c: 0 },
      { a: 1.3, b: 0.5, c: 0 },
      { a: 0.8, b: 0.2, c: 0.25 },
    ];
    assert.deepEqual(levelProbabilities('digital', cutsAt(-0.9, 0.3, 1.2, 2.2), posteriorOf(items, [1, 0, 1])), {
      'Working towards Entry Level': 0.123,
      'Entry Level': 0.508,
      'Level 1': 0.297,
      'Level 2': 0.068,
      'Level 3': 0.004,
    });
  });

  test('have the names of working levels, lowest first, Entry in three where the subject has it so', () => {
    const cuts = (['entry1', 'entry2', 'entry3', 'level1', 'level2', 'level3'] as const).map((level, i) => ({
      level,
      theta: i - 3,
    }));
    assert.deepEqual(Object.keys(levelProbabilities('maths', cuts, posteriorOf([], []))), [
      'Working towards Entry Level',
      'Entry Level 1',
      'Entry Level 2',
      'Entry Level 3',
      'Level 1',
      'Level 2',
      'Level 3',
    ]);
  });

  test('are close to a line if two levels are plausible and none is clear, whatever the other levels have', () => {
    for (const close of [
      [0.69, 0.31],
      [0.1, 0.6, 0.3],
      [0.5, 0.5],
      [0.34, 0.33, 0.33],
    ])
      assert.ok(isClose(close));
    for (const clear of [[0.7, 0.3], [0.9, 0.1], [1, 0], [0.16, 0.68, 0.16], [0.1, 0.61, 0.29], []])
      assert.ok(!isClose(clear));
  });

  const item = fc.record({
    a: fc.double({ min: 0.5, max: 1.3, noNaN: true }),
    b: fc.double({ min: -3, max: 3, noNaN: true }),
    c: fc.constantFrom(0, 0.2, 0.25),
  });
  const answered = fc.array(fc.tuple(item, fc.constantFrom<Response>(0, 1)), { maxLength: 60 });
  const levelsApart = fc.uniqueArray(fc.integer({ min: -300, max: 300 }), { minLength: 4, maxLength: 4 });

  test('are thousandths, add up to 1, and lie within a thousandth of the area on a grid sixteen times as fine', () => {
    fc.assert(
      fc.property(answered, levelsApart, (pairs, hundredths) => {
        const cuts = cutsAt(...hundredths.sort((x, y) => x - y).map((n) => n / 100));
        const items = pairs.map(([one]): ItemParameters => one);
        const responses = pairs.map(([, response]) => response);
        const shown = Object.values(levelProbabilities('digital', cuts, posteriorOf(items, responses)));
        const parts = shown.map((p) => Math.round(p * 1000));
        assert.deepEqual(
          shown,
          parts.map((part) => part / 1000),
        );
        assert.ok(parts.every((part) => part >= 0));
        assert.equal(
          parts.reduce((sum, part) => sum + part, 0),
          1000,
        );
        const fine = posteriorOf(items, responses, undefined, 3201);
        const top = fine.logWeights.reduce((max, log) => Math.max(max, log), -Infinity);
        const weights = fine.logWeights.map((log) => Math.exp(log - top));
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const edges = [-Infinity, ...cuts.map((cut) => cut.theta), Infinity];
        shown.forEach((p, i) => {
          // Cuts stand on nodes of the fine grid: half of such a node lies on either side (the trapezium rule).
          const inside = (theta: number) =>
            edges.slice(i, i + 2).some((edge) => Math.abs(theta - edge) < 1e-9)
              ? 0.5
              : Number(theta > edges[i]! && theta < edges[i + 1]!);
          const area = weights.reduce((sum, weight, k) => sum + weight * inside(fine.theta[k]!), 0) / total;
          assert.ok(Math.abs(area - p) < 0.0011, `${p} for ${area}`);
        });
      }),
      { numRuns: 60 },
    );
  });
});
