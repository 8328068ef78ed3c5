import { isDeepStrictEqual } from 'node:util';
import type { Item, Passage, RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { templates } from '../../../src/engine/item-bank/templates.ts';
import { itemFaults, passageFaults } from '../validate.ts';
import { EntryFault } from './json.ts';
import { meaningfulClass } from './qti-foreign.ts';
import { itemXml, stimulusXml } from './qti-item.ts';
import { acceptedIn, changedElsewhere, notReadIn, passageFromXml, readNative, valuesOf } from './qti-read.ts';
import { findAll, findOne, localName, textIn } from './xml.ts';
import type { XmlElement, XmlNode } from './xml.ts';

/**
 * A QTI file contains parts of an item twice: in QTI elements, and complete in `data-ars`, because QTI cannot express
 * figures, screens and templates. Another tool may have changed the QTI elements only. The reader therefore writes the
 * imported item again and compares both documents.
 */
const words = (node: XmlElement | undefined): string => (node === undefined ? '' : textIn(node).replace(/\s+/gu, ''));

/** The right answers by response, with the tolerance of numbers. */
function marking(xml: XmlElement): unknown {
  const responses = findAll(xml, 'qti-response-declaration').map((declaration) => [
    declaration.attributes.identifier,
    valuesOf(declaration),
    acceptedIn(declaration).map(({ attributes }) => [attributes['map-key'], attributes['case-sensitive'] === 'true']),
  ]);
  const compared = findAll(xml, 'qti-equal').map((equal) => [
    findOne(equal, 'qti-variable')?.attributes.identifier,
    equal.attributes.tolerance,
  ]);
  return { responses, compared };
}

/** Attributes without effect, and attributes that only repeat a default. */
const silent = /^(?:id|class|data-.*|xmlns.*|xsi:.*|tool-.*|xml:lang|lang)$/u;
const usual: Record<string, string> = {
  shuffle: 'false',
  fixed: 'false',
  'show-hide': 'show',
  'min-choices': '0',
  'min-associations': '0',
  'match-min': '0',
  orientation: 'vertical',
};

function saidBy({ attributes }: XmlElement): string[] {
  return Object.entries(attributes)
    .filter(([name, value]) =>
      name.endsWith('lang')
        ? !/^en\b/u.test(value)
        : (!silent.test(name) || (name === 'class' && meaningfulClass.test(value))) && usual[name] !== value,
    )
    .map(([name, value]) => `${name}=${value.replace(/\s+/gu, ' ').trim()}`)
    .sort();
}

/** The children without white space at the ends. Texts on both sides of a comment count as one text. */
function inside(node: XmlElement): XmlNode[] {
  const out: XmlNode[] = [];
  for (const child of node.children)
    if (typeof child === 'string' && typeof out.at(-1) === 'string') out.push(`${out.pop() as string}${child}`);
    else out.push(child);
  return out.flatMap((child): XmlNode[] => {
    if (typeof child !== 'string') return [child];
    const text = child.replace(/\s+/gu, ' ').trim();
    return text === '' ? [] : [text];
  });
}

/** The name of the first element that differs; null if the documents are equal. */
function difference(one: XmlElement, other: XmlElement): string | null {
  const [a, b] = [inside(one), inside(other)];
  if (localName(one) !== localName(other) || !isDeepStrictEqual(saidBy(one), saidBy(other))) return localName(one);
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const [x, y] = [a[at], b[at]];
    if (typeof x === 'object' && typeof y === 'object') {
      const found = difference(x, y);
      if (found !== null) return found;
    } else if (x !== y) return localName(typeof x === 'object' ? x : one);
  }
  return null;
}

/** @throws EntryFault if the file contradicts the item that was read from it */
export function agree(xml: XmlElement, item: Item, render: (item: Item) => RenderedItem): void {
  const faults = itemFaults(item);
  if (faults.length > 0) throw new EntryFault(faults.join('; '));
  if (item.type === 'template' && !templates.has(item.template)) return;
  const again = itemXml(item, render(item), '');
  const parts = [
    ['text', words(findOne(xml, 'qti-item-body')) === words(findOne(again, 'qti-item-body'))],
    ['marking', isDeepStrictEqual(marking(xml), marking(again))],
    ['interaction', isDeepStrictEqual(readNative(xml, true), readNative(again, true))],
    ['picture or table', isDeepStrictEqual(notReadIn(xml), notReadIn(again))],
  ] as const;
  const strange = difference(xml, again);
  const different = parts.find(([, isSame]) => !isSame)?.[0] ?? (strange === null ? null : `<${strange}>`);
  if (different !== null) throw changedElsewhere(different);
}

/**
 * Reads the passage. Earlier exports repeat the paragraphs in `data-ars`.
 * @throws EntryFault if the passage contains something that a passage of the bank cannot contain
 */
export function agreedPassage(xml: XmlElement): Passage {
  const [strange] = notReadIn(xml);
  if (strange !== undefined) throw new EntryFault(`has <${strange}>, which a passage of the bank can't have`);
  if (xml.attributes['data-ars'] === undefined)
    throw new EntryFault('is a passage of another tool, which has no level and genre: write it in JSON or CSV');
  const passage = passageFromXml(xml);
  if (passageFaults(passage).length > 0 || difference(xml, stimulusXml(passage, '')) === null) return passage;
  const { 'data-ars': own, ...attributes } = xml.attributes;
  const asSaid = { ...passage, paragraphs: passageFromXml({ ...xml, attributes }).paragraphs };
  const other = difference(xml, stimulusXml(asSaid, ''));
  if (other !== null) throw new EntryFault(`has <${other}>, which a passage of the bank can't have`);
  return asSaid;
}
