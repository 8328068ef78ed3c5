import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { checkBank } from '../../tools/item-bank/check.ts';
import { factsOfItem } from '../../tools/item-bank/checks/facts.ts';
import { readingsFindings, unread } from '../../tools/item-bank/checks/readings.ts';
import type { Readings } from '../../tools/item-bank/checks/readings.ts';
import { itemHash } from '../../src/engine/item-bank/item-hash.ts';
import { loadBank } from '../../src/engine/item-bank/load.ts';
import { readBankFiles } from '../../tools/item-bank/files.ts';
import type { Item } from '../../src/engine/item-bank/schema.ts';
import { examples, guideItems } from '../engine/item-bank/examples.ts';
import shipped from '../../tools/item-bank/readings.json' with { type: 'json' };

/** Rules about what an item measures, which statement it asks for, and whether a second reader agrees. */

const example = (type: Item['type']): Item => structuredClone(guideItems.find((item) => item.type === type)!);
const changed = (type: Item['type'], change: object): Item => ({ ...example(type), ...change }) as Item;

function found(rule: string, ...items: Item[]): string[] {
  return checkBank({ number: 1, items, passages: [] }, [], 1)
    .findings.filter((finding) => finding.rule === rule)
    .map(({ id, message }) => `${id}: ${message}`);
}

suite('what an item measures', () => {
  const menu = (id: string, ...texts: string[]) => ({
    id,
    control: 'select',
    label: `Field ${id}`,
    options: texts.map((text, at) => ({ id: `o${at}`, text })),
  });
  const fields = [menu('a', 'Never', 'Every day'), menu('b', 'Paper', 'Cloud storage'), menu('c', 'Loud', 'Quiet')];
  const task = (stem: string, more: object = {}) =>
    changed('task', {
      stem: [stem],
      screen: fields.map(({ id }) => ({ block: 'field', field: id })),
      fields,
      key: { a: 'o1', b: 'o1', c: 'o1' },
      distractor_rationales: {},
      ...more,
    });

  test('a task that tells its settings word for word measures reading; one that tells the need does not', () => {
    assert.equal(found('tasks', task('Back up every day to cloud storage, quiet.')).length, 1);
    assert.deepEqual(found('tasks', task('Her photos must survive if she loses her phone. She sleeps beside it.')), []);
  });
  test('an ordering whose stem names the steps in their order is found', () => {
    const options = ['Change the password', 'Report the theft', 'Restore the backup'].map((text, at) => ({
      id: 'bca'[at]!,
      text,
    }));
    const ordering = (stem: string) =>
      changed('ordering', { stem: [stem], options, key: ['b', 'c', 'a'], distractor_rationales: {} });
    assert.equal(found('ordering', ordering('First change the password, then report it, then restore.')).length, 1);
    assert.deepEqual(found('ordering', ordering('Your laptop was stolen. What do you do?')), []);
  });
  test('keys at one place, the longest option as the key, and one order of the steps are found', () => {
    const id = (n: number) => `eng-l1-spell-${String(n).padStart(3, '0')}`;
    const texts = ['one', 'three', 'five', 'seventeen'];
    const choices = (keyAt: (n: number) => number) =>
      Array.from({ length: 24 }, (_, n) => {
        const options = texts.map((text, at) => ({ id: 'abcd'[at]!, text }));
        const key = options[keyAt(n)]!.id;
        return changed('single_choice', {
          id: id(n),
          options,
          key,
          distractor_rationales: {},
        });
      });
    const at = (rule: string) => rule.replace(/^null: /u, '');
    assert.deepEqual(found('positions', ...choices((n) => n % 4)), []);
    assert.deepEqual(found('positions', ...choices((n) => (n % 2 === 0 ? 1 : [0, 2, 3][n % 3]!))).map(at), [
      'english: 12 of 24 single choices of 4 options have option 2 as their key',
    ]);
    assert.deepEqual(found('positions', ...choices((n) => (n % 8 < 4 ? 3 : n % 3))).map(at), [
      'english: 12 of 24 single choices of 4 options have option 4 as their key',
      'english: 12 of 24 single choices of 4 options have the longest option as their key',
    ]);
    const orderings = Array.from({ length: 24 }, (_, n) => {
      const options = texts.map((text, place) => ({
        id: 'abcd'[place]!,
        text,
      }));
      const key = n % 3 === 0 ? ['b', 'd', 'a', 'c'] : ['c', ...(n % 2 ? ['a', 'b', 'd'] : ['d', 'b', 'a'])];
      return changed('ordering', {
        id: id(n),
        options,
        key,
        distractor_rationales: {},
      });
    });
    assert.match(found('positions', ...orderings)[0]!, /8 of 24 orderings of 4 steps have the solution 2, 4, 1, 3$/u);
  });
  test('a choice is never harder than its typed twin', () => {
    const typed = changed('short_text', { id: 'eng-l1-spell-001', level: 'level1', statement: 'eng-l1-21', b: 0 });
    const choice = (b: number) =>
      changed('single_choice', {
        id: 'eng-l1-spell-002',
        domain: 'spelling',
        skill: typed.skill,
        statement: 'eng-l1-21',
        skill_group: 'common_words',
        b,
      });
    assert.equal(found('twins', typed, choice(0.1)).length, 1);
    assert.deepEqual(found('twins', typed, choice(-0.1)), []);
  });
  test('jokes, and questions with more words than their level bears, are found', () => {
    const options = ['is', 'are', 'were', 'silly you'].map((text, at) => ({ id: 'abcd'[at]!, text }));
    assert.equal(found('distractors', changed('single_choice', { options, key: 'a' })).length, 1);
    assert.equal(found('reading load', changed('ordering', { stem: ['word '.repeat(70).trim()] })).length, 1);
  });
});

suite('facts', () => {
  const numeric = (stem: string) => factsOfItem({ ...examples.numeric, stem: [stem] });
  test('pay below the living wage, prices that no shop has, and things that are gone', () => {
    assert.match(numeric('Jo earns £11 an hour.')[0]!, /below the National Living Wage/u);
    assert.deepEqual(numeric('Jo earns £16 an hour.'), []);
    assert.deepEqual(numeric('The park charges £2 an hour. Jo works near it.'), []);
    assert.match(numeric('A stamp costs 16p.')[0]!, /a stamp for £0\.16/u);
    assert.match(numeric('A sofa costs £40.')[0]!, /a sofa for £40\.00/u);
    assert.deepEqual(numeric('A sofa costs £640.'), []);
    assert.match(numeric('Look for the padlock.')[0]!, /padlock/u);
  });
});

suite('statements', () => {
  const choice = (change: object) => found('statements', changed('single_choice', change)).join();
  test('are of the item’s subject, and of its level or a lower one', () => {
    assert.equal(choice({}), '');
    assert.equal(choice({ statement: 'eng-e3-15' }), '');
    assert.match(choice({ statement: 'eng-l2-21' }), /higher level/u);
    assert.match(choice({ statement: 'mat-l1-20' }), /another subject/u);
    assert.match(choice({ statement: 'eng-l1-99' }), /no statement/u);
    assert.match(choice({ statement: undefined }), /coded to no statement/u);
    assert.match(choice({ statement: 'eng-l1-15' }), /can't be asked without pictures/u);
    assert.match(choice({ skill_group: 'capitals' }), /not one of grammar/u);
  });
  test('a retired item counts for nothing, and can still be found', () => {
    const id = 'eng-e3-punct-005';
    assert.equal(loadBank().item(id)?.state, 'retired');
    assert.ok(loadBank().subjects.english.items.every((item) => item.id !== id));
    assert.deepEqual(found('statements', changed('single_choice', { state: 'retired', statement: undefined })), []);
  });
});

suite('readings', () => {
  const item = example('single_choice');
  const hash = itemHash(item, null);
  const files = { items: [item], passages: [] };
  const readings = (...list: Readings['readings']): Readings => ({ first_edition: {}, readings: list });
  const messages = (given: Readings, of = files) => readingsFindings(of, given).map(({ message }) => message);

  test('an item waits until somebody has answered it, and is found if the answer differs from the key', () => {
    assert.match(messages(readings())[0]!, /1 items wait/u);
    assert.deepEqual(messages(readings({ item: item.id, hash, answer: 'b', note: 'clear' })), []);
    assert.match(messages(readings({ item: item.id, hash, answer: 'a', note: 'names' }))[0]!, /the key calls wrong/u);
    assert.deepEqual(messages({ first_edition: { [item.id]: hash }, readings: [] }), []);
  });
  test('a changed question has to be read again; a changed parameter or code has not', () => {
    const reading = { item: item.id, hash, answer: 'b', note: 'clear' };
    const with_ = (change: object) => ({ items: [{ ...item, ...change } as Item], passages: [] });
    assert.deepEqual(messages(readings(reading), with_({ b: 0.2, rationale: 'Other words.', skill: 'Other.' })), []);
    assert.match(messages(readings(reading), with_({ stem: ['Another question.'] }))[0]!, /wait/u);
  });
  test('answers to every type are taken as the guide of the export says', () => {
    const answers: Record<string, unknown> = {
      multiple_choice: ['b', 'd'],
      numeric: '£7.20',
      short_text: 'know',
      ordering: ['c', 'd', 'a', 'b'],
      matching: { f1: 'p3', f2: 'p2', f3: 'p1' },
      hotspot: ['w3'],
      task: { to: 'dana', cc: 'none', subject: 'time', file: 'sheet', button: 'send' },
    };
    for (const [type, answer] of Object.entries(answers)) {
      const one = example(type as Item['type']);
      const reading = {
        item: one.id,
        hash: itemHash(one, null),
        answer,
        note: 'clear',
      } as Readings['readings'][number];
      assert.deepEqual(messages(readings(reading), { items: [one], passages: [] }), [], type);
    }
  });
  test('of the shipped bank agree with its keys', () => {
    const errors = readingsFindings(readBankFiles(), shipped as unknown as Readings).filter(
      ({ severity }) => severity === 'error',
    );
    assert.deepEqual(errors, []);
  });
  test('the export shows the question and neither key nor reasons', () => {
    const [shown] = unread(files, readings()) as Record<string, unknown>[];
    const text = JSON.stringify(shown);
    assert.match(text, /The list of names/u);
    for (const hidden of ['"key"', 'rationale', 'singular', '"b":', 'provisional'])
      assert.ok(!text.includes(hidden), hidden);
  });
});
