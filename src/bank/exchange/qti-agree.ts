import { isDeepStrictEqual } from 'node:util';
import type { Item, Passage, RenderedItem } from '../schema.ts';
import { templates } from '../templates.ts';
import { itemFaults, passageFaults } from '../validate.ts';
import { EntryFault } from './json.ts';
import { itemXml, stimulusXml } from './qti-item.ts';
import { acceptedIn, notReadIn, passageFromXml, readNative, valuesOf } from './qti-read.ts';
import { findAll, findOne, textIn } from './xml.ts';
import type { XmlElement } from './xml.ts';

/**
 * Some of an item stands twice in its file: in QTI's words, and whole in `data-ars`, because QTI's words can't say all of
 * it (figures, screens, templates). Where another tool changed the first, taking the second would drop that change. So
 * what was read is written again, and has to say what the file says.
 */
const words = (node: XmlElement | undefined): string => (node === undefined ? '' : textIn(node).replace(/\s+/gu, ''));

/** What is right, by response, and how near a number has to be. */
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

/** @throws EntryFault where the file says something else than the item that was read from it */
export function agree(xml: XmlElement, item: Item, render: (item: Item) => RenderedItem): void {
  if (xml.attributes['data-ars'] === undefined || itemFaults(item).length > 0) return;
  if (item.type === 'template' && !templates.has(item.template)) return;
  const again = itemXml(item, render(item), '');
  const parts = [
    ['text', words(findOne(xml, 'qti-item-body')) === words(findOne(again, 'qti-item-body'))],
    ['marking', isDeepStrictEqual(marking(xml), marking(again))],
    ['interaction', isDeepStrictEqual(readNative(xml), readNative(again))],
    ['picture or table', isDeepStrictEqual(notReadIn(xml), notReadIn(again))],
  ] as const;
  const different = parts.find(([, isSame]) => !isSame);
  if (different !== undefined)
    throw new EntryFault(
      `its ${different[0]} was changed in another tool in a part that QTI can't carry whole; change it in JSON or CSV`,
    );
}

/**
 * The passage as the file says it: earlier exports have the paragraphs in `data-ars` as well.
 * @throws EntryFault where it holds what no passage of the bank can
 */
export function agreedPassage(xml: XmlElement): Passage {
  const [strange] = notReadIn(xml);
  if (strange !== undefined) throw new EntryFault(`has <${strange}>, which a passage of the bank can't have`);
  const passage = passageFromXml(xml);
  if (passageFaults(passage).length > 0 || words(xml) === words(stimulusXml(passage, ''))) return passage;
  const { 'data-ars': own, ...attributes } = xml.attributes;
  return { ...passage, paragraphs: passageFromXml({ ...xml, attributes }).paragraphs };
}
