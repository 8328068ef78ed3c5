import { parseBlocks, parseInline } from '../markup.ts';
import type { Inline } from '../markup.ts';
import type { Figure, TaskBlock } from '../schema.ts';
import { columnName } from '../render-model.ts';
import { element, elementsIn, localName, textIn } from './xml.ts';
import type { XmlElement, XmlNode } from './xml.ts';

/** Identifiers in QTI are XML names, which can't begin with a digit; the bank's option ids can. */
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

/** The bank's markup for some XHTML, in one line. Elements that the markup has no sign for keep their text. */
export function markupOf(node: XmlElement): string {
  return rawMarkup(node).replace(/\s+/gu, ' ').trim();
}

function rawMarkup(node: XmlElement): string {
  return node.children
    .map((child) => {
      if (typeof child === 'string') return child;
      const text = rawMarkup(child);
      switch (localName(child)) {
        case 'strong':
        case 'b':
          return text === '' ? '' : `**${text}**`;
        case 'code':
          return text === '' ? '' : `\`${text}\``;
        case 'qti-hottext':
          return `[[${fromIdentifier(child.attributes.identifier ?? '')}|${text}]]`;
        case 'br':
          return ' ';
        case 'qti-text-entry-interaction':
          return '____';
        default:
          return unread.test(localName(child)) ? '' : text;
      }
    })
    .join('');
}

const containers = new Set([
  'div',
  'section',
  'article',
  'header',
  'footer',
  'aside',
  'qti-content-body',
  'qti-prompt',
  'qti-stimulus-body',
]);

/** What is no text of the question: its interaction, and what is shown after the answer or to others. */
const unread = /^qti-(?!content-body$|prompt$|stimulus-body$)/u;

/** The paragraphs of some XHTML in the bank's markup. */
export function paragraphsOf(node: XmlElement): string[] {
  return elementsIn(node)
    .flatMap((child): string[] => {
      const name = localName(child);
      if (name === 'ul' || name === 'ol') return elementsIn(child).map((item) => `- ${markupOf(item)}`);
      if (name === 'blockquote')
        return elementsIn(child).length > 0 ? paragraphsOf(child).map((text) => `> ${text}`) : [`> ${markupOf(child)}`];
      if (unread.test(name)) return [];
      const isMixed = child.children.some((inside) => typeof inside === 'string' && inside.trim() !== '');
      return containers.has(name) && !isMixed ? paragraphsOf(child) : [markupOf(child)];
    })
    .filter((text) => text.trim() !== '');
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

/** A figure as what it means: a table, or lines of text. */
export function figureXml(figure: Figure): XmlElement {
  const content = (): XmlElement[] => {
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

/** A part of a simulated screen other than a field. */
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

/** Text without markup, in one line, for attributes. */
export function lineOf(node: XmlElement): string {
  return textIn(node).replace(/\s+/gu, ' ').trim();
}
