import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { loadBank, renderItem } from '../../../src/engine/item-bank/load.ts';
import { mark, rightAnswer } from '../../../src/engine/item-bank/mark.ts';
import { withOrderOf } from '../../../src/engine/item-bank/option-order.ts';
import { type RenderedItem, shownType } from '../../../src/engine/item-bank/schema.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import { KeyPlaces } from './key-places.ts';

const bank = loadBank();
const live = bank.files.items.filter((item) => item.state !== 'retired');

const optionsOf = (item: RenderedItem) =>
  item.type === 'single_choice' || item.type === 'multiple_choice'
    ? item.options
    : item.type === 'matching'
      ? item.right
      : [];
const idsOf = (item: RenderedItem): string =>
  optionsOf(item)
    .map(({ id }) => id)
    .join('');

function choiceOf(texts: readonly string[], keep_order?: boolean): RenderedItem {
  return {
    type: 'single_choice',
    stem: ['Which?'],
    options: texts.map((text, at) => ({ id: 'abcdef'[at]!, text })),
    key: 'a',
    rationale: 'x',
    distractor_rationales: {},
    ...(keep_order === undefined ? {} : { keep_order }),
  };
}

const seeds = Array.from({ length: 60 }, (_, n) => `seed ${n}`);
const orders = (item: RenderedItem) => new Set(seeds.map((seed) => idsOf(withOrderOf(item, seed))));

suite('options that show an order keep it', () => {
  const ordered = [
    ['7', '70', '700'],
    ['18', '9', '0.5', '−3'],
    ['£1.50', '£2', '£10', '£20'],
    ['50 cm', '2 m', '0.3 km'],
    ['1/4', '1/2', '3/4'],
    ['25%', '50%', '75%'],
    ['1 : 50', '1 : 100', '1 : 200'],
    ['one', 'five', 'twelve'],
    ['08:45', '09:20', '10:05'],
    ['9.30 am', '10 am', '1 pm'],
    ['14 March 2025', '2 January 2026', '1 April 2026'],
    ['2 March', '9 March', '1 April'],
    ['Mon', 'Wed', 'Fri'],
    ['**February**', '**March**', '**April**'],
    ['on Monday at 9', 'on Tuesday at 7', 'on Thursday at 8'],
    ['0–9', '10–19', '20–29'],
    ['under 18', '18 to 24', '25 to 49', '50 or over'],
    ['Week 1', 'Week 2', 'Week 3'],
    ['Pack A', 'Pack B', 'Pack C'],
    ['the first line', 'the second line', 'the last line'],
    ['one day', 'one week', 'one year'],
    ['never', 'sometimes', 'always'],
  ];
  for (const texts of ordered)
    test(texts.join(', '), () => {
      assert.equal(orders(choiceOf(texts)).size, 1);
      // The same order with an option that closes the list.
      assert.deepEqual([...orders(choiceOf([...texts, 'None of these']))], ['abcdef'.slice(0, texts.length + 1)]);
    });

  test('an item can say so itself, and can say that an order has no meaning', () => {
    assert.deepEqual([...orders(choiceOf(['red', 'green', 'blue'], true))], ['abc']);
    assert.equal(orders(choiceOf(['1', '2', '3'], false)).size, 6);
  });

  test('orderings, typed answers, places in a text and screens stay as they are', () => {
    for (const item of live) {
      const rendered = renderItem(item, '1');
      if (optionsOf(rendered).length === 0) assert.deepEqual(withOrderOf(rendered, '7'), rendered, item.id);
    }
  });
});

suite('other options are shuffled', () => {
  for (const texts of [
    ['red', 'green', 'blue'],
    ['12', '8', '15'],
    ['on Friday', 'at 12', 'at 7'],
    ['30/07/2026', '07/03/2026', '03/06/2026'],
    ['7 am', '7 minutes', '7 pm'],
  ])
    test(texts.join(', '), () => assert.equal(orders(choiceOf(texts)).size, 6));

  test('but one that closes the list is last, wherever it is written', () => {
    const seen = orders(choiceOf(['All of these', 'red', 'green', 'blue']));
    assert.equal(seen.size, 6);
    for (const order of seen) assert.equal(order.at(-1), 'a');
  });

  test('by the seed alone', () => {
    for (const item of live) {
      const rendered = renderItem(item, '5');
      assert.deepEqual(withOrderOf(rendered, '5'), withOrderOf(structuredClone(rendered), '5'), item.id);
    }
  });
});

test('marking does not depend on the order', () => {
  for (const item of live) {
    const rendered = renderItem(item, '3');
    for (const seed of ['1', '2', '3']) {
      const shown = withOrderOf(rendered, seed);
      assert.equal(mark(shown, rightAnswer(rendered)).correct, true, item.id);
      for (const { id } of optionsOf(rendered))
        assert.deepEqual(mark(shown, { answer: id }), mark(rendered, { answer: id }), item.id);
    }
  }
});

suite('keys are even over places in the bank', () => {
  for (const subject of subjects)
    test(subject, () => {
      const places = new KeyPlaces();
      for (const item of live.filter((one) => one.subject === subject && /choice/u.test(shownType(one))))
        for (const seed of seeds) places.add(withOrderOf(renderItem(item, seed), seed));
      places.assertEven(20 * seeds.length, subject);
    });
});
