import { LRUCache } from 'lru-cache';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Font } from 'fontkit';
import { TrueTypeSource } from './truetype.ts';

// Loaded with the first document: it is a tenth of what a process would load.
const require = createRequire(import.meta.url);
const fontkit = () => require('fontkit') as typeof import('fontkit');

/** One vendored font file, read and ready to shape with. Lengths are in font units. */
export type Face = {
  name: string;
  font: Font;
  source: TrueTypeSource;
  postscriptName: string;
  unitsPerEm: number;
  ascent: number;
  descent: number;
  capHeight: number;
  bbox: Font['bbox'];
};

/** The face of a style: every other face has one weight. */
export const regular = 'NotoSans-Regular';
export const bold = 'NotoSans-Bold';
export const myanmar = 'NotoSansMyanmar-Regular';
export const eastAsian = 'NotoSansCJKsc-Regular-subset';

// The blocks only say which file is worth opening for a character; whether the file has it is asked of the file.
const blocks: readonly (readonly [name: string, ranges: readonly (readonly [number, number])[]])[] = [
  [
    'NotoSansHebrew-Regular',
    [
      [0x0590, 0x05ff],
      [0xfb1d, 0xfb4f],
    ],
  ],
  [
    'NotoSansArabic-Regular',
    [
      [0x0600, 0x06ff],
      [0x0750, 0x077f],
      [0x08a0, 0x08ff],
      [0xfb50, 0xfdff],
      [0xfe70, 0xfeff],
    ],
  ],
  [
    'NotoSansSyriac-Regular',
    [
      [0x0700, 0x074f],
      [0x0860, 0x086f],
    ],
  ],
  ['NotoSansThaana-Regular', [[0x0780, 0x07bf]]],
  ['NotoSansNKo-Regular', [[0x07c0, 0x07ff]]],
  [
    'NotoSansDevanagari-Regular',
    [
      [0x0900, 0x097f],
      [0x1cd0, 0x1cff],
      [0xa8e0, 0xa8ff],
    ],
  ],
  ['NotoSansBengali-Regular', [[0x0980, 0x09ff]]],
  ['NotoSansGurmukhi-Regular', [[0x0a00, 0x0a7f]]],
  ['NotoSansGujarati-Regular', [[0x0a80, 0x0aff]]],
  ['NotoSansOriya-Regular', [[0x0b00, 0x0b7f]]],
  ['NotoSansTamil-Regular', [[0x0b80, 0x0bff]]],
  ['NotoSansTelugu-Regular', [[0x0c00, 0x0c7f]]],
  ['NotoSansKannada-Regular', [[0x0c80, 0x0cff]]],
  ['NotoSansMalayalam-Regular', [[0x0d00, 0x0d7f]]],
  ['NotoSansSinhala-Regular', [[0x0d80, 0x0dff]]],
  ['NotoSansThai-Regular', [[0x0e00, 0x0e7f]]],
  ['NotoSansLao-Regular', [[0x0e80, 0x0eff]]],
  [
    'NotoSansKhmer-Regular',
    [
      [0x1780, 0x17ff],
      [0x19e0, 0x19ff],
    ],
  ],
  [
    'NotoSansArmenian-Regular',
    [
      [0x0530, 0x058f],
      [0xfb13, 0xfb17],
    ],
  ],
  [
    'NotoSansGeorgian-Regular',
    [
      [0x10a0, 0x10ff],
      [0x1c90, 0x1cbf],
      [0x2d00, 0x2d2f],
    ],
  ],
  [
    'NotoSansEthiopic-Regular',
    [
      [0x1200, 0x139f],
      [0x2d80, 0x2ddf],
      [0xab00, 0xab2f],
    ],
  ],
  ['NotoSansTifinagh-Regular', [[0x2d30, 0x2d7f]]],
  ['NotoSerifTibetan-Regular', [[0x0f00, 0x0fff]]],
  [
    myanmar,
    [
      [0x1000, 0x109f],
      [0xa9e0, 0xa9ff],
      [0xaa60, 0xaa7f],
    ],
  ],
  ['NotoSansMongolian-Regular', [[0x1800, 0x18af]]],
  [
    eastAsian,
    [
      [0x1100, 0x11ff],
      [0x2e80, 0x2fdf],
      [0x3000, 0x31ff],
      [0x3400, 0x9fff],
      [0xac00, 0xd7a3],
      [0xf900, 0xfaff],
      [0xff00, 0xffef],
      [0x1b000, 0x1b16f],
      [0x20000, 0x323af],
    ],
  ],
];

/** Every vendored font file, without its ending. */
export const faceNames: readonly string[] = [regular, bold, ...blocks.map(([name]) => name)];

/** Those last drawn with, of 29: what the package makes of them all is a third of what stays in memory while packs are made. */
const opened = new LRUCache<string, Face>({ max: 8 });

/** Opens a vendored font and keeps it while it is in use. Throws when the file is missing. */
export function face(name: string): Face {
  let found = opened.get(name);
  if (found === undefined) {
    found = open(name);
    opened.set(name, found);
  }
  return found;
}

function open(name: string): Face {
  const bytes = readFileSync(new URL(`./fonts/${name}.ttf`, import.meta.url));
  const font = fontkit().create(bytes);
  // The package keeps a glyph object per shape with the text of its first use, which would make copied text depend on
  // what was shaped before. A fresh object for every request gives each use its own text.
  const getGlyph = font.getGlyph.bind(font);
  font.getGlyph = (id, codePoints) => {
    font._glyphs[id] = undefined;
    return getGlyph(id, codePoints);
  };
  skipMissingAnchors(font);
  return {
    name,
    font,
    source: new TrueTypeSource(bytes),
    postscriptName: font.postscriptName,
    unitsPerEm: font.unitsPerEm,
    ascent: font.ascent,
    descent: font.descent,
    capHeight: font.capHeight || 0.7 * font.unitsPerEm,
    bbox: font.bbox,
  };
}

/**
 * A font may have no place for a mark of one class on some letter or mark. The package fails there; by OpenType the
 * rule then doesn't apply, and the next one is tried.
 */
function skipMissingAnchors(font: Font): void {
  const processor = font._layoutEngine.engine?.GPOSProcessor;
  if (processor == null) return;
  const applyAnchor = processor.applyAnchor.bind(processor);
  const applyLookup = processor.applyLookup.bind(processor);
  let missing = false;
  processor.applyAnchor = (mark, base, at) => {
    if (base === null) missing = true;
    else applyAnchor(mark, base, at);
  };
  processor.applyLookup = (type, table) => {
    const applied = applyLookup(type, table) && !missing;
    missing = false;
    return applied;
  };
}

/**
 * The name of the face that draws a code point, or null when no vendored font has it.
 * `current` is the face of the text before it: characters that belong to no script stay with it where it has them.
 */
export function faceFor(codePoint: number, primary: string, current: string | null): string | null {
  if (current !== null && isShared(codePoint) && face(current).font.hasGlyphForCodePoint(codePoint)) return current;
  if (face(primary).font.hasGlyphForCodePoint(codePoint)) return primary;
  for (const [name, ranges] of blocks) {
    if (ranges.some(([from, to]) => codePoint >= from && codePoint <= to)) {
      return face(name).font.hasGlyphForCodePoint(codePoint) ? name : null;
    }
  }
  return null;
}

/** Spaces, punctuation, joiners and combining marks that several scripts use. Digits are not among them. */
function isShared(codePoint: number): boolean {
  return (
    (codePoint >= 0x20 && codePoint <= 0x2f) ||
    codePoint === 0xa0 ||
    (codePoint >= 0x0300 && codePoint <= 0x036f) ||
    codePoint === 0x0964 ||
    codePoint === 0x0965 ||
    (codePoint >= 0x2000 && codePoint <= 0x206f) ||
    codePoint === 0x25cc
  );
}
