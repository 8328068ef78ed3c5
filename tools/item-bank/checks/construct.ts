import { plainText, parseInline } from '../../../src/engine/item-bank/markup.ts';
import { shownType } from '../../../src/engine/item-bank/schema.ts';
import type { Item, RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { isChoice } from './coverage.ts';
import { error } from './finding.ts';
import type { CheckedBank, Finding } from './finding.ts';
import { isUsed } from './statements.ts';

/**
 * Rules against items that measure something else than their skill, such as reading, recognising the answer, or luck.
 */

const spoken = (text: string): string => plainText(parseInline(text)).toLowerCase();
const wordsOf = (text: string): string[] => spoken(text).match(/[\p{L}\p{N}]+(?:[.:][\p{N}]+)*/gu) ?? [];

/** Words that do not distinguish one option from another. */
const empty = new Set(
  'a an and are as at be by can do for from has have i if in into is it its me my no not of off on one only or our out so that the their them then they this to up us was we what who will with you your yes'.split(
    ' ',
  ),
);
const content = (text: string): string[] => wordsOf(text).filter((word) => !empty.has(word));

const stemOf = (word: string): string => word.slice(0, 5);
/**
 * A stem tells a value if it has at least this share of the value's words, and more than of any other value's words.
 */
const toldShare = 0.5;
/** A task with at least this many fields would measure reading alone if its stem told every value. */
const fieldsThatMatter = 3;
/** The largest share of a task's values that the stem may tell word for word. */
const dictatedShare = 0.6;

/** The values of menus and lists that a task's stem tells word for word. */
function dictatedValues(item: Extract<RenderedItem, { type: 'task' }>): { told: number; of: number } {
  const stem = new Set(item.stem.flatMap(content).map(stemOf));
  const share = (text: string): number => {
    const words = content(text).map(stemOf);
    return words.length === 0 ? 0 : words.filter((word) => stem.has(word)).length / words.length;
  };
  const chosen = item.fields.flatMap((field) =>
    Object.hasOwn(item.key, field.id) && (field.control === 'select' || field.control === 'radios') ? [field] : [],
  );
  const told = chosen.filter(({ id, options }) => {
    const right = options.find((option) => option.id === item.key[id]);
    if (!right || share(right.text) < toldShare) return false;
    return options.every((option) => option === right || share(option.text) < share(right.text));
  });
  return { told: told.length, of: chosen.length };
}

/**
 * A learner gets no credit for a task after one slip, so a task with more decisions than this says little about the
 * skill.
 */
const maxDecisions = 5;

function* taskFaults(item: Extract<RenderedItem, { type: 'task' }>, isDigital: boolean): Generator<string> {
  const decisions = Object.keys(item.key).length;
  if (decisions > maxDecisions)
    yield `asks for ${decisions} decisions, all or nothing; at most ${maxDecisions} until parts are scored`;
  // Filling in a form from a text is itself a skill of reading and writing.
  if (!isDigital) return;
  const { told, of } = dictatedValues(item);
  if (of >= fieldsThatMatter && told / of >= dictatedShare)
    yield `tells ${told} of ${of} values in its stem word for word: it measures reading`;
}

/**
 * Whether the stem names the steps of an ordering in the right order. A passage may do so, because reading is the skill
 * there.
 */
function givesOrderAway(item: Extract<RenderedItem, { type: 'ordering' }>): boolean {
  const stem = item.stem.map(spoken).join(' ');
  const options = item.key.map((id) => content(item.options.find((option) => option.id === id)!.text));
  const common = new Set(options.flat().filter((word, at, all) => all.indexOf(word) !== at));
  const places = options.map((words) =>
    Math.min(
      ...words
        .filter((word) => !common.has(word) && word.length > 3)
        .map((word) => stem.search(new RegExp(`\\b${word.slice(0, Math.max(4, word.length - 2))}`, 'u')))
        .filter((at) => at >= 0),
    ),
  );
  const found = places.filter(Number.isFinite);
  return found.length >= 3 && found.every((at, n) => n === 0 || at > found[n - 1]!);
}

/** Signs of an option that no learner would choose: shouting, baby talk, insults. */
const joke = /!!|\blol\b|\bsilly\b|\bxx+\b|\bhaha\b|\bstupid\b|\bhey you\b/iu;

function* optionFaults(item: RenderedItem): Generator<string> {
  const options =
    'options' in item
      ? item.options
      : item.type === 'task'
        ? item.fields.flatMap((field) => (field.control === 'text' ? [] : field.options))
        : [];
  for (const { text } of options) {
    if (joke.test(text)) yield `the option “${text}” is a joke`;
    else if (
      !/\p{Ll}/u.test(text) &&
      text.split(/\s/u).filter((word) => /\p{Lu}{2}/u.test(word)).length > 1 &&
      text.length > 12 &&
      item.type !== 'matching'
    )
      yield `the option “${text}” shouts`;
  }
}

/**
 * Choosing is easier than typing. Authors therefore judge a choice item to be easier than a typed item about the same
 * thing. Difficulties that were measured may say otherwise.
 */
function* twinFaults(item: Item, items: readonly Item[]): Generator<string> {
  // Reading items of one skill are about different texts, so their difficulties cannot be compared.
  if (!isChoice(item) || item.domain === 'reading' || item.calibration === 'calibrated') return;
  const typed = items.filter(
    (other) =>
      other.calibration === 'provisional' &&
      other.level === item.level &&
      other.statement === item.statement &&
      other.skill === item.skill &&
      ['numeric', 'short_text'].includes(shownType(other)),
  );
  for (const twin of typed)
    if (item.b >= twin.b) yield `is a choice with b ${item.b}, and its typed twin ${twin.id} has ${twin.b}`;
}

/** The largest share of a domain's items that may begin with the same words. */
const sameFormatShare = 0.5;
/** The largest share of a domain's items that may be of one type. */
const sameTypeShare = 0.85;
const smallestDomain = 20;

function formatFindings(bank: CheckedBank): Finding[] {
  const live = bank.shown.filter(({ item }) => isUsed(item));
  return [...Map.groupBy(live, ({ item }) => item.domain)].flatMap(([domain, list]) => {
    if (list.length < smallestDomain) return [];
    const largest = (of: (entry: (typeof list)[number]) => string) =>
      [...Map.groupBy(list, of)].sort(([, a], [, b]) => b.length - a.length)[0]!;
    const [beginning, alike] = largest(({ rendered }) => rendered.stem[0]!);
    const [type, ofType] = largest(({ item }) => shownType(item));
    const { subject } = list[0]!.item;
    return [
      ...(alike.length > sameFormatShare * list.length
        ? [error('formats', null, `${subject} ${domain}: ${alike.length} of ${list.length} items begin “${beginning}”`)]
        : []),
      ...(ofType.length > sameTypeShare * list.length
        ? [error('formats', null, `${subject} ${domain}: ${ofType.length} of ${list.length} items are of type ${type}`)]
        : []),
    ];
  });
}

export function constructFindings(bank: CheckedBank): Finding[] {
  const live = bank.shown.filter(({ item }) => isUsed(item));
  const items = live.map(({ item }) => item);
  const findings = live.flatMap(({ item, rendered }) => [
    ...[...twinFaults(item, items)].map((fault) => error('twins', item.id, fault)),
    ...[...optionFaults(rendered)].map((fault) => error('distractors', item.id, fault)),
    ...(rendered.type === 'task'
      ? [...taskFaults(rendered, item.subject === 'digital')].map((fault) => error('tasks', item.id, fault))
      : []),
    ...(rendered.type === 'ordering' && givesOrderAway(rendered)
      ? [error('ordering', item.id, 'names the steps in their order in its stem')]
      : []),
  ]);
  return [...findings, ...formatFindings(bank)];
}
