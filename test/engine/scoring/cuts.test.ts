import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BankFault, defaultTau, cutFor, solveCuts } from '../../../src/engine/scoring/cuts.ts';
import { probability } from '../../../src/engine/scoring/irt.ts';
import { subjects, levelsOf } from '../../../src/engine/scoring/levels.ts';
import { syntheticBank } from './synthetic-bank.ts';

test("at its cut, the mean probability over the level's items is τ", () => {
  const items = fc.array(
    fc.record({
      a: fc.double({ min: 0.4, max: 1.3, noNaN: true }),
      b: fc.double({ min: -3, max: 3, noNaN: true }),
      c: fc.constantFrom(0, 0.25, 0.5),
    }),
    { minLength: 1, maxLength: 40 },
  );
  fc.assert(
    fc.property(items, (list) => {
      const cut = cutFor(list);
      const mean = list.reduce((sum, item) => sum + probability(item, cut), 0) / list.length;
      assert.ok(Math.abs(mean - defaultTau) < 1e-12);
    }),
  );
});

test('one Rasch item is cut at its difficulty plus the logit of τ', () => {
  assert.ok(Math.abs(cutFor([{ a: 1, b: 0.3, c: 0 }]) - (0.3 + Math.log(0.65 / 0.35))) < 1e-12);
});

test('cuts rise with level in every subject', () => {
  for (const subject of subjects) {
    const cuts = solveCuts(subject, syntheticBank(subject).items);
    assert.deepEqual(
      cuts.map((cut) => cut.level),
      levelsOf(subject),
    );
    for (let i = 1; i < cuts.length; i++) assert.ok(cuts[i]!.theta > cuts[i - 1]!.theta);
  }
});

test('a bank without a level, with falling cuts, or with nothing but guessing is refused', () => {
  const { items } = syntheticBank('maths');
  assert.throws(
    () =>
      solveCuts(
        'maths',
        items.filter((item) => item.level !== 'level2'),
      ),
    /no Level 2 items/,
  );
  const swapped = items.map((item) => (item.level === 'level3' ? { ...item, b: item.b - 3 } : item));
  assert.throws(() => solveCuts('maths', swapped), /must rise with level: Level 3/);
  assert.throws(() => cutFor([{ a: 1, b: 0, c: 0.7 }]), BankFault);
  assert.throws(() => cutFor([]), BankFault);
});
