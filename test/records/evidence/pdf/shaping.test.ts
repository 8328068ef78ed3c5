// Tier: full. Shapes every letter of every script.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { face } from '../../../../src/records/evidence/pdf/faces.ts';
import type { Line } from '../../../../src/records/evidence/pdf/shaping.ts';
import { breakLines, drawable, shapeLine } from '../../../../src/records/evidence/pdf/shaping.ts';
import { seededRandom } from '../../../../src/platform/crypto/random.ts';
import { names } from '../samples.ts';

/** From the first to the last code point of the scripts whose letters are put together. */
const scripts = [
  [0x0590, 0x05ff],
  [0x0600, 0x06ff],
  [0x0700, 0x07bf],
  [0x0900, 0x097f],
  [0x0980, 0x09ff],
  [0x0a00, 0x0aff],
  [0x0b00, 0x0bff],
  [0x0c00, 0x0cff],
  [0x0d00, 0x0dff],
  [0x0e00, 0x0eff],
  [0x0f00, 0x0fff],
  [0x1000, 0x109f],
  [0x1100, 0x11ff],
  [0x1780, 0x17ff],
] as const;

type Vector = {
  script: string;
  text: string;
  face: string;
  advance: number;
  glyphs: [glyph: number, x: number, y: number][];
};
const harfbuzz = JSON.parse(readFileSync(new URL('../harfbuzz.json', import.meta.url), 'utf8')) as {
  source: string;
  words: Vector[];
};

const textOf = (line: Line): string =>
  line.runs.map((run) => run.actual ?? run.glyphs.map((glyph) => glyph.text).join('')).join('');

/** Glyph, place and height of everything drawn, sorted by place: the order of marks on one letter is free. */
function drawn(line: Line): string[] {
  let pen = 0;
  const found: { gid: number; x: number; y: number }[] = [];
  for (const run of line.runs) {
    const toUnits = face(run.face).unitsPerEm / 1000;
    for (const glyph of run.glyphs) {
      found.push({ gid: glyph.gid, x: Math.round((pen + glyph.dx) * toUnits), y: Math.round(glyph.dy * toUnits) });
      pen += glyph.advance;
    }
  }
  return found.sort((a, b) => a.x - b.x || a.gid - b.gid || a.y - b.y).map(({ gid, x, y }) => `${gid}@${x},${y}`);
}

suite('shaping', () => {
  for (const { script, text, face: name, glyphs, advance } of harfbuzz.words) {
    test(`draws ${script} ${text} as HarfBuzz does`, () => {
      const line = shapeLine(text, 'regular');
      assert.deepEqual([...new Set(line.runs.map((run) => run.face))], [name]);
      const expected = glyphs
        .map(([gid, x, y]) => ({ gid, x, y }))
        .sort((a, b) => a.x - b.x || a.gid - b.gid || a.y - b.y);
      assert.deepEqual(
        drawn(line),
        expected.map(({ gid, x, y }) => `${gid}@${x},${y}`),
      );
      assert.equal(Math.round((line.width * face(name).unitsPerEm) / 1000), advance);
    });
  }

  test('keeps every character of every name in the text that is copied', () => {
    for (const { script, name } of names) {
      const sorted = (text: string): string[] => [...text].sort();
      assert.deepEqual(sorted(textOf(shapeLine(name, 'regular'))), sorted(name), script);
    }
  });

  test('gives the same result whatever was shaped before', () => {
    const texts = names.flatMap(({ name }) => name.split(' '));
    const fresh = (order: string[]): Map<string, string> => {
      // More different lines than the cache holds empty it.
      for (let i = 0; i < 2100; i++) shapeLine(`n${i}`, 'regular');
      return new Map(order.map((text) => [text, JSON.stringify(shapeLine(text, 'regular'))]));
    };
    const forwards = fresh(texts);
    const backwards = fresh([...texts].reverse());
    for (const text of texts) assert.equal(forwards.get(text), backwards.get(text), text);
  });

  test('copies one shape as the character it stands for in each text', () => {
    const [ideograph, radical] = ['\u4ebb', '\u2e85'].map((text) => shapeLine(text, 'regular').runs[0]!.glyphs[0]!);
    assert.equal(ideograph!.gid, radical!.gid, 'the font has one glyph for both');
    assert.deepEqual([ideograph!.text, radical!.text], ['\u4ebb', '\u2e85']);
    assert.notEqual(ideograph!.key, radical!.key);
  });

  test('orders mixed directions as the bidirectional algorithm says, and turns brackets round', () => {
    const line = shapeLine('عبد (الله) 12', 'regular');
    const glyphs = line.runs.flatMap((run) => run.glyphs.map((glyph) => ({ ...glyph, face: run.face })));
    assert.equal(glyphs.map((glyph) => glyph.text).join(''), '12 )هللا( دبع');
    const bracket = glyphs.find((glyph) => glyph.text === ')')!;
    assert.equal(bracket.gid, face(bracket.face).font.glyphForCodePoint('('.codePointAt(0)!).id);
  });

  test('writes a character that no font has as its code, and copies it as itself', () => {
    const line = shapeLine('Jo 😀', 'regular');
    assert.equal(line.runs.flatMap((run) => run.glyphs.map((glyph) => glyph.text)).join(''), 'Jo [U+1F600]');
    assert.equal(line.runs.at(-1)!.actual, '😀');
  });

  test('shapes every mark of a face on every other, also where the font has no place for it', () => {
    for (const [marks, letter] of [
      [/^[\u0300-\u036f]$/, 'q'],
      [/^[\u0591-\u05c7]$/, '\ufb40'],
    ] as const) {
      const all = Array.from({ length: 0x800 }, (_, codePoint) => String.fromCharCode(codePoint)).filter((character) =>
        marks.test(character),
      );
      for (const weight of ['regular', 'bold'] as const) {
        for (const one of all) {
          const text = all.map((other) => `${letter}${one}${other}`).join('');
          assert.equal([...textOf(shapeLine(text, weight))].length, 3 * all.length);
        }
      }
    }
  });

  test('draws the minus sign and copies it as one', () => {
    assert.equal(textOf(shapeLine('\u22120.23', 'regular')), '\u22120.23');
  });

  test('uses Japanese forms only beside kana', () => {
    const ideograph = (text: string): number => shapeLine(text, 'regular').runs[0]!.glyphs[0]!.gid;
    assert.notEqual(ideograph('直ひ'), ideograph('直'));
  });
});

suite('line breaking', () => {
  test('breaks at spaces and slashes, and never loses a character', () => {
    const text = 'results.example.org/verify and more words that need several lines';
    const lines = breakLines(text, 'regular', 12_000).map(textOf);
    assert.equal(lines[0], 'results.example.org/');
    assert.equal(lines.join(''), text, 'the space at the end of a line is in the text that is read');
  });

  test('draws four marks on a letter at most, and copies all', () => {
    const name = `Ze${'\u0301'.repeat(199)} Quill`;
    const line = shapeLine(name, 'regular');
    assert.equal(textOf(line), name);
    const heights = line.runs.flatMap((run) => run.glyphs).filter((glyph) => glyph.dy > 0);
    assert.equal(heights.length, 3, 'é and three marks above it');
  });

  test('keeps lines within the width, for words of any length and in any script', () => {
    for (const text of [
      'W'.repeat(200),
      '歐陽'.repeat(100),
      'ก'.repeat(200),
      'ﷺ'.repeat(60),
      `${'a\u0301'.repeat(150)}`,
    ]) {
      const lines = breakLines(text, 'regular', 20_000);
      assert.ok(lines.length > 1);
      for (const line of lines) assert.ok(line.width <= 20_000, `${text.slice(0, 2)} ${line.width}`);
      assert.equal([...lines.map(textOf).join('')].sort().join(''), [...text].sort().join(''));
    }
  });

  test('never begins a line with a combining mark', () => {
    for (const line of breakLines('e\u0301\u0323'.repeat(120), 'regular', 5_000)) assert.equal(textOf(line)[0], 'e');
  });

  test('breaks right-to-left text in reading order', () => {
    const lines = breakLines('محمد عبد الله الحسيني', 'regular', 5_500);
    const letters = (line: Line): string => [...textOf(line)].reverse().join('');
    assert.deepEqual(
      lines.map((line) => letters(line).trim()),
      ['محمد عبد الله', 'الحسيني'],
    );
  });

  test('draws a Tibetan name with a joiner in it, at which the shaper throws, as without it', () => {
    const name = 'བསྟན་\u200dའཛིན';
    assert.deepEqual(drawn(shapeLine(name, 'regular')), drawn(shapeLine(name.replace('\u200d', ''), 'regular')));
    for (const text of [name, 'Tenzin བ\u200c', '\u200dབ', 'བ\u200dབ'])
      assert.equal(textOf(shapeLine(text, 'regular')), text);
  });

  test('draws letter by letter what the shaper throws at in every form', () => {
    const { font } = face('NotoSans-Regular');
    const broken = Object.assign(Object.create(font) as typeof font, { layout: () => assert.fail('as fontkit does') });
    for (const rightToLeft of [false, true]) {
      const { glyphs, positions } = drawable(broken, 'Ada', [], undefined, rightToLeft);
      assert.deepEqual(
        glyphs.map((glyph) => String.fromCodePoint(...glyph.codePoints)),
        rightToLeft ? ['a', 'd', 'A'] : ['A', 'd', 'a'],
      );
      assert.deepEqual(
        positions.map((position) => position.xAdvance),
        glyphs.map((glyph) => glyph.advanceWidth),
      );
    }
  });

  test('draws any letters, marks and joiners in any order', () => {
    const random = seededRandom('letters in any order');
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random.float() * from.length)]!;
    const characters = scripts.map(([first, last]) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
    const between = ['\u200c', '\u200d', '\u25cc', '\u034f', '\u0301', ' '];
    const texts = characters.map((): string[] => []);
    for (let i = 0; i < 5_000; i++) {
      const script = pick(characters);
      let text = '';
      for (let n = 1 + Math.floor(random.float() * 7); n > 0; n--)
        text +=
          random.float() < 0.25
            ? pick(between)
            : String.fromCodePoint(pick(random.float() < 0.1 ? pick(characters) : script));
      texts[characters.indexOf(script)]!.push(text);
    }
    // Script by script: few faces are kept open, and opening one anew for each text takes six times as long.
    for (const text of texts.flat()) assert.ok(shapeLine(text, 'regular').width >= 0, text);
  });
});
