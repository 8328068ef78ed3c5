import { EntryFault } from './json.ts';
import { acceptedIn, declarationOf, valuesOf } from './qti-read.ts';
import { element, elementsIn, elementsWithin, findAll, findOne, localName, textIn } from './xml.ts';
import type { XmlElement } from './xml.ts';

/** Reads the marking of another tool's item: one correct response, or a list of accepted texts. */

/** The rule that marks an answer right. `none`: the item has no rule, so its correct response is used. */
type Rule = { by: 'correct' | 'map' | 'equal' | 'none' } | { by: 'string'; isCaseSensitive: boolean };

const otherwise = (what: string): EntryFault =>
  new EntryFault(`is not marked right or wrong by its correct response: it has ${what}`);

/** The elements of a condition that set `SCORE`. */
const scores = (node: XmlElement): XmlElement[] =>
  findAll(node, 'qti-set-outcome-value').filter(({ attributes }) => attributes.identifier === 'SCORE');

const scoreIn = (branch: XmlElement | undefined): number | null => {
  if (branch === undefined) return 0;
  const set = scores(branch);
  if (set.length === 0) return 0;
  const [value] = elementsIn(set[0]!);
  if (set.length === 1 && value?.attributes.identifier === 'MAXSCORE') return 1;
  return set.length === 1 && value !== undefined && localName(value) === 'qti-base-value'
    ? Number(textIn(value))
    : null;
};

/** The rule by which a condition compares. */
function ruleOf(test: XmlElement, identifier: string): Rule {
  const operands = elementsIn(test);
  const isOf = (name: string) =>
    operands.some((one) => localName(one) === name && one.attributes.identifier === identifier);
  const name = localName(test);
  const isPlain = operands.length === 2 && isOf('qti-variable') && isOf('qti-correct');
  if (!isPlain) throw otherwise(`<${name}> of something else`);
  if (name === 'qti-match') return { by: 'correct' };
  if (name === 'qti-string-match' && test.attributes.substring !== 'true')
    return { by: 'string', isCaseSensitive: test.attributes['case-sensitive'] !== 'false' };
  if (name !== 'qti-equal') throw otherwise(`<${name}>`);
  const { 'tolerance-mode': mode = 'exact', tolerance = '0', ...more } = test.attributes;
  const [below, above = below] = tolerance.trim().split(/\s+/u);
  if (mode !== 'exact' && mode !== 'absolute') throw otherwise(`the tolerance mode ${mode.slice(0, 20)}`);
  if (below !== above || !/^\d+(?:\.\d+)?$/u.test(below!)) throw otherwise('a tolerance of two sizes');
  if (more['include-lower-bound'] === 'false' || more['include-upper-bound'] === 'false')
    throw otherwise('a tolerance without its bounds');
  return { by: 'equal' };
}

function processedBy(xml: XmlElement, identifier: string): Rule {
  const processing = findOne(xml, 'qti-response-processing');
  if (processing === undefined) return { by: 'none' };
  const conditions = elementsIn(processing);
  const { template, 'template-location': location } = processing.attributes;
  const named = template ?? location;
  if (named !== undefined) {
    const by = /(?:^|\/)(match_correct|map_response)(?:\.xml)?$/u.exec(named)?.[1];
    if (by === undefined || conditions.length > 0) throw otherwise(`a template of its own (${named.slice(-40)})`);
    return { by: by === 'match_correct' ? 'correct' : 'map' };
  }
  const marking = conditions.filter((one) => scores(one).length > 0);
  const [condition] = marking;
  // A condition for another outcome only selects feedback.
  const strange = conditions.find((one) => localName(one) !== 'qti-response-condition');
  if (strange !== undefined) throw otherwise(`<${localName(strange)}>`);
  if (condition === undefined || marking.length > 1) throw otherwise(`${marking.length} conditions for its score`);
  return conditionRule(condition, identifier);
}

function conditionRule(condition: XmlElement, identifier: string): Rule {
  const branch = (name: string) => elementsIn(condition).filter((one) => localName(one) === name);
  const [whenRight] = branch('qti-response-if');
  const isTwoWay = whenRight !== undefined && branch('qti-response-else-if').every((one) => scores(one).length === 0);
  const test = whenRight && elementsIn(whenRight)[0];
  if (!isTwoWay || test === undefined) throw otherwise('several ways to score');
  const other = elementsWithin(condition).find((one) => localName(one) === 'qti-map-response');
  if (other !== undefined) throw otherwise(`<${localName(other)}>`);
  if (!((scoreIn(whenRight) ?? 0) > 0) || scoreIn(branch('qti-response-else')[0]) !== 0) throw otherwise('part marks');
  return ruleOf(test, identifier);
}

function refuseDeclaration(declaration: XmlElement, isText: boolean): void {
  for (const name of ['qti-default-value', 'qti-area-mapping'])
    if (findOne(declaration, name) !== undefined) throw otherwise(`<${name}>`);
  const mapping = findOne(declaration, 'qti-mapping');
  if (mapping === undefined) return;
  if (!isText) throw otherwise('<qti-mapping>, which gives part marks');
  const entries = findAll(mapping, 'qti-map-entry').map(({ attributes }) => Number(attributes['mapped-value']));
  const values = new Set(entries.filter((value) => value !== 0));
  if (
    Number(mapping.attributes['default-value'] ?? 0) !== 0 ||
    values.size > 1 ||
    [...values].some((value) => !(value > 0))
  )
    throw otherwise('<qti-mapping>, which gives part marks');
}

/** The accepted texts as a mapping, because the reader expects a mapping. */
function mappingOf(texts: readonly string[], isCaseSensitive: boolean): XmlElement {
  const entries = texts.map((text) =>
    element('qti-map-entry', { 'map-key': text, 'mapped-value': 1, 'case-sensitive': isCaseSensitive }),
  );
  return element('qti-mapping', {}, entries);
}

/** The texts that the rule accepts, and whether their capitals count. */
function textsUnder(
  rule: Rule,
  declaration: XmlElement,
  right: readonly string[],
): { texts: string[]; isExact: boolean } {
  const entries = acceptedIn(declaration);
  const cases = new Set(entries.map(({ attributes }) => attributes['case-sensitive'] === 'true'));
  const mapped = entries.map(({ attributes }) => attributes['map-key'] ?? '');
  if (rule.by === 'correct') return { texts: [...right], isExact: true };
  if (rule.by === 'string') return { texts: [...right], isExact: rule.isCaseSensitive };
  if (rule.by === 'equal') throw otherwise('<qti-equal> of a text');
  if (cases.size > 1) throw otherwise('some texts whose capitals count, and others whose don’t');
  if (rule.by === 'map' && right.some((text) => !mapped.includes(text)))
    throw otherwise('a correct response that its mapping gives no mark');
  const texts = [...right.filter((text) => !mapped.includes(text)), ...mapped];
  return { texts, isExact: cases.has(true) };
}

const shapes: Record<string, { cardinalities: string[]; types: string[] }> = {
  'qti-choice-interaction': { cardinalities: ['single', 'multiple'], types: ['identifier'] },
  'qti-hottext-interaction': { cardinalities: ['single', 'multiple'], types: ['identifier'] },
  'qti-order-interaction': { cardinalities: ['ordered'], types: ['identifier'] },
  'qti-match-interaction': { cardinalities: ['multiple'], types: ['directedPair'] },
  'qti-text-entry-interaction': { cardinalities: ['single'], types: ['string', 'float', 'integer'] },
};

/**
 * Rewrites the item so that its right answers are in one form.
 * @throws EntryFault if the item has more outcomes than right and wrong
 */
export function markedAsRight(
  xml: XmlElement,
  interaction: XmlElement,
): { xml: XmlElement; right: string[]; isMany: boolean } {
  const declaration = declarationOf(xml, interaction);
  if (declaration === undefined) throw new EntryFault('doesn’t declare the response of its interaction');
  const { identifier = '', cardinality = '', 'base-type': type = '' } = declaration.attributes;
  const shape = shapes[localName(interaction)]!;
  if (!shape.cardinalities.includes(cardinality) || !shape.types.includes(type))
    throw new EntryFault(
      `has a response of ${cardinality.slice(0, 20)} ${type.slice(0, 20)}, which the bank can't take over`,
    );
  refuseDeclaration(declaration, type === 'string');
  const outcomes = findAll(xml, 'qti-outcome-declaration');
  if (outcomes.some(({ attributes }) => (attributes['external-scored'] ?? 'none') !== 'none'))
    throw otherwise('a mark that a person gives');
  const score = outcomes.find(({ attributes }) => attributes.identifier === 'SCORE');
  if (score !== undefined && Number(textIn(score).trim()) > 0) throw otherwise('a score before any answer');
  const right = valuesOf(declaration);
  const isMany = cardinality === 'multiple' && type === 'identifier';
  const rule = processedBy(xml, identifier);
  const texts = type === 'string' ? textsUnder(rule, declaration, right) : null;
  if ((texts?.texts ?? right).length === 0) throw new EntryFault('doesn’t say which answer is right');
  if (cardinality === 'single' && right.length > 1)
    throw new EntryFault('says several right answers where there is one');
  if (new Set(right).size < right.length) throw new EntryFault('says one right answer twice');
  if (type === 'float' || type === 'integer')
    for (const value of right)
      if (!/^-?\d+(?:\.\d+)?$/u.test(value) || (type === 'integer' && value.includes('.')))
        throw new EntryFault('has a right answer that is not written as a number such as -7.5');
  if (texts === null && (rule.by === 'map' || rule.by === 'string')) throw otherwise('points for each answer');
  if (rule.by === 'equal' && type !== 'float' && type !== 'integer') throw otherwise('<qti-equal> of no number');
  const lefts = right.map((pair) => pair.split(/\s+/u)[0]);
  if (type === 'directedPair' && new Set(lefts).size < lefts.length)
    throw new EntryFault('matches one thing with several, and the bank with one');
  if (texts === null) return { xml, right, isMany };
  const said = elementsIn(declaration).filter((one) => localName(one) === 'qti-correct-response');
  const children = [...said, mappingOf(texts.texts, texts.isExact)];
  return {
    xml: {
      ...xml,
      children: xml.children.map((child) => (child === declaration ? { ...declaration, children } : child)),
    },
    right,
    isMany,
  };
}
