import { seededRandom } from '../../platform/crypto/random.ts';
import { readDate } from './marking/date.ts';
import { readQuantity } from './marking/numbers/quantity.ts';
import { readTime } from './marking/time.ts';
import { parseInline, plainText } from './markup.ts';
import type { Option, RenderedItem } from './schema.ts';
import { shuffled } from './templates/question.ts';

/** Options such as "none of these" close a list, so they are always last. */
const closing =
  /^(?:(?:all|any|both|each|neither|none) of (?:these|those|them|the (?:above|others))|both|neither|none|not sure|i don['’]t know|something else)\.?$/iu;

/** Words that have an order of their own. */
const series = [
  'monday tuesday wednesday thursday friday saturday sunday',
  'mon tue wed thu fri sat sun',
  'january february march april may june july august september october november december',
  'jan feb mar apr may jun jul aug sep oct nov dec',
  'spring summer autumn winter',
  'morning afternoon evening night',
  'yesterday today tomorrow',
  'second minute hour day week fortnight month year',
  'seconds minutes hours days weeks fortnights months years',
  'once twice',
  'hourly daily weekly monthly yearly',
  'first second third fourth fifth sixth seventh eighth last',
  'never rarely sometimes often usually always',
  'none few some many most all',
  'impossible unlikely possible likely certain',
  'no maybe yes',
  'false true',
  'low medium high',
  'small medium large',
  'short medium long',
  'cold cool warm hot',
  'beginner intermediate advanced',
  'north east south west',
].map((words) => words.split(' '));
series.push([...'abcdefghijklmnopqrstuvwxyz']);

/** A place in an order. Only ranks of one kind can be compared. */
type Rank = { kind: string; at: number };

const wordsOf = (text: string): string[] => text.toLowerCase().split(/\s+/u).map(withoutStop);
const withoutStop = (word: string): string => word.replace(/[,.;:]$/u, '');

const readers: readonly ((text: string) => Rank | null)[] = [
  (text) => {
    const read = readQuantity(text);
    if (read === null) return null;
    const factor = read.unit === null ? 1 : Number(read.unit.factor.n) / Number(read.unit.factor.d);
    return {
      kind: [read.unit?.dimension ?? '', ...read.words].join(' '),
      at: (factor * Number(read.value.n)) / Number(read.value.d),
    };
  },
  (text) => {
    const read = readTime(text);
    return read && { kind: 'time', at: read.minutes };
  },
  (text) => {
    // A text such as "3/7" is a fraction.
    const read = /^\d+\/\d+$/u.test(text) ? null : readDate(text);
    return read && { kind: 'date', at: ((read.year ?? 0) * 12 + read.month) * 31 + read.day };
  },
  // The rank of a range such as "5 to 10" is the middle of its numbers.
  (text) => {
    if (wordsOf(text).length > 5 || /[/:=+×÷√()]/u.test(text)) return null;
    const numbers = [...text.replaceAll(',', '').matchAll(/\d+(?:\.\d+)?/gu)].map(Number);
    return numbers.length === 0 ? null : { kind: 'range', at: numbers.reduce((sum, n) => sum + n, 0) / numbers.length };
  },
  ...series.flatMap((words) =>
    [0, -1].map((end) => (text: string) => {
      const at = words.indexOf(wordsOf(text).at(end)!);
      return at < 0 ? null : { kind: 'series', at };
    }),
  ),
];

/** Removes the words with which all texts begin or end, so that "Week 1" is read as 1. A text keeps at least a word. */
function withoutCommonWords(texts: readonly string[]): string[] {
  const all = texts.map((text) => text.trim().split(/\s+/u));
  const shortest = Math.min(...all.map((words) => words.length));
  const isCommon = (at: number) => all.every((words) => words.at(at)!.toLowerCase() === all[0]!.at(at)!.toLowerCase());
  let [start, end] = [0, 0];
  while (start < shortest - 1 && isCommon(start)) start++;
  while (end < shortest - 1 - start && isCommon(-1 - end)) end++;
  return all.map((words) => words.slice(start, words.length - end).join(' '));
}

const isRising = (list: readonly number[]): boolean => list.every((at, i) => i === 0 || at >= list[i - 1]!);

/** Whether the texts show an order from first to last, by numbers, dates, times or words such as weekdays. */
export function isInOrder(texts: readonly string[]): boolean {
  const rest = withoutCommonWords(texts);
  return readers.some((read) => {
    const ranks = rest.map(read);
    if (ranks.some((rank) => rank === null || rank.kind !== ranks[0]!.kind)) return false;
    const places = ranks.map((rank) => rank!.at);
    return new Set(places).size >= Math.min(3, places.length) && (isRising(places) || isRising(places.toReversed()));
  });
}

export const textOf = (option: Option): string => plainText(parseInline(option.text));
const closes = (option: Option): boolean => closing.test(textOf(option).trim());

/**
 * The options that may change places, and those that follow them.
 * @param keepOrder the item's own word; without it, an order that the texts show is kept
 */
export function movable(
  options: readonly Option[],
  keepOrder: boolean | undefined,
): { free: readonly Option[]; last: readonly Option[] } {
  const [free, last] = [options.filter((one) => !closes(one)), options.filter(closes)];
  const keeps = keepOrder ?? (free.length > 1 && isInOrder(free.map(textOf)));
  return keeps ? { free: [], last: options } : { free, last };
}

/**
 * Shuffles the options of a choice and the right side of a matching, unless their order has a meaning. Answers name
 * options by ID, so marking does not depend on the order.
 */
export function withOrderOf(rendered: RenderedItem, seed: string): RenderedItem {
  const order = (options: readonly Option[], keepOrder: boolean | undefined): Option[] => {
    const { free, last } = movable(options, keepOrder);
    return [...shuffled(seededRandom(`order:${seed}`), free), ...last];
  };
  switch (rendered.type) {
    case 'single_choice':
    case 'multiple_choice':
      return { ...rendered, options: order(rendered.options, rendered.keep_order) };
    case 'matching':
      return { ...rendered, right: order(rendered.right, rendered.keep_order) };
    default:
      return rendered;
  }
}
