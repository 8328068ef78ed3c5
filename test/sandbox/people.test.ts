import { suite, test } from 'node:test';
import assert from 'node:assert/strict';
import { plan, learners, near, shareOf } from './planned.ts';
import { nameStocks } from '../../src/sandbox/data/people.ts';

/** Two letters, six digits and a letter, wherever and however they are separated. */
const nationalInsurance = /[A-Z]{2}\d{6}[A-D]/i;
const looksLikeNationalInsurance = (text: string): boolean =>
  nationalInsurance.test(text.replace(/[^\p{L}\p{N}]/gu, ''));

suite('learners', () => {
  test('references are unique, opaque and of the pattern', () => {
    const refs = learners.flatMap((learner) => (learner.ref === null ? [] : [learner.ref]));
    assert.equal(new Set(refs).size, refs.length);
    for (const ref of refs) {
      assert.match(ref, /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,99}$/);
      assert.ok(!looksLikeNationalInsurance(ref), ref);
    }
    for (const character of './:_-')
      assert.ok(
        refs.some((ref) => ref.includes(character)),
        character,
      );
    near(1 - refs.length / learners.length, 0.03, 0.01, 'share without a reference');
    assert.match(plan.learner(1_000_000).ref ?? 'x', /1000000|x/);
  });

  test('a reference never holds a part of the name', () => {
    for (const { ref, full_name } of learners) {
      for (const part of full_name.toLowerCase().split(/[^\p{L}\p{M}]+/u)) {
        if (part.length > 3 && ref !== null) assert.ok(!ref.toLowerCase().includes(part), ref);
      }
    }
  });

  test('names are tidy and of every shape', () => {
    for (const { full_name } of learners) {
      assert.equal(full_name, full_name.trim().replace(/\s+/g, ' '));
      assert.ok(full_name.length >= 1 && full_name.length <= 200, full_name);
      assert.match(full_name, /^[\p{L}\p{M}'’. \-־]+$/u);
    }
    const some = (what: string, test: (name: string) => boolean): void =>
      assert.ok(
        learners.some(({ full_name }) => test(full_name)),
        what,
      );
    some('apostrophe', (name) => name.includes("'"));
    some('typographic apostrophe', (name) => name.includes('’'));
    some('hyphen', (name) => name.includes('-'));
    some('over 60 characters', (name) => name.length > 60);
    some('decomposed', (name) => name !== name.normalize('NFC'));
    some('Latin letter with a combining mark that has no composed form', (name) =>
      /\p{Script=Latin}\p{M}/u.test(name.normalize('NFC')),
    );
    near(
      shareOf(learners, ({ full_name }) => /^\p{Script=Latin}[\p{L}\p{M}']+$/u.test(full_name)),
      0.01,
      0.007,
      'single names',
    );
    assert.ok(new Set(learners.map(({ full_name }) => full_name)).size > learners.length * 0.8);
  });

  test('names stand in every script, nine in ten in Latin', () => {
    const scripts = [
      'Arabic',
      'Hebrew',
      'Greek',
      'Cyrillic',
      'Devanagari',
      'Bengali',
      'Gurmukhi',
      'Tamil',
      'Ethiopic',
      'Thai',
      'Han',
      'Hiragana',
      'Hangul',
    ];
    for (const script of scripts) {
      const letters = new RegExp(`\\p{Script=${script}}`, 'u');
      assert.ok(
        learners.some(({ full_name }) => letters.test(full_name)),
        script,
      );
    }
    near(
      shareOf(learners, ({ full_name }) => /\p{Script=Latin}/u.test(full_name)),
      0.89,
      0.03,
      'share in Latin script',
    );
  });

  test('every stock of names has a form of the family name for each sex', () => {
    for (const stock of nameStocks) {
      if (stock.familiesOfWomen !== undefined)
        assert.equal(stock.familiesOfWomen.length, stock.families.length, stock.families.join(' '));
    }
  });
});
