import { EntryFault } from './json.ts';
import { markedAsRight } from './qti-marking.ts';
import { speaksOfItalics } from './qti-plain.ts';
import { fromIdentifier, piecesOf, refused } from './xhtml.ts';
import { elementsIn, elementsWithin, findAll, findOne, localName, textIn } from './xml.ts';
import type { XmlElement } from './xml.ts';

/**
 * Reads items of other tools. The tables list what the bank can express. Anything else is refused by name, because
 * without it the item would be another question. Feedback and words for scorers are left out and reported.
 */

const rootElements = [
  'qti-response-declaration',
  'qti-outcome-declaration',
  'qti-assessment-stimulus-ref',
  'qti-stylesheet',
  'qti-item-body',
  'qti-response-processing',
  'qti-modal-feedback',
];

/** Allowed elements of running text, with attributes that do not change the text. */
const textElements = new Set(
  'div section article header footer aside p h1 h2 h3 h4 h5 h6 ul ol li blockquote strong code span br qti-content-body qti-rubric-block qti-prompt'.split(
    ' ',
  ),
);
const plainAttributes = ['id', 'class', 'style', 'label', 'xml:lang', 'lang', 'xml:base'];

/** Allowed attribute values of interactions and their parts. The bank keeps these values, or they change nothing. */
type Allowed = Record<string, RegExp>;
const any = /^/u;
const shown: Allowed = { identifier: any, fixed: /^(?:true|false)$/u, 'show-hide': /^show$/u };
const common: Allowed = { 'response-identifier': any, required: /^(?:true|false)$/u, orientation: any };
const counted = /^\d+$/u;
const interactions: Record<string, Allowed> = {
  'qti-choice-interaction': { ...common, shuffle: any, 'max-choices': counted, 'min-choices': counted },
  'qti-order-interaction': { ...common, shuffle: any, 'max-choices': counted, 'min-choices': counted },
  'qti-match-interaction': { ...common, shuffle: any, 'max-associations': counted, 'min-associations': counted },
  'qti-hottext-interaction': { ...common, 'max-choices': counted, 'min-choices': counted },
  'qti-text-entry-interaction': { ...common, 'expected-length': any, base: /^10$/u, 'pattern-mask': /^\.[+*]$/u },
};
const parts: Record<string, Allowed> = {
  'qti-simple-choice': shown,
  'qti-simple-match-set': {},
  'qti-simple-associable-choice': { ...shown, 'match-max': counted, 'match-min': /^[01]$/u },
  'qti-hottext': shown,
  'qti-rubric-block': { view: any, use: any },
};

/** A question may not contain a class, because only a style sheet says what the class shows. */
export const meaningfulClass =
  /hidden|invisible|strike|line-?through|underline|overline|super|subscript|case|capital|writing-mode|rtl|list-style|labels-|italic/iu;
/** Styles that do not move, shrink or replace the text. */
const harmlessStyle =
  /^(?:text-align\s*:|(?:margin|padding)[a-z-]*\s*:[^-]*$|(?:line-height|(?:max-)?width)\s*:\s*(?:0?\.)?[1-9anf]|font-family\s*:(?!.*(?:symbol|dings)))/iu;

function refuseAttributes(node: XmlElement, allowed: Allowed, isStyled: boolean): void {
  const name = localName(node);
  for (const [key, value] of Object.entries(node.attributes)) {
    if (key.startsWith('xmlns') || (key.startsWith('data-') && key !== 'data-ars') || value.trim() === '') continue;
    const isKept =
      plainAttributes.includes(key) || allowed[key]?.test(value) === true || (key === 'dir' && value === 'ltr');
    if (!isKept)
      throw new EntryFault(`has ${key}="${value.slice(0, 40)}" on <${name}>, which the bank can't take over`);
    if (key.endsWith('lang') && !/^en\b/iu.test(value))
      throw new EntryFault(`has text in the language ${value.slice(0, 20)}`);
    if (key === 'class' && (isStyled || meaningfulClass.test(value)))
      throw new EntryFault(`has the class “${value.slice(0, 40)}”, whose look the bank can't take over`);
    if (key !== 'style') continue;
    const strange = value.split(';').find((rule) => rule.trim() !== '' && !harmlessStyle.test(rule.trim()));
    if (strange !== undefined)
      throw new EntryFault(`has the style “${strange.trim().slice(0, 40)}”, which the bank can't take over`);
  }
}

/**
 * Characters that are markup in the bank, but plain text in other tools. A line that begins with a dash or > would
 * become a list or a quotation.
 */
function refuseSigns(body: XmlElement): void {
  const text = textIn(body);
  const sign = /\*\*|`|\[\[|\]\]|\uFFFD/u.exec(text)?.[0];
  if (sign === '\uFFFD') throw new EntryFault('has characters that were lost (U+FFFD)');
  if (sign !== undefined) throw new EntryFault(`has “${sign}” in its text, which is a sign of the bank's markup`);
  if (/_{4}/u.test(text) && findOne(body, 'qti-text-entry-interaction') !== undefined)
    throw new EntryFault('has a gap of underscores beside its box, which the bank would show as a second box');
  if (findAll(body, 'strong').some((node) => textIn(node).includes('*')))
    throw new EntryFault("has “*” inside <strong>, which is a sign of the bank's markup");
  for (const words of findAll(body, 'qti-hottext'))
    if (/^\s*$|\]/u.test(textIn(words))) throw new EntryFault('has “]”, or nothing, inside <qti-hottext>');
  // An empty element with a class is often a gap, and only a style sheet shows it.
  if (findAll(body, 'span').some((node) => node.attributes.class !== undefined && node.children.length === 0))
    throw new EntryFault("has an empty <span> with a class, whose look the bank can't take over");
  const hottext = findOne(body, 'qti-hottext-interaction');
  for (const piece of [...piecesOf(body), ...(hottext === undefined ? [] : piecesOf(hottext))])
    if ('text' in piece && piece.isSigned !== true && /^[->] /u.test(piece.text))
      throw new EntryFault(`has a text that begins with “${piece.text[0]}”, which is a sign of the bank's markup`);
}

/** Feedback, and texts for readers other than the learner. */
function isAside(node: XmlElement): boolean {
  const name = localName(node);
  if (/^qti-(?:modal-feedback|feedback-(?:inline|block))$/u.test(name)) return true;
  return name === 'qti-rubric-block' && !/(?:^|\s)(?:candidate|$)/u.test(node.attributes.view ?? '');
}

/** Feedback appears after the answer, unless its attributes say otherwise. */
function refuseShownFeedback(xml: XmlElement, aside: XmlElement): void {
  const { 'show-hide': when = 'show', 'outcome-identifier': outcome, identifier } = aside.attributes;
  const declared = findAll(xml, 'qti-outcome-declaration').find(({ attributes }) => attributes.identifier === outcome);
  const first = declared === undefined ? '' : textIn(declared).trim();
  if (
    localName(aside) !== 'qti-rubric-block' &&
    (when !== 'show' || (identifier !== undefined && first === identifier))
  )
    throw new EntryFault(`has <${localName(aside)}> that is shown before the answer`);
  const inside = elementsWithin(aside).find((one) => localName(one).endsWith('-interaction'));
  if (inside !== undefined) throw refused(localName(inside));
}

function without(node: XmlElement, isLeftOut: (node: XmlElement) => boolean): XmlElement {
  const children = node.children.filter((child) => typeof child === 'string' || !isLeftOut(child));
  return {
    ...node,
    children: children.map((child) => (typeof child === 'string' ? child : without(child, isLeftOut))),
  };
}

/** The children that are read from elements without running text. Any other child would be lost. */
const held: Record<string, string[]> = {
  ul: ['li'],
  ol: ['li'],
  'qti-choice-interaction': ['qti-prompt', 'qti-simple-choice'],
  'qti-order-interaction': ['qti-prompt', 'qti-simple-choice'],
  'qti-match-interaction': ['qti-prompt', 'qti-simple-match-set'],
  'qti-simple-match-set': ['qti-simple-associable-choice'],
  'qti-text-entry-interaction': [],
};

function refuseElements(body: XmlElement, isStyled: boolean): void {
  for (const node of [body, ...elementsWithin(body)]) {
    const name = localName(node);
    const allowed = interactions[name] ?? parts[name];
    if (node !== body && allowed === undefined && !textElements.has(name)) throw refused(name);
    refuseAttributes(node, allowed ?? {}, isStyled);
    for (const child of node.children) {
      const inside = typeof child === 'string' ? (child.trim() === '' ? null : 'text') : `<${localName(child)}>`;
      const isLost =
        name in held
          ? inside !== null && !held[name]!.some((one) => inside === `<${one}>`)
          : inside === '<qti-prompt>' && name !== 'qti-hottext-interaction';
      if (isLost) throw new EntryFault(`has ${inside} directly inside <${name}>, which the bank can't take over`);
    }
  }
  const isHottext = findOne(body, 'qti-hottext-interaction') !== undefined;
  if (!isHottext && findOne(body, 'qti-hottext') !== undefined) throw refused('qti-hottext');
}

/** Checks that the number of choices is a number that the bank supports. */
function refuseChoices(interaction: XmlElement, right: number, isMany: boolean): void {
  const { 'max-choices': max, 'min-choices': min = '0' } = interaction.attributes;
  const name = localName(interaction);
  const options = findAll(interaction, name === 'qti-hottext-interaction' ? 'qti-hottext' : 'qti-simple-choice');
  const fits = (value: string | undefined, ...counts: number[]) =>
    value === undefined || counts.includes(Number(value));
  if (name === 'qti-order-interaction') {
    if (right !== options.length || !fits(max, 0, options.length) || !fits(min, 0, options.length))
      throw new EntryFault('puts some of its options in order, and the bank all');
  } else if (name === 'qti-match-interaction') refuseMatches(interaction);
  else if (!isMany && (!fits(max, 0, 1) || !fits(min, 0, 1)))
    throw new EntryFault(`has max-choices="${max ?? ''}" and one answer`);
  else if (isMany && (!fits(max ?? '0', right) || !fits(min, 0, right)))
    throw new EntryFault(
      `lets the learner choose ${max === undefined || max === '0' ? 'any number' : max}, and the bank says how many are right (${right})`,
    );
}

function refuseMatches(interaction: XmlElement): void {
  const [left, rightSet, ...more] = findAll(interaction, 'qti-simple-match-set');
  if (left === undefined || rightSet === undefined || more.length > 0) throw new EntryFault('has no two sets to match');
  const of = elementsIn(left);
  if (of.some(({ attributes }) => (attributes['match-max'] ?? '1') !== '1'))
    throw new EntryFault('matches one thing with several, and the bank with one');
  const max = Number(interaction.attributes['max-associations'] ?? 0);
  if (max !== 0 && max < of.length) throw new EntryFault('matches some of its things, and the bank all');
}

const choices = ['qti-simple-choice', 'qti-simple-associable-choice', 'qti-hottext'];
const optionId = /^[a-z0-9_]{1,24}$/u;

/** Replaces option IDs that the bank cannot keep by a, b, c … */
function withOwnIds(xml: XmlElement, right: readonly string[]): XmlElement {
  const ids = elementsWithin(xml)
    .filter((node) => choices.includes(localName(node)))
    .map(({ attributes }) => attributes.identifier ?? '');
  if (new Set(ids).size < ids.length) throw new EntryFault('has two options with one identifier');
  if (ids.length > 0 && right.flatMap((value) => value.split(/\s+/u)).some((id) => !ids.includes(id)))
    throw new EntryFault('has a right answer that is none of its options');
  const kept = new Set(ids.map(fromIdentifier).filter((id) => optionId.test(id)));
  if (kept.size === ids.length) return xml;
  const letters = new Map(ids.map((id, at) => [id, at < 26 ? String.fromCharCode(97 + at) : `o${at}`]));
  const renamed = (node: XmlElement): XmlElement => {
    const name = localName(node);
    const { identifier } = node.attributes;
    const letter = identifier === undefined || !choices.includes(name) ? undefined : letters.get(identifier);
    return {
      name: node.name,
      attributes: letter === undefined ? node.attributes : { ...node.attributes, identifier: letter },
      children:
        name === 'qti-value'
          ? [
              textIn(node)
                .trim()
                .split(/\s+/u)
                .map((id) => letters.get(id) ?? id)
                .join(' '),
            ]
          : node.children.map((child) => (typeof child === 'string' ? child : renamed(child))),
    };
  };
  return renamed(xml);
}

function refuseRoot(xml: XmlElement): void {
  const { adaptive, 'time-dependent': timed, 'xml:lang': language = 'en' } = xml.attributes;
  if (adaptive === 'true') throw new EntryFault('is adaptive: it has several attempts, and the bank one');
  if (timed === 'true') throw new EntryFault('depends on how long the answer takes');
  if (!/^en\b/iu.test(language))
    throw new EntryFault(`is in the language ${language.slice(0, 20)}, and the bank in English`);
  for (const node of elementsIn(xml)) if (!rootElements.includes(localName(node))) throw refused(localName(node));
}

/** @throws EntryFault if the item has several interactions, or none that the bank supports */
function interactionOf(body: XmlElement): XmlElement {
  const found = elementsWithin(body).filter((node) => localName(node).endsWith('-interaction'));
  if (found.length > 1) throw new EntryFault(`has ${found.length} interactions, and the bank takes items with one`);
  if (found.length === 0) throw new EntryFault('has no interaction that the bank knows');
  return found[0]!;
}

function refuseTextAfter(body: XmlElement): void {
  const pieces = piecesOf(body);
  const at = pieces.findIndex((piece) => 'interaction' in piece);
  if (at !== -1 && at < pieces.length - 1)
    throw new EntryFault('has text after its answers, and the bank shows them last');
}

/**
 * Prepares another tool's item for reading, and lists what is left out.
 * @param original the document before `plainXml`
 * @throws EntryFault if a part of the question would be lost
 */
export function foreignItem(original: XmlElement, plain: XmlElement): { xml: XmlElement; leftOut: string[] } {
  const bodies = findAll(plain, 'qti-item-body').length;
  if (bodies !== 1) throw new EntryFault(bodies === 0 ? 'has no body' : `has ${bodies} bodies`);
  refuseRoot(plain);
  const asides = elementsWithin(plain).filter(isAside);
  for (const aside of asides) refuseShownFeedback(plain, aside);
  const leftOut = new Set<string>(
    asides.map((aside) => (localName(aside) === 'qti-rubric-block' ? 'its words for scorers' : 'its feedback')),
  );
  const cleaned = without(plain, isAside);
  const body = findOne(cleaned, 'qti-item-body')!;
  const interaction = interactionOf(body);
  refuseElements(body, findOne(plain, 'qti-stylesheet') !== undefined);
  refuseSigns(body);
  if (speaksOfItalics(findOne(original, 'qti-item-body')!))
    throw new EntryFault('speaks of italics, and the bank shows emphasis in bold');
  refuseTextAfter(body);
  const { xml, right, isMany } = markedAsRight(cleaned, interaction);
  refuseChoices(interaction, right.length, isMany);
  if (interaction.attributes.shuffle === 'true' && localName(interaction) === 'qti-order-interaction')
    leftOut.add('shuffling: its options stay in the order of the file');
  return { xml: withOwnIds(xml, right), leftOut: [...leftOut] };
}
