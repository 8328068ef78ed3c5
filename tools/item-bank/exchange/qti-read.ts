import { isJsonObject, parseJson } from '../../../src/platform/formats/json.ts';
import type { Item, Passage } from '../../../src/engine/item-bank/schema.ts';
import { itemForms } from '../../../src/engine/item-bank/schema.ts';
import { EntryFault, ExchangeFault } from './json.ts';
import { fromIdentifier, lineMarkup, lineOf, paragraphsOf } from './xhtml.ts';
import { elementsIn, elementsWithin, findAll, findOne, localName, textIn } from './xml.ts';
import type { XmlElement } from './xml.ts';

/** Members of an item or a passage before validation. */
export type Members = Record<string, unknown>;

export const valuesOf = (declaration: XmlElement | undefined): string[] =>
  declaration
    ? findAll(findOne(declaration, 'qti-correct-response') ?? declaration, 'qti-value').map((node) =>
        textIn(node).trim(),
      )
    : [];

const optionOf = (node: XmlElement): Members => ({
  id: fromIdentifier(node.attributes.identifier ?? ''),
  text: lineMarkup(node),
});

const isInteraction = (node: XmlElement): boolean => localName(node).endsWith('-interaction');

/** The declaration of the response that the interaction names. */
export function declarationOf(xml: XmlElement, interaction: XmlElement | undefined): XmlElement | undefined {
  const named = interaction?.attributes['response-identifier'];
  return findAll(xml, 'qti-response-declaration').find(({ attributes }) => attributes.identifier === named);
}

/** The tolerance of a numeric answer. */
function toleranceOf(xml: XmlElement): Members {
  const compared = findOne(xml, 'qti-equal')?.attributes;
  const [tolerance = '0'] = (compared?.tolerance ?? '').split(/\s+/u);
  return compared?.['tolerance-mode'] === 'absolute' && Number(tolerance) > 0 ? { tolerance } : {};
}

function responseMembers(xml: XmlElement, body: XmlElement): Members {
  const declaration = declarationOf(xml, elementsWithin(body).find(isInteraction));
  const right = valuesOf(declaration);
  const identifiers = right.map(fromIdentifier);
  const choice = findOne(body, 'qti-choice-interaction');
  if (choice) {
    const options = findAll(choice, 'qti-simple-choice').map(optionOf);
    return declaration?.attributes.cardinality === 'multiple'
      ? { type: 'multiple_choice', options, key: identifiers }
      : { type: 'single_choice', options, key: identifiers[0] };
  }
  const order = findOne(body, 'qti-order-interaction');
  if (order) return { type: 'ordering', options: findAll(order, 'qti-simple-choice').map(optionOf), key: identifiers };
  const match = findOne(body, 'qti-match-interaction');
  if (match) {
    const [left = [], rightSet = []] = findAll(match, 'qti-simple-match-set').map((set) =>
      findAll(set, 'qti-simple-associable-choice').map(optionOf),
    );
    return {
      type: 'matching',
      left,
      right: rightSet,
      key: Object.fromEntries(right.map((pair) => pair.split(/\s+/u).map(fromIdentifier))),
    };
  }
  const hottext = findOne(body, 'qti-hottext-interaction');
  if (hottext) return { type: 'hotspot', surface: { kind: 'text', lines: paragraphsOf(hottext) }, key: identifiers };
  const picture = findOne(body, 'qti-hotspot-interaction');
  if (picture) return { type: 'hotspot', surface: pictureOf(picture), key: identifiers };
  if (findOne(body, 'qti-text-entry-interaction')) {
    if (declaration?.attributes['base-type'] === 'string') return textMembers(declaration, right);
    return { type: 'numeric', key: { value: right[0], ...toleranceOf(xml) } };
  }
  return {};
}

export const acceptedIn = (declaration: XmlElement): XmlElement[] =>
  findAll(declaration, 'qti-map-entry').filter((entry) => Number(entry.attributes['mapped-value']) > 0);

function textMembers(declaration: XmlElement, right: readonly string[]): Members {
  const entries = acceptedIn(declaration);
  const accept = entries.map((entry) => entry.attributes['map-key'] ?? '');
  for (const text of right) if (!accept.includes(text)) accept.unshift(text);
  const caseSensitive = entries.length > 0 && entries.every((entry) => entry.attributes['case-sensitive'] === 'true');
  return { type: 'short_text', width: 20, key: caseSensitive ? { accept, case_sensitive: true } : { accept } };
}

function pictureOf(interaction: XmlElement): Members {
  const object = findOne(interaction, 'object') ?? findOne(interaction, 'img');
  const width = Number(object?.attributes.width) || 1000;
  const height = Number(object?.attributes.height) || 600;
  const spots = findAll(interaction, 'qti-hotspot-choice').map((spot) => {
    const [left = 0, top = 0, right = 0, bottom = 0] = (spot.attributes.coords ?? '').split(',').map(Number);
    const across = (at: number) => Math.round((at / width) * 1000) / 10;
    const down = (at: number) => Math.round((at / height) * 600) / 10;
    return {
      id: fromIdentifier(spot.attributes.identifier ?? ''),
      label: spot.attributes['hotspot-label'] ?? '',
      x: across(left),
      y: down(top),
      width: across(right - left),
      height: down(bottom - top),
    };
  });
  return { kind: 'picture', description: (object && lineOf(object)) || object?.attributes.alt || '', spots };
}

/** The stem. Our own exports mark it. In other items, all text before the answers is the stem. */
function stemOf(body: XmlElement, isOwn: boolean): string[] {
  if (!isOwn) {
    const texts = paragraphsOf(body);
    // The bank shows the text box after the stem. A box in a separate last paragraph is in the same place.
    const hasBox = findOne(body, 'qti-text-entry-interaction') !== undefined;
    return hasBox && /^_+$/u.test(texts.at(-1) ?? '') ? texts.slice(0, -1) : texts;
  }
  const own = elementsIn(body).find((child) => child.attributes.class === 'stem');
  if (own === undefined)
    throw new EntryFault('has no part of the class “stem” any more, in which its export has the question');
  if (notReadIn(own).length > 0) throw changedElsewhere('picture or table');
  return paragraphsOf(own);
}

export const changedElsewhere = (what: string): EntryFault =>
  new EntryFault(
    `its ${what} was changed in another tool in a part that QTI can't carry whole; change it in JSON or CSV`,
  );

function rationaleOf(body: XmlElement): Members {
  const rubric = findAll(body, 'qti-rubric-block').find((block) => block.attributes.class === 'rationale');
  if (!rubric) return { distractor_rationales: {} };
  const terms = findAll(rubric, 'dt').map((node) => textIn(node));
  const reasons = findAll(rubric, 'dd').map((node) => textIn(node));
  return {
    rationale: textIn(findOne(rubric, 'p') ?? { name: 'p', attributes: {}, children: [] }),
    distractor_rationales: Object.fromEntries(terms.map((term, at) => [term, reasons[at] ?? ''])),
  };
}

/** Reads the members that QTI elements express. */
export function readNative(xml: XmlElement, isOwn: boolean): Members {
  const body = findOne(xml, 'qti-item-body');
  if (!body) throw new EntryFault('has no body');
  const stimulus = findOne(xml, 'qti-assessment-stimulus-ref');
  return {
    id: xml.attributes.identifier,
    ...(xml.attributes.title ? { skill: xml.attributes.title } : {}),
    stem: stemOf(body, isOwn),
    ...(stimulus ? { passage: stimulus.attributes.identifier } : {}),
    ...(isOwn ? rationaleOf(body) : { distractor_rationales: {} }),
    ...responseMembers(xml, body),
  };
}

function own(xml: XmlElement): Members {
  const json = xml.attributes['data-ars'];
  if (json === undefined) return {};
  try {
    const value = parseJson(json);
    if (isJsonObject(value)) return value as Members;
  } catch {
    // All values that are not objects get the same message below.
  }
  throw new EntryFault('has a data-ars attribute that is not a JSON object');
}

/** Takes the accepted answers from QTI, and units and kinds from `data-ars`, because QTI cannot express them. */
function keyOf(native: Members, written: Members): unknown {
  const [said, rest] = [native.key, written.key];
  if (!isJsonObject(said) || !isJsonObject(rest) || (written.type ?? native.type) !== native.type) return rest;
  const isSaid = native.type === 'numeric' ? said.value !== undefined : native.type === 'short_text';
  return isSaid ? { ...rest, ...said } : rest;
}

/** Elements that are not read. Without its picture, table or sound, a question or passage would be another one. */
const notRead = [
  'img',
  'picture',
  'svg',
  'object',
  'table',
  'audio',
  'video',
  'iframe',
  'math',
  'qti-media-interaction',
  'qti-printed-variable',
];

/** The names of these elements in a document, sorted. */
export const notReadIn = (node: XmlElement): string[] =>
  elementsWithin(node)
    .map(localName)
    .filter((name) => notRead.includes(name))
    .sort();

export const isOwnExport = (xml: XmlElement): boolean => xml.attributes['data-ars'] !== undefined;

/**
 * Reads an item of our own export: QTI elements, and the rest from `data-ars`.
 * @throws EntryFault
 */
export function ownItem(xml: XmlElement): Item {
  const native = readNative(xml, true);
  const written = own(xml);
  const merged: Members = { ...native, ...written };
  if ('key' in written) merged.key = keyOf(native, written);
  return itemOf(merged);
}

/**
 * Reads a prepared item of another tool. `defaults`: members that the item lacks (subject, level, domain, parameters).
 */
export const otherItem = (xml: XmlElement, defaults: Members): Item =>
  itemOf({ ...defaults, ...readNative(xml, false) });

function itemOf(members: Members): Item {
  const { type } = members;
  const form =
    typeof type === 'string' && Object.hasOwn(itemForms, type) ? itemForms[type as keyof typeof itemForms] : null;
  if (!form) throw new EntryFault('has no interaction that the bank knows');
  return Object.fromEntries(Object.entries(members).filter(([name]) => name in form.properties)) as unknown as Item;
}

export function passageFromXml(xml: XmlElement): Passage {
  if (localName(xml) !== 'qti-assessment-stimulus')
    throw new ExchangeFault(`A QTI 3.0 stimulus begins with qti-assessment-stimulus, not ${xml.name}.`);
  const body = findOne(xml, 'qti-stimulus-body');
  return {
    id: xml.attributes.identifier,
    title: xml.attributes.title,
    paragraphs: body ? paragraphsOf(body) : [],
    ...own(xml),
  } as Passage;
}
