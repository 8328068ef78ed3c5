import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Cut, ScoredItem } from '../../../src/engine/scoring/cuts.ts';
import { probability } from '../../../src/engine/scoring/irt.ts';
import type { Level } from '../../../src/engine/scoring/levels.ts';
import { bandMinItems, placeByRules } from '../../../src/engine/scoring/rules.ts';
import type { ScoredAnswer } from '../../../src/engine/scoring/rules.ts';

const cuts: Cut[] = [
  { level: 'entry', theta: -1.5 },
  { level: 'level1', theta: 0 },
  { level: 'level2', theta: 1 },
  { level: 'level3', theta: 2 },
];

function answers(level: Level, right: number, wrong: number): ScoredAnswer[] {
  return Array.from({ length: right + wrong }, (_, k) => {
    const item: ScoredItem = {
      id: `${level}-${k}`,
      subject: 'digital',
      domain: 'Devices',
      level,
      a: 1,
      b: cuts.find((cut) => cut.level === level)!.theta,
      c: 0,
    };
    return { item, right: k < right };
  });
}

test("S_L is the sum of the probabilities at the cut over the band, and x/n count the level's own items", () => {
  const given = [
    ...answers('entry', 4, 1),
    ...answers('level1', 4, 2),
    ...answers('level2', 1, 3),
    ...answers('level3', 0, 2),
  ];
  const { levels } = placeByRules(cuts, given);
  const level1 = levels[1]!;
  assert.deepEqual(level1.band, ['entry', 'level1', 'level2']);
  assert.deepEqual([level1.bandRight, level1.bandItems, level1.right, level1.items], [9, 15, 4, 6]);
  const s = given.filter((x) => x.item.level !== 'level3').reduce((sum, x) => sum + probability(x.item, 0), 0);
  assert.equal(level1.s, s);
  assert.equal(level1.needed, Math.ceil(s));
  assert.equal(level1.outcome, 9 >= s ? 'pass' : 'fail');
  assert.deepEqual(levels[0]!.band, ['entry', 'level1']);
  assert.deepEqual(levels[3]!.band, ['level2', 'level3']);
});

test('exactly S_L passes', () => {
  // Ten items at the cut: S = 10 × 0.5 = 5 exactly.
  const five = placeByRules([{ level: 'level1', theta: 0 }], answers('level1', 5, 5));
  assert.deepEqual([five.levels[0]!.s, five.levels[0]!.outcome, five.placement], [5, 'pass', 'level1']);
  assert.equal(placeByRules([{ level: 'level1', theta: 0 }], answers('level1', 4, 6)).placement, 'below_entry');
});

test('a level with seven items in its band is not judged, with eight it is', () => {
  assert.equal(placeByRules(cuts, answers('level3', bandMinItems - 1, 0)).levels[3]!.outcome, 'not_judged');
  assert.equal(placeByRules(cuts, answers('level3', bandMinItems, 0)).levels[3]!.outcome, 'pass');
});

test('a failure below stops the climb; a level that was not judged does not', () => {
  const failedBelow = placeByRules(cuts, [
    ...answers('entry', 0, 20),
    ...answers('level2', 8, 0),
    ...answers('level3', 8, 0),
  ]);
  assert.deepEqual(
    failedBelow.levels.map((rule) => rule.outcome),
    ['fail', 'fail', 'pass', 'pass'],
  );
  assert.equal(failedBelow.placement, 'below_entry');
  const unjudgedBelow = placeByRules(cuts, [...answers('level2', 4, 4), ...answers('level3', 8, 0)]);
  assert.equal(unjudgedBelow.levels[0]!.outcome, 'not_judged');
  assert.equal(unjudgedBelow.placement, 'level3');
});

test('nothing passed: the level below the lowest failure, below Entry only where Entry itself was failed', () => {
  // Nothing was given at Entry and too little around it, so the failure at Level 2 says nothing about Level 1.
  const high = placeByRules(cuts, [...answers('level2', 0, 4), ...answers('level3', 0, 8)]);
  assert.deepEqual(
    high.levels.map((rule) => rule.outcome),
    ['not_judged', 'not_judged', 'fail', 'fail'],
  );
  assert.equal(high.placement, 'level1');
  const low = placeByRules(cuts, [...answers('entry', 0, 8)]);
  assert.deepEqual([low.levels[0]!.outcome, low.placement], ['fail', 'below_entry']);
});

test('no level judged: no placement', () => {
  assert.equal(placeByRules(cuts, [...answers('entry', 3, 0), ...answers('level3', 4, 0)]).placement, null);
  assert.equal(placeByRules(cuts, []).placement, null);
});

test('one more right answer never lowers the placement', () => {
  const order = ['below_entry', 'entry', 'level1', 'level2', 'level3'];
  const one = fc.tuple(fc.constantFrom<Level>('entry', 'level1', 'level2', 'level3'), fc.boolean());
  fc.assert(
    fc.property(fc.array(one, { minLength: 1, maxLength: 40 }), fc.nat(), (list, at) => {
      const given = list.map(([level, right]): ScoredAnswer => ({ ...answers(level, 1, 0)[0]!, right }));
      const k = at % given.length;
      const better = given.with(k, { ...given[k]!, right: true });
      const [before, after] = [placeByRules(cuts, given).placement, placeByRules(cuts, better).placement];
      if (before === null || after === null) assert.equal(before, after);
      else assert.ok(order.indexOf(after) >= order.indexOf(before));
    }),
  );
});
