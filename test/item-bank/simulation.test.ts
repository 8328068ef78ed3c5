import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readXml, findAll, textIn } from '../../tools/item-bank/exchange/xml.ts';
import type { SubjectBank } from '../../src/engine/item-bank/load.ts';
import { bankInformation, informationGaps, wantedInformation } from '../../tools/item-bank/simulation/gaps.ts';
import type { AtAbility } from '../../tools/item-bank/simulation/delivered.ts';
import { plotSvg } from '../../tools/item-bank/simulation/plots.ts';

/** A bank of two domains with `perDomain` items each, spread evenly in b. */
function bank(perDomain: number, a: number): SubjectBank {
  const domains = [
    { name: 'One', share: 0.5 },
    { name: 'Two', share: 0.5 },
  ];
  const items = domains.flatMap(({ name }) =>
    Array.from({ length: perDomain }, (_, n) => ({
      id: `${name}-${n}`,
      subject: 'digital' as const,
      level: 'level1' as const,
      domain: name,
      a,
      b: -3 + (6 * n) / (perDomain - 1),
      c: 0,
      enemies: [],
      passage: null,
      type: 'numeric' as const,
      words: 20,
      passageWords: 0,
    })),
  );
  return { items: [], version: { subject: 'digital', version: 'x', domains, items, pilots: [] }, cuts: [] };
}

const measured = (meanInformation: number): AtAbility[] =>
  [-3, -2, 0, 2, 3].map((theta) => ({
    theta,
    learners: 1,
    rmse: 0,
    meanSe: 0,
    bias: 0,
    meanItems: 40,
    itemsSe: 0.1,
    right: 0.5,
    tooHard: 0,
    meanInformation,
    overlap: { share: 0, se: null },
    highest: 0,
  }));

suite('gaps', () => {
  test('are where a full sitting gives too little information, between −2 and 2', () => {
    assert.deepEqual(informationGaps(bank(60, 1), measured(wantedInformation)), []);
    const stoppedEarly = measured(wantedInformation / 2).map((one) => ({ ...one, meanItems: 20 }));
    assert.deepEqual(
      informationGaps(bank(60, 1), stoppedEarly),
      [],
      'a short sitting that gives as much per item shows no gap in the bank',
    );
    const gaps = informationGaps(bank(60, 1), measured(wantedInformation - 1));
    assert.deepEqual(
      gaps.map((gap) => gap.theta),
      [-2, 0, 2],
    );
    for (const gap of gaps)
      assert.ok(gap.items >= 5 && gap.items <= 20 && gap.b[0] < gap.theta && gap.theta < gap.b[1]);
  });
  test('names the domain that gives least', () => {
    const poor = bank(60, 1.3);
    const items = poor.version.items.map((item) => (item.domain === 'Two' ? { ...item, a: 0.5 } : item));
    const gaps = informationGaps({ ...poor, version: { ...poor.version, items } }, measured(8));
    assert.deepEqual(new Set(gaps.map((gap) => gap.domain)), new Set(['Two']));
  });
  test('adds information up over all items', () => {
    const [first] = bank(2, 1).version.items;
    assert.ok(Math.abs(bankInformation([first!, first!], first!.b) - 0.5) < 1e-12);
  });
});

suite('plots', () => {
  const plot = {
    title: 'A & B',
    description: 'What <it> shows.',
    xLabel: 'θ',
    yLabel: 'I',
    x: [-3, 3] as const,
    maxY: 10,
    marks: [{ x: 0.5, label: 'Level 1' }],
    series: [
      {
        name: 'one',
        points: [
          [-3, 0],
          [0, 5],
          [3, 20],
        ] as const,
      },
      {
        name: 'two',
        dashed: true,
        points: [
          [-3, 1],
          [3, 1],
        ] as const,
      },
    ],
  };
  test('are well-formed SVG with a name and a description', () => {
    const svg = readXml(plotSvg(plot));
    assert.equal(svg.attributes.role, 'img');
    assert.deepEqual(
      ['title', 'desc'].map((name) => textIn(findAll(svg, name)[0]!)),
      ['A & B', 'What <it> shows.'],
    );
    assert.equal(findAll(svg, 'polyline').length, 2);
  });
  test('keep inside their frame, and are the same for the same data', () => {
    const [line] = findAll(readXml(plotSvg(plot)), 'polyline');
    for (const point of line!.attributes.points!.split(' ')) {
      const [x, y] = point.split(',').map(Number) as [number, number];
      assert.ok(x >= 64 && x <= 704 && y >= 40 && y <= 348, point);
    }
    assert.equal(plotSvg(plot), plotSvg(structuredClone(plot)));
  });
});
