// Tier: full. Simulates 20,000 sittings.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import { calibrated, coverage, difFound, meanOfParts, recovery, rootMeanSquare, show } from './measures.ts';
import type { Calibrated } from './measures.ts';

/**
 * The goals of calibration. docs/engineering/calibration.md has the figures, and says which goals are met. A test fails
 * if a figure misses its goal by more than two standard errors.
 */

const seeds = ['goal 1', 'goal 2'];
const sittings = 1500;
const about200 = [150, 250] as const;

suite('after 1,500 adaptive sittings', () => {
  const runs: Calibrated[] = [];

  for (const kind of ['harsh', 'own'] as const)
    test(`b at about 200 answers: RMSE, ${kind} errors of the authors`, async (t) => {
      const own: Calibrated[] = [];
      for (const subject of subjects)
        for (const seed of seeds) own.push(await calibrated(subject, kind, sittings, seed));
      if (kind === 'harsh') runs.push(...own);
      const parts = own.map((run) => recovery(run, about200));
      const errors = rootMeanSquare(parts.flatMap((part) => part.errors));
      const answers = meanOfParts(parts.map((part) => part.answers));
      const held = meanOfParts(own.map((run) => recovery(run, [1, 1e6]).held));
      t.diagnostic(`RMSE ${show(errors)}, before ${show(rootMeanSquare(parts.flatMap((part) => part.before)))}`);
      t.diagnostic(`answers ${show(answers)}; 95 % intervals of b hold the truth: ${show(held)}`);
      t.diagnostic(`seconds: ${own.map(({ seconds }) => seconds.toFixed(1)).join(' ')}`);
      assert.ok(errors.value - 2 * errors.se <= 0.15, show(errors));
      assert.ok(held.value >= 0.93, show(held));
      assert.ok(Math.max(...own.map(({ seconds }) => seconds)) < 60);
    });

  test('reported intervals of new learners hold the truth, harsh bank', (t) => {
    const before = meanOfParts(runs.map((run) => coverage(run, 200, false)));
    const held = runs.map((run) => coverage(run, 300, true));
    const after = meanOfParts(held);
    t.diagnostic(`before ${show(before)}, after ${show(after)}`);
    for (const subject of subjects) {
      const own = held.filter((_, k) => runs[k]!.version.subject === subject);
      t.diagnostic(`${subject}: ${show(meanOfParts(own))}`);
    }
    assert.ok(after.value + 2 * after.se >= 0.92, show(after));
  });
});

for (const impact of [0, 0.5])
  test(`DIF of half a logit with 500 answers in each group, impact ${impact}`, async (t) => {
    const items = (await Promise.all(Array.from({ length: 20 }, (_, k) => difFound(`goal ${k}`, impact)))).map(
      (run) => ({
        dif: run.filter(({ hasDif }) => hasDif),
        none: run.filter(({ hasDif }) => !hasDif),
      }),
    );
    const of = (kind: 'dif' | 'none', key: 'significant' | 'flagged') =>
      meanOfParts(items.map((run) => run[kind].map((item) => item[key])));
    const [power, alarms] = [of('dif', 'significant'), of('none', 'significant')];
    t.diagnostic(`Mantel–Haenszel, p below 0.05: power ${show(power)}, false alarms ${show(alarms)}`);
    t.diagnostic(`flagged: power ${show(of('dif', 'flagged'))}, false alarms ${show(of('none', 'flagged'))}`);
    assert.ok(power.value >= 0.8, show(power));
    assert.ok(alarms.value - 2 * alarms.se <= 0.05, show(alarms));
  });
