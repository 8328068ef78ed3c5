import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadBank, renderItem } from '../../../src/engine/item-bank/load.ts';
import { mark, rightAnswer } from '../../../src/engine/item-bank/mark.ts';
import { plainText } from '../../../src/engine/item-bank/markup.ts';
import { renderModel } from '../../../src/engine/item-bank/render-model.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { html } from '../../../src/platform/html/html.ts';
import { readForm } from '../../../src/web/player/form.ts';
import { instructions, itemHtml, problemText, wantingFields } from '../../../src/web/player/question/item.ts';
import { blocksHtml } from '../../../src/web/player/question/text.ts';
import { spokenText } from '../../../src/web/player/spoken.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import { read } from '../../support/structure/source-tree.ts';

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

test('of a half-filled answer the empty parts are marked, and no others, for every item of several parts', () => {
  let tried = 0;
  for (const item of everyItem) {
    const rendered = renderItem(item, '1');
    const model = modelOf(item);
    const [name] = model.fields
      .filter(({ control }) => control === 'text' || control === 'select')
      .map((one) => one.name);
    if (model.fields.length < 2 || name === undefined) continue;
    const answer = { ...rightAnswer(rendered), [name]: '' };
    const { problem } = mark(rendered, answer);
    if (problem !== 'incomplete') continue;
    const wanting = wantingFields(problem, model, answer);
    assert.deepEqual(
      wanting.map((one) => one.name),
      [name],
      item.id,
    );
    const marked = itemHtml(model, answer, 'error-text', wanting).text.match(
      /<(input|select)[^>]*aria-invalid="true"[^>]*>/g,
    );
    assert.equal(marked?.length, 1, item.id);
    assert.ok(marked[0].includes(`name="${name}"`), item.id);
    tried++;
  }
  assert.ok(tried > 100, String(tried));
});

const readOff = new Set(['scales', 'pictogram', 'pie_chart', 'tally_chart']);
const withoutValues = (figure: object): object =>
  JSON.parse(
    JSON.stringify(figure, (name, value) => (['kind', 'look', 'value', 'y_label'].includes(name) ? undefined : value)),
  );

/** Every word that the model shows, from its own fields and not from the page that is made of it. */
function wordsShown(value: unknown, key = ''): string[] {
  if (typeof value === 'string') {
    if (['id', 'kind', 'part', 'control', 'mode', 'type', 'padlock', 'level', 'subject', 'domain'].includes(key))
      return [];
    return value.replace(/\*\*|`|_{4,}/g, ' ').match(/[\p{L}\d]+/gu) ?? [];
  }
  if (typeof value === 'number') return ['value', 'number'].includes(key) ? [String(value)] : [];
  if (Array.isArray(value)) return value.flatMap((one) => wordsShown(one, key));
  if (typeof value !== 'object' || value === null) return [];
  // Of a drawing the learner hears what can be seen, such as the place of a pointer, and never the value to be read.
  if ('kind' in value && readOff.has(value.kind as string)) return wordsShown(withoutValues(value));
  // The picture itself is described, so the words of its parts are not read.
  if ('shape' in value) return wordsShown(Object.values({ ...value, shape: undefined }));
  return Object.entries(value).flatMap(([name, one]) => {
    // Names of fields and values of options are the form's; positions in an order are numbers that everybody knows.
    if (
      (name === 'name' && ('control' in value || ('part' in value && value.part === 'field'))) ||
      (name === 'value' && 'label' in value && 'cells' in value)
    )
      return [];
    if (name === 'options' && 'hint' in value && value.hint === 'Position') return [];
    if (name === 'hint' && one === 'Position') return [];
    // The first column of options holds their names, which need no head.
    if (name === 'columns' && 'control' in value) return wordsShown((one as string[]).slice(1), name);
    return name === 'initial' && 'options' in value && (value.options as []).length > 0 ? [] : wordsShown(one, name);
  });
}

test('whatever a question shows is read aloud, of every type, task screens and figures included', () => {
  for (const item of everyItem) {
    const { passage, stem, figure, task, surface, fields } = modelOf(item);
    const text = spokenText(itemHtml(modelOf(item), null, null));
    const heard = new Set(text.match(/[\p{L}\d]+/gu));
    const missing = wordsShown({ passage, stem, figure, task, surface, fields }).filter((word) => !heard.has(word));
    assert.deepEqual(missing, [], item.id);
    assert.ok(!/`|\*\*|_{4}|\[\[|<\/?[a-z]+[ >]|&(?:[a-z]+|#39);/.test(text), `${item.id}: ${text}`);
  }
});

test('instructions of every question can be heard, and nothing of the text that it measures', () => {
  const silent = everyItem.filter((item) => !item.read_aloud);
  assert.ok(silent.length > 100);
  for (const item of silent) {
    const model = modelOf(item);
    const heard = spokenText(instructions(model)).split('\n');
    assert.match(heard[0]!, /so its words are not read aloud\.$/, item.id);
    assert.match(heard.at(-1)!, /^Then choose “Next question”/, item.id);
    const measured = spokenText(blocksHtml([...model.stem, ...(model.passage?.blocks ?? [])])).split('\n');
    assert.deepEqual(
      measured.filter((line) => heard.some((one) => one.includes(line))),
      [],
      item.id,
    );
  }
});

test('read aloud: tables by their heads, what is chosen, a gap as a word, choices once', () => {
  const text = spokenText(
    html`<p>I have ____<span aria-hidden="true">____</span><span class="unseen">blank</span> &amp; 2</p>
<div class="scroll"><table><caption>Trains</caption><thead><tr><th>To</th><th>At</th></tr></thead><tbody><tr><th>Leeds</th><td>9:05</td></tr></tbody></table></div>
<div class="option"><input type="radio" name="a" value="1" checked><label>On</label></div>
<label>One</label><select name="b"><option value="">Choose</option><option value="x">red</option><option value="y">blue</option></select>
<label>Two</label><select name="c"><option value="">Choose</option><option value="x">red</option><option value="y" selected>blue</option></select>
<p hidden>Nothing</p><button type="button">Go on</button>`,
  );
  assert.deepEqual(text.split('\n'), [
    'I have ____blank & 2',
    'Trains',
    'To: Leeds. At: 9:05',
    'Chosen: On',
    'One',
    'You can choose: red, blue',
    'Two',
    'Chosen: blue',
    'Go on',
  ]);
});

test('what is chosen on a text is called what it is', () => {
  const labels = everyItem
    .filter((item) => item.type === 'hotspot')
    .map((item) => [item.id, plainText(modelOf(item).fields[0]!.label)] as const);
  for (const [id, label] of labels) assert.match(label, /^Choose (one|[2-5]) (word|sentence|part|place)s?$/, id);
  assert.ok(labels.some(([, label]) => label === 'Choose 2 words'));
});

test('what has to be mended is said without a hint at the key', () => {
  const item = everyItem.find((one) => one.type === 'multiple_choice')!;
  assert.match(problemText('wrong_count', modelOf(item)), /^Choose [2-6] answers, no more and no fewer$/);
});

test('a hint for numbers fits the item: no decimals in reading or at Entry 1, fractions only in maths from Level 1', () => {
  for (const item of everyItem) {
    const said = problemText('not_a_number', modelOf(item));
    assert.match(said, /^Write one number\b.*\bdigits\b/, item.id);
    const isWhole = item.subject === 'english' || item.level === 'entry' || item.level === 'entry1';
    const hasFractions = item.subject === 'maths' && item.level.startsWith('level');
    assert.deepEqual(
      [said.includes('3.5'), said.includes('decimals'), said.includes('3/4'), said.includes('unit')],
      [!isWhole, !isWhole, hasFractions, item.subject !== 'english'],
      item.id,
    );
  }
});

test('a form may not be endless, and names of the language itself are only names', () => {
  const { answer } = readForm(`${Array.from({ length: 500 }, (_, i) => `a${i}=1`).join('&')}`);
  assert.equal(Object.keys(answer).length, 100);
  assert.equal(readForm('__proto__=1&constructor=2').answer.constructor, '2');
  assert.deepEqual(readForm(undefined).answer, Object.create(null));
});

test('nothing in the learner’s pages is kept apart by the gap of a flexible box: iOS before 14.5 and Chrome before 84 know none', () => {
  const rules = read('src/web/player/style.css').match(/[^{}]+\{[^{}]*\}/g)!;
  const gaps = rules.filter((rule) => /[\s{;](?:row-|column-)?gap:/.test(rule));
  assert.ok(gaps.length > 0);
  for (const rule of gaps) assert.match(rule, /display: grid/);
});
