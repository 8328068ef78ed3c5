import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resultWords } from '../../../src/web/player/words.ts';
import { contentOf } from '../../support/scenario.ts';

const saysClose = (level_probabilities: Record<string, number> | null, is_borderline: boolean, byPerson = false) =>
  /close to the line/.test(
    resultWords({ ...contentOf({}), is_borderline, level_probabilities }, byPerson).sentences.join(' '),
  );

test('a learner reads that a line is close only if the likeliest level has less than 0.7, whatever is_borderline says', () => {
  for (const flag of [true, false]) {
    for (let n = 70; n <= 100; n++) {
      const probabilities = { 'Level 1': n / 100, 'Level 2': (100 - n) / 100 };
      assert.ok(!saysClose(probabilities, flag), String(n));
    }
    for (const n of [50, 60, 65, 69]) {
      const probabilities = { 'Level 1': n / 100, 'Level 2': (100 - n) / 100 };
      assert.ok(saysClose(probabilities, flag), String(n));
      assert.ok(!saysClose(probabilities, flag, true), 'a person set the level');
    }
    assert.ok(!saysClose({ 'Entry Level 3': 0.16, 'Level 1': 0.68, 'Level 2': 0.16 }, flag), 'no line is near');
    assert.ok(!saysClose(null, flag), 'an imported result');
  }
});
