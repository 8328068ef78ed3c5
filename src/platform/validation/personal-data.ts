import { limits } from '../config/limits.ts';
import { latinLookOf } from './look-alikes.ts';

/**
 * Matches a National Insurance number anywhere in a text: two letters, six digits and a letter A to D, with any
 * separators between them.
 * All prefixes count, because storing a number breaks the contract, and refusing too much costs only one message.
 * A number joined to further letters or digits does not count, because 1 in 20 random UUIDs would match (decision
 * 0012).
 * Matching takes linear time, because a separator is never a letter or digit.
 */
const nationalInsuranceNumber =
  /(?<![\p{L}\p{N}])[A-Z][^\p{L}\p{N}]*[A-Z](?:[^\p{L}\p{N}]*\p{N}){6}[^\p{L}\p{N}]*[A-D](?![\p{L}\p{N}])/iu;

/**
 * Decodes percent-encoding up to three times, because a URL may contain it more than once. Invalid parts stay
 * unchanged.
 */
function decoded(text: string): string {
  let plain = text;
  for (let round = 0; round < 3 && /%[0-9a-f]{2}/i.test(plain); round++)
    plain = plain.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString());
  return plain;
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/** The text as a person sees it: Latin letters replace look-alikes, and marks and invisible characters are removed. */
function asSeen(text: string): string {
  if (isAscii(text)) return text;
  // Look-alikes are replaced twice: some look like a letter only before decomposition, others only after it.
  const folded = normalised(text.replace(/[^\0-\x7f]/gu, latinLookOf), 'NFKD');
  return folded.replace(/[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '').replace(/[^\0-\x7f]/gu, latinLookOf);
}

/**
 * ASCII text with at most five digits and no percent sign contains no National Insurance number. Nearly every text
 * passes this quick test.
 */
const tooFewDigits = /^(?:[^\d%\x80-\uffff]*\d){0,5}[^\d%\x80-\uffff]*$/;

export function holdsNationalInsuranceNumber(text: string): boolean {
  return !tooFewDigits.test(text) && nationalInsuranceNumber.test(asSeen(decoded(text)));
}

export const refPattern = '^[A-Za-z0-9][A-Za-z0-9._:/-]*$';

const mark = '[redacted]';

/**
 * Replaces the fewest words that contain a National Insurance number. Each word is normalised separately, so that the
 * position of a match identifies its words.
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

function redactWithin(value: unknown): unknown {
  if (typeof value === 'string') return withoutNationalInsuranceNumbers(value);
  if (Array.isArray(value)) return value.map(redactWithin);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [withoutNationalInsuranceNumbers(name), redactWithin(inner)]),
  );
}

/**
 * Replaces National Insurance numbers with a mark. Each string of a JSON text is redacted separately, so that the JSON
 * stays valid.
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
      // The text is not JSON, or is nested too deeply for the stack.
    }
  }
  return redactWords(text);
}

const opaqueRef = new RegExp(refPattern);

export function isOpaqueRef(text: string): boolean {
  return text.length <= limits.learnerRefChars && opaqueRef.test(text) && !holdsNationalInsuranceNumber(text);
}

/** The letters of a text in lower case, without marks and separators. */
export function letters(text: string): string {
  if (isAscii(text)) return text.toLowerCase().replace(/[^a-z]/g, '');
  return normalised(text, 'NFKD')
    .toLowerCase()
    .replace(/[^\p{L}]/gu, '');
}

/** Letters that Unicode does not decompose, with their plain spelling. Searches treat both spellings alike. */
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

/** Other spellings of letters with marks, as in Mueller for Müller. */
const twoLetters: Record<string, string> = { ä: 'ae', å: 'aa', ö: 'oe', ø: 'oe', ü: 'ue' };

/** The letters of a name in each spelling without marks. Empty if the name has no letters. */
export function spellings(fullName: string): string[] {
  const name = normalised(fullName, 'NFC').toLowerCase();
  const plain = (text: string) => letters(text.replaceAll(undecomposed, (letter) => plainLetters[letter]!));
  const all = [letters(name), plain(name), plain(name.replaceAll(/[äåöøü]/gu, (letter) => twoLetters[letter]!))];
  return [...new Set(all)].filter((one) => one !== '');
}

/** False for a reference or name that is longer than the limits allow. */
export function isNameOf(ref: string, fullName: string): boolean {
  if (ref.length > limits.learnerRefChars || isTooLong(fullName, limits.fullNameChars)) return false;
  return spellings(fullName).includes(letters(ref));
}

/** Whether a text of several lines is valid. Lines end with a line feed. */
export function isPlainLines(text: string, maxChars: number): boolean {
  return !isTooLong(text, maxChars) && isPlainText(text.replaceAll('\n', ' '), maxChars);
}

/** A character has one or two code units, so characters are counted only if the code units do not decide. */
export function isTooLong(text: string, maxChars: number): boolean {
  return text.length > 2 * maxChars || (text.length > maxChars && [...text].length > maxChars);
}

/**
 * Whether a text is valid on one line. The length is checked first, because the checks for invisible and control
 * characters cost more.
 */
export function isPlainText(text: string, maxChars: number): boolean {
  if (isTooLong(text, maxChars)) return false;
  // Nearly every text is printable ASCII and needs no further check.
  if (/^ *[!-~][ -~]*$/.test(text)) return true;
  return (
    !/^[\s\p{Default_Ignorable_Code_Point}]*$/u.test(text) &&
    text.isWellFormed() &&
    !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text)
  );
}

export function isStorableText(text: string, maxChars: number): boolean {
  return isPlainText(text, maxChars) && !holdsNationalInsuranceNumber(text);
}

export function isStorableLines(text: string, maxChars: number): boolean {
  return isPlainLines(text, maxChars) && !holdsNationalInsuranceNumber(text);
}

/** Normalising a text up to this length takes less than a millisecond, even if it consists of marks. */
const shortChars = 1000;

/**
 * Matches more marks in a row than any language has (UAX #15, Stream-Safe Text). U+FF9E and U+FF9F are halfwidth marks
 * of Katakana.
 */
const tooManyMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;

/**
 * Normalises a text. Node sorts a run of marks in quadratic time (1 second for 64 KB), so a long text keeps only 30
 * marks of each run.
 */
export function normalised(text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string {
  return (text.length <= shortChars ? text : text.replace(tooManyMarks, '$1')).normalize(form);
}
