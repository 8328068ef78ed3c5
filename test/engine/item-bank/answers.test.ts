import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { bankOf, renderItem } from '../../../src/engine/item-bank/load.ts';
import { readBankFiles } from '../../../tools/item-bank/files.ts';
import type { Answer } from '../../../src/engine/item-bank/mark.ts';
import type { Verdict } from '../../../tools/item-bank/verdict.ts';
import { fieldNames } from '../../../src/engine/item-bank/mark.ts';
import { verdictOn, verdictOnField } from '../../../tools/item-bank/verdict.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import answers from './answers.json' with { type: 'json' };
import judged from './judged-answers.json' with { type: 'json' };

/** An answer that a learner could type, with the verdict of a tutor who read the question: never that of the program. */
type Line = {
  item: string;
  field?: string;
  seed?: string;
  answer: string | Record<string, string>;
  verdict: Verdict;
  why: string;
};
const lines = answers as unknown as Line[];

const files = readBankFiles();
const bank = bankOf(files);

/** What looks the same on the screen, as keyboards of other languages, input methods and pasting send it. */
const inOtherCharacters = (text: string): string =>
  `\u2067 ${text}\u200b\u2069\r\n`
    .replace(/\d/gu, (digit) => String.fromCodePoint((Number(digit) % 2 === 0 ? 0xff10 : 0x660) + Number(digit)))
    .replace(/[A-Z]/gu, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0))
    .replaceAll('-', '\u2212')
    .replaceAll(' ', '\u00a0 ')
    .replaceAll('£', '\uffe1')
    .replaceAll('/', '\u2215')
    .replaceAll(':', '\u2236');

function verdictFor({ item: id, field, seed, answer }: Line): Verdict | null {
  const item = bank.item(id);
  if (item === undefined) return null;
  const rendered = renderItem(item, seed ?? '1');
  if (field !== undefined) return verdictOnField(rendered, field, answer as string);
  if (typeof answer === 'string') return verdictOn(rendered, { [fieldNames.answer]: answer });
  const sent: Answer = Object.fromEntries(
    Object.entries(answer).map(([name, value]) => [fieldNames.task(name), value]),
  );
  return verdictOn(rendered, sent);
}

/** What has to be typed: `item`, or `item field` for a field of a task. */
function typedParts(item: Item): string[] {
  if (item.type === 'numeric' || item.type === 'short_text') return [item.id];
  if (item.type !== 'task') return [];
  return item.fields
    .filter(({ control, id }) => control === 'text' && id in item.key)
    .map(({ id }) => `${item.id} ${id}`);
}

suite('answers that learners type get the verdict of a tutor', () => {
  test('in whatever characters they come', () => {
    const other = lines.flatMap((line) => {
      if (typeof line.answer !== 'string') return [];
      const answer = inOtherCharacters(line.answer);
      const verdict = verdictFor({ ...line, answer });
      return verdict === line.verdict
        ? []
        : [`${line.item}: ${JSON.stringify(answer)} is ${line.verdict}, not ${verdict}`];
    });
    assert.deepEqual(other, []);
  });
  for (const subject of subjects)
    test(subject, () => {
      const own = lines.filter(({ item }) => item.startsWith(subject.slice(0, 3)));
      const other = own.flatMap((line) => {
        const verdict = verdictFor(line);
        const where = [line.item, line.field].filter((part) => part !== undefined).join(' ');
        return verdict === line.verdict
          ? []
          : [`${where}: ${JSON.stringify(line.answer)} is ${line.verdict} (${line.why}), not ${verdict}`];
      });
      assert.ok(own.length > 0);
      assert.deepEqual(other, []);
    });
});

suite('the answers', () => {
  test('are at least 600, each with a reason, and none twice', () => {
    assert.ok(lines.length >= 600, `${lines.length} answers`);
    assert.deepEqual(
      lines.filter(({ why }) => why.trim() === ''),
      [],
    );
    const said = lines.map(({ item, field, seed, answer }) => JSON.stringify([item, field, seed, answer]));
    assert.deepEqual(
      said.filter((one, at) => said.indexOf(one) !== at),
      [],
    );
  });

  test('cover every question and field in which something is typed, with a right and a wrong one', () => {
    const covered = (verdict: Verdict) =>
      new Set(
        lines.filter((line) => line.verdict === verdict).map(({ item, field }) => [item, field].join(' ').trim()),
      );
    const parts = files.items.flatMap(typedParts);
    for (const verdict of ['right', 'wrong'] as const) {
      const have = covered(verdict);
      assert.deepEqual(
        parts.filter((part) => !have.has(part)),
        [],
        `without a ${verdict} answer in answers.json`,
      );
    }
  });

  test('cover at least 30 templates', () => {
    const templates = lines.filter(({ item }) => bank.item(item)?.type === 'template').map(({ item }) => item);
    assert.ok(new Set(templates).size >= 30);
  });
});

test('answers that a tutor judged before the marking was read get that verdict in 98 of 100 cases', () => {
  const verdicts = (judged as unknown as Line[]).map((line) => ({ ...line, marked: verdictFor(line) }));
  const other = verdicts.filter(({ verdict, marked }) => verdict !== marked);
  assert.ok(verdicts.length >= 300);
  assert.ok(other.length <= 0.02 * verdicts.length, JSON.stringify(other, null, 1));
  assert.deepEqual(
    other.filter(({ verdict, marked }) => verdict === 'wrong' && marked === 'right'),
    [],
  );
});
