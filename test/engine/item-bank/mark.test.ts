import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { fieldNames, mark, rightAnswer } from '../../../src/engine/item-bank/mark.ts';
import type { Answer } from '../../../src/engine/item-bank/mark.ts';
import type { NumericKey, RenderedItem, TextKey } from '../../../src/engine/item-bank/schema.ts';
import { examples } from './examples.ts';

const said = { stem: ['How many?'], rationale: 'Because.', distractor_rationales: {} };
const numeric = (key: NumericKey, beside: { prefix?: string; suffix?: string } = {}): RenderedItem => ({
  type: 'numeric',
  ...said,
  ...beside,
  key,
});
const text = (key: TextKey): RenderedItem => ({ type: 'short_text', ...said, key });
const typed = (value: string): Answer => ({ [fieldNames.answer]: value });

function assertMarks(item: RenderedItem, right: readonly string[], wrong: readonly string[]): void {
  for (const value of right)
    assert.deepEqual(mark(item, typed(value)), { answered: true, correct: true, problem: null }, `“${value}” is right`);
  for (const value of wrong)
    assert.deepEqual(
      mark(item, typed(value)),
      { answered: true, correct: false, problem: null },
      `“${value}” is wrong`,
    );
}

const assertUnreadable = (item: RenderedItem, values: readonly string[]): void => {
  for (const value of values)
    assert.deepEqual(
      mark(item, typed(value)),
      { answered: true, correct: false, problem: 'not_a_number' },
      `“${value}” is no number`,
    );
};

suite('numeric', () => {
  test('reads money with and without its sign, separators and pence', () => {
    const item = numeric({ value: '1234.50', units: ['£', 'pounds'] }, { prefix: '£' });
    assertMarks(
      item,
      [
        '1234.50',
        '1234.5',
        '£1234.50',
        '£1,234.50',
        '£ 1 234.50',
        '1,234.500',
        '1234.50 pounds',
        ' 1234.50 ',
        '１２３４.５０',
        '+1234.50',
        '£1\u202f234.50',
        '£1234.50p',
        '123450p',
        'about 1234.50',
        '£1234.50.',
        '“1234.50”',
        '1234 pounds 50 pence',
        '£1234 and 50p',
      ],
      ['1234', '12345', '-1234.50', '-£1234.50', 'twelve', '1234.50 dollars', '1234.50p'],
    );
    assertUnreadable(item, ['£12,34.50', '1,2345', '12 34', '1.234,50', '£', '1234.5.0', '1e3', '0x10', '--5']);
  });

  test('takes every kind of minus sign', () => {
    assertMarks(
      numeric({ value: '-3', units: ['°C'] }, { suffix: '°C' }),
      ['-3', '−3', '–3', '—3', '﹣3', '- 3', '-3°C', '−3 ℃', '-3.0', '-3 °c'],
      ['3', '+3', '-30'],
    );
  });

  test('takes fractions in any writing, equal in value', () => {
    assertMarks(
      numeric({ value: '3/4' }),
      ['3/4', '¾', '3⁄4', '6/8', '0.75', '.75', '3 / 4', '75/100'],
      ['4/3', '1/4', '0.7', '3/5'],
    );
    assertMarks(numeric({ value: '1 1/2' }), ['1½', '1 1/2', '3/2', '1.5', '1 ½', '1 2/4'], ['11/2', '1.2']);
    assertUnreadable(numeric({ value: '3/4' }), ['3/0', '3/', '/4', '3/4/5', '1 2 3/4']);
  });

  test('asks for the simplest form where the question does', () => {
    assertMarks(numeric({ value: '3/4', form: 'fraction_simplest' }), ['3/4', '¾'], ['6/8', '0.75']);
    assertMarks(
      numeric({ value: '1 1/2', form: 'fraction_simplest' }),
      ['1 1/2', '3/2', '1½'],
      ['1 2/4', '6/4', '1.5'],
    );
    assertMarks(numeric({ value: '0.75', form: 'decimal' }), ['0.75', '.75', '0.750'], ['3/4', '¾']);
    assertMarks(numeric({ value: '12', form: 'whole' }), ['12', '12.0', '012'], ['12.4', '24/2']);
  });

  test('holds the tolerance exactly, end points included', () => {
    const item = numeric({ value: '0.3', tolerance: '0.1' });
    assertMarks(item, ['0.2', '0.4', '0.30000', '2/5', '1/5'], ['0.19999999999', '0.40000000001', '3/7']);
    assertMarks(numeric({ value: '0.3' }), ['0.3', '3/10'], ['0.30000000000000004', '1/3']);
  });

  test('knows a unit however it is written, and wants it only where the question asks', () => {
    const item = numeric({ value: '12', units: ['m²', 'm2', 'square metres'], unit_required: true });
    assertMarks(
      item,
      ['12 m²', '12m2', '12 M²', '12 m^2', '12 square metres', '12 Square  Metres', '12.0 m²'],
      ['12', '13 m²', '12 m', '12 cm²'],
    );
    assertMarks(item, ['120000 cm²', '12 metres squared', '12 sq m', 'twelve square metres'], ['1200 cm²']);
    assertUnreadable(item, ['12 or 13', '12 tins', 'm²']);
    assertMarks(numeric({ value: '2.5', units: ['%'] }, { suffix: '%' }), ['2.5', '2.5%', '2.5 %'], ['25%', '0.025']);
  });

  test('says that nothing was answered for an empty box', () => {
    const item = numeric({ value: '0' });
    for (const empty of ['', '   ', '\u00a0'])
      assert.deepEqual(mark(item, typed(empty)), { answered: false, correct: false, problem: null });
    assert.equal(mark(item, {}).answered, false);
    assert.equal(mark(item, typed('0')).correct, true);
    assert.equal(mark(item, typed('-0')).correct, true);
  });

  test('reads back every decimal that it is given, and never throws', () => {
    fc.assert(
      fc.property(fc.integer({ min: -9_999_999, max: 9_999_999 }), fc.integer({ min: 0, max: 4 }), (n, places) => {
        const value = (n / 10 ** places).toFixed(places);
        assert.equal(mark(numeric({ value }), typed(value)).correct, true);
        assert.equal(
          mark(numeric({ value }), typed(Number(value).toLocaleString('en-GB', { minimumFractionDigits: places })))
            .correct,
          true,
        );
      }),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (value) => {
        mark(numeric({ value: '1', units: ['£', 'kg'] }), typed(value));
      }),
      { numRuns: 300 },
    );
  });

  test('stays fast on long hostile text', () => {
    assert.equal(
      mark(numeric({ value: '1', units: ['kg'] }), typed(`${'1 '.repeat(5_000)}kg`)).problem,
      'not_a_number',
    );
  });
});

suite('short text', () => {
  test('compares exactly, apart from case, spaces, quotes and invisible characters', () => {
    assertMarks(
      text({ accept: ["don't"] }),
      ["don't", "don't.", '“don’t”', 'don’t', 'DON‘T', ' don´t ', 'don\u200b’t'],
      ['dont', 'do not', "dont'"],
    );
    assertMarks(text({ accept: ['café'] }), ['café', 'cafe\u0301', 'CAFÉ'], ['cafe']);
    assertMarks(text({ accept: ['“yes”'] }), ['"yes"', '„yes“', '“Yes”'], ["'yes'"]);
    assertMarks(
      text({ accept: ['well-known'] }),
      ['well-known', 'well\u2010known', 'well\u2011known'],
      ['well known', 'wellknown'],
    );
  });

  test('never marks a near miss right', () => {
    assertMarks(
      text({ accept: ['necessary'] }),
      ['necessary', 'Necessary'],
      ['neccessary', 'necesary', 'necessarry', 'necessar', 'necessaryy', 'nécessary'],
    );
  });

  test('holds the case where it counts', () => {
    assertMarks(text({ accept: ['London'], case_sensitive: true }), ['London', ' London'], ['london', 'LONDON']);
  });

  test('drops spaces and a final stop only where they carry no meaning', () => {
    assertMarks(
      text({ accept: ['=SUM(B2:B5)', '=B2+B3+B4+B5'], ignore_spaces: true }),
      ['=sum( b2 : b5 )', '=B2 + B3 + B4 + B5'],
      ['SUM(B2:B5)', '=SUM(B2;B5)'],
    );
    assertMarks(
      text({ accept: ['I am here'], ignore_final_stop: true }),
      ['I am here.', 'i am here', 'I am here .'],
      ['I amhere'],
    );
    // Where a sentence's end is measured, it has to be there.
    assertMarks(text({ accept: ['I am here.'] }), ['I  am\u00a0here.', '“I am here.”'], ['I am here', 'I am here?']);
    assertMarks(
      text({ accept: ["visitors'"] }),
      ["visitors'", 'visitors’.', '"visitors\'"'],
      ['visitors', "visitor's"],
    );
  });

  test('takes each listed variant', () => {
    assertMarks(text({ accept: ['realise', 'realize'] }), ['realise', 'realize'], ['realis']);
  });

  test('says which form of a time or date is wanted, and only where the rest is right', () => {
    const evening = text({ accept: ['6:30 pm'], kind: 'time', clock: '12' });
    assert.equal(mark(evening, typed('6:30')).problem, 'am_or_pm');
    assert.equal(mark(evening, typed('7:30')).problem, null);
    assert.equal(mark(text({ accept: ['18:30'], kind: 'time', clock: '24' }), typed('6:30 pm')).problem, 'clock_24');
    const day = text({ accept: ['03/05/2026'], kind: 'date', date_form: 'digits' });
    assert.equal(mark(day, typed('3 May 2026')).problem, 'date_digits');
    assert.equal(mark(day, typed('4 May 2026')).problem, null);
  });

  test('is unanswered when nothing visible was typed', () => {
    for (const empty of ['', '  ', '\u200b', '\u00a0'])
      assert.equal(mark(text({ accept: ['a'] }), typed(empty)).answered, false);
  });
});

suite('choices', () => {
  const { single_choice: single, multiple_choice: multiple } = examples;
  test('marks a single choice', () => {
    assert.deepEqual(mark(single, typed('b')), { answered: true, correct: true, problem: null });
    assert.deepEqual(mark(single, typed('a')), { answered: true, correct: false, problem: null });
    assert.equal(mark(single, typed('zz')).correct, false);
    assert.deepEqual(mark(single, { answer: ['a', 'b'] }), { answered: true, correct: false, problem: 'wrong_count' });
    assert.equal(mark(single, typed('')).answered, false);
  });
  test('marks a multiple choice all or nothing', () => {
    assert.equal(mark(multiple, { answer: ['d', 'b'] }).correct, true);
    assert.equal(mark(multiple, { answer: ['b', 'd', 'b'] }).correct, true, 'a value sent twice counts once');
    assert.deepEqual(mark(multiple, { answer: ['b'] }), { answered: true, correct: false, problem: 'wrong_count' });
    assert.deepEqual(mark(multiple, { answer: ['b', 'd', 'a'] }), {
      answered: true,
      correct: false,
      problem: 'wrong_count',
    });
    assert.deepEqual(mark(multiple, { answer: ['b', 'a'] }), { answered: true, correct: false, problem: null });
    assert.equal(mark(multiple, { answer: [] }).answered, false);
  });
  test('marks a hotspot from its list', () => {
    assert.equal(mark(examples.hotspot, typed('w3')).correct, true);
    assert.equal(mark(examples.hotspot, typed('w1')).correct, false);
  });
});

suite('ordering and matching', () => {
  const { ordering, matching } = examples;
  test('wants every position right', () => {
    const right = rightAnswer(ordering);
    assert.deepEqual(mark(ordering, right), { answered: true, correct: true, problem: null });
    assert.deepEqual(mark(ordering, { ...right, position_a: '2', position_d: '3' }), {
      answered: true,
      correct: false,
      problem: null,
    });
    assert.deepEqual(mark(ordering, { ...right, position_a: '2' }), {
      answered: true,
      correct: false,
      problem: 'repeated',
    });
    assert.deepEqual(mark(ordering, { ...right, position_a: '' }), {
      answered: true,
      correct: false,
      problem: 'incomplete',
    });
    assert.equal(mark(ordering, { position_a: '' }).answered, false);
  });
  test('wants every pair right', () => {
    const right = rightAnswer(matching);
    assert.deepEqual(mark(matching, right), { answered: true, correct: true, problem: null });
    assert.deepEqual(mark(matching, { ...right, match_f3: 'p4' }), { answered: true, correct: false, problem: null });
    assert.deepEqual(mark(matching, { match_f1: 'p3' }), { answered: true, correct: false, problem: 'incomplete' });
  });
});

suite('tasks', () => {
  const { task } = examples;
  const right = rightAnswer(task);
  test('is right only when every field that matters is right', () => {
    assert.equal(mark(task, right).correct, true);
    for (const [name, value] of Object.entries({
      task_to: 'dan',
      task_cc: 'all',
      task_subject: 'blank',
      task_file: 'menu',
      task_button: 'save',
    })) {
      assert.equal(mark(task, { ...right, [name]: value }).correct, false, name);
      assert.equal(mark(task, { ...right, [name]: '' }).correct, false, `${name} left empty`);
    }
  });
  test('is unanswered until something differs from its start', () => {
    assert.equal(mark(task, { task_to: 'none', task_cc: 'none', task_subject: 'blank' }).answered, false);
    assert.equal(mark(task, { task_to: 'none', task_file: 'menu' }).answered, true);
  });
  test('marks check boxes, typed text and numbers in fields, and lets other fields be', () => {
    const item: RenderedItem = {
      type: 'task',
      ...said,
      kind: 'spreadsheet',
      title: 'Spreadsheet',
      screen: [],
      fields: [
        {
          id: 'rows',
          control: 'checkboxes',
          label: 'Rows',
          options: [
            { id: 'r1', text: '1' },
            { id: 'r2', text: '2' },
          ],
          initial: ['r1'],
        },
        { id: 'sum', control: 'text', label: 'Formula' },
        { id: 'total', control: 'text', label: 'Total' },
        { id: 'note', control: 'text', label: 'Note' },
      ],
      key: { rows: [], sum: { accept: ['=SUM(A1:A2)'], ignore_spaces: true }, total: { value: '1250', units: ['£'] } },
    };
    assert.equal(mark(item, { task_sum: '=sum(A1:A2)', task_total: '£1,250' }).correct, true);
    assert.equal(mark(item, { task_sum: '=sum(A1:A2)', task_total: '£1,250', task_note: 'anything' }).correct, true);
    assert.equal(mark(item, { task_rows: 'r1', task_sum: '=sum(A1:A2)', task_total: '1250' }).correct, false);
    assert.equal(mark(item, { task_sum: '=sum(A1:A2)' }).correct, false);
  });
});

suite('any answer at all', () => {
  test('never throws, never takes the prototype for a field, and never depends on other fields', () => {
    const values = fc.oneof(fc.string({ maxLength: 20 }), fc.array(fc.string({ maxLength: 5 }), { maxLength: 4 }));
    const answers = fc.dictionary(
      fc.oneof(
        fc.constantFrom('answer', '__proto__', 'constructor', 'position_a', 'match_f1', 'task_to'),
        fc.string({ maxLength: 8 }),
      ),
      values,
    );
    fc.assert(
      fc.property(fc.constantFrom(...Object.values(examples)), answers, (item, answer) => {
        const marked = mark(item, answer);
        assert.equal(marked.correct && !marked.answered, false);
        assert.deepEqual(mark(item, { ...rightAnswer(item), other: 'x' }), {
          answered: true,
          correct: true,
          problem: null,
        });
      }),
      { numRuns: 300 },
    );
  });
});
