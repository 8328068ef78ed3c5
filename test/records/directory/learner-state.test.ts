import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { storedColumns } from '../../../src/records/results/body.ts';
import type { RecordedResult } from '../../../src/records/directory/learner-page.ts';
import { rungsOf, learnerStateOf } from '../../../src/records/directory/learner-state.ts';
import type { ResultInput } from '../../support/scenario.ts';
import { contentOf } from '../../support/scenario.ts';

/** Where a result is drawn on its subject's ladder, and how far its interval reaches. */

const cuts = [-2, -1, 0, 1, 2, 3].map((theta) => ({ theta }));

function result(
  input: ResultInput & { working_level?: string | null; level_probabilities?: Record<string, number> },
  irt?: { theta: number; ci: { low: number; high: number } },
): RecordedResult {
  const { working_level, level_probabilities = null } = input;
  const content = contentOf(input);
  const body = storedColumns({
    ...content,
    level_probabilities,
    ...(working_level === undefined ? {} : { working_level }),
  }).body;
  const scored = irt === undefined ? null : JSON.stringify({ irt, cuts });
  const source = scored === null ? 'imported' : 'sitting';
  return { assessment_id: 'a', deleted: false, position: 1, assessed_at: content.assessed_at_us, source, body, scored };
}

suite('where a result stands', () => {
  test('a sitting’s estimate lies between the cuts of its bank, its interval names the levels that it touches', () => {
    const standing = learnerStateOf(
      result({ level: 3, working_level: 'Level 1' }, { theta: 1.5, ci: { low: 0.5, high: 2 } }),
    )!;
    assert.equal(standing.at, 4.5);
    // The upper end lies where Level 2 begins: it isn't reached.
    assert.deepEqual(standing.interval, { low: 3.5, high: 5, from: 'Entry Level 3', to: 'Level 1' });
  });

  test('it is drawn within the level of the result, also where an amendment or a rule has moved that', () => {
    const above = learnerStateOf(
      result({ level: 3, working_level: 'Level 1' }, { theta: 2.9, ci: { low: 2, high: 3.5 } }),
    )!;
    assert.ok(above.at! > 4 && above.at! < 5);
    const below = learnerStateOf(
      result({ level: 3, working_level: 'Level 1' }, { theta: -9, ci: { low: -9, high: -3 } }),
    )!;
    assert.ok(below.at! > 4 && below.at! < 5);
    assert.deepEqual(below.interval, { low: 0, high: 0, from: rungsOf('maths')[0], to: rungsOf('maths')[0] });
  });

  test('no end reaches beyond the ladder, however able or unable', () => {
    for (const theta of [-1e9, -2, -1.99, 0, 2.99, 3, 1e9]) {
      const { at, interval } = learnerStateOf(
        result({ working_level: null }, { theta, ci: { low: theta, high: theta } }),
      )!;
      for (const value of [at!, interval!.low, interval!.high]) assert.ok(value >= 0 && value <= 7, String(theta));
      assert.ok(rungsOf('maths').includes(interval!.from) && rungsOf('maths').includes(interval!.to));
    }
  });

  test('an imported result stands in the middle of its level; probabilities give it an interval', () => {
    assert.deepEqual(
      [learnerStateOf(result({ level: 3 }))!.at, learnerStateOf(result({ level: 3 }))!.interval],
      [4.5, null],
    );
    const level_probabilities = { 'Entry Level 2': 0.02, 'Entry Level 3': 0.08, 'Level 1': 0.8, 'Level 2': 0.1 };
    assert.deepEqual(learnerStateOf(result({ level: 3, level_probabilities }))!.interval, {
      low: 3,
      high: 6,
      from: 'Entry Level 3',
      to: 'Level 2',
    });
    assert.equal(learnerStateOf(result({ level: 3, level_probabilities: { Other: 1 } }))!.interval, null);
  });

  test('what no rung is called is drawn nowhere, what is withdrawn is nothing', () => {
    assert.equal(learnerStateOf(result({ level: 2 }))!.at, null, 'Entry Level as a whole has no rung in maths');
    assert.equal(learnerStateOf(result({ level: 2, subject: 'digital' }))!.at, 1.5);
    assert.equal(learnerStateOf(result({ level: 3, working_level: 'Bronze' }))!.at, null);
    assert.equal(learnerStateOf(result({ level: 1 }))!.level, 'Working towards Entry Level');
    assert.equal(learnerStateOf({ ...result({}), body: null }), null);
  });
});
