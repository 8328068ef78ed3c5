import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ResultContent } from '../../src/records/results/body.ts';
import { resultWords } from '../../src/web/player/words.ts';
import { levelsOf, publishedLevels, subjects } from '../../src/engine/scoring/levels.ts';
import { frameworkOf } from '../../src/sittings/scoring/standards.ts';

suite('a level above the standards', () => {
  const above = { digital: ['Level 2', 'Level 3'], english: ['Level 3'], maths: ['Level 3'] };
  for (const subject of subjects)
    for (const placement of ['below_entry', ...levelsOf(subject)] as const) {
      const level = publishedLevels(subject, placement);
      const isAbove = level.rqf_level !== null && above[subject].includes(level.rqf_level);
      test(`${subject}, ${level.working_level}: ${isAbove ? 'named as an extension' : 'not spoken of'}`, () => {
        const framework = frameworkOf(subject, level.rqf_level);
        assert.equal(framework.includes('an extension to Level '), isAbove);
        assert.equal(framework.endsWith('that is not part of the standards'), isAbove);
        assert.doesNotMatch(framework, /descriptor/);
        const content: ResultContent = {
          assessed_at_us: 0,
          subject,
          framework,
          ...level,
          is_borderline: false,
          needs_review: false,
          domains: [],
          level_probabilities: null,
        };
        const words = resultWords(content).sentences.join(' ');
        assert.equal(
          /Level\s\d of this assessment is an extension\. It is not part of the national/.test(words),
          isAbove,
        );
      });
    }
});
