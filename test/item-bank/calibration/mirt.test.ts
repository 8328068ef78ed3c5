import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { standardErrors } from '../../../tools/item-bank/calibration/errors.ts';
import { estimate } from '../../../tools/item-bank/calibration/mml.ts';
import type { Model } from '../../../tools/item-bank/calibration/mml.ts';
import type { Prior } from '../../../tools/item-bank/calibration/priors.ts';
import { answersOf, comparedItems, comparedSittings, toCalibrate } from './simulated.ts';

type Row = [a: number, seA: number, b: number, seB: number, c?: number, seC?: number];
const mirt = JSON.parse(readFileSync(new URL('mirt.json', import.meta.url), 'utf8')) as Record<Model, { items: Row[] }>;

/** No prior on a and b, and on logit c the one that mirt had. */
const prior: Prior = {
  integratesB: false,
  mean: () => [0, 0, Math.log(0.25)],
  precision: () => [0, 0, 1 / 0.5 ** 2],
};

async function calibrated(model: Model) {
  const c = model === '2pl' ? 0 : 0.2;
  const answers = answersOf(comparedSittings(c));
  const items = toCalibrate(comparedItems(c).map(() => ({ a: 1, b: 0, c })));
  const found = await estimate(answers, items, { model, prior, isGroupFree: false, tolerance: 1e-6 });
  return { found, errors: await standardErrors(answers, items, found, { model, prior }) };
}

const near = (x: number, y: number, by: number, what: string) =>
  assert.ok(Math.abs(x - y) <= by, `${what}: ${x} against ${y}`);

suite('estimates and standard errors agree with mirt', () => {
  for (const [name, model] of [
    ['2PL, each sitting with 20 of 30 items', '2pl'],
    ['3PL with a prior on c', '3pl'],
  ] as const)
    test(name, async () => {
      const { found, errors } = await calibrated(model);
      assert.ok(found.hasConverged);
      if (model === '2pl') near(found.logLikelihood, -20_563.38, 0.01, 'log likelihood');
      mirt[model].items.forEach(([a, seA, b, seB, c, seC], i) => {
        near(found.items[i]!.a, a, 1e-4, `a of item ${i}`);
        near(found.items[i]!.b, b, 1e-4, `b of item ${i}`);
        near(errors[i]!.a / seA, 1, 0.002, `error of a of item ${i}`);
        near(errors[i]!.b / seB, 1, 0.002, `error of b of item ${i}`);
        if (c === undefined) return;
        near(found.items[i]!.c, c, 1e-4, `c of item ${i}`);
        near(errors[i]!.c! / seC!, 1, 0.002, `error of c of item ${i}`);
      });
    });
});
