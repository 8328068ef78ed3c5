import { LRUCache } from 'lru-cache';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Font } from 'fontkit';
import unicodeBlocks from './fonts/blocks.json' with { type: 'json' };
import { TrueTypeSource } from './truetype.ts';

// Most processes render no document, so fontkit is loaded with the first document.
const require = createRequire(import.meta.url);
const fontkit = () => require('fontkit') as typeof import('fontkit');

/** A vendored font file. Lengths are in font units. */
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

export const regular = 'NotoSans-Regular';
export const bold = 'NotoSans-Bold';
export const myanmar = 'NotoSansMyanmar-Regular';

// The Unicode block of a character decides which font file to open. The font file may still lack the character.
const blocks = Object.entries(unicodeBlocks).map(([name, ranges]) => {
  const ends = ranges.map((range) => range.split('-').map((hex) => Number.parseInt(hex, 16)) as [number, number]);
  return [name, ends] as const;
});

/** The names of all vendored font files, without `.ttf`. */
export const faceNames: readonly string[] = [regular, bold, ...blocks.map(([name]) => name)];

/** Opening all 29 faces would take a third of the memory that rendering needs, so at most 8 stay open. */
const opened = new LRUCache<string, Face>({ max: 8 });

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
  // fontkit caches each glyph with the text of its first use, so copied text would depend on earlier documents.
  // Removing the cached glyph before each request prevents that.
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
 * fontkit fails if a font has no anchor for a mark. With this patch, fontkit tries the next rule, as OpenType requires.
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
 * The face that draws a code point; null if no vendored font has the character. A character that several scripts use
 * stays with `current`, the face of the preceding text.
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

/** Spaces, punctuation, joiners and combining marks that several scripts use, but not digits. */
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
