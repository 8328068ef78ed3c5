import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Drawing } from '../../../src/engine/item-bank/drawings.ts';
import type { Figure } from '../../../src/engine/item-bank/schema.ts';
import { drawn } from '../../../src/web/player/drawings/drawing.ts';
import { figureHtml } from '../../../src/web/player/question/figure.ts';
import { spokenText } from '../../../src/web/player/spoken.ts';

const scale = { unit: 'g', from: 0, to: 500, mark: 20, label: 100, value: 340 } as const;
const axis = { title: 'Miles', to: 50, mark: 5, label: 10 };

/** By kind, a drawing, words that its text alternative has, and what would do the reading for the learner. */
const cases: [Drawing, RegExp, RegExp][] = [
  [
    { kind: 'clocks', caption: 'Clock', clocks: [{ hour: 3, minute: 30 }] },
    /The short hand points between 3 and 4\. The long hand points to 6\./,
    /half|30|3[.:]/,
  ],
  [
    { kind: 'clocks', caption: 'Clock', clocks: [{ hour: 12, minute: 52 }] },
    /between 12 and 1\. The long hand points 2 small marks past 10\./,
    /52|12[.:]/,
  ],
  [
    { kind: 'money', caption: 'Purse', groups: [{ pieces: ['50p', '50p', '£2', '£10'] }] },
    /50p coin, 50p coin, £2 coin, £10 note\./,
    /13|100/,
  ],
  [{ kind: 'scales', caption: 'Scale', scales: [{ look: 'dial', ...scale }] }, /2 marks after 300/, /340/],
  [
    { kind: 'scales', caption: 'Scale', scales: [{ look: 'jug', ...scale }] },
    /with a number at each 100 and 4 /,
    /340/,
  ],
  [
    { kind: 'scales', caption: 'Nail', scales: [{ look: 'ruler', ...scale, start: 100 }] },
    /One end of the thing is at 100\. The other end is 2 marks after 300\./,
    /340|240/,
  ],
  [{ kind: 'counters', caption: 'Boxes', rows: [10, 10, 7], thing: 'boxes' }, /3 rows of boxes.*10, 10, 7/, /27/],
  [
    {
      kind: 'graphs',
      caption: 'Graph',
      graphs: [
        {
          x: axis,
          y: axis,
          line: [
            [0, 0],
            [50, 50],
          ],
          reads: [[20, 20]],
        },
      ],
    },
    /from \(0, 0\) to \(50, 50\)/,
    /20/,
  ],
];

suite('drawings', () => {
  test('their words say what can be seen, and leave the reading to the learner', () => {
    for (const [figure, has, hasNot] of cases) {
      const { words } = drawn(figure);
      assert.match(words, has);
      assert.doesNotMatch(words, hasNot, words);
      assert.ok(spokenText(figureHtml(figure)).includes(words), figure.kind);
    }
  });

  test('stay inside their frames, with text that a phone can show', () => {
    for (const [figure] of cases) {
      const svg = figureHtml(figure).text;
      assert.match(
        svg,
        /^<figure class="chart \w+"><figcaption>[^<]+<\/figcaption><svg viewBox="0 0 320 [\d.]+" role="img"/,
      );
      assert.doesNotMatch(svg, /NaN|undefined|style=/);
    }
  });

  test('the table of a chart shows symbols, marks or angles, never the values', () => {
    const points = [
      { label: 'Mon', value: 35 },
      { label: 'Tue', value: 10 },
    ];
    const tableOf = (figure: Figure) => spokenText(figureHtml(figure));
    const symbols = tableOf({ kind: 'pictogram', caption: 'Letters', per_symbol: 10, unit: 'letters', points });
    assert.match(symbols, /Name: Mon\. Symbols, each 10 letters: 3\.5/);
    assert.doesNotMatch(symbols, /35/);
    assert.match(tableOf({ kind: 'tally_chart', caption: 'Tea', points }), /Mon\. Bundles of five: 7\. Other marks: 0/);
    assert.match(tableOf({ kind: 'pie_chart', caption: 'Travel', points }), /Mon\. Angle of the slice: 280°/);
  });
});
