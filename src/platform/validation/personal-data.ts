import { limits } from '../config/limits.ts';
import { latinLookOf } from './look-alikes.ts';
import { normalised } from './normalised.ts';

/**
 * A National Insurance number anywhere in a text: two letters, six digits, a letter A to D, whatever stands between
 * them that is neither letter nor digit, and bounded by the ends or by the like. Every two letters count, not only the
 * prefixes that are issued: refusing too much costs a clear message, storing one breaks the contract (the
 * specification, What the service does, 7). What is glued to further letters, or has lost its last letter, is not taken
 * for one: one random UUID in twenty would be (docs/decisions/0012-refuse-and-redact-national-insurance-numbers.md).
 *
 * No separator is a letter or a digit, so there is one way to read any text and the time is linear in its length.
 */
const nationalInsuranceNumber =
  /(?<![\p{L}\p{N}])[A-Z][^\p{L}\p{N}]*[A-Z](?:[^\p{L}\p{N}]*\p{N}){6}[^\p{L}\p{N}]*[A-D](?![\p{L}\p{N}])/iu;

/** Text without its percent-encoding, which addresses may carry more than once; what doesn't decode stays. */
function decoded(text: string): string {
  let plain = text;
  for (let round = 0; round < 3 && /%[0-9a-f]{2}/i.test(plain); round++)
    plain = plain.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString());
  return plain;
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/** Text as an eye reads it: look-alike letters are the Latin ones, without marks and without what has no width. */
function asSeen(text: string): string {
  if (isAscii(text)) return text;
  // Some look-alikes decompose to letters that no longer look alike, others only to letters that do: once on either
  // side.
  const folded = normalised(text.replace(/[^\0-\x7f]/gu, latinLookOf), 'NFKD');
  return folded.replace(/[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '').replace(/[^\0-\x7f]/gu, latinLookOf);
}

/** ASCII with at most five digits, and nothing encoded: what nearly every text is, and no number can be. */
const tooFewDigits = /^(?:[^\d%\x80-\uffff]*\d){0,5}[^\d%\x80-\uffff]*$/;

export function holdsNationalInsuranceNumber(text: string): boolean {
  return !tooFewDigits.test(text) && nationalInsuranceNumber.test(asSeen(decoded(text)));
}

/** The specification's pattern of a reference. */
export const refPattern = '^[A-Za-z0-9][A-Za-z0-9._:/-]*$';

/** What stands where something stood that must not be stored. */
const mark = '[redacted]';

/**
 * Words that hold a number become the mark: as few as do. White space around words bounds a number as the ends of a
 * text do, so each word is folded by itself, and one pass over the folded words finds every number.
 */
function redactWords(text: string): string {
  const parts = text.split(/(\s+)/);
  const ends: number[] = [];
  let folded = '';
  for (const [i, part] of parts.entries()) {
    folded += i % 2 === 0 ? asSeen(decoded(part)) : ' ';
    ends.push(folded.length);
  }
  const numbers = new RegExp(nationalInsuranceNumber, 'giu');
  let redacted = '';
  let next = 0;
  for (let found = numbers.exec(folded); found !== null; found = numbers.exec(folded)) {
    let from = next;
    while (ends[from]! <= found.index) from++;
    let to = from;
    while (ends[to]! < numbers.lastIndex) to++;
    redacted += parts.slice(next, from).join('') + mark;
    next = to + 1;
    numbers.lastIndex = ends[to]!;
  }
  return redacted + parts.slice(next).join('');
}

/** Each text within a JSON value by itself, names of fields too. */
function redactWithin(value: unknown): unknown {
  if (typeof value === 'string') return withoutNationalInsuranceNumbers(value);
  if (Array.isArray(value)) return value.map(redactWithin);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [withoutNationalInsuranceNumbers(name), redactWithin(inner)]),
  );
}

/**
 * The text with a mark in the place of National Insurance numbers; the very same text where it holds none. What is
 * JSON, or the inside of a JSON object, stays so: what only its punctuation joins is no number.
 */
export function withoutNationalInsuranceNumbers(text: string): string {
  if (!holdsNationalInsuranceNumber(text)) return text;
  for (const [before, after] of [
    ['', ''],
    ['{', '}'],
  ] as const) {
    try {
      const value: unknown = JSON.parse(`${before}${text}${after}`);
      const redacted = JSON.stringify(redactWithin(value));
      return redacted === JSON.stringify(value) ? text : redacted.slice(before.length, redacted.length - after.length);
    } catch {
      // It is no JSON, or is nested deeper than the stack is.
    }
  }
  return redactWords(text);
}

const opaqueRef = new RegExp(refPattern);

/** True for a reference in the specification's pattern that isn't shaped like a National Insurance number. */
export function isOpaqueRef(text: string): boolean {
  return text.length <= limits.learnerRefChars && opaqueRef.test(text) && !holdsNationalInsuranceNumber(text);
}

/** The letters of a text in lower case, without marks and whatever stands between them. */
export function letters(text: string): string {
  if (isAscii(text)) return text.toLowerCase().replace(/[^a-z]/g, '');
  return normalised(text, 'NFKD')
    .toLowerCase()
    .replace(/[^\p{L}]/gu, '');
}

/** Letters that have no decomposition, as those write them whose keyboard lacks them; searches by name read them alike. */
export const plainLetters: Record<string, string> = {
  ł: 'l',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ı: 'i',
  ŋ: 'n',
  ŧ: 't',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ß: 'ss',
};
export const undecomposed = /[łøđðħıŋŧæœþß]/gu;

/** As they are written in other countries without their marks. */
const twoLetters: Record<string, string> = { ä: 'ae', å: 'aa', ö: 'oe', ø: 'oe', ü: 'ue' };

/** The letters of a name in each of the ways in which they are written without marks; none where it has no letters. */
export function spellings(fullName: string): string[] {
  const name = normalised(fullName, 'NFC').toLowerCase();
  const plain = (text: string) => letters(text.replaceAll(undecomposed, (letter) => plainLetters[letter]!));
  const all = [letters(name), plain(name), plain(name.replaceAll(/[äåöøü]/gu, (letter) => twoLetters[letter]!))];
  return [...new Set(all)].filter((one) => one !== '');
}

/** True when the reference is the learner's own name: the same letters, whatever stands between them. */
export function isNameOf(ref: string, fullName: string): boolean {
  return spellings(fullName).includes(letters(ref));
}

/** The same for text of several lines, which end with a line feed. */
export function isPlainLines(text: string, maxChars: number): boolean {
  return !isTooLong(text, maxChars) && isPlainText(text.replaceAll('\n', ' '), maxChars);
}

/** Whether a text has more characters, of one or two code units, than it may have; they are only counted if need be. */
export function isTooLong(text: string, maxChars: number): boolean {
  return text.length > 2 * maxChars || (text.length > maxChars && [...text].length > maxChars);
}

/**
 * True for text that can be stored and shown on one line: not too long, which is checked before any other work on it,
 * not blank or invisible, no control characters, no lone surrogates.
 */
export function isPlainText(text: string, maxChars: number): boolean {
  if (isTooLong(text, maxChars)) return false;
  // What nearly every text is: printable ASCII.
  if (/^ *[!-~][ -~]*$/.test(text)) return true;
  return (
    !/^[\s\p{Default_Ignorable_Code_Point}]*$/u.test(text) &&
    text.isWellFormed() &&
    !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text)
  );
}

/** True for one line of text that may be stored: plain, and without a National Insurance number. */
export function isStorableText(text: string, maxChars: number): boolean {
  return isPlainText(text, maxChars) && !holdsNationalInsuranceNumber(text);
}

/** The same for text of several lines. */
export function isStorableLines(text: string, maxChars: number): boolean {
  return isPlainLines(text, maxChars) && !holdsNationalInsuranceNumber(text);
}
