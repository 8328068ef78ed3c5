import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { Cut } from '../../../src/engine/scoring/cuts.ts';
import { levelsOf, orderOf } from '../../../src/engine/scoring/levels.ts';
import type { Placement } from '../../../src/engine/scoring/levels.ts';
import { decidingRule, placeByIrt, reconcile } from '../../../src/engine/scoring/reconcile.ts';

const cuts: Cut[] = [
  { level: 'entry1', theta: -2 },
  { level: 'entry2', theta: -1.5 },
  { level: 'entry3', theta: -1 },
  { level: 'level1', theta: 0 },
  { level: 'level2', theta: 1 },
  { level: 'level3', theta: 2 },
];

suite('reconciliation', () => {
  // IRT, rules, placement, needs_review, basis.
  const table: [Placement, Placement, Placement, boolean, string][] = [
    ['level1', 'level1', 'level1', false, 'equal'],
    ['entry3', 'entry1', 'entry3', false, 'equal'],
    ['below_entry', 'below_entry', 'below_entry', false, 'equal'],
    ['level2', 'level1', 'level2', true, 'irt_within_one'],
    ['level1', 'level2', 'level1', true, 'irt_within_one'],
    ['entry2', 'level1', 'entry2', true, 'irt_within_one'],
    ['below_entry', 'entry1', 'below_entry', true, 'irt_within_one'],
    ['entry1', 'below_entry', 'entry1', true, 'irt_within_one'],
    ['level3', 'level1', 'level2', true, 'midpoint'],
    ['level1', 'level3', 'level2', true, 'midpoint'],
    ['entry3', 'level2', 'level1', true, 'midpoint'],
    ['entry1', 'level3', 'level1', true, 'midpoint'],
    ['level3', 'entry2', 'level1', true, 'midpoint'],
    ['level1', 'below_entry', 'entry3', true, 'midpoint'],
    ['below_entry', 'level1', 'entry1', true, 'midpoint'],
    ['level2', 'below_entry', 'entry3', true, 'midpoint'],
    ['below_entry', 'level2', 'entry1', true, 'midpoint'],
    ['below_entry', 'level3', 'level1', true, 'midpoint'],
    ['level3', 'below_entry', 'level1', true, 'midpoint'],
  ];
  for (const [irt, rules, placement, needsReview, basis] of table) {
    test(`IRT ${irt}, rules ${rules}: ${placement}`, () => {
      const result = reconcile('maths', irt, rules);
      assert.deepEqual([result.placement, result.needsReview, result.basis], [placement, needsReview, basis]);
    });
  }

  test('where the rule engine could judge nothing, IRT places, and the engines are not apart', () => {
    assert.deepEqual(reconcile('maths', 'level2', null), {
      placement: 'level2',
      needsReview: false,
      basis: 'irt_only',
      apart: 0,
    });
  });

  test('digital has one Entry level, so the midpoint has no sub-level', () => {
    assert.equal(reconcile('digital', 'level1', 'below_entry').placement, 'entry');
  });

  test('the placement lies between the engines, and review is needed exactly when they are a level apart', () => {
    const any = fc.constantFrom<Placement>('below_entry', ...levelsOf('english'));
    fc.assert(
      fc.property(any, any, (irt, rules) => {
        const { placement, needsReview } = reconcile('english', irt, rules);
        const [low, high] = [orderOf(irt), orderOf(rules)].sort((x, y) => x - y) as [number, number];
        assert.ok(orderOf(placement) >= low && orderOf(placement) <= high);
        assert.equal(needsReview, high > low);
      }),
    );
  });
});

suite('placement by ability', () => {
  test('exactly at a cut counts as met', () => {
    assert.equal(placeByIrt(cuts, 0), 'level1');
    assert.equal(placeByIrt(cuts, -Number.EPSILON), 'entry3');
    assert.equal(placeByIrt(cuts, -2.0001), 'below_entry');
    assert.equal(placeByIrt(cuts, 5), 'level3');
  });
});

suite('deciding rule', () => {
  const narrow = (theta: number) => ({ low: theta - 0.1, high: theta + 0.1 });

  test('is the nearer of the cut passed and the cut not passed, at any level', () => {
    const table: [Placement, number, string, boolean][] = [
      // Placement, ability, level of the rule, met.
      ['below_entry', -3, 'entry1', false],
      ['below_entry', -2.1, 'entry1', false],
      ['entry1', -1.9, 'entry1', true],
      ['entry1', -1.6, 'entry2', false],
      ['entry2', -1.4, 'entry2', true],
      ['entry3', -0.9, 'entry3', true],
      ['entry3', -0.2, 'level1', false],
      ['level1', 0.3, 'level1', true],
      ['level1', 0.7, 'level2', false],
      ['level1', 0.5, 'level1', true],
      ['level2', 1.8, 'level3', false],
      ['level3', 4, 'level3', true],
    ];
    for (const [placement, theta, level, met] of table) {
      const rule = decidingRule(cuts, placement, theta, narrow(theta));
      assert.deepEqual([rule.level, rule.met], [level, met], `${placement} at ${theta}`);
    }
  });

  test('no other cut is nearer to the ability, wherever IRT places it', () => {
    fc.assert(
      fc.property(fc.double({ min: -4, max: 4, noNaN: true }), (theta) => {
        const { threshold } = decidingRule(cuts, placeByIrt(cuts, theta), theta, narrow(theta));
        for (const cut of cuts) assert.ok(Math.abs(threshold - theta) <= Math.abs(cut.theta - theta));
      }),
    );
  });

  test('side follows the ability, met follows the placement', () => {
    // The engines were two apart: ability at Level 3, rules at Level 1, placed at Level 2.
    const rule = decidingRule(cuts, 'level2', 2.2, narrow(2.2));
    assert.deepEqual([rule.level, rule.side, rule.met], ['level3', 'at_or_above', false]);
  });

  test('the end points of the interval are inside it', () => {
    const at = (low: number, high: number) => decidingRule(cuts, 'level1', 0.2, { low, high }).isBorderline;
    assert.equal(at(0, 0.4), true);
    assert.equal(at(Number.MIN_VALUE, 0.4), false);
    assert.equal(decidingRule(cuts, 'entry3', -0.2, { low: -0.4, high: 0 }).isBorderline, true);
    assert.equal(decidingRule(cuts, 'entry3', -0.2, { low: -0.4, high: -Number.MIN_VALUE }).isBorderline, false);
  });
});
