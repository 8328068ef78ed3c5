import type { Fraction } from '../../number.ts';
import { atMost, difference, fractionOf } from '../../number.ts';
import type { NumericKey } from '../../schema.ts';
import type { Quantity } from './quantity.ts';
import { readQuantity } from './quantity.ts';
import { digitsForOrdinals, digitsForWords } from './number-words.ts';
import { withoutTalk } from '../talk.ts';
import { isEnglishWord } from '../slips.ts';
import { stemOf, wordsOf } from '../text.ts';
import { markTime, readTime } from '../time.ts';
import type { Unit } from './units.ts';
import { plainUnit, unitNamed } from './units.ts';
import words from '../words.json' with { type: 'json' };

/** What stands around the box: its prefix and suffix, and the words of the question and of its label. */
export type Surroundings = {
  beside: readonly string[];
  /** Stems of the words of the question. */
  words: ReadonlySet<string>;
  text: string;
  /**
   * The question's paragraphs that have a gap, or words in bold that are to be replaced, as `____`; and its quoted
   * ones.
   */
  sentences: readonly string[];
};

/** Words that may stand beside any number without changing what it says. */
const fillers = new Set(words.beside_number);

/** Whether digits are what is asked for, so that words only repeat the question. */
export const asksForDigits = (question: string): boolean => /\bin digits\b/u.test(question);

type NumberVerdict = 'right' | 'wrong' | 'unreadable';

/** Marks a typed number, then without what is said around it; `unreadable` where it can't be told which is meant. */
export function markNumber(text: string, key: NumericKey, around: Surroundings): NumberVerdict {
  // "> 9" says where a number lies.
  if (/^\s*[<>]\s*\d/u.test(text)) return 'unreadable';
  const verdict = markPlainNumber(text, key, around);
  if (verdict === 'unreadable' && !asksForDigits(around.text)) {
    // "Two dozen" and "the eleventh", where they are right.
    const counted = inDozens(isWritten(around.text) ? text : digitsForOrdinals(text));
    if (counted !== text && markPlainNumber(counted, key, around) === 'right') return 'right';
  }
  // "£228 (£12 off)": an amount in brackets that says what it is of. It may make nothing wrong that was asked again.
  const main = withoutSideAmount(text);
  if (verdict === 'unreadable' && main !== null && markPlainNumber(main, key, around) === 'right') return 'right';
  const alone = withoutTalk(text);
  return verdict !== 'unreadable' || alone === text ? verdict : markPlainNumber(alone, key, around);
}

/**
 * The text without an amount, with words of its own, in brackets at its end.
 * @returns null where there is none, or its words could put it in the answer's place
 */
function withoutSideAmount(text: string): string | null {
  const found = /^([^()\d]*\d[^()]*?) ?\(([^()\d]*\d[^()]*)\)[.!]?$/u.exec(text.trim());
  if (found === null) return null;
  const words = wordsOf(found[2]!).filter((word) => !/\d/u.test(word) && unitNamed(word) === null);
  const isPlain = (word: string) => !changing.has(word) && !weighing.has(word) && isEnglishWord(word);
  return words.length > 0 && words.every(isPlain) ? found[1]! : null;
}

/** Words that add to what stands before them, or put another in its place. */
const weighing = new Set(words.weighing);

const isWritten = (question: string): boolean => /\bwrite (?:the|its|a) number\b/iu.test(question);

function inDozens(text: string): string {
  return digitsForWords(text)
    .replace(/\bhalf (?:a )?dozen\b/iu, '6')
    .replace(/\b(\d+|a) dozen\b/iu, (_all, n: string) => String((Number(n) || 1) * 12));
}

function markPlainNumber(text: string, key: NumericKey, around: Surroundings): NumberVerdict {
  const filled = gapFilled(text, around.sentences);
  if (filled !== null) return markPlainNumber(filled, key, { ...around, sentences: [] });
  if (asksForDigits(around.text) && /^\D*$/u.test(text)) return 'unreadable';
  if (asksForDigits(around.text) && /hundred|thousand|million/iu.test(text)) return 'wrong';
  if (around.beside.some((name) => /^o.?clock$/u.test(name))) return markHour(text, key);
  const named = [...around.beside, ...(key.units ?? [])].filter((name) => name.trim() !== '');
  const inThousands = /\bthousands? (?:of )?pounds\b/iu.test(around.text);
  const keyUnit = inThousands
    ? thousandPounds
    : (named.map(unitNamed).find((unit) => unit !== null) ?? unitAskedFor(around.text));
  const read = readQuantity(
    inThousands ? withoutThousand(text) : key.value.includes('/') ? text : withoutTail(text, around),
  );
  if (read === null) return 'unreadable';
  const own = new Set(named.flatMap((name) => name.split(' ')).map(plainUnit));
  const asksForUnit = key.unit_required === true && read.unit === null;
  const strange = read.words.filter(
    (word) =>
      !fillers.has(word) &&
      !(word.endsWith("n't") && /\bnot\b/u.test(around.text)) &&
      !own.has(plainUnit(word)) &&
      !around.words.has(stemOf(word)) &&
      (asksForUnit || !saysNothingOfNumber(word, around.text)),
  );
  // "34 patients", where the question has no word for what is counted.
  const isCounted = keyUnit === null && read.unit === null && strange.length === 1 && isCountedThing(strange[0]!, text);
  if (strange.length > 0 && !isCounted) return 'unreadable';
  if (read.others.some((unit) => unit !== keyUnit && !isMentioned(unit, around.text))) return 'unreadable';
  const value = inUnitOf(read, key, keyUnit, around);
  if (value === 'other' || value === 'strange') return value === 'other' ? 'wrong' : 'unreadable';
  const unitRight = !key.unit_required || read.unit !== null || read.words.some((word) => own.has(plainUnit(word)));
  return near(value, key) && formRight(read, key, around.text) && unitRight ? 'right' : 'wrong';
}

/** Words beside a number that make another one of it, or leave it open. */
export const changing = new Set(words.changing_number);

/**
 * "£20 for visitors", "the phone 58": other English words say of what the number is, and "APR" shortens the question's
 * words.
 */
function saysNothingOfNumber(word: string, question: string): boolean {
  if (changing.has(word)) return false;
  const initials = wordsOf(question)
    .map((one) => one[0])
    .join('');
  if (/^[a-z]{3,5}$/u.test(word) && initials.includes(word)) return true;
  return /^[a-z'’]{3,}$/u.test(word) && !scales.test(word) && isEnglishWord(word);
}

const thousandPounds = unitNamed('£thousand')!;

/** Words for how many, not of what. */
const scales =
  /^(?:dozens|hundreds|thousands|millions|billions|tens|pairs|halves|thirds|quarters|fifths|tenths|times)$/u;

/** A plural at the end of the answer. */
function isCountedThing(word: string, text: string): boolean {
  const isLast = text
    .toLowerCase()
    .replace(/(?<![.!])[.!]+$/u, '')
    .trimEnd()
    .endsWith(` ${word}`);
  return isLast && /^[a-z]{3,}s$/u.test(word) && !scales.test(word) && isEnglishWord(word);
}

/** What fills the gap, where the whole line is written out: "4 + 7 = 11". */
function gapFilled(text: string, sentences: readonly string[]): string | null {
  const bareSigns = (line: string) => line.replace(/[×x*]/gu, 'x').replace(/[\s.]/gu, '').toLowerCase();
  for (const sentence of sentences) {
    const line = sentence.split(/(?<=[.?!]) /u).find((one) => /_{4,}/u.test(one));
    if (line === undefined) continue;
    const [before, after] = line.split(/_{4,}/u).map(bareSigns) as [string, string];
    const given = bareSigns(text);
    if (given.length <= before.length + after.length) continue;
    // "15, 24, 33, 42": a row of numbers has some on both sides of its gap.
    if (!line.includes('=') && (!/\d/u.test(before) || !/\d/u.test(after))) continue;
    if (given.startsWith(before) && given.endsWith(after))
      return given.slice(before.length, given.length - after.length);
  }
  return null;
}

/** A full hour of the afternoon or morning, beside a box that ends in "o'clock". */
function markHour(text: string, key: NumericKey): NumberVerdict {
  const half = key.units?.find((name) => /^[ap]m$/u.test(name)) ?? '';
  const verdict = markTime(text, readTime(`${key.value} ${half}`)!, 'any');
  if (verdict === null) return 'unreadable';
  return verdict === 'right' ? 'right' : 'wrong';
}

/** "£207.5k" and "34 thousand pounds", where the box counts in thousands. */
const withoutThousand = (text: string): string => text.replace(/(?<=\d) ?(?:k|thousands?)\b/giu, '');

/** What one amount is for: "£600 a week", "286 per year", "£600 for the week". */
const period =
  /(?<=\d|pounds?|quid|p|days|hours|minutes|times) ?(?:\b(?:an?|per|each|every|for the|for an?|in an?) |\/ ?)(hour|day|week|month|year|kg|kilo|litre|metre|mile)\.?\s*$/iu;
/** "£1250pm", "£286pa", "£600 pw". */
const periodByLetters = /(?<=\d) ?p\.?(?:([hdwma])|cm)\.?\s*$/iu;
const periodLetters: Record<string, string> = { h: 'hour', d: 'day', w: 'week', m: 'month', a: 'year' };
const adverbs: Record<string, RegExp> = {
  hour: /\bhourly\b/iu,
  day: /\bdaily\b/iu,
  week: /\bweekly\b/iu,
  month: /\bmonthly\b/iu,
  year: /\b(?:yearly|annual(?:ly)?)\b/iu,
};

/**
 * "£138 over 12 months": words of the question after the amount, with numbers of their own; and the time that an amount
 * of the question is for.
 */
function withoutTail(text: string, around: Surroundings): string {
  const one = period.exec(text) ?? periodByLetters.exec(text);
  if (one !== null) {
    const said = (one[1] ?? 'm').toLowerCase();
    const name = periodLetters[said] ?? said;
    const isNamed = around.words.has(stemOf(name)) || adverbs[name]?.test(around.text) === true;
    // Where the question names no time, there is none to be mistaken for it.
    const isOther = Object.keys(adverbs).some(
      (other) => around.words.has(stemOf(other)) || adverbs[other]!.test(around.text),
    );
    if (isNamed || !isOther || (name === 'year' && /\b12 months\b/u.test(around.text))) return text.slice(0, one.index);
  }
  // "7.1/10", "140 out of 1,100": of how many, where no share is asked for.
  const share = /(?<=\d) (?:out )?of (?:the |all )?[\d,]+$|(?<=\d\.\d+) ?\/ ?\d+$/iu.exec(text);
  if (share !== null) return text.slice(0, share.index);
  const tail = /\s(?:over|for|after|within|in|at|on|from|with)\s.*$/iu.exec(text);
  if (tail === null || !/\d/u.test(tail[0]) || !/\d/u.test(text.slice(0, tail.index))) return text;
  return wordsOf(tail[0]).every(
    (word) =>
      fillers.has(word) ||
      around.words.has(stemOf(word)) ||
      /^(?:over|for|after|within|in|at|on|from|with)$/u.test(word),
  )
    ? text.slice(0, tail.index)
    : text;
}

function near(value: Fraction, key: NumericKey): boolean {
  return atMost(difference(value, fractionOf(key.value)), fractionOf(key.tolerance ?? '0'));
}

/**
 * The typed value in the unit of the key; `other` where it measures something else, `strange` where that can't be told.
 */
function inUnitOf(
  read: Quantity,
  key: NumericKey,
  keyUnit: Unit | null,
  around: Surroundings,
): Fraction | 'other' | 'strange' {
  const { value, unit } = read;
  if (unit === null) {
    // "207,500" where the box counts in thousands.
    const scaled = { n: value.n, d: value.d * 1000n };
    return keyUnit === thousandPounds && near(scaled, key) ? scaled : value;
  }
  // Beside "thousand pounds" the sign belongs to the number as it stands, or to the whole amount.
  if (keyUnit === thousandPounds && unit === unitNamed('£') && near(value, key)) return value;
  if (keyUnit === null) {
    const share = fractionOf(key.value);
    if (unit.dimension === 'percent' && atMost(share, { n: 1n, d: 1n })) return { n: value.n, d: value.d * 100n };
    return isMentioned(unit, around.text) ? value : 'strange';
  }
  if (unit.dimension === 'angle' && /^(?:temperature|fahrenheit)$/u.test(keyUnit.dimension)) return value;
  if (unit.dimension !== keyUnit.dimension) return 'other';
  // Where the question names the unit, changing to it is part of the answer; pounds and pence are one habit of writing.
  if (unit !== keyUnit && unit.dimension !== 'money' && isAskedFor(keyUnit, around.text)) return 'other';
  return { n: value.n * unit.factor.n * keyUnit.factor.d, d: value.d * unit.factor.d * keyUnit.factor.n };
}

/** Units that the question names after these words: "in metres", "how many millilitres". */
function unitsAfter(lead: RegExp, text: string): Unit[] {
  const plain = text.replace(/[*`]/gu, '').toLowerCase();
  return [...plain.matchAll(lead)].flatMap(([, after]) => {
    const words = after!.split(' ').map((word) => word.replace(/(?<![.,?;:!])[.,?;:!]+$/u, ''));
    return words.flatMap((_, at) => unitNamed(words.slice(0, at + 1).join(' ')) ?? []);
  });
}

const isAskedFor = (unit: Unit, text: string): boolean =>
  unitsAfter(/\b(?:in|how many) (\S+(?: \S+){0,3})/gu, text).includes(unit);

/** Where the key has no unit: the one sign that the question ends with, as in "What is 25 °C in °F?". */
const unitAskedFor = (text: string): Unit | null => unitsAfter(/\bin ([^\s\d]*[/°][^\s\d]*)/gu, text).at(-1) ?? null;

function isMentioned(unit: Unit, text: string): boolean {
  return text
    .toLowerCase()
    .split(/[\s,()]+|(?<=[£$€%])|(?<=\d)(?=[a-z%°])/u)
    .some((word) => unitNamed(word) === unit);
}

function formRight(read: Quantity, key: NumericKey, text: string): boolean {
  const isFraction = read.form === 'fraction' || read.form === 'mixed';
  if (key.decimals !== undefined && read.places > key.decimals) return false;
  // Where rounding is all that is asked, the nought that it leaves is part of it: 17.40 to two decimal places.
  if (key.decimals !== undefined && key.tolerance === undefined && /\.\d*0$/u.test(key.value))
    if (read.unit === null && read.places < key.decimals) return false;
  // Another unit would be a way round a decimal: half a metre is 50 cm.
  if (/\b(?:as a decimal|exact decimal)\b/iu.test(text) && key.value.includes('.')) return read.form === 'decimal';
  switch (key.form ?? 'any') {
    case 'fraction_simplest':
      return (isFraction && read.lowestTerms) || (read.form === 'whole' && !key.value.includes('/'));
    case 'decimal':
      return !isFraction;
    case 'whole':
      return read.form === 'whole';
    default:
      return true;
  }
}
