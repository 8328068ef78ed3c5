import { fieldNames, mark, rightAnswer } from '../../../src/engine/item-bank/mark.ts';
import type { Answer } from '../../../src/engine/item-bank/mark.ts';
import { parseInline } from '../../../src/engine/item-bank/markup.ts';
import { readQuantity } from '../../../src/engine/item-bank/marking/numbers/quantity.ts';
import { comparable } from '../../../src/engine/item-bank/marking/text.ts';
import type { RenderedItem, TaskField } from '../../../src/engine/item-bank/schema.ts';
import { guessChance, guessLimit } from './guessing.ts';

type Of<T extends RenderedItem['type']> = Extract<RenderedItem, { type: T }>;

const repeated = (list: readonly string[]): string[] => [
  ...new Set(list.filter((entry, at) => list.indexOf(entry) !== at)),
];

function* optionFaults(
  what: string,
  options: readonly { id: string; text: string; cells?: string[] }[],
): Generator<string> {
  for (const id of repeated(options.map((option) => option.id))) yield `two ${what} have the id ${id}`;
  const texts = options.map((option) =>
    comparable([option.text, ...(option.cells ?? [])].join(' | '), { case_sensitive: true }),
  );
  for (const text of repeated(texts)) yield `two ${what} read “${text}”`;
}

/** Finds two options with the same number in different spellings. */
export function equalNumbers(options: readonly { text: string }[]): string | null {
  const read = options.map(({ text }) => readQuantity(text));
  for (const [at, a] of read.entries()) {
    for (const [offset, b] of read.slice(at + 1).entries()) {
      if (
        a &&
        b &&
        a.unit === b.unit &&
        a.words.length + b.words.length === 0 &&
        a.value.n * b.value.d === b.value.n * a.value.d
      )
        return `“${options[at]!.text}” and “${options[at + 1 + offset]!.text}” are the same number`;
    }
  }
  return null;
}

function* choiceFaults(item: Of<'single_choice'> | Of<'multiple_choice'>): Generator<string> {
  yield* optionFaults('options', item.options);
  const ids = item.options.map((option) => option.id);
  const key = typeof item.key === 'string' ? [item.key] : item.key;
  for (const id of key) if (!ids.includes(id)) yield `the key ${id} is not an option`;
  if (key.length >= ids.length) yield 'every option is right';
  const wrong = ids.filter((id) => !key.includes(id));
  for (const id of wrong)
    if (!Object.hasOwn(item.distractor_rationales, id)) yield `option ${id} has no distractor rationale`;
  for (const id of Object.keys(item.distractor_rationales))
    if (!wrong.includes(id)) yield `there is a distractor rationale for ${id}, which is not a wrong option`;
}

/** The number of decimal places that a question asks for. Null if the question does not mention rounding. */
function placesAsked(text: string): number | null {
  const plain = text.replace(/[*]/gu, '');
  const told = /\bto (\d) decimal places?\b/u.exec(plain)?.[1];
  if (told !== undefined) return Number(told);
  if (/\bto the nearest (?:penny|hundredth)\b/u.test(plain)) return 2;
  return /\bto the nearest (?:whole|litre|metre|minute|hour|pound|kilo|gram|mile|degree)/u.test(plain) ? 0 : null;
}

function* typedFaults(item: Of<'numeric'> | Of<'short_text'>): Generator<string> {
  if (Object.keys(item.distractor_rationales).length === 0)
    yield 'names no likely wrong answer in distractor_rationales';
  for (const wrong of Object.keys(item.distractor_rationales)) {
    const marked = mark(item, { [fieldNames.answer]: wrong });
    if (marked.correct) yield `“${wrong}” is named as a wrong answer but is marked right`;
    if (marked.problem) yield `“${wrong}” is named as a wrong answer but cannot be read as a number`;
  }
  if (item.type === 'numeric') {
    if (item.key.unit_required && (item.key.units ?? []).length === 0) yield 'requires a unit but lists none';
    if (item.key.unit_required && (item.prefix || item.suffix))
      yield 'requires a unit that already stands beside the box';
    const places = placesAsked(item.stem.join(' '));
    if (item.key.tolerance !== undefined && places !== null && item.key.decimals !== places)
      yield `asks for ${places} decimal places, which its key does not hold to (decimals)`;
  } else {
    for (const text of repeated(item.key.accept.map((accepted) => comparable(accepted, item.key))))
      yield `accepts “${text}” twice`;
    if (item.width !== undefined && item.key.accept.some((accepted) => accepted.length > item.width! * 2))
      yield 'has a box that is too small for its answer';
  }
}

function* orderingFaults(item: Of<'ordering'>): Generator<string> {
  yield* optionFaults('options', item.options);
  const ids = item.options.map((option) => option.id);
  if ([...ids].sort().join() !== [...item.key].sort().join()) yield 'the key is not an order of all options';
  if (ids.join() === item.key.join()) yield 'the options already stand in the right order';
  for (const wrong of Object.keys(item.distractor_rationales)) {
    const named = wrong.split(',');
    if ([...named].sort().join() !== [...ids].sort().join())
      yield `the distractor “${wrong}” is not an order of all options`;
    else if (named.join() === item.key.join()) yield `“${wrong}” is named as a wrong answer but is the key`;
  }
}

function* matchingFaults(item: Of<'matching'>): Generator<string> {
  yield* optionFaults('things on the left', item.left);
  yield* optionFaults('things on the right', item.right);
  const left = item.left.map((option) => option.id);
  const right = item.right.map((option) => option.id);
  if (Object.keys(item.key).sort().join() !== [...left].sort().join())
    yield 'the key does not match everything on the left';
  for (const id of Object.values(item.key))
    if (!right.includes(id)) yield `the key names ${id}, which is not on the right`;
  for (const wrong of Object.keys(item.distractor_rationales)) {
    const [l = '', r = ''] = wrong.split(':');
    if (!left.includes(l) || !right.includes(r)) yield `the distractor “${wrong}” names what is not there (left:right)`;
    else if (item.key[l] === r) yield `“${wrong}” is named as a wrong answer but is right`;
  }
}

function* hotspotFaults(item: Of<'hotspot'>): Generator<string> {
  const spots =
    item.surface.kind === 'picture'
      ? item.surface.spots.map(({ id, label }) => ({ id, text: label }))
      : item.surface.lines
          .flatMap(parseInline)
          .flatMap((part) => (part.kind === 'spot' ? [{ id: part.id, text: part.text }] : []));
  const ids = spots.map((spot) => spot.id);
  for (const id of repeated(ids)) yield `two spots have the id ${id}`;
  if (item.surface.kind === 'picture') {
    for (const label of repeated(spots.map((spot) => spot.text))) yield `two spots have the label “${label}”`;
    for (const { id, x, y, width, height } of item.surface.spots)
      if (x + width > 100 || y + height > 60) yield `spot ${id} reaches over the edge of the 100 × 60 board`;
    for (const [at, a] of item.surface.spots.entries()) {
      for (const b of item.surface.spots.slice(at + 1)) {
        if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height)
          yield `spots ${a.id} and ${b.id} overlap`;
      }
    }
  }
  if (spots.length < 3) yield 'has fewer than three spots';
  if (item.key.length >= spots.length) yield 'every spot is right';
  for (const id of item.key) if (!ids.includes(id)) yield `the key ${id} is not a spot`;
  for (const id of Object.keys(item.distractor_rationales))
    if (!ids.includes(id) || item.key.includes(id))
      yield `there is a distractor rationale for ${id}, which is not a wrong spot`;
}

function* taskFieldFaults(field: TaskField, key: unknown): Generator<string> {
  const name = `field ${field.id}`;
  if (field.control === 'text') {
    if (key !== undefined && (typeof key === 'string' || Array.isArray(key)))
      yield `${name} is text, so its key is {accept} or {value}`;
    return;
  }
  yield* optionFaults(`options of ${name}`, field.options);
  const ids = field.options.map((option) => option.id);
  const columns = (field.columns ?? []).length;
  for (const option of field.options) {
    const cells = (option.cells ?? []).length;
    if (cells > 0 && columns !== cells + 1)
      yield `option ${option.id} of ${name} has ${cells} cells under ${columns} columns (the first column is the option)`;
  }
  for (const id of [field.initial ?? []].flat())
    if (!ids.includes(id)) yield `${name} starts with ${id}, which is not an option`;
  if (key === undefined) return;
  if ((field.control === 'checkboxes') !== Array.isArray(key))
    yield `the key of ${name} is ${field.control === 'checkboxes' ? 'a list of ids' : 'one id'}`;
  for (const id of [key as string | string[]].flat())
    if (!ids.includes(id)) yield `the key of ${name} names ${String(id)}, which is not an option`;
}

function* taskFaults(item: Of<'task'>): Generator<string> {
  const ids = item.fields.map((field) => field.id);
  for (const id of repeated(ids)) yield `two fields have the id ${id}`;
  const placed = item.screen.flatMap((block) => (block.block === 'field' ? [block.field] : []));
  for (const id of ids)
    if (placed.filter((other) => other === id).length !== 1) yield `field ${id} must stand on the screen exactly once`;
  for (const id of placed) if (!ids.includes(id)) yield `the screen has a field ${id} that is not defined`;
  for (const id of Object.keys(item.key))
    if (!ids.includes(id)) yield `the key names a field ${id} that is not defined`;
  if (Object.keys(item.key).length === 0) yield 'the key names no field';
  for (const field of item.fields)
    yield* taskFieldFaults(field, Object.hasOwn(item.key, field.id) ? item.key[field.id] : undefined);
  const untouched: Answer = Object.fromEntries(
    item.fields.map((field) => [fieldNames.task(field.id), field.initial ?? '']),
  );
  if (mark(item, untouched).answered) yield 'counts as answered before anything is done';
  if (item.fields.every((field) => !Object.hasOwn(item.key, field.id) || sameAsStart(item, field)))
    yield 'is right before anything is done';
}

function sameAsStart(item: Of<'task'>, field: TaskField): boolean {
  const key = item.key[field.id];
  const start = [field.initial ?? []].flat().sort().join('\u0000');
  return (typeof key === 'string' || Array.isArray(key)) && [key].flat().sort().join('\u0000') === start;
}

function byType(item: RenderedItem): Generator<string> {
  switch (item.type) {
    case 'single_choice':
    case 'multiple_choice':
      return choiceFaults(item);
    case 'numeric':
    case 'short_text':
      return typedFaults(item);
    case 'ordering':
      return orderingFaults(item);
    case 'matching':
      return matchingFaults(item);
    case 'hotspot':
      return hotspotFaults(item);
    case 'task':
      return taskFaults(item);
  }
}

/** What is wrong with an item's key, options and distractors, in sentences without a subject; empty if nothing is. */
export function keyFaults(item: RenderedItem): string[] {
  const faults = [...byType(item)];
  if (faults.length > 0) return faults;
  const right = mark(item, rightAnswer(item));
  if (!right.correct || right.problem) faults.push('its own key is not marked right');
  if (mark(item, {}).answered) faults.push('an empty answer counts as answered');
  const choice =
    item.type === 'single_choice' ||
    item.type === 'multiple_choice' ||
    (item.type === 'hotspot' && item.key.length === 1);
  if (!choice && guessChance(item) > guessLimit)
    faults.push(
      `a guess is right with probability ${guessChance(item).toFixed(2)}; at most ${guessLimit.toFixed(2)} without a guessing parameter`,
    );
  return faults;
}
