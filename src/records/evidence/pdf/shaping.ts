import bidiFactory from 'bidi-js';
import type { Font, FontRun } from 'fontkit';
import { bold, face, faceFor, myanmar, regular } from './faces.ts';

/**
 * One glyph in drawing order, with lengths in thousandths of the font size. `width` is the width in the font program,
 * `advance` is how far the pen moves, and `text` is what a reader copies.
 */
export type Glyph = Readonly<{
  key: string;
  gid: number;
  text: string;
  width: number;
  advance: number;
  dx: number;
  dy: number;
}>;

/** Glyphs of one face. `actual`: the text in reading order; null if the texts of the glyphs already give this text. */
export type Run = { face: string; glyphs: Glyph[]; actual: string | null };

/** One line of text, with runs from left to right. `width` is in thousandths of the font size. */
export type Line = { runs: Run[]; width: number };

export type Weight = 'regular' | 'bold';

const bidi = bidiFactory();

// The result of shaping depends only on the arguments, so caching cannot change it.
const cacheLimit = 2000;
const lineCache = new Map<string, Line>();
const paragraphCache = new Map<string, Line[]>();
// Equal glyphs are stored once and shared by all lines.
const glyphCache = new Map<string, Glyph>();

function cached<T>(cache: Map<string, T>, key: string, make: () => T): T {
  let value = cache.get(key);
  if (value === undefined) {
    if (cache.size >= cacheLimit) cache.clear();
    value = make();
    cache.set(key, value);
  }
  return value;
}

// Right-to-left characters begin with the Hebrew block.
const leftToRightOnly = /^[\0-\u058f]*$/;

/** The first letter that has a direction decides the direction of the paragraph. */
function isRightToLeft(text: string): boolean {
  return !leftToRightOnly.test(text) && (bidi.getEmbeddingLevels(text).paragraphs[0]?.level ?? 0) % 2 === 1;
}

export function shapeLine(text: string, weight: Weight, rightToLeft = isRightToLeft(text)): Line {
  const key = `${weight}\n${rightToLeft ? 'rtl' : 'ltr'}\n${text}`;
  return cached(lineCache, key, () => shape(text, weight, rightToLeft));
}

// The Latin face has no minus sign, so an en dash is drawn. Copied text contains the minus sign.
const drawnAs: Readonly<Record<string, string>> = { '\u2212': '\u2013' };

type Segment = { text: string; face: string; level: number; standsFor: string | null };

function shape(text: string, weight: Weight, rightToLeft: boolean): Line {
  const language = hasKana(text) ? 'JAN ' : undefined;
  const runs = inVisualOrder(segments(text, weight, rightToLeft)).map((segment) => shapeSegment(segment, language));
  const width = runs.reduce((sum, run) => sum + run.glyphs.reduce((part, glyph) => part + glyph.advance, 0), 0);
  return { runs, width };
}

function segments(text: string, weight: Weight, rightToLeft: boolean): Segment[] {
  const levels =
    !rightToLeft && leftToRightOnly.test(text) ? [] : bidi.getEmbeddingLevels(text, rightToLeft ? 'rtl' : 'ltr').levels;
  const primary = weight === 'bold' ? bold : regular;
  const found: Segment[] = [];
  let current: string | null = null;
  let at = 0;
  let marks = 0;
  for (const character of text) {
    const level = levels[at] ?? 0;
    at += character.length;
    marks = stacks(character) ? marks + 1 : 0;
    // More marks would cover the lines above and below. They are not drawn, but copied text contains them.
    if (marks > maxMarks) {
      const under = found.at(-1)!;
      under.standsFor = (under.standsFor ?? under.text) + character;
      continue;
    }
    const codePoint = (drawnAs[character] ?? character).codePointAt(0)!;
    const name = faceFor(codePoint, primary, current);
    const last = found.at(-1);
    if (name === null) {
      found.push({ text: notation(codePoint), face: primary, level: level + (level % 2), standsFor: character });
      current = null;
    } else {
      if (last !== undefined && last.standsFor === null && last.face === name && last.level === level)
        last.text += character;
      else found.push({ text: character, face: name, level, standsFor: null });
      current = name;
    }
  }
  return found;
}

/** The most marks drawn on one letter. No language puts more of the marks that several scripts share on a letter. */
const maxMarks = 4;

/** Whether a mark is drawn above or below earlier marks on its letter. */
const stacks = (character: string): boolean =>
  /^[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f]$/.test(character);

/** If no vendored font has a character, its code is printed: `[U+1F600]`. */
export function notation(codePoint: number): string {
  return `[U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}]`;
}

/** Orders segments by rule L2 of the Unicode bidirectional algorithm. Each segment has one embedding level. */
function inVisualOrder(logical: readonly Segment[]): Segment[] {
  const visual = [...logical];
  const highest = visual.reduce((max, { level }) => Math.max(max, level), 0);
  for (let level = highest; level >= 1; level--) {
    for (let start = 0; start < visual.length; start++) {
      if (visual[start]!.level < level) continue;
      let end = start;
      while (end + 1 < visual.length && visual[end + 1]!.level >= level) end++;
      visual.splice(start, end - start + 1, ...visual.slice(start, end + 1).reverse());
      start = end;
    }
  }
  return visual;
}

/**
 * Shapes text. fontkit throws for some sequences, such as a joiner after a Tibetan letter. The function then tries
 * without joiners, and at last draws each letter separately, so that every report can be made.
 */
export function drawable(
  font: Font,
  text: string,
  features: string[],
  language: string | undefined,
  rightToLeft: boolean,
): FontRun {
  for (const shown of [text, text.replace(/[\u200c\u200d]/g, '')]) {
    try {
      return font.layout(shown, features, undefined, language, rightToLeft ? 'rtl' : 'ltr');
    } catch {
      // fontkit cannot shape this form, so the next form is tried.
    }
  }
  const glyphs = [...text].map((character) => font.glyphForCodePoint(character.codePointAt(0)!));
  if (rightToLeft) glyphs.reverse();
  const positions = glyphs.map(({ advanceWidth: xAdvance }) => ({ xAdvance, yAdvance: 0, xOffset: 0, yOffset: 0 }));
  return { glyphs, positions };
}

function shapeSegment(segment: Segment, language: string | undefined): Run {
  const rightToLeft = segment.level % 2 === 1;
  const { font, unitsPerEm, source } = face(segment.face);
  let shown = '';
  for (const character of segment.text) shown += shapeOf(character, rightToLeft);
  const burmese = segment.face === myanmar;
  shown = burmese ? inBurmeseOrder(shown) : splitAm(shown);
  const { glyphs, positions } = drawable(font, shown, burmese ? burmeseFeatures : [], language, rightToLeft);
  const toThousand = 1000 / unitsPerEm;
  const texts = glyphTexts(
    [...segment.text],
    glyphs.map((glyph) => glyph.codePoints),
    rightToLeft,
  );
  const out: Glyph[] = glyphs.map((glyph, i) => {
    const { xAdvance, xOffset, yOffset } = positions[i]!;
    const text = texts.texts[i]!;
    return cached(glyphCache, `${segment.face} ${glyph.id} ${xAdvance} ${xOffset} ${yOffset} ${text}`, () => ({
      key: `${glyph.id}\n${text}`,
      gid: glyph.id,
      text,
      width: source.metrics(glyph.id).advance * toThousand,
      advance: xAdvance * toThousand,
      dx: xOffset * toThousand,
      dy: yOffset * toThousand,
    }));
  });
  const moved = out.some((glyph) => glyph.dx !== 0 || glyph.dy !== 0 || glyph.advance === 0);
  if (rightToLeft) return { face: segment.face, glyphs: lettersBeforeMarks(out), actual: null };
  return {
    face: segment.face,
    glyphs: out,
    actual: segment.standsFor ?? (!texts.exact || moved ? segment.text : null),
  };
}

/**
 * Assigns each code point of the text to one glyph. If one letter became several glyphs, fontkit repeats its code
 * points. For invisible characters, fontkit returns spaces.
 * @returns the copied text of each glyph; `exact`: the texts in order equal the original text
 */
function glyphTexts(
  text: readonly string[],
  codePoints: readonly number[][],
  rightToLeft: boolean,
): { texts: string[]; exact: boolean } {
  const texts = codePoints.map(() => '');
  const order = codePoints.map((_, i) => i);
  if (rightToLeft) order.reverse();
  let next = 0;
  let exact = true;
  for (const index of order) {
    const own = codePoints[index]!;
    if (own.length === 1 && own[0] === 0x20 && text[next] !== ' ' && isInvisible(text[next])) {
      texts[index] = text[next]!;
      next += 1;
      continue;
    }
    const matches =
      own.length > 0 &&
      own.every((codePoint, i) => {
        const expected = text[next + i];
        return expected !== undefined && shapeOf(expected, rightToLeft).codePointAt(0) === codePoint;
      });
    if (matches) {
      texts[index] = text.slice(next, next + own.length).join('');
      next += own.length;
    } else {
      exact = false;
      texts[index] = String.fromCodePoint(...own);
    }
  }
  return { texts, exact: exact && next === text.length };
}

/**
 * Marks precede their letter in a right-to-left run. Copied text needs the letter first, so this function reorders the
 * glyphs without moving them on the page.
 */
function lettersBeforeMarks(glyphs: readonly Glyph[]): Glyph[] {
  const out: Glyph[] = [];
  for (let i = 0; i < glyphs.length; i++) {
    const start = i;
    while (i + 1 < glyphs.length && glyphs[i]!.advance === 0 && !isInvisible(glyphs[i]!.text)) i++;
    const letter = glyphs[i]!;
    out.push(letter);
    for (let mark = i - 1; mark >= start; mark--) out.push({ ...glyphs[mark]!, dx: glyphs[mark]!.dx - letter.advance });
  }
  return out;
}

const isInvisible = (character: string | undefined): boolean =>
  character !== undefined && /^[\u034f\u061c\u115f\u1160\u17b4\u17b5\u200b-\u200f\u2060-\u206f]$/.test(character);

/** The character whose shape is drawn. Brackets are mirrored in right-to-left text. */
function shapeOf(character: string, rightToLeft: boolean): string {
  const drawn = drawnAs[character] ?? character;
  return rightToLeft ? (bidi.getMirroredCharacter(drawn) ?? drawn) : drawn;
}

/**
 * Splits the Thai and Lao vowel AM into a ring above the letter and a part after the letter, because fontkit does not.
 */
function splitAm(text: string): string {
  return text
    .replace(
      /(?<![\u0e31\u0e34-\u0e37\u0e3b\u0e47-\u0e4e])([\u0e31\u0e34-\u0e37\u0e3b\u0e47-\u0e4e]*)\u0e33/g,
      '\u0e4d$1\u0e32',
    )
    .replace(
      /(?<![\u0eb1\u0eb4-\u0eb7\u0ebb\u0ec7-\u0ece])([\u0eb1\u0eb4-\u0eb7\u0ebb\u0ec7-\u0ece]*)\u0eb3/g,
      '\u0ecd$1\u0eb2',
    );
}

/**
 * fontkit does not put Burmese syllables into drawing order. The vowel E and the medial R must precede their letter,
 * and kinzi must follow its letter.
 */
function inBurmeseOrder(text: string): string {
  return text.replace(
    /((?:[\u1004\u101b\u105a]\u103a\u1039)?)([\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e](?:\u1039[\u1000-\u1021])*)([\u102b-\u1038\u103a-\u103e\u1056-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d]*)/g,
    (_, kinzi: string, letter: string, marks: string) => {
      const before = `${marks.replace(/[^\u1031\u1084]/g, '')}${marks.replace(/[^\u103c]/g, '')}`;
      return `${before}${letter}${kinzi}${marks.replace(/[\u1031\u1084\u103c]/g, '')}`;
    },
  );
}

const burmeseFeatures = ['rphf', 'pref', 'blwf', 'pstf', 'pres', 'abvs', 'blws', 'psts'];

function hasKana(text: string): boolean {
  for (const character of text) {
    const codePoint = character.codePointAt(0)!;
    if (codePoint >= 0x3040 && codePoint <= 0x30ff) return true;
  }
  return false;
}

const isIdeographic = (codePoint: number): boolean =>
  (codePoint >= 0x2e80 && codePoint <= 0x9fff) ||
  (codePoint >= 0xac00 && codePoint <= 0xd7a3) ||
  (codePoint >= 0xf900 && codePoint <= 0xfaff) ||
  (codePoint >= 0xff00 && codePoint <= 0xffef) ||
  codePoint >= 0x20000;

/** Splits text into pieces after which a line may end: words with their space or slash, and single ideographs. */
function pieces(text: string): string[] {
  const out: string[] = [];
  let piece = '';
  for (const character of text) {
    const ideograph = isIdeographic(character.codePointAt(0)!);
    if (ideograph && piece !== '') {
      out.push(piece);
      piece = '';
    }
    piece += character;
    if (character === ' ' || character === '/' || ideograph) {
      out.push(piece);
      piece = '';
    }
  }
  if (piece !== '') out.push(piece);
  return out;
}

/**
 * Breaks text into shaped lines of at most `maxWidth` thousandths of the font size. A word that is wider than a line is
 * broken, but not before a combining mark or a joiner.
 */
export function breakLines(text: string, weight: Weight, maxWidth: number): Line[] {
  return cached(paragraphCache, `${weight}\n${maxWidth}\n${text}`, () => linesOf(text, weight, maxWidth));
}

function linesOf(text: string, weight: Weight, maxWidth: number): Line[] {
  const whole = shapeLine(text, weight);
  if (whole.width <= maxWidth) return [whole];
  const rightToLeft = isRightToLeft(text);
  const measure = (part: string): number => shapeLine(part, weight, rightToLeft).width;
  const lines: string[] = [];
  let line = '';
  let width = 0;
  const place = (piece: string): void => {
    const trimmed = measure(piece.trimEnd());
    if (line !== '' && width + trimmed > maxWidth) {
      lines.push(line);
      line = '';
      width = 0;
    }
    line += piece;
    width += measure(piece);
  };
  for (const piece of pieces(text)) {
    if (measure(piece.trimEnd()) <= maxWidth) place(piece);
    else for (const part of splitWord(piece, weight, maxWidth)) place(part);
  }
  if (line !== '') lines.push(line);
  return lines.map((part, i) => {
    const shaped = shapeLine(part.trimEnd(), weight, rightToLeft);
    return part.endsWith(' ') && i < lines.length - 1 ? followedBySpace(shaped, weight) : shaped;
  });
}

/** Adds a space that does not widen the line, so that copied text separates its last word from the next text. */
export function followedBySpace(line: Line, weight: Weight): Line {
  return { ...line, runs: [...line.runs, ...shapeLine(' ', weight, false).runs] };
}

function splitWord(word: string, weight: Weight, maxWidth: number): string[] {
  const clusters: string[] = [];
  for (const character of word) {
    const attaches =
      bidi.getBidiCharTypeName(character) === 'NSM' || isInvisible(character) || isInvisible(clusters.at(-1)?.at(-1));
    if (attaches && clusters.length > 0) clusters[clusters.length - 1] += character;
    else clusters.push(character);
  }
  const parts: string[] = [];
  let part = '';
  let width = 0;
  for (const cluster of clusters) {
    const own = shapeLine(cluster, weight).width;
    if (part !== '' && width + own > maxWidth) {
      parts.push(part);
      part = '';
      width = 0;
    }
    part += cluster;
    width += own;
  }
  if (part !== '') parts.push(part);
  return parts;
}
