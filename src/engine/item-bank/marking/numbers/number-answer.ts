import { atMost, difference, type Fraction, fractionOf } from '../../number.ts';
import type { NumericKey } from '../../schema.ts';
import { distance } from '../../../../platform/validation/edit-distance.ts';
import { type Quantity, readQuantity } from './quantity.ts';
import { digitsForOrdinals, digitsForWords } from './number-words.ts';
import { withoutTalk } from '../talk.ts';
import { isEnglishWord, isSlipOf } from '../slips.ts';
import { stemOf, wordsOf } from '../text.ts';
import { markTime, readTime } from '../time.ts';
import { plainUnit, type Unit, unitNamed, unitNames } from './units.ts';
import words from '../words.json' with { type: 'json' };

/**
 * The texts around an answer box, which an answer may repeat. `beside`: the box's prefix and suffix. `text`: the
 * question and the box's label.
 */
export type Surroundings = {
  beside: readonly string[];
  /** Stems of the words that an answer may repeat. */
  words: ReadonlySet<string>;
  text: string;
  /** Paragraphs that the learner completes. `____` marks the gap, or the bold words to replace in a quotation. */
  sentences: readonly string[];
};

/** Words next to a number that don't change what the number means. */
const fillers = new Set(words.beside_number);

/** Whether the question asks for digits. A number in words would then only repeat the question. */
export const asksForDigits = (question: string): boolean => /\bin digits\b/u.test(question);

type NumberVerdict = 'right' | 'wrong' | 'unreadable';

/**
 * Marks a typed number, and tries again without the words around the number. `unreadable`: the text doesn't say which
 * number is the answer.
 */
export function markNumber(text: string, key: NumericKey, around: Surroundings): NumberVerdict {
  // "> 9" is a range, not one number.
  if (/^\s*[<>]\s*\d/u.test(text)) return 'unreadable';
  const verdict = markPlainNumber(text, key, around);
  // Of these readings only a right one counts. Otherwise the text stays as it was read first.
  const readings = [withDecimalPoint(text), text.replace(singleUnit, '1 $&'), withoutSideAmount(text)];
  if (!asksForDigits(around.text)) readings.push(inDozens(isWritten(around.text) ? text : digitsForOrdinals(text)));
  if (/\bpage\b/iu.test(around.text)) readings.push(text.replace(/^pp?\.? ?(?=\d)/iu, ''));
  const isRight = (one: string | null) => one !== null && one !== text && markPlainNumber(one, key, around) === 'right';
  if (verdict === 'unreadable' && readings.some(isRight)) return 'right';
  const corrected = withoutSlips(text, around);
  if (verdict === 'unreadable' && corrected !== text) return markNumber(corrected, key, around);
  const alone = withoutTalk(text);
  return verdict !== 'unreadable' || alone === text ? verdict : markPlainNumber(alone, key, around);
}

/** Reads "0,5" and "£14,50" as 0.5 and £14.50. A comma before three digits separates thousands, except after a 0. */
const withDecimalPoint = (text: string): string => text.replace(/^(\D*(?:\d+(?=,\d{1,2}\b)|0)),(\d+\D*)$/u, '$1.$2');

/** A unit without a number: "hour" for one hour. */
const singleUnit = /^(?:second|minute|hour|day|week|month|year|metre|mile|kilo|kilogram|gram|litre|pound|penny)$/iu;

/** Corrects slips in words of the question, in units and in words beside a number: "6 peices", "155 gramms". */
function withoutSlips(text: string, around: Surroundings): string {
  const known = [...new Set([...wordsOf(around.text), ...unitNames, ...fillers])];
  return text.replace(/\p{L}{3,}/gu, (word) => {
    const typed = word.toLowerCase();
    if (isEnglishWord(typed) || known.includes(typed)) return word;
    const slips = known.filter((one) => isSlipOf(typed, one));
    const nearest = Math.min(...slips.map((one) => distance(typed, one)));
    const meant = slips.filter((one) => distance(typed, one) === nearest);
    const [first] = meant;
    // "Metrs" may be "metres" or "meters", which are one unit. Two units leave open what the word is.
    return first !== undefined && meant.every((one) => unitNamed(one) === unitNamed(first)) ? first : word;
  });
}

/**
 * Removes a bracketed amount with words from the end: "£228 (£12 off)" becomes "£228".
 * @returns null if the text has no such amount, or if the bracketed words could make that amount the answer
 */
function withoutSideAmount(text: string): string | null {
  const found = /^([^()\d]*\d[^()]*?) ?\(([^()\d]*\d[^()]*)\)[.!]?$/u.exec(text.trim());
  if (found === null) return null;
  const words = wordsOf(found[2]!).filter((word) => !/\d/u.test(word) && unitNamed(word) === null);
  const isPlain = (word: string) => !changing.has(word) && !weighing.has(word) && isEnglishWord(word);
  return words.length > 0 && words.every(isPlain) ? found[1]! : null;
}

/** Words that can make a second number the answer, or a part of the answer. */
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
  // "34 patients" is accepted even if the question doesn't contain "patients", because that word names what is counted.
  const isCounted = keyUnit === null && read.unit === null && strange.length === 1 && isCountedThing(strange[0]!, text);
  if (strange.length > 0 && !isCounted) return 'unreadable';
  if (read.others.some((unit) => unit !== keyUnit && !isMentioned(unit, around.text))) return 'unreadable';
  const value = inUnitOf(read, key, keyUnit, around);
  if (value === 'other' || value === 'strange') return value === 'other' ? 'wrong' : 'unreadable';
  const unitRight = !key.unit_required || read.unit !== null || read.words.some((word) => own.has(plainUnit(word)));
  return near(value, key) && formRight(read, key, around.text) && unitRight ? 'right' : 'wrong';
}

export const changing = new Set(words.changing_number);

/**
 * Whether a word only explains the number, as in "£20 for visitors" and "the phone 58". Initials of the question's
 * words also only explain.
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

/** Plurals that name quantities. Such a word can't be the thing that is counted. */
const scales =
  /^(?:dozens|hundreds|thousands|millions|billions|tens|pairs|halves|thirds|quarters|fifths|tenths|times)$/u;

/** Whether the word can name what is counted: a plural at the end of the answer. */
function isCountedThing(word: string, text: string): boolean {
  const isLast = text
    .toLowerCase()
    .replace(/(?<![.!])[.!]+$/u, '')
    .trimEnd()
    .endsWith(` ${word}`);
  return isLast && /^[a-z]{3,}s$/u.test(word) && !scales.test(word) && isEnglishWord(word);
}

/** If the learner typed the full line, such as "4 + 7 = 11", returns the part that fills the gap. */
function gapFilled(text: string, sentences: readonly string[]): string | null {
  const bareSigns = (line: string) => line.replace(/[×x*]/gu, 'x').replace(/[\s.]/gu, '').toLowerCase();
  for (const sentence of sentences) {
    const line = sentence.split(/(?<=[.?!]) /u).find((one) => /_{4,}/u.test(one));
    if (line === undefined) continue;
    const [before, after] = line.split(/_{4,}/u).map(bareSigns) as [string, string];
    const written = bareSigns(text);
    if (written.length <= before.length + after.length) continue;
    // A line without "=", such as "15, 24, 33, 42", must have numbers on both sides of its gap.
    if (!line.includes('=') && (!/\d/u.test(before) || !/\d/u.test(after))) continue;
    if (written.startsWith(before) && written.endsWith(after))
      return written.slice(before.length, written.length - after.length);
  }
  return null;
}

/** Marks the answer as a time. The text after the box is "o'clock". */
function markHour(text: string, key: NumericKey): NumberVerdict {
  const half = key.units?.find((name) => /^[ap]m$/u.test(name)) ?? '';
  const verdict = markTime(text, readTime(`${key.value} ${half}`)!, 'any');
  if (verdict === null) return 'unreadable';
  return verdict === 'right' ? 'right' : 'wrong';
}

/** Removes the thousand of "£207.5k" and "34 thousand pounds", for boxes that already count in thousands. */
const withoutThousand = (text: string): string => text.replace(/(?<=\d) ?(?:k|thousands?)\b/giu, '');

/** Matches the period after an amount: "£600 a week", "286 per year", "£600 for the week". */
const period =
  /(?<=\d|pounds?|quid|p|days|hours|minutes|times) ?(?:\b(?:an?|per|each|every|for the|for an?|in an?) |\/ ?)(hour|hr|day|week|wk|month|mth|year|yr|kg|kilo|litre|metre|mile)\.?\s*$/iu;
/** Matches the period after what is counted: "33 parcels/hr". The sign of a speed, such as "miles/hour", stays. */
const periodOfThing = /(?<=\d (\p{L}{3,30})) ?\/ ?(hour|hr|h|day|week|wk|month|mth|year|yr)\.?\s*$/iu;
/** Matches a period in letters: "£1250pm" per month, "£286pa" per year, "£600 pw" per week. */
const periodByLetters = /(?<=\d) ?p\.?(?:([hdwma])|cm)\.?\s*$/iu;
const periodLetters: Record<string, string> = {
  ...{ h: 'hour', d: 'day', w: 'week', m: 'month', a: 'year' },
  ...{ hr: 'hour', wk: 'week', mth: 'month', yr: 'year' },
};
const adverbs: Record<string, RegExp> = {
  hour: /\bhourly\b/iu,
  day: /\bdaily\b/iu,
  week: /\bweekly\b/iu,
  month: /\bmonthly\b/iu,
  year: /\b(?:yearly|annual(?:ly)?)\b/iu,
};

/**
 * Removes the period after an amount, and a phrase with a number that repeats words of the question: "£138 over 12
 * months".
 */
function withoutTail(text: string, around: Surroundings): string {
  const thing = periodOfThing.exec(text);
  const ofThing = thing !== null && unitNamed(thing[1]!) === null ? thing : null;
  const one = period.exec(text) ?? periodByLetters.exec(text) ?? ofThing;
  if (one !== null) {
    const said = (ofThing?.[2] ?? one[1] ?? 'm').toLowerCase();
    const name = periodLetters[said] ?? said;
    const isNamed = around.words.has(stemOf(name)) || adverbs[name]?.test(around.text) === true;
    // If the question names no period, the period in the answer can't contradict the question.
    const isOther = Object.keys(adverbs).some(
      (other) => around.words.has(stemOf(other)) || adverbs[other]!.test(around.text),
    );
    if (isNamed || !isOther || (name === 'year' && /\b12 months\b/u.test(around.text))) return text.slice(0, one.index);
  }
  // Removes the total of "7.1/10" and "140 out of 1,100". Questions with a fraction as the key don't reach this line.
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
 * Converts the typed value to the key's unit. `other`: the typed unit measures something else. `strange`: the units
 * can't be compared.
 */
function inUnitOf(
  read: Quantity,
  key: NumericKey,
  keyUnit: Unit | null,
  around: Surroundings,
): Fraction | 'other' | 'strange' {
  const { value, unit } = read;
  if (unit === null) {
    // If the box counts in thousands, "207,500" is also accepted.
    const scaled = { n: value.n, d: value.d * 1000n };
    return keyUnit === thousandPounds && near(scaled, key) ? scaled : value;
  }
  // If the box counts in thousand pounds, "£207.5" may mean 207.5 thousand pounds.
  if (keyUnit === thousandPounds && unit === unitNamed('£') && near(value, key)) return value;
  if (keyUnit === null) {
    const share = fractionOf(key.value);
    if (unit.dimension === 'percent' && atMost(share, { n: 1n, d: 1n })) return { n: value.n, d: value.d * 100n };
    // "How many tickets cost £10?" asks for a number of tickets, not for pounds.
    const isFitting = !/^(?:money|data)$/u.test(unit.dimension) || isAskedFor(unit, around.text);
    if (!isFitting && /\bhow many\b/iu.test(around.text)) return 'other';
    return isMentioned(unit, around.text) ? value : 'strange';
  }
  if (unit.dimension === 'angle' && /^(?:temperature|fahrenheit)$/u.test(keyUnit.dimension)) return value;
  if (unit.dimension !== keyUnit.dimension) return 'other';
  // If the question names the unit, the conversion is part of the task, so other units are wrong, except for money.
  if (unit !== keyUnit && unit.dimension !== 'money' && isAskedFor(keyUnit, around.text)) return 'other';
  return { n: value.n * unit.factor.n * keyUnit.factor.d, d: value.d * unit.factor.d * keyUnit.factor.n };
}

/** Returns the units that follow the words of `lead` in the question: "in metres", "how many millilitres". */
function unitsAfter(lead: RegExp, text: string): Unit[] {
  const plain = text.replace(/[*`]/gu, '').toLowerCase();
  return [...plain.matchAll(lead)].flatMap(([, after]) => {
    const words = after!.split(' ').map((word) => word.replace(/(?<![.,?;:!])[.,?;:!]+$/u, ''));
    return words.flatMap((_, at) => unitNamed(words.slice(0, at + 1).join(' ')) ?? []);
  });
}

const isAskedFor = (unit: Unit, text: string): boolean =>
  unitsAfter(/\b(?:in|how many) (\S+(?: \S+){0,3})/gu, text).includes(unit);

/**
 * The unit sign that the question asks for, if the key names no unit. In "What is 25 °C in °F?" the last sign counts.
 */
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
  // If the question asks only for rounding, a final 0 must be typed: 17.4 to two decimal places is 17.40.
  if (key.decimals !== undefined && key.tolerance === undefined && /\.\d*0$/u.test(key.value))
    if (read.unit === null && read.places < key.decimals) return false;
  // The answer must be a decimal. In another unit, the decimal could be avoided: half a metre is 50 cm.
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
