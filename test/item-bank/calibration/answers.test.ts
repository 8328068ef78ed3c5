import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { AnswersFault, AnswersReader } from '../../../tools/item-bank/calibration/answers.ts';

const known = new Map([
  ['mat-1', { subject: 'maths' as const, index: 0, hash: 'aa' }],
  ['mat-2', { subject: 'maths' as const, index: 1, hash: 'bb' }],
  ['eng-1', { subject: 'english' as const, index: 0, hash: 'cc' }],
]);
const head =
  'sitting,subject,item,item_hash,position,answered_at_month,score,max_score,state,working_ms,device,extra_time,language,bank_version,outcome';
const row = (changes: Record<string, string> = {}) => {
  const cells: Record<string, string> = {
    ...{ sitting: '1', subject: 'maths', item: 'mat-1', item_hash: 'aa', position: '1', answered_at_month: '2026-11' },
    ...{ score: '1', max_score: '1', state: 'live', working_ms: '900', device: 'phone', extra_time: 'no' },
    ...{ language: 'en', bank_version: '1-abc', outcome: 'answered' },
    ...changes,
  };
  return head
    .split(',')
    .map((column) => cells[column])
    .join(',');
};

function read(...lines: string[]) {
  const reader = new AnswersReader(known);
  for (const line of lines) reader.add(line);
  return reader.end();
}

suite('what is read', () => {
  test('sittings in any order of lines, answers in their order', () => {
    const { answers, notReached, otherWording } = read(
      `\uFEFF${head}`,
      row({ sitting: '2', item: 'mat-2', item_hash: 'bb', position: '2', score: '0' }),
      row(),
      row({ sitting: '2' }),
      '',
      row({ sitting: '3', subject: 'english', item: 'eng-1', item_hash: 'cc', outcome: 'skipped', score: '0' }),
    );
    const maths = answers.get('maths')!;
    assert.deepEqual([...maths.starts], [0, 2, 3]);
    assert.deepEqual([...maths.items], [0, 1, 0]);
    assert.deepEqual([...maths.rights], [1, 0, 1]);
    assert.deepEqual(maths.labels.device.texts, ['phone']);
    assert.deepEqual([...answers.get('english')!.rights], [0], 'skipped is wrong');
    assert.deepEqual([notReached, otherWording], [0, 0]);
  });

  test('a question that was not reached, and another wording, are left out', () => {
    const { answers, notReached, otherWording } = read(
      head,
      row({ outcome: 'not_reached', score: '' }),
      row({ item_hash: 'old' }),
    );
    assert.deepEqual([answers.size, notReached, otherWording], [0, 1, 1]);
  });

  test('a partial score is not right', () => {
    const { answers } = read(head, row({ score: '1', max_score: '2' }));
    assert.deepEqual([...answers.get('maths')!.rights], [0]);
  });

  test('quoted cells, other columns and another order of columns', () => {
    const { answers } = read(
      'note,max_score,score,position,item_hash,item,subject,sitting',
      '"a, b",1,1,1,aa,mat-1,maths,x',
    );
    assert.deepEqual([...answers.get('maths')!.items], [0]);
  });
});

suite('what is refused, by line and column', () => {
  const cases: Record<string, [lines: string[], message: RegExp]> = {
    'an empty file': [[], /^The file is empty\./],
    'missing columns': [['sitting,item'], /^Line 1 lacks the columns subject, item_hash, position, score, max_score\./],
    'a column twice': [[`${head},item`], /^Line 1, column item, is there twice\./],
    'too few cells': [[head, 'a,b'], /^Line 2 has 2 cells, and the first line 15\./],
    'a misplaced quote': [[head, 'a"b,c'], /^Line 2 has a quote in the wrong place\./],
    'no sitting': [[head, row({ sitting: '' })], /^Line 2, column sitting,/],
    'an unknown subject': [[head, row({ subject: 'art' })], /^Line 2, column subject, is not one of digital, english/],
    'an unknown item': [[head, row(), row({ item: 'secret' })], /^Line 3, column item, is not an item of the bank\./],
    "another subject's item": [[head, row({ subject: 'english' })], /^Line 2, column subject, is not the item's/],
    'a position of 0': [[head, row({ position: '0' })], /^Line 2, column position,/],
    'no score': [[head, row({ score: '' })], /^Line 2, column score, is not a number from 0 to max_score\./],
    'a score above the maximum': [[head, row({ score: '2' })], /^Line 2, column score,/],
    'a maximum of 0': [[head, row({ max_score: '0' })], /^Line 2, column max_score,/],
    'no hash': [[head, row({ item_hash: '' })], /^Line 2, column item_hash, is empty\./],
    'an item twice': [[head, row(), row({ position: '2' })], /^Line 3, column item, is in this sitting twice\./],
    'a position twice': [[head, row(), row({ item: 'mat-2', item_hash: 'bb' })], /^Line 3, column position, is in/],
  };
  for (const [name, [lines, message]] of Object.entries(cases))
    test(name, () => assert.throws(() => read(...lines), { constructor: AnswersFault, message }));

  test('a value is never repeated', () => {
    assert.throws(
      () => read(head, row({ item: 'Ann Smith' })),
      ({ message }: Error) => !message.includes('Ann'),
    );
  });
});
