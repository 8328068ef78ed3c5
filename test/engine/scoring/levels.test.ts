import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publishedLevels } from '../../../src/engine/scoring/levels.ts';
import type { Placement, Subject } from '../../../src/engine/scoring/levels.ts';

const table: [Subject, Placement, string | null, number | null, boolean, string, string | null][] = [
  ['maths', 'below_entry', null, null, true, 'Working towards Entry Level', 'Entry Level 1'],
  ['maths', 'entry1', 'Entry Level', 1, true, 'Entry Level 1', 'Entry Level 2'],
  ['english', 'entry2', 'Entry Level', 1, true, 'Entry Level 2', 'Entry Level 3'],
  ['english', 'entry3', 'Entry Level', 1, true, 'Entry Level 3', 'Level 1'],
  ['maths', 'level1', 'Level 1', 2, false, 'Level 1', 'Level 2'],
  ['maths', 'level2', 'Level 2', 3, false, 'Level 2', 'Level 3'],
  ['english', 'level3', 'Level 3', 5, false, 'Level 3', null],
  ['digital', 'below_entry', null, null, true, 'Working towards Entry Level', 'Entry Level'],
  ['digital', 'entry', 'Entry Level', 1, true, 'Entry Level', 'Level 1'],
  ['digital', 'level1', 'Level 1', 2, false, 'Level 1', 'Level 2'],
  ['digital', 'level2', 'Level 2', 3, false, 'Level 2', 'Level 3'],
  ['digital', 'level3', 'Level 3', 5, false, 'Level 3', null],
];

for (const [
  subject,
  placement,
  rqf_level,
  rqf_level_code,
  below_level_1,
  working_level,
  recommended_next_level,
] of table) {
  test(`${subject}, ${placement}`, () => {
    assert.deepEqual(publishedLevels(subject, placement), {
      rqf_level,
      rqf_level_code,
      below_level_1,
      working_level,
      recommended_next_level,
    });
  });
}

test('a level that the subject lacks is refused', () => {
  assert.throws(() => publishedLevels('digital', 'entry2'), RangeError);
  assert.throws(() => publishedLevels('maths', 'entry'), RangeError);
});
