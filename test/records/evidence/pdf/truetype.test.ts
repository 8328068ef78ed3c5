import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { face, regular } from '../../../../src/records/evidence/pdf/faces.ts';
import { TrueTypeSource, subsetTrueType } from '../../../../src/records/evidence/pdf/truetype.ts';

const source = new TrueTypeSource(
  readFileSync(new URL(`../../../../src/records/evidence/pdf/fonts/${regular}.ttf`, import.meta.url)),
);
const gid = (character: string): number => face(regular).font.glyphForCodePoint(character.codePointAt(0)!).id;

/** A glyph with its components' outlines in place of their numbers. */
function resolved(font: TrueTypeSource, glyph: number): unknown {
  const { bytes, components } = font.outline(glyph);
  const own = bytes.slice();
  for (const { at } of components) own.fill(0, at, at + 2);
  return [
    Buffer.from(own)
      .toString('hex')
      .replace(/(00)*$/, ''),
    components.map((component) => resolved(font, component.gid)),
  ];
}

test('a subset holds the same outlines and widths in the order asked for, components included', () => {
  const asked = [0, gid('é'), gid('A'), gid('é'), gid('Ǻ'), gid(' '), gid('ế')];
  const { bytes, glyphs } = subsetTrueType(source, asked);
  const subset = new TrueTypeSource(bytes);
  assert.ok(glyphs > asked.length, 'components are added');
  asked.forEach((glyph, place) => {
    assert.deepEqual(resolved(subset, place), resolved(source, glyph), `glyph ${glyph}`);
    assert.deepEqual(subset.metrics(place), source.metrics(glyph));
  });
  assert.equal(new DataView(subset.table('maxp').buffer).getUint16(4), glyphs);
});

test('the check sums of a subset are right', () => {
  const { bytes } = subsetTrueType(source, [0, gid('a'), gid('ö')]);
  const view = new DataView(bytes.buffer);
  let sum = 0;
  for (let at = 0; at < bytes.length; at += 4) sum = (sum + view.getUint32(at)) >>> 0;
  assert.equal(sum, 0xb1b0afba);
});

test('hinting is left out', () => {
  const { bytes } = subsetTrueType(source, [0, gid('a')]);
  const tables = [0, 1, 2, 3, 4, 5].map((i) => String.fromCharCode(...bytes.subarray(12 + 16 * i, 16 + 16 * i)));
  assert.deepEqual(tables, ['glyf', 'head', 'hhea', 'hmtx', 'loca', 'maxp']);
  assert.ok(subsetTrueType(source, [0, gid('a')]).bytes.length < 2500);
});
