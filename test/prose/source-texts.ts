import type { TextlintPluginCreator } from '@textlint/kernel';
import { parseSync, Visitor, type Node } from 'oxc-parser';

type Range = readonly [start: number, end: number];
type Piece = { type: 'Str' | 'Code'; range: Range };

/** Tags inside a sentence. Every other tag ends the sentence. */
const inline = new Set(['a', 'abbr', 'b', 'code', 'em', 'i', 'kbd', 'span', 'strong', 'time']);
const tag = /<\/?([a-z][a-z0-9-]*)[^<>]*>/g;
const attribute = /\b(?:alt|aria-label|content|placeholder|title)="([^"]*)"/g;
const paragraphEnd = /\\n|\n\s*\n/g;

/** The texts of a string, a template or a sum of them, and what they insert (`Code`). Adds the nodes to `seen`. */
function piecesOf(node: Node, seen: Set<Node>): Piece[] | undefined {
  seen.add(node);
  if (node.type === 'Literal')
    return typeof node.value === 'string' ? [{ type: 'Str', range: [node.start + 1, node.end - 1] }] : undefined;
  if (node.type === 'TemplateLiteral')
    return node.quasis.flatMap(({ start, value, tail }): Piece[] => {
      // Its range begins with ` or }.
      const end = start + 1 + value.raw.length;
      const text: Piece = { type: 'Str', range: [start + 1, end] };
      return tail ? [text] : [text, { type: 'Code', range: [end, end + 2] }];
    });
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return undefined;
  const sides = [node.left, node.right].map((side) => ({ side, pieces: piecesOf(side, seen) }));
  if (sides.every(({ pieces }) => pieces === undefined)) return undefined;
  return sides.flatMap(({ side, pieces }) => pieces ?? [{ type: 'Code', range: [side.start, side.end] }]);
}

/** Cuts the text between `from` and `to` at the matches of `pattern`. */
function* cut(view: string, [from, to]: Range, pattern: RegExp, cuts: (match: RegExpExecArray) => boolean) {
  let start = from;
  for (const match of view.slice(from, to).matchAll(pattern)) {
    if (!cuts(match)) continue;
    yield [start, from + match.index] as const;
    start = from + match.index + match[0].length;
  }
  yield [start, to] as const;
}

/** The paragraphs of a text as their pieces. `view` has \u0001 where code is, and \u0000 where another text begins. */
function paragraphsOf(view: string, range: Range, isHtml: boolean): Piece[][] {
  const attributes = isHtml
    ? [...view.slice(...range).matchAll(tag)].flatMap((found) =>
        [...found[0].matchAll(attribute)].map((one): Range => {
          const start = range[0] + found.index + one.index + one[0].length - 1 - one[1]!.length;
          return [start, start + one[1]!.length];
        }),
      )
    : [];
  const blocks = isHtml ? [...cut(view, range, tag, ([, name]) => !inline.has(name!))] : [range];
  return [...blocks, ...attributes].flatMap((block) =>
    [...cut(view, block, paragraphEnd, () => true)].map((paragraph) =>
      (isHtml ? [...cut(view, paragraph, tag, () => true)] : [paragraph]).flatMap(([start, end]) =>
        [...view.slice(start, end).matchAll(/\u0001+|[^\u0000\u0001]+/g)].map(({ 0: text, index }): Piece => ({
          type: text.startsWith('\u0001') ? 'Code' : 'Str',
          range: [start + index, start + index + text.length],
        })),
      ),
    ),
  );
}

const sql =
  /\bselect\s+(?:\w+\.\w|\w*_|\*)|^\s*(?:select\s(?:[^]*\s)?from\s|(?:create|insert|update|delete|from|set|where|join|and|or|order by|case when)\s[^]*[_=$])|\(\s*(?:select|insert|update|delete)\s|^[\s)]*(?:\w\.)?[a-z]+_[a-z_]+(?: as \w|,| [=<>])/;
const markup = /<\w+ \w+="|\{[\w-]+:/;
const word = /^[“("'‘]*\p{L}[\p{L}’'-]*[.,;:!?)”"'’]*$/u;

/** True if most of the words are words of a language, and the text is neither SQL nor markup. */
function isSentence(text: string): boolean {
  const words = text.trim().split(/\s+/);
  return (
    words.length > 2 &&
    /\p{Ll}/u.test(text) &&
    2 * words.filter((one) => word.test(one)).length >= words.length &&
    !sql.test(text) &&
    !markup.test(text)
  );
}

/** The sentences of the strings and templates in a source. */
function paragraphsOfScript(source: string, file: string): Piece[][] {
  const { program, comments, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file} cannot be read: ${errors[0]!.message}`);
  const paragraphs: Piece[][] = [];
  const seen = new Set<Node>();
  const htmlStarts = new Set<number>();
  const read = (literal: Node) => {
    const pieces = seen.has(literal) ? undefined : piecesOf(literal, seen);
    if (!pieces) return;
    let view = '';
    const from = pieces[0]!.range[0];
    for (const { type, range } of pieces) {
      view += '\u0000'.repeat(range[0] - from - view.length);
      view += type === 'Str' ? source.slice(...range) : '\u0001'.repeat(range[1] - range[0]);
    }
    for (const parts of paragraphsOf(view, [0, view.length], htmlStarts.has(literal.start)))
      paragraphs.push(parts.map(({ type, range }) => ({ type, range: [range[0] + from, range[1] + from] })));
  };
  new Visitor({
    TaggedTemplateExpression({ tag: name, quasi }) {
      if (name.type === 'Identifier' && name.name === 'html') htmlStarts.add(quasi.start);
    },
    CallExpression({ callee }) {
      // A list of words.
      if (
        callee.type === 'MemberExpression' &&
        callee.property.type === 'Identifier' &&
        callee.property.name === 'split'
      )
        seen.add(callee.object);
    },
    BinaryExpression: read,
    TemplateLiteral: read,
    Literal: read,
  }).visit(program);
  // Programs that use the client library show its docstrings.
  if (file.startsWith('client/'))
    for (const { value, start, end } of comments)
      if (value.startsWith('*')) paragraphs.push(...paragraphsOfDocstring(source, [start + 3, end - 2]));
  return paragraphs;
}

const docstringEnd = /```[^]*?```|\n\s*\*\s*(?=\n|@|- )/g;
const lineStart = /(?<=\n)\s*\* ?/g;
const docstringCode = /`[^`]*`|\{@link[^}]*\}/g;

function paragraphsOfDocstring(source: string, range: Range): Piece[][] {
  return [...cut(source, range, docstringEnd, () => true)].map((paragraph) => {
    const lines = [...cut(source, paragraph, lineStart, () => true)];
    return lines.flatMap((line) => {
      const texts = [...cut(source, line, docstringCode, () => true)];
      return texts.flatMap((text, i): Piece[] => {
        const next = texts[i + 1];
        const piece: Piece = { type: 'Str', range: text };
        return next === undefined ? [piece] : [piece, { type: 'Code', range: [text[1], next[0]] }];
      });
    });
  });
}

/** The summaries of alerts. */
const paragraphsOfAlerts = (source: string): Piece[][] =>
  [...source.matchAll(/(?<=^ +summary: ).*/gm)].map(({ 0: text, index }) => [
    { type: 'Str', range: [index, index + text.length] },
  ]);

/** The sentences of a source, as the paragraphs of a document of textlint. */
function documentOf(source: string, file: string) {
  const lineStarts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const position = (index: number) => {
    const line = lineStarts.findLastIndex((start) => start <= index);
    return { line: line + 1, column: index - lineStarts[line]! };
  };
  const node = <T extends string>(type: T, range: Range) => ({
    type,
    range,
    raw: source.slice(...range),
    loc: { start: position(range[0]), end: position(range[1]) },
  });
  const paragraphs = file.endsWith('.yml') ? paragraphsOfAlerts(source) : paragraphsOfScript(source, file);
  const children = paragraphs
    .filter((texts) =>
      isSentence(texts.map(({ type, range }) => (type === 'Str' ? source.slice(...range) : 'x')).join('')),
    )
    .map((texts) => {
      const values = texts.map((one) => ({ ...node(one.type, one.range), value: source.slice(...one.range) }));
      return { ...node('Paragraph', [texts[0]!.range[0], texts.at(-1)!.range[1]]), children: values };
    });
  return { ...node('Document', [0, source.length]), children };
}

/** textlint's plugin for sources. */
export const sourceTexts: TextlintPluginCreator = {
  Processor: class {
    availableExtensions() {
      return ['.ts', '.js', '.yml'];
    }
    processor() {
      return {
        preProcess: (text: string, file = 'source.ts') => documentOf(text, file) as never,
        postProcess: (messages: never[], file = '') => ({ messages, filePath: file }),
      };
    }
  },
};
