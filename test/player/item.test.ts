import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadBank, renderItem } from '../../src/bank/load.ts';
import { mark, rightAnswer } from '../../src/bank/mark.ts';
import { renderModel } from '../../src/bank/render-model.ts';
import type { Item } from '../../src/bank/schema.ts';
import { readForm } from '../../src/player/form.ts';
import { itemHtml, problemText, spokenText } from '../../src/player/item.ts';
import { subjects } from '../../src/scoring/levels.ts';

const bank = loadBank();
const everyItem = subjects.flatMap((subject) => bank.subjects[subject].items);

function modelOf(item: Item) {
  const passage = item.type === 'template' || item.passage === undefined ? null : bank.passage(item.passage)!;
  return renderModel(item, renderItem(item, '1'), passage);
}

/** The form fields that a browser would send, with their values. */
function controls(text: string): { name: string; value: string; type: string; id: string }[] {
  const attribute = (tag: string, name: string) => new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? '';
  const inputs = [...text.matchAll(/<(?:input|select)[^>]*>/g)].map(([tag]) => ({
    name: attribute(tag, 'name'),
    value: attribute(tag, 'value'),
    type: tag.startsWith('<select') ? 'select' : attribute(tag, 'type'),
    id: attribute(tag, 'id'),
  }));
  return inputs;
}

test('every item of the bank shows each of its fields, each with a label of its own, and nothing of its key', () => {
  for (const item of everyItem) {
    const model = modelOf(item);
    const text = itemHtml(model, null, null).text;
    const shown = controls(text);
    assert.deepEqual(
      [...new Set(shown.map(({ name }) => name))].sort(),
      model.fields.map(({ name }) => name).sort(),
      item.id,
    );
    for (const { id } of shown) assert.ok(text.includes(`<label for="${id}"`), `${item.id}: ${id} has no label`);
    const ids = [...text.matchAll(/\sid="([^"]+)"/g)].map((found) => found[1]);
    assert.equal(new Set(ids).size, ids.length, `${item.id}: an id stands twice`);
    for (const [, referred] of text.matchAll(/aria-(?:describedby|labelledby)="([^"]+)"/g)) {
      for (const id of referred!.split(' '))
        assert.ok(ids.includes(id), `${item.id}: ${id} is referred to and missing`);
    }
    if (item.type !== 'template')
      for (const why of [item.rationale, ...Object.values(item.distractor_rationales)])
        assert.ok(!text.includes(why), `${item.id} shows its rationale`);
    assert.ok(!/<(script|style|img)|\son[a-z]+=|\sstyle=/.test(text), item.id);
  }
});

test('what a browser sends for the right answer is marked right, for every item', () => {
  for (const item of everyItem) {
    const rendered = renderItem(item, '1');
    const form = new URLSearchParams({ sitting: 's', position: '1', do: 'next' });
    for (const [name, value] of Object.entries(rightAnswer(rendered)))
      for (const one of [value].flat() as string[]) form.append(name, one);
    const { answer } = readForm(form.toString());
    assert.deepEqual(mark(rendered, answer), { answered: true, correct: true, problem: null }, item.id);
    // Shown again, as after a pause, it is the same answer.
    const again = itemHtml(modelOf(item), answer, null).text;
    for (const [name, value] of Object.entries(answer))
      for (const one of [value].flat() as string[]) {
        if (one === '') continue;
        const escaped = one
          .replace(/&/g, '&amp;')
          .replace(/</g, '&lt;')
          .replace(/>/g, '&gt;')
          .replace(/"/g, '&quot;')
          .replace(/'/g, '&#39;');
        const kept = [`name="${name}" value="${escaped}"`, `<option value="${escaped}" selected>`].some((part) =>
          again.includes(part),
        );
        assert.ok(kept, `${item.id}: ${name}=${one} is not shown again`);
      }
  }
});

test('spoken text has no marks, and a gap is heard', () => {
  for (const item of everyItem) {
    const text = spokenText(modelOf(item));
    assert.ok(text.length > 10 && !/[`]|\*\*|_{4}|\[\[/.test(text), `${item.id}: ${text}`);
  }
});

test('what has to be mended is said without a hint at the key', () => {
  const item = everyItem.find((one) => one.type === 'multiple_choice')!;
  assert.match(problemText('wrong_count', modelOf(item)), /^Choose [2-6], no more and no fewer$/);
});

test('a form may not be endless, and names of the language itself are only names', () => {
  const { answer } = readForm(`${Array.from({ length: 500 }, (_, i) => `a${i}=1`).join('&')}`);
  assert.equal(Object.keys(answer).length, 100);
  assert.equal(readForm('__proto__=1&constructor=2').answer.constructor, '2');
  assert.deepEqual(readForm(undefined).answer, Object.create(null));
});
