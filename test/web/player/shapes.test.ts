import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { PlanePart, Shapes } from '../../../src/engine/item-bank/drawn-shapes.ts';
import { fieldNames, mark } from '../../../src/engine/item-bank/mark.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { drawingHtml } from '../../../src/web/player/drawings/drawing.ts';
import { shapes } from '../../../src/web/player/drawings/shapes/shapes.ts';
import { loadBank } from '../../../src/engine/item-bank/load.ts';

type Drawn = Exclude<Item, { type: 'template' }> & { figure: Shapes };

const drawn = loadBank().files.items.filter(
  (item): item is Drawn => item.type !== 'template' && item.figure?.kind === 'shapes',
);
const itemOf = (id: string): Drawn => drawn.find((item) => item.id === id)!;

const count = (text: string, part: string): number => text.split(part).length - 1;
const svgOf = (shape: Shapes['panels'][number]['shape']): string =>
  shapes({ kind: 'shapes', caption: 'One', panels: [{ description: 'A shape.', shape }] }).body.text;

suite('drawn shapes', () => {
  test('every figure of the bank is drawn inside its frame, with its text alternative', () => {
    assert.ok(drawn.length >= 70, String(drawn.length));
    for (const { id, figure } of drawn) {
      const { body, height, words } = shapes(figure);
      assert.doesNotMatch(body.text, /NaN|undefined|Infinity/u, id);
      assert.ok(height > 40 && height < 700, `${id}: ${height}`);
      for (const { description } of figure.panels) assert.ok(words.includes(description), id);
      assert.match(drawingHtml(figure).text, /role="img" aria-label="[^"]{20,}"/u, id);
    }
  });

  test('the text alternative of a shape to be named does not name it', () => {
    const naming = drawn.filter(({ statement = '' }) => /^mat-(?:e1-09|e2-19)$/u.test(statement));
    assert.ok(naming.length >= 8);
    const names = /cube\b|cuboid|cylinder|pyramid|sphere|pentagon|hexagon|rectangle|\bsquare\b(?! corner)/iu;
    for (const { id, figure } of naming)
      for (const { description } of figure.panels) assert.doesNotMatch(description, names, id);
  });

  test('the text alternative of an icon says what is drawn, not what it is for', () => {
    const uses =
      /wi-?fi|bluetooth|batter|settings|search|home|undo|redo|copy|paste|delete|print|attach|send|save|mute|microphone|camera/iu;
    for (const { id, figure } of drawn)
      for (const { description, shape } of figure.panels)
        if (shape.draw === 'icon') assert.doesNotMatch(description, uses, id);
  });

  test('hidden edges are dashed', () => {
    assert.equal(count(svgOf({ draw: 'solid', solid: 'cuboid', size: [3, 2, 2] }), 'edge dashed'), 3);
    assert.equal(count(svgOf({ draw: 'solid', solid: 'triangular_prism', size: [3, 2, 2] }), 'edge dashed'), 3);
    assert.equal(count(svgOf({ draw: 'cubes', heights: [[2, 1], [1]] }), 'face top'), 4);
  });
});

type Polygon = Extract<PlanePart, { part: 'polygon' }>;
const partsOf = (id: string): PlanePart[] =>
  itemOf(id).figure.panels.flatMap(({ shape }) => (shape.draw === 'plane' ? shape.parts : []));
const polygonsOf = (id: string): Polygon[] => partsOf(id).filter((part): part is Polygon => part.part === 'polygon');
const dotOf = (id: string, text?: string) =>
  partsOf(id).find((part) => part.part === 'dot' && part.text === text) as Extract<PlanePart, { part: 'dot' }>;
const pairs = (points: readonly [number, number][]) =>
  points.map((here, n) => [here, points[(n + 1) % points.length]!] as const);
const area = ({ points }: Polygon): number =>
  Math.abs(pairs(points).reduce((sum, [[x, y], [u, v]]) => sum + x * v - u * y, 0)) / 2;
const around = ({ points }: Polygon): number =>
  pairs(points).reduce((sum, [[x, y], [u, v]]) => sum + Math.hypot(u - x, v - y), 0);
const distance = (id: string, a: string, b: string): number => {
  const [[x, y], [u, v]] = [dotOf(id, a).at, dotOf(id, b).at];
  return Math.hypot(u - x, v - y);
};

/** How often a figure fits on itself when it is folded along a line through its middle. */
function symmetryLines({ points }: Polygon): number {
  const mean = (n: 0 | 1) => points.reduce((sum, point) => sum + point[n], 0) / points.length;
  const [cx, cy] = [mean(0), mean(1)];
  const fits = (turn: number) => {
    const [c, s] = [Math.cos(2 * turn), Math.sin(2 * turn)];
    return points.every(([x, y]) => {
      const [dx, dy] = [x - cx, y - cy];
      const [u, v] = [cx + c * dx + s * dy, cy + s * dx - c * dy];
      return points.some((other) => Math.hypot(other[0] - u, other[1] - v) < 0.02);
    });
  };
  return Array.from({ length: 360 }, (_, n) => (n * Math.PI) / 360).filter(fits).length;
}

/** The answers that follow from the drawings. */
const computed: Record<string, () => number | string> = {
  'mat-e2-meas-105': () => polygonsOf('mat-e2-meas-105')[0]!.points.length,
  'mat-e3-meas-101': () => 'abcd'[polygonsOf('mat-e3-meas-101').findIndex((one) => symmetryLines(one) === 0)]!,
  'mat-l1-meas-101': () =>
    2 * (polygonsOf('mat-l1-meas-101')[0]!.points[1]![0] - polygonsOf('mat-l1-meas-101')[0]!.points[0]![0]),
  'mat-l1-meas-102': () => {
    const { points } = polygonsOf('mat-l1-meas-102')[0]!;
    return points.slice(1).reduce((sum, [x, y], n) => sum + Math.hypot(x - points[n]![0], y - points[n]![1]), 0) / 2;
  },
  'mat-l1-meas-104': () => 5 * distance('mat-l1-meas-104', 'Gate', 'Shed'),
  'mat-l1-meas-105': () => around(polygonsOf('mat-l1-meas-105')[0]!),
  'mat-l1-meas-106': () => area(polygonsOf('mat-l1-meas-106')[0]!),
  'mat-l1-meas-107': () => area(polygonsOf('mat-l1-meas-107')[0]!),
  'mat-l1-meas-108': () => 2 * around(polygonsOf('mat-l1-meas-108')[0]!),
  'mat-l1-meas-109': () => symmetryLines(polygonsOf('mat-l1-meas-109')[0]!),
  'mat-l2-meas-101': () => area(polygonsOf('mat-l2-meas-101')[0]!),
  'mat-l2-meas-103': () => area(polygonsOf('mat-l2-meas-103')[0]!) - area(polygonsOf('mat-l2-meas-103')[1]!),
  'mat-l2-meas-104': () => area(polygonsOf('mat-l2-meas-104')[0]!),
  'mat-l2-meas-108': () => (distance('mat-l2-meas-108', 'Bridge', 'Farm') * 25_000) / 100_000,
  'mat-l2-meas-109': () => `(${dotOf('mat-l2-meas-109', 'Tap').at.join(', ')})`,
  'mat-l2-meas-110': () => {
    const [[px], , [, ry]] = polygonsOf('mat-l2-meas-110')[0]!.points as [[number], unknown, [number, number]];
    return `(${px}, ${ry})`;
  },
  'mat-l2-meas-112': () => {
    const [x, y] = dotOf('mat-l2-meas-112', 'S').at;
    return `(${x - 6}, ${y - 5})`;
  },
};

suite('keys of drawn items', () => {
  for (const [id, answer] of Object.entries(computed))
    test(`${id} has the key that its drawing gives`, () => {
      const marked = mark(itemOf(id), {
        [fieldNames.answer]: String(Math.round(Number(answer()) * 1e6) / 1e6 || answer()),
      });
      assert.ok(marked.correct, String(answer()));
    });

  test('an angle on a protractor has its size as key', () => {
    for (const { id, figure } of drawn)
      for (const { shape } of figure.panels)
        if (shape.draw === 'angle' && shape.protractor === true)
          assert.ok(mark(itemOf(id), { [fieldNames.answer]: String(shape.size) }).correct, id);
  });

  test('angles are put in order of their sizes', () => {
    const { figure } = itemOf('mat-l1-meas-111');
    const sizes = figure.panels.map(({ letter, shape }) => [letter!, shape.draw === 'angle' ? shape.size : 0] as const);
    const order = sizes.toSorted(([, a], [, b]) => a - b).map(([letter]) => letter.toLowerCase());
    const answer = Object.fromEntries(order.map((id, at) => [fieldNames.position(id), String(at + 1)]));
    assert.ok(mark(itemOf('mat-l1-meas-111'), answer).correct);
  });

  test('an elevation has the highest stack of each column', () => {
    const heightsOf = (id: string): number[][] => {
      const { shape } = itemOf(id).figure.panels[0]!;
      return shape.draw === 'cubes' ? shape.heights : [];
    };
    const views: [id: string, columns: number[]][] = [
      [
        'mat-l1-meas-114',
        heightsOf('mat-l1-meas-114')[0]!.map((_, at) =>
          Math.max(...heightsOf('mat-l1-meas-114').map((row) => row[at]!)),
        ),
      ],
      // From the right, the front row is on the left.
      [
        'mat-l2-meas-114',
        heightsOf('mat-l2-meas-114')
          .map((row) => Math.max(...row))
          .reverse(),
      ],
    ];
    for (const [id, columns] of views) {
      const fits = itemOf(id).figure.panels.filter(({ shape }) => {
        if (shape.draw !== 'plane') return false;
        const squares = shape.parts.filter((part): part is Polygon => part.part === 'polygon');
        const seen = Array.from(
          { length: shape.size![0] },
          (_, x) => squares.filter(({ points }) => points[0]![0] === x).length,
        );
        return seen.join() === columns.join();
      });
      assert.equal(fits.length, 1, id);
      assert.ok(mark(itemOf(id), { [fieldNames.answer]: fits[0]!.letter!.toLowerCase() }).correct, id);
    }
  });
});
