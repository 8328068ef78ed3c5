import { limits } from '../config/limits.ts';
import { latinLookOf } from './look-alikes.ts';

/**
 * A National Insurance number anywhere in a text: two letters, six digits and a letter A to D, with any separators. It
 * must be bounded by separators or the ends. All prefixes count, because storing a number breaks the contract, and
 * refusing too much costs one message. A number joined to further letters does not count, because 1 in 20 random UUIDs
 * would match (decision 0012). A separator is never a letter or digit, so matching takes linear time.
 */
const nationalInsuranceNumber =
  /(?<![\p{L}\p{N}])[A-Z][^\p{L}\p{N}]*[A-Z](?:[^\p{L}\p{N}]*\p{N}){6}[^\p{L}\p{N}]*[A-D](?![\p{L}\p{N}])/iu;

/** Decodes a percent-encoding, which a URL may carry more than once. Invalid parts stay. */
function decoded(text: string): string {
  let plain = text;
  for (let round = 0; round < 3 && /%[0-9a-f]{2}/i.test(plain); round++)
    plain = plain.replace(/(?:%[0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString());
  return plain;
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/** A text as a person sees it: Latin letters for look-alikes, without marks and invisible characters. */
function asSeen(text: string): string {
  if (isAscii(text)) return text;
  // Some characters look like a letter only before decomposition, others only after it.
  const folded = normalised(text.replace(/[^\0-\x7f]/gu, latinLookOf), 'NFKD');
  return folded.replace(/[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '').replace(/[^\0-\x7f]/gu, latinLookOf);
}

/** ASCII with at most five digits and no encoding contains no number. Nearly every text is like that. */
const tooFewDigits = /^(?:[^\d%\x80-\uffff]*\d){0,5}[^\d%\x80-\uffff]*$/;

export function holdsNationalInsuranceNumber(text: string): boolean {
  return !tooFewDigits.test(text) && nationalInsuranceNumber.test(asSeen(decoded(text)));
}

/** The contract's pattern of a learner reference. */
export const refPattern = '^[A-Za-z0-9][A-Za-z0-9._:/-]*$';

/** Replaces text that must not be stored. */
const mark = '[redacted]';

/** Replaces the fewest words that contain a number. White space bounds a number, so each word is folded separately. */
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
 * Replaces National Insurance numbers with a mark. A text without one is returned as it is. JSON stays JSON, because
 * punctuation of JSON does not join parts of a number.
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
      // It is no JSON, or its nesting exceeds the stack.
    }
  }
  return redactWords(text);
}

const opaqueRef = new RegExp(refPattern);

/** A valid reference that does not look like a National Insurance number. */
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

/** Letters without a decomposition, spelled as on a keyboard that lacks them. Searches treat both alike. */
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

/** How other countries spell them without marks. */
const twoLetters: Record<string, string> = { ä: 'ae', å: 'aa', ö: 'oe', ø: 'oe', ü: 'ue' };

/** The letters of a name in each spelling without marks. Empty if the name has no letters. */
export function spellings(fullName: string): string[] {
  const name = normalised(fullName, 'NFC').toLowerCase();
  const plain = (text: string) => letters(text.replaceAll(undecomposed, (letter) => plainLetters[letter]!));
  const all = [letters(name), plain(name), plain(name.replaceAll(/[äåöøü]/gu, (letter) => twoLetters[letter]!))];
  return [...new Set(all)].filter((one) => one !== '');
}

/** True if the reference has the same letters as the learner's name. */
export function isNameOf(ref: string, fullName: string): boolean {
  return spellings(fullName).includes(letters(ref));
}

/** The same for several lines, which end with a line feed. */
export function isPlainLines(text: string, maxChars: number): boolean {
  return !isTooLong(text, maxChars) && isPlainText(text.replaceAll('\n', ' '), maxChars);
}

/** Counts characters of one or two code units only if the length is not decisive. */
export function isTooLong(text: string, maxChars: number): boolean {
  return text.length > 2 * maxChars || (text.length > maxChars && [...text].length > maxChars);
}

/** Valid on one line. The length comes first, because the checks for invisible and control characters cost more. */
export function isPlainText(text: string, maxChars: number): boolean {
  if (isTooLong(text, maxChars)) return false;
  // Printable ASCII, as nearly every text.
  if (/^ *[!-~][ -~]*$/.test(text)) return true;
  return (
    !/^[\s\p{Default_Ignorable_Code_Point}]*$/u.test(text) &&
    text.isWellFormed() &&
    !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text)
  );
}

/** Plain text on one line without a National Insurance number. */
export function isStorableText(text: string, maxChars: number): boolean {
  return isPlainText(text, maxChars) && !holdsNationalInsuranceNumber(text);
}

export function isStorableLines(text: string, maxChars: number): boolean {
  return isPlainLines(text, maxChars) && !holdsNationalInsuranceNumber(text);
}

/** A shorter text of marks takes less than a millisecond. */
const shortChars = 1000;

/**
 * More marks in a row than any language has (UAX #15, Stream-Safe Text). The last two are halfwidth marks of Katakana.
 */
const tooManyMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;

/**
 * A text in a normalisation form of Unicode. Node sorts a run of marks in quadratic time, and 64 KB would take a
 * second. A long text therefore loses the marks after the first 30 of a run.
 */
export function normalised(text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string {
  return (text.length <= shortChars ? text : text.replace(tooManyMarks, '$1')).normalize(form);
}
