import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { fieldNames, mark, rightAnswer } from '../../../src/engine/item-bank/mark.ts';
import { renderItem } from '../../../src/engine/item-bank/load.ts';
import { readBankFiles } from '../../../tools/item-bank/files.ts';
import { parseBlocks, parseInline, plainText } from '../../../src/engine/item-bank/markup.ts';
import { columnName, renderModel } from '../../../src/engine/item-bank/render-model.ts';
import type { Item, RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { markupFault } from '../../../tools/item-bank/checks/language.ts';
import { examples, guideItems } from './examples.ts';

const modelOf = (rendered: RenderedItem) => renderModel(rendered as unknown as Item, rendered, null);

suite('markup', () => {
  test('parses marks and nothing else', () => {
    assert.deepEqual(parseInline('Do **not** open `a_b.exe` or <b>____</b> 2*3*4'), [
      { kind: 'text', text: 'Do ' },
      { kind: 'strong', text: 'not' },
      { kind: 'text', text: ' open ' },
      { kind: 'exact', text: 'a_b.exe' },
      { kind: 'text', text: ' or <b>' },
      { kind: 'gap', text: '____' },
      { kind: 'text', text: '</b> 2*3*4' },
    ]);
    assert.equal(plainText(parseInline('I ____ **here**.')), 'I blank here.');
    assert.deepEqual(parseInline("The [[w1|dog's]] bone")[1], { kind: 'spot', id: 'w1', text: "dog's" });
  });
  test('gathers list items, and keeps quotes apart', () => {
    assert.deepEqual(
      parseBlocks(['A', '- b', '- c', '> d', '- e']).map((block) =>
        block.kind === 'list' ? block.items.length : block.kind,
      ),
      ['paragraph', 2, 'quote', 1],
    );
  });
  test('finds marks without their other half', () => {
    assert.equal(markupFault('a **b** `c` [[d|e]]'), null);
    for (const text of ['a **b', 'a `b', 'a [[B|c]]', 'a <p>b']) assert.notEqual(markupFault(text), null, text);
  });
});

suite('render model', () => {
  test('holds neither key nor rationale', () => {
    for (const item of guideItems) {
      if (item.type === 'template') continue;
      const text = JSON.stringify(renderModel(item, item, null));
      assert.ok(!text.includes('rationale') && !text.includes('"key"') && !text.includes(item.rationale), item.type);
    }
  });

  test('has a field for everything that a right answer fills in', () => {
    for (const item of Object.values(examples)) {
      const names = new Set(modelOf(item).fields.map((field) => field.name));
      for (const name of Object.keys(rightAnswer(item))) assert.ok(names.has(name), `${item.type}: ${name}`);
    }
  });

  test('lets the right answer be given through its controls alone', () => {
    for (const item of Object.values(examples)) {
      const right = rightAnswer(item);
      for (const field of modelOf(item).fields) {
        const wanted = [right[field.name] ?? []].flat();
        if (field.control !== 'text')
          for (const value of wanted)
            assert.ok(
              field.options.some((option) => option.value === value),
              `${item.type}: ${field.name} offers ${value}`,
            );
      }
      assert.equal(mark(item, right).correct, true);
    }
  });

  test('says how many to choose', () => {
    assert.equal(modelOf(examples.multiple_choice).fields[0]!.choose, 2);
    assert.equal(plainText(modelOf(examples.multiple_choice).fields[0]!.label), 'Choose 2 answers');
    assert.equal(modelOf(examples.hotspot).fields[0]!.control, 'radios');
  });

  test('numbers words that a text holds more than once, so that the list can be told apart', () => {
    const item: RenderedItem = {
      ...examples.hotspot,
      surface: { kind: 'text', lines: ['[[a|the]] cat and [[b|the]] [[c|dog]]'] },
      key: ['a'],
    };
    assert.deepEqual(
      modelOf(item).fields[0]!.options.map((option) => option.text),
      ['the (first in the text)', 'the (second in the text)', 'dog'],
    );
  });

  test('places each field of a task on its screen, under its name', () => {
    const model = modelOf(examples.task);
    assert.deepEqual(
      model.task!.screen,
      examples.task.fields.map((field) => ({ part: 'field', name: fieldNames.task(field.id) })),
    );
    assert.equal(model.fields.find((field) => field.name === 'task_to')!.initial, 'none');
  });

  test('gives a spreadsheet its rows and columns', () => {
    const item: RenderedItem = {
      ...examples.task,
      screen: [{ block: 'sheet', caption: 'Sales', rows: [['Item', 'Price'], ['Tea']] }, ...examples.task.screen],
    };
    assert.deepEqual(modelOf(item).task!.screen[0], {
      part: 'sheet',
      caption: 'Sales',
      columns: ['A', 'B'],
      rows: [
        { number: 1, cells: ['Item', 'Price'] },
        { number: 2, cells: ['Tea', ''] },
      ],
    });
    assert.deepEqual([0, 25, 26, 27, 701, 702].map(columnName), ['A', 'Z', 'AA', 'AB', 'ZZ', 'AAA']);
  });

  test('offers a number pad only where it gives nothing away', () => {
    const mode = (level: Item['level'], value: string) =>
      renderModel({ ...(examples.numeric as unknown as Item), level }, { ...examples.numeric, key: { value } }, null)
        .fields[0]!.input!.mode;
    assert.deepEqual(
      [mode('entry3', '7.20'), mode('entry3', '1/4'), mode('entry3', '-3'), mode('level1', '7.20')],
      ['decimal', 'text', 'text', 'text'],
    );
  });
});

suite('the shipped bank', () => {
  const { items, passages } = readBankFiles();
  test('renders every item, the same for the same seed', () => {
    for (const item of items) {
      const rendered = renderItem(item, 'a');
      const passage = rendered.passage ? passages.find(({ id }) => id === rendered.passage)! : null;
      const model = renderModel(item, rendered, passage);
      assert.ok(model.stem.length > 0 && model.fields.length > 0, item.id);
      assert.deepEqual(renderModel(item, renderItem(item, 'a'), passage), model, item.id);
    }
  });
});
