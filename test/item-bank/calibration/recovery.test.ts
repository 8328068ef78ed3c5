import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calibrate } from '../../../tools/item-bank/calibration/calibrate.ts';
import type { CalibrationOptions } from '../../../tools/item-bank/calibration/calibrate.ts';
import { estimate } from '../../../tools/item-bank/calibration/mml.ts';
import { BankPrior } from '../../../tools/item-bank/calibration/priors.ts';
import { calibrated, coverage, difFound, recovery, rootMeanSquare, show } from './measures.ts';
import { answersOf, comparedItems, drawsOf, randomSittings, toCalibrate } from './simulated.ts';

const options: CalibrationOptions = {
  model: '2pl',
  link: 'stocking-lord',
  groups: ['device'],
  minAnswers: 200,
  pause: async () => {},
};

test('adaptive sittings under the harsh bank: b is found, and its errors are honest', async (t) => {
  const run = await calibrated('digital', 'harsh', 400, 'small');
  const { errors, before, held } = recovery(run, [60, 10_000]);
  const after = rootMeanSquare(errors);
  t.diagnostic(`RMSE of b: ${show(after)}, before ${show(rootMeanSquare(before))}; ${run.seconds.toFixed(1)} s`);
  assert.ok(errors.length > 60);
  assert.ok(after.value + 2 * after.se < 0.7 * rootMeanSquare(before).value);
  const share = held.reduce((sum, one) => sum + one, 0) / held.length;
  assert.ok(share > 0.88, `${share} of the intervals hold the truth`);
  // The discriminations of the harsh bank are 0.8 of the bank's.
  const factor = Math.exp(run.found.prior.shifts.discrimination!);
  assert.ok(factor > 0.72 && factor < 0.9, `${factor}`);
  assert.equal(coverage(run, 20, true).length, 20);
});

test('half a logit of DIF with 500 answers in each group is found, and little else', async (t) => {
  const items = (await Promise.all([difFound('small', 0), difFound('small', 0.5)])).flat();
  const share = (hasDif: boolean) => {
    const own = items.filter((item) => item.hasDif === hasDif);
    return own.reduce((sum, { significant }) => sum + significant, 0) / own.length;
  };
  t.diagnostic(`power ${share(true)}, false alarms ${share(false)}`);
  assert.ok(share(true) >= 0.8 && share(false) <= 0.1);
});

/** Sittings of a stronger group, with one anchor that has become harder. */
async function anchored(drifted: number) {
  const items = comparedItems(0);
  const now = items.map((item, i) => ({ ...item, b: item.b + (i === drifted ? 0.9 : 0) - 0.4 }));
  const bank = toCalibrate(items.map((item, i) => (i < 20 ? item : { ...item, b: item.b + 0.3 })));
  const answers = answersOf(randomSittings(now, 1500, 20, drawsOf('anchors')));
  return { items, found: await calibrate(answers, bank, (i) => i < 20, options) };
}

test('anchors hold the scale, the group is free, and an anchor that drifted is let go', async () => {
  const { items, found } = await anchored(7);
  // Of 19 sound anchors, one in a hundred is let go by chance.
  assert.ok(found.anchors! >= 17 && found.anchors! <= 19, `${found.anchors}`);
  assert.ok(Math.abs(found.group.mean - 0.4) < 0.1 && Math.abs(found.group.sd - 1) < 0.1, JSON.stringify(found.group));
  const by = new Map(found.items.map((one) => [one.index, one]));
  for (const { index, parameters, errors } of found.items.filter(({ isAnchor }) => isAnchor)) {
    assert.deepEqual(parameters, items[index]);
    assert.equal(errors, null);
  }
  assert.ok(by.get(7)!.drift!.hasDrifted && !by.get(7)!.isAnchor);
  assert.ok(Math.abs(by.get(7)!.drift!.shift - 0.9) < 0.25, `${by.get(7)!.drift!.shift}`);
  const free = rootMeanSquare([20, 21, 22, 23, 24, 25, 26].map((i) => by.get(i)!.parameters.b - items[i]!.b));
  assert.ok(free.value < 0.15, show(free));
});

test('an item that answers do not follow is flagged for fit, and so is one that another version made harder', async () => {
  const items = comparedItems(0);
  const draw = drawsOf('misfit');
  const sittings = randomSittings(items, 2000, 20, draw).map((own, s) =>
    own.map(({ item, right }) => ({
      item,
      // Everybody answers item 3 right with one chance. Item 5 became harder in the second version.
      right: item === 3 ? draw.float() < 0.6 : right && !(item === 5 && s >= 1000 && draw.float() < 0.3),
      version: s < 1000 ? '1-aaa' : '2-bbb',
    })),
  );
  const { items: results } = await calibrate(answersOf(sittings), toCalibrate(items), () => false, options);
  const flagged = (of: (one: (typeof results)[number]) => boolean | undefined) =>
    results.filter(of).map(({ index }) => index);
  assert.deepEqual(
    flagged(({ fit }) => fit!.isFlagged),
    [3, 5],
  );
  assert.deepEqual(
    flagged(({ versions }) => versions!.hasDrifted),
    [5],
  );
  const [before, after] = results.find(({ index }) => index === 5)!.versions!.shifts;
  assert.ok(before!.version === '1-aaa' && before!.shift < 0 && after!.shift > 0);
});

test('an item without answers keeps its parameters, and few answers move it little', async () => {
  const items = comparedItems(0).slice(0, 12);
  const bank = toCalibrate([...items, { a: 1, b: 0.7, c: 0.25 }, { a: 1, b: 0, c: 0 }]);
  const draw = drawsOf('few');
  const sittings = randomSittings(items, 300, 10, draw);
  sittings[0]!.push({ item: 13, right: true });
  const prior = new BankPrior(bank);
  const found = await estimate(answersOf(sittings), bank, { model: '3pl', prior, isGroupFree: false });
  assert.deepEqual(found.items[12], { a: 1, b: 0.7, c: 0.25 });
  const mean = prior.mean(13)[1];
  assert.ok(found.items[13]!.b < mean && found.items[13]!.b > mean - 0.15, `${found.items[13]!.b}, ${mean}`);
});

test('a stop between two rounds ends the calibration', async () => {
  const items = comparedItems(0);
  const answers = answersOf(randomSittings(items, 50, 20, drawsOf('stop')));
  const stop = new Error('stopped');
  const pause = async (step: string) => {
    if (step === 'parameters, round 2') throw stop;
  };
  await assert.rejects(
    calibrate(answers, toCalibrate(items), () => false, { ...options, pause }),
    stop,
  );
});
