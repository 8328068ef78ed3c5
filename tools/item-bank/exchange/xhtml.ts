import { parseBlocks, parseInline } from '../../../src/engine/item-bank/markup.ts';
import type { Inline } from '../../../src/engine/item-bank/markup.ts';
import type { Figure, TaskBlock } from '../../../src/engine/item-bank/schema.ts';
import { columnName } from '../../../src/engine/item-bank/render-model.ts';
import { drawn, isDrawing } from '../../../src/web/player/drawings/drawing.ts';
import { EntryFault } from './json.ts';
import { element, elementsIn, elementsWithin, localName, textIn } from './xml.ts';
import type { XmlElement, XmlNode } from './xml.ts';

/** QTI identifiers are XML names, which cannot begin with a digit. The bank's option IDs can. */
export const toIdentifier = (id: string): string => `c_${id}`;
export const fromIdentifier = (identifier: string): string =>
  identifier.startsWith('c_') ? identifier.slice(2) : identifier;

export function inlineXml(inline: readonly Inline[]): XmlNode[] {
  return inline.map((part) => {
    switch (part.kind) {
      case 'text':
        return part.text;
      case 'strong':
        return element('strong', {}, part.text);
      case 'exact':
        return element('code', {}, part.text);
      case 'gap':
        return element('span', { class: 'gap' }, part.text);
      case 'spot':
        return element('qti-hottext', { identifier: toIdentifier(part.id) }, part.text);
    }
  });
}

export const markupXml = (text: string): XmlNode[] => inlineXml(parseInline(text));

export function blocksXml(paragraphs: readonly string[]): XmlElement[] {
  return parseBlocks(paragraphs).map((block) => {
    if (block.kind === 'list')
      return element(
        'ul',
        {},
        block.items.map((item) => element('li', {}, inlineXml(item))),
      );
    const paragraph = element('p', {}, inlineXml(block.inline));
    return block.kind === 'quote' ? element('blockquote', {}, paragraph) : paragraph;
  });
}

/** The bank has no markup for this element, and without the element the text would change its meaning. */
export const refused = (name: string): EntryFault => new EntryFault(`has <${name}>, which the bank can't take over`);

/** Running text in the bank's markup. `within`: the mark around the text; marks cannot be nested. */
function inlineMarkup(nodes: readonly XmlNode[], within: string | null = null): string {
  return nodes
    .map((node) => {
      if (typeof node === 'string') return node;
      const name = localName(node);
      if (name === 'span' || (name === 'strong' && within === 'strong')) return inlineMarkup(node.children, within);
      if (!inlineNames.has(name)) throw refused(name);
      if (within !== null) throw new EntryFault(`has <${name}> inside <${within}>, which the bank can't take over`);
      if (name === 'qti-text-entry-interaction') return '____';
      const text = inlineMarkup(node.children, name);
      if (name === 'qti-hottext') return `[[${fromIdentifier(node.attributes.identifier ?? '')}|${text}]]`;
      const sign = name === 'strong' ? '**' : '`';
      return text.trim() === '' ? text : `${sign}${text}${sign}`;
    })
    .join('');
}

const inlineNames = new Set(['strong', 'code', 'span', 'qti-hottext', 'qti-text-entry-interaction']);
const paragraphNames = new Set(['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6']);
const containers = new Set([
  'div',
  'section',
  'article',
  'header',
  'footer',
  'aside',
  'qti-content-body',
  'qti-rubric-block',
  'qti-stimulus-body',
]);

/** A paragraph, or an interaction between paragraphs. `isSigned`: the paragraph begins with a mark of the bank. */
type Piece = { text: string; isSigned?: true } | { interaction: XmlElement };

const isBlockInteraction = (name: string) => name.endsWith('-interaction') && !inlineNames.has(name);

/** Paragraphs and interactions in reading order. The prompt of an interaction comes before the interaction. */
export function piecesOf(node: XmlElement): Piece[] {
  const pieces: Piece[] = [];
  let line: XmlNode[] = [];
  const endLine = () => {
    const text = inlineMarkup(line).replace(/\s+/gu, ' ').trim();
    if (text !== '') pieces.push({ text });
    line = [];
  };
  for (const child of node.children) {
    const name = typeof child === 'string' ? '' : localName(child);
    if (typeof child === 'string' || inlineNames.has(name)) {
      line.push(child);
      continue;
    }
    endLine();
    if (name === 'br' || name === 'qti-prompt') continue;
    if (paragraphNames.has(name) || containers.has(name)) pieces.push(...piecesOf(child));
    else if (name === 'ul' || name === 'ol') pieces.push(...listOf(child));
    else if (name === 'blockquote')
      pieces.push(...textsIn(child).map((text) => ({ text: `> ${text}`, isSigned: true as const })));
    else if (isBlockInteraction(name)) {
      const prompts = elementsIn(child).filter((inside) => localName(inside) === 'qti-prompt');
      pieces.push(...prompts.flatMap(piecesOf), { interaction: child });
    } else throw refused(name);
  }
  endLine();
  return pieces;
}

/** The points of a list with the bank's mark, or with their numbers. */
function listOf(list: XmlElement): Piece[] {
  const isNumbered = localName(list) === 'ol';
  return elementsIn(list).flatMap((point, at) => {
    if (localName(point) !== 'li') throw refused(localName(point));
    const text = lineMarkup(point, 'a point of a list');
    return text === '' ? [] : [isNumbered ? { text: `${at + 1}. ${text}` } : { text: `- ${text}`, isSigned: true }];
  });
}

/** The paragraphs of an element that may contain only paragraphs without marks. */
function textsIn(node: XmlElement): string[] {
  const lists = elementsWithin(node).map(localName);
  const other = lists.find(
    (name) => name === 'ul' || name === 'ol' || name === 'blockquote' || isBlockInteraction(name),
  );
  if (other !== undefined)
    throw new EntryFault(`has <${other}> inside <${localName(node)}>, which the bank can't take over`);
  return piecesOf(node).flatMap((piece) => ('text' in piece ? piece.text : []));
}

/**
 * Reads a text that the bank stores as one line, such as an option.
 * @throws EntryFault if the text has several lines
 */
export function lineMarkup(node: XmlElement, what = 'an option'): string {
  const texts = textsIn(node);
  if (texts.length > 1) throw new EntryFault(`has ${what} of several paragraphs, and the bank takes one`);
  return texts[0] ?? '';
}

/** The paragraphs in the bank's markup, without the interactions between them. */
export function paragraphsOf(node: XmlElement): string[] {
  return piecesOf(node).flatMap((piece) => ('text' in piece ? piece.text : []));
}

const cell = (name: 'th' | 'td', text: string): XmlElement => element(name, {}, markupXml(text));

function table(caption: string, header: readonly string[], rows: readonly (readonly string[])[]): XmlElement {
  return element(
    'table',
    {},
    element('caption', {}, markupXml(caption)),
    header.length === 0
      ? []
      : element(
          'thead',
          {},
          element(
            'tr',
            {},
            header.map((text) => cell('th', text)),
          ),
        ),
    element(
      'tbody',
      {},
      rows.map((row) =>
        element(
          'tr',
          {},
          row.map((text) => cell('td', text)),
        ),
      ),
    ),
  );
}

/** Writes the content of a figure: a table, or lines of text. */
export function figureXml(figure: Figure): XmlElement {
  const content = (): XmlElement[] => {
    if (isDrawing(figure))
      return [element('p', {}, element('strong', {}, figure.caption)), element('p', {}, drawn(figure).words)];
    switch (figure.kind) {
      case 'table':
        return [table(figure.caption, figure.header, figure.rows)];
      case 'notice':
        return [
          element('p', {}, element('strong', {}, figure.caption)),
          ...figure.lines.map((line) => element('p', {}, markupXml(line))),
        ];
      case 'diagram':
        return [
          element('p', {}, element('strong', {}, figure.caption)),
          element('p', {}, figure.description),
          ...(figure.lines ?? []).map((line) => element('p', {}, markupXml(line))),
        ];
      default:
        return [
          table(
            figure.caption,
            [figure.x_label ?? 'Label', figure.y_label ?? figure.unit ?? 'Value'],
            figure.points.map((point) => [point.label, String(point.value)]),
          ),
        ];
    }
  };
  return element('div', { class: 'figure' }, content());
}

/** Writes a part of a simulated screen, except fields. */
export function screenXml(block: Exclude<TaskBlock, { block: 'field' }>): XmlElement {
  switch (block.block) {
    case 'heading':
      return element('p', {}, element('strong', {}, inlineXml(parseInline(block.text))));
    case 'text':
      return element('p', {}, markupXml(block.text));
    case 'address_bar':
      return element(
        'p',
        {},
        element('code', {}, block.address),
        ` (padlock: ${block.padlock})`,
        ...(block.tabs ? [` Tabs: ${block.tabs.join(' · ')}`] : []),
      );
    case 'details':
      return element(
        'dl',
        {},
        block.rows.flatMap((row) => [element('dt', {}, row.name), element('dd', {}, markupXml(row.value))]),
      );
    case 'message':
      return element(
        'blockquote',
        {},
        element('p', {}, element('strong', {}, block.from), block.when ? `, ${block.when}` : ''),
        blocksXml(block.lines),
      );
    case 'document':
      return element('blockquote', {}, blocksXml(block.lines));
    case 'pop_up':
      return element(
        'blockquote',
        {},
        element('p', {}, element('strong', {}, inlineXml(parseInline(block.heading)))),
        element('p', {}, markupXml(block.text)),
      );
    case 'sheet': {
      const width = Math.max(...block.rows.map((row) => row.length));
      return table(
        block.caption,
        ['', ...Array.from({ length: width }, (_, at) => columnName(at))],
        block.rows.map((row, at) => [String(at + 1), ...row]),
      );
    }
    case 'table':
      return table(block.caption, block.header, block.rows);
  }
}

/** The text without markup in one line, for attributes. */
export function lineOf(node: XmlElement): string {
  return textIn(node).replace(/\s+/gu, ' ').trim();
}
