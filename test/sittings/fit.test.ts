import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { loadBank } from '../../src/engine/item-bank/load.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import type { ScoredItem } from '../../src/engine/scoring/cuts.ts';
import { probability } from '../../src/engine/scoring/irt.ts';
import { FitSums, reportFit } from '../../src/sittings/scoring/fit.ts';
import { withService } from '../support/service.ts';
import { invited } from './learner.ts';

const item: ScoredItem = {
  id: 'mat-l1-num-001',
  subject: 'maths',
  domain: 'Number and the number system',
  level: 'level1',
  a: 1.2,
  b: 0.1,
  c: 0,
};

/** 2,000 learners near the item, who answer as an item with these parameters would have it. */
function sums(answersAs: Partial<ScoredItem>, reversed = false): FitSums {
  const random = seededRandom(`fit ${JSON.stringify(answersAs)} ${reversed}`);
  const made = new FitSums();
  for (let i = 0; i < 2000; i++) {
    const theta = 4 * random.float() - 2;
    const right = random.float() < probability({ ...item, ...answersAs }, theta);
    made.add(item, theta, right !== reversed ? 'right' : 'wrong');
  }
  return made;
}

test('answers that obey the model raise no flag', () => {
  const fit = sums({}).of(item, '1', 4000);
  assert.deepEqual(fit.flags, []);
  assert.equal(fit.exposure, 0.5);
  assert.ok(
    Math.abs(fit.z!) < 3 && Math.abs(fit.infit! - 1) < 0.1 && Math.abs(fit.right_share! - fit.expected_share!) < 0.04,
  );
});

for (const [what, made, flag] of [
  ['harder than calibrated', sums({ b: 0.6 }), 'harder'],
  ['easier than calibrated', sums({ b: -0.4 }), 'easier'],
  ['keyed the wrong way round', sums({}, true), 'misfit'],
] as const) {
  test(`an item that is ${what} is flagged`, () => assert.ok(made.of(item, '1', 4000).flags.includes(flag)));
}

test('an item in most sittings is flagged; with few answers nothing is', () => {
  assert.deepEqual(sums({}).of(item, '1', 2100).flags, ['exposure']);
  const few = new FitSums();
  for (let i = 0; i < 20; i++) few.add(item, 3, i < 2 ? 'skipped' : 'wrong');
  few.add(item, 3, 'not_reached');
  const fit = few.of(item, '1', 21);
  assert.deepEqual([fit.shown, fit.scored, fit.skipped, fit.not_reached, fit.flags.length], [21, 20, 2, 1, 0]);
});

suite('the report over stored sittings', async () => {
  const service = await withService();

  test('counts every completed sitting once, and every item of its bank', async () => {
    const [here, there] = [await service.organisation(), await service.organisation()];
    for (let i = 0; i < 3; i++) await (await invited(service, here, { theta: i - 1 })).sits();
    await (await invited(service, there)).sits();
    await (await invited(service, here)).starts();
    const mine = await reportFit(service.app, [here.id]);
    assert.deepEqual(
      mine.sittings.map(({ subject, completed }) => [subject, completed]),
      [['digital', 3]],
    );
    assert.equal(mine.items.length, loadBank().subjects.digital.items.length);
    const rows = await service.app.db.query<{ count: number }>(
      "select count(*) as count from sitting_item i join sitting s using (organisation_id, sitting_id) where s.organisation_id = $1 and s.status = 'completed'",
      [here.id],
    );
    assert.equal(
      mine.items.reduce((sum, one) => sum + one.shown, 0),
      rows[0]!.count,
    );
    assert.equal((await reportFit(service.app, [here.id, there.id])).sittings[0]!.completed, 4);
  });
});
