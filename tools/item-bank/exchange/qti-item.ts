import { isDeepStrictEqual } from 'node:util';
import type {
  Item,
  NumericKey,
  Passage,
  RenderedItem,
  TaskField,
  TextKey,
} from '../../../src/engine/item-bank/schema.ts';
import { blocksXml, figureXml, markupXml, screenXml, toIdentifier } from './xhtml.ts';
import { element } from './xml.ts';
import type { XmlElement, XmlNode } from './xml.ts';
import { passageFromXml, readNative } from './qti-read.ts';

/**
 * Writes items as QTI 3.0 assessment items. QTI elements contain text, interaction, right response, marking and
 * rationale. The root's `data-ars` attribute contains the rest as JSON (level, parameters, enemies, units). The reader
 * joins both, so an exported item is imported unchanged.
 */
export const qtiNamespace = 'http://www.imsglobal.org/xsd/imsqtiasi_v3p0';
const schemaLocation = `${qtiNamespace} https://purl.imsglobal.org/spec/qti/v3p0/schema/xsd/imsqti_asiv3p0_v1p0.xsd`;
const matchCorrect = 'https://purl.imsglobal.org/spec/qti/v3p0/rptemplates/match_correct.xml';
const mapResponse = 'https://purl.imsglobal.org/spec/qti/v3p0/rptemplates/map_response.xml';
export const toolName = 'Assessment Results Service';

/** The elements that an interaction adds to an item: declaration, body, right response and marking template. */
type Part = { declaration: XmlElement; body: XmlElement[]; right: XmlElement | null; template?: string };

const value = (text: string): XmlElement => element('qti-value', {}, text);
const variable = (identifier: string): XmlElement => element('qti-variable', { identifier });
const correct = (identifier: string): XmlElement => element('qti-correct', { identifier });

function declaration(
  identifier: string,
  cardinality: string,
  baseType: string,
  right: readonly string[],
  mapping?: XmlElement,
): XmlElement {
  return element(
    'qti-response-declaration',
    { identifier, cardinality, 'base-type': baseType },
    right.length === 0 ? [] : element('qti-correct-response', {}, right.map(value)),
    mapping ?? [],
  );
}

const simpleChoices = (options: readonly { id: string; text: string; cells?: string[] }[]): XmlElement[] =>
  options.map((option) =>
    element(
      'qti-simple-choice',
      { identifier: toIdentifier(option.id) },
      markupXml([option.text, ...(option.cells ?? [])].join(' · ')),
    ),
  );

function choice(
  identifier: string,
  options: Parameters<typeof simpleChoices>[0],
  key: readonly string[],
  multiple: boolean,
  max: number,
  prompt?: XmlNode[],
): Part {
  return {
    declaration: declaration(identifier, multiple ? 'multiple' : 'single', 'identifier', key.map(toIdentifier)),
    body: [
      element(
        'qti-choice-interaction',
        { 'response-identifier': identifier, shuffle: false, 'max-choices': max },
        prompt ? element('qti-prompt', {}, prompt) : [],
        simpleChoices(options),
      ),
    ],
    right:
      key.length === 0
        ? element('qti-is-null', {}, variable(identifier))
        : element('qti-match', {}, variable(identifier), correct(identifier)),
    template: matchCorrect,
  };
}

function entry(identifier: string, width: number, before: XmlNode[], after: string | undefined): XmlElement[] {
  const box = element('qti-text-entry-interaction', { 'response-identifier': identifier, 'expected-length': width });
  return [element('p', {}, ...before, box, ...(after ? [` ${after}`] : []))];
}

function texts(identifier: string, key: TextKey, width: number, before: XmlNode[]): Part {
  const mapping = element(
    'qti-mapping',
    { 'lower-bound': 0, 'upper-bound': 1, 'default-value': 0 },
    key.accept.map((accepted) =>
      element('qti-map-entry', {
        'map-key': accepted,
        'mapped-value': 1,
        'case-sensitive': key.case_sensitive ?? false,
      }),
    ),
  );
  const matches = key.accept.map((accepted) =>
    element(
      'qti-string-match',
      { 'case-sensitive': key.case_sensitive ?? false },
      variable(identifier),
      element('qti-base-value', { 'base-type': 'string' }, accepted),
    ),
  );
  return {
    declaration: declaration(identifier, 'single', 'string', [key.accept[0]!], mapping),
    body: entry(identifier, width, before, undefined),
    right: matches.length === 1 ? matches[0]! : element('qti-or', {}, matches),
    template: mapResponse,
  };
}

/** QTI compares a decimal as a number. A fraction, or a number that needs its unit or form, is compared as text. */
function number(identifier: string, key: NumericKey, before: XmlNode[], after: string | undefined): Part {
  if (key.value.includes('/') || key.unit_required || key.form === 'fraction_simplest') {
    const accept = [key.unit_required ? `${key.value} ${key.units?.[0] ?? ''}` : key.value];
    return { ...texts(identifier, { accept }, 10, before), body: entry(identifier, 10, before, after) };
  }
  const tolerance = key.tolerance ?? '0';
  return {
    declaration: declaration(identifier, 'single', 'float', [key.value]),
    body: entry(identifier, 10, before, after),
    right: element(
      'qti-equal',
      { 'tolerance-mode': 'absolute', tolerance: `${tolerance} ${tolerance}` },
      variable(identifier),
      correct(identifier),
    ),
  };
}

function matching(item: Extract<RenderedItem, { type: 'matching' }>): Part {
  const set = (options: typeof item.left, max: number) =>
    element(
      'qti-simple-match-set',
      {},
      options.map((option) =>
        element(
          'qti-simple-associable-choice',
          { identifier: toIdentifier(option.id), 'match-max': max },
          markupXml(option.text),
        ),
      ),
    );
  return {
    declaration: declaration(
      'RESPONSE',
      'multiple',
      'directedPair',
      Object.entries(item.key).map(([left, right]) => `${toIdentifier(left)} ${toIdentifier(right)}`),
    ),
    body: [
      element(
        'qti-match-interaction',
        { 'response-identifier': 'RESPONSE', shuffle: false, 'max-associations': item.left.length },
        set(item.left, 1),
        set(item.right, item.left.length),
      ),
    ],
    right: null,
    template: matchCorrect,
  };
}

/** A picture has 100 × 60 units. QTI allows only integers, so units are multiplied by 10. */
export const boardScale = 10;
export const pictureHref = (id: string): string => `images/${id}.svg`;

function hotspot(id: string, item: Extract<RenderedItem, { type: 'hotspot' }>): Part {
  const max = item.key.length;
  const declared = declaration('RESPONSE', max === 1 ? 'single' : 'multiple', 'identifier', item.key.map(toIdentifier));
  if (item.surface.kind === 'text') {
    const lines = item.surface.lines.map((line) => element('p', {}, markupXml(line)));
    return {
      declaration: declared,
      body: [element('qti-hottext-interaction', { 'response-identifier': 'RESPONSE', 'max-choices': max }, lines)],
      right: null,
      template: matchCorrect,
    };
  }
  const spots = item.surface.spots.map((spot) =>
    element('qti-hotspot-choice', {
      identifier: toIdentifier(spot.id),
      shape: 'rect',
      coords: [spot.x, spot.y, spot.x + spot.width, spot.y + spot.height]
        .map((at) => Math.round(at * boardScale))
        .join(','),
      'hotspot-label': spot.label,
    }),
  );
  const picture = element(
    'object',
    { data: `../${pictureHref(id)}`, type: 'image/svg+xml', width: 100 * boardScale, height: 60 * boardScale },
    item.surface.description,
  );
  return {
    declaration: declared,
    body: [
      element('qti-hotspot-interaction', { 'response-identifier': 'RESPONSE', 'max-choices': max }, picture, spots),
    ],
    right: null,
    template: matchCorrect,
  };
}

function taskPart(field: TaskField, key: Extract<RenderedItem, { type: 'task' }>['key'][string] | undefined): Part {
  const identifier = `FIELD_${field.id}`;
  const label = markupXml(field.label);
  if (field.control === 'text') {
    const before = [...label, ': '];
    if (key !== undefined && typeof key !== 'string' && !Array.isArray(key))
      return 'accept' in key
        ? texts(identifier, key, field.width ?? 20, before)
        : number(identifier, key, before, undefined);
    return {
      declaration: declaration(identifier, 'single', 'string', []),
      body: entry(identifier, field.width ?? 20, before, undefined),
      right: null,
    };
  }
  const multiple = field.control === 'checkboxes';
  const ids = key === undefined ? [] : [key as string | string[]].flat();
  const part = choice(identifier, field.options, ids, multiple, multiple ? 0 : 1, label);
  return key === undefined ? { ...part, right: null } : part;
}

function parts(id: string, item: RenderedItem): Part[] {
  switch (item.type) {
    case 'single_choice':
      return [choice('RESPONSE', item.options, [item.key], false, 1)];
    case 'multiple_choice':
      return [choice('RESPONSE', item.options, item.key, true, item.key.length)];
    case 'numeric':
      return [number('RESPONSE', item.key, item.prefix ? [`${item.prefix} `] : [], item.suffix)];
    case 'short_text':
      return [texts('RESPONSE', item.key, item.width ?? 20, [])];
    case 'ordering':
      return [
        {
          declaration: declaration('RESPONSE', 'ordered', 'identifier', item.key.map(toIdentifier)),
          body: [
            element(
              'qti-order-interaction',
              { 'response-identifier': 'RESPONSE', shuffle: false },
              simpleChoices(item.options),
            ),
          ],
          right: null,
          template: matchCorrect,
        },
      ];
    case 'matching':
      return [matching(item)];
    case 'hotspot':
      return [hotspot(id, item)];
    case 'task':
      return item.fields.map((field) =>
        taskPart(field, Object.hasOwn(item.key, field.id) ? item.key[field.id] : undefined),
      );
  }
}

function bodyOf(item: RenderedItem, made: readonly Part[]): XmlElement[] {
  if (item.type !== 'task') return made.flatMap((part) => part.body);
  return item.screen.flatMap((block) => {
    if (block.block !== 'field') return [screenXml(block)];
    return made[item.fields.findIndex((field) => field.id === block.field)]!.body;
  });
}

function processing(made: readonly Part[]): XmlElement {
  const [only] = made;
  if (made.length === 1 && only!.template) return element('qti-response-processing', { template: only!.template });
  const conditions = made.flatMap((part) => (part.right ? [part.right] : []));
  const score = (points: number) =>
    element(
      'qti-set-outcome-value',
      { identifier: 'SCORE' },
      element('qti-base-value', { 'base-type': 'float' }, String(points)),
    );
  return element(
    'qti-response-processing',
    {},
    element(
      'qti-response-condition',
      {},
      element(
        'qti-response-if',
        {},
        conditions.length === 1 ? conditions[0]! : element('qti-and', {}, conditions),
        score(1),
      ),
      element('qti-response-else', {}, score(0)),
    ),
  );
}

function rubric(item: RenderedItem): XmlElement {
  const distractors = Object.entries(item.distractor_rationales).flatMap(([response, reason]) => [
    element('dt', {}, response),
    element('dd', {}, reason),
  ]);
  return element(
    'qti-rubric-block',
    { view: 'author scorer tutor', class: 'rationale' },
    element(
      'qti-content-body',
      {},
      element('p', {}, item.rationale),
      distractors.length === 0 ? [] : element('dl', {}, distractors),
    ),
  );
}

const outcome = (identifier: string, start: string): XmlElement =>
  element(
    'qti-outcome-declaration',
    { identifier, cardinality: 'single', 'base-type': 'float' },
    element('qti-default-value', {}, value(start)),
  );

const root = (name: string, id: string, title: string, version: string): Record<string, string> => ({
  xmlns: qtiNamespace,
  'xmlns:xsi': 'http://www.w3.org/2001/XMLSchema-instance',
  'xsi:schemaLocation': schemaLocation,
  identifier: id,
  title,
  'xml:lang': 'en-GB',
  'tool-name': toolName,
  'tool-version': version,
  ...(name === 'qti-assessment-item' ? { adaptive: 'false', 'time-dependent': 'false' } : {}),
});

export const stimulusHref = (id: string): string => `stimuli/${id}.xml`;

/**
 * Writes an item with the text of `rendered`, which for a template is one of its renderings. `version`: the version of
 * the bank.
 */
export function itemXml(item: Item, rendered: RenderedItem, version: string): XmlElement {
  const made = parts(item.id, rendered);
  const xml = element(
    'qti-assessment-item',
    root('qti-assessment-item', item.id, item.skill, version),
    made.map((part) => part.declaration),
    outcome('SCORE', '0'),
    outcome('MAXSCORE', '1'),
    rendered.passage
      ? element('qti-assessment-stimulus-ref', {
          identifier: rendered.passage,
          href: `../${stimulusHref(rendered.passage)}`,
        })
      : [],
    element(
      'qti-item-body',
      {},
      element('div', { class: 'stem' }, blocksXml(rendered.stem)),
      rendered.figure ? figureXml(rendered.figure) : [],
      element('div', { class: 'response' }, bodyOf(rendered, made)),
      rubric(rendered),
    ),
    processing(made),
  );
  const native = readNative(xml, true);
  const rest = Object.fromEntries(
    Object.entries(item).filter(([name, member]) => !isDeepStrictEqual(native[name], member)),
  );
  xml.attributes['data-ars'] = JSON.stringify(rest);
  return xml;
}

/** Writes a passage as a QTI 3.0 assessment stimulus. */
export function stimulusXml(passage: Passage, version: string): XmlElement {
  const xml = element(
    'qti-assessment-stimulus',
    root('qti-assessment-stimulus', passage.id, passage.title, version),
    element('qti-stimulus-body', {}, element('div', { class: 'passage' }, blocksXml(passage.paragraphs))),
  );
  const { level, genre, paragraphs } = passage;
  const isWhole = isDeepStrictEqual(passageFromXml(xml).paragraphs, paragraphs);
  xml.attributes['data-ars'] = JSON.stringify({ level, genre, ...(isWhole ? {} : { paragraphs }) });
  return xml;
}
