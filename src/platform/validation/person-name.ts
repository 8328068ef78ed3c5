import { limits } from '../config/limits.ts';
import { holdsNationalInsuranceNumber, isPlainText } from './personal-data.ts';

/** What a learner's name must be, for every way in. What was found is never repeated: it may be personal. */

/** An error value of a spreadsheet in the place of a cell: `#N/A`, `#REF!`, `#¿NOMBRE?`, `Err:502`, `########`. */
export function isErrorValue(cell: string): boolean {
  return /^(?:[#＃](?:n\/?[av]|getting_data|[\p{L}¡¿][\p{L}_/0]*\s?[!?]|[#＃]+)|err:\d{3})$/iu.test(cell);
}

/** The same as a word of a name, which a spreadsheet may have joined from several cells. No name has a `#` before a letter. */
const errorWord = /(?<![\p{L}\p{N}])(?:[#＃][\p{L}¡¿]|Err:\d{3})/u;

/** `N/A` as people type it, and as some programs write the error value. */
const notApplicable = /^n\/a$/i;

// As text, so that the check of expressions can read it.
const months = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec';
const number = /^[\d.,]+e[+-]?\d+$/i;
const date = new RegExp(`^(?:\\d{1,2}-(?:${months})(?:-\\d{2,4})?|(?:${months})-\\d{2,4})$`, 'i');

export const nameExpected = `text of 1 to ${limits.fullNameChars} characters on one line`;

/** What the name must be and isn't, after "must be"; null for one that is taken. */
export function nameFault(name: string): string | null {
  if (!isPlainText(name, limits.fullNameChars)) return nameExpected;
  if (holdsNationalInsuranceNumber(name)) return `${nameExpected} without a National Insurance number`;
  if (isErrorValue(name) || errorWord.test(name) || notApplicable.test(name))
    return 'a name: an error value of a spreadsheet, such as #N/A, is in its place';
  if (!/(?![ªº])[\p{Lu}\p{Ll}\p{Lt}\p{Lo}]/u.test(name)) return 'a name with at least one letter';
  if (number.test(name) || date.test(name)) return 'a name: a number or a date is in its place';
  if (name.includes('\uFFFD')) return 'a name without characters that were lost (U+FFFD)';
  return null;
}

/** How a text looks damaged; a person has to look at it, because now and then it is right. */
export type Damage = 'encoding' | 'question_mark';

const windows1252 = new TextDecoder('windows-1252');
const byteOf = new Map(Array.from({ length: 128 }, (_, i) => [windows1252.decode(Buffer.from([i + 128])), i + 128]));
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Letters, marks and the punctuation that names have: what else comes out of a reading was no character before. */
const ofNames = /^[\p{L}\p{M}\u00a0-\u00bf\u2010-\u2044]$/u;

/** Capitals that stand together in names of Czech, Slovak and Lithuanian, as in JANÍŠEK. */
const capitals = /^[ÉÍÓÚÝ][ŠŽ]$/u;

/** The character whose bytes in UTF-8 these are, read as Windows-1252; null where they are no such bytes. */
function characterOf(read: readonly string[]): string | null {
  if (capitals.test(read.join(''))) return null;
  const bytes = read.map((one) => byteOf.get(one) ?? 0);
  try {
    const character = utf8.decode(Buffer.from(bytes));
    return ofNames.test(character) ? character : null;
  } catch {
    return null;
  }
}

/** The text as it was before UTF-8 in it was read as Windows-1252, once or several times; the same text where none was. */
export function repaired(text: string): string {
  if (!/[\u00c2-\u00f4]/.test(text)) return text;
  const all = [...text];
  let out = '';
  for (let at = 0; at < all.length;) {
    const lead = byteOf.get(all[at]!) ?? 0;
    const length = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const character = length === 1 ? null : characterOf(all.slice(at, at + length));
    out += character ?? all[at]!;
    at += character === null ? 1 : length;
  }
  return out === text ? text : repaired(out);
}

/**
 * What other readings leave: entities of HTML, escapes of Excel, of addresses and of programs, a capital in a word, symbols
 * beside letters and of older computers, the byte order mark.
 */
const leftOver = new RegExp(
  [
    '&#?\\w{2,8};|_x[0-9A-Fa-f]{4}_|[%=][0-9A-F]{2}|\\\\u[0-9A-Fa-f]{4}',
    '(?<=\\p{Ll})[ÃÂ]|[√≈∆¬├┬┼]|‚Ä|ï»¿|ï¿½',
    '(?<=\\p{L})[¢-¨¯±¶¸¼-¾]|[¢-¨¯±¶¸¼-¾](?=\\p{Ll})|(?<=\\p{L})[«»](?=\\p{L})',
  ].join('|'),
  'u',
);

/**
 * Whether a text looks as if letters of it were damaged on the way: UTF-8 that was read as Windows-1252, or a question mark
 * in the place of a letter. Where a person is there (console, command line) that person is asked; `POST /learners` and
 * imports take such a name, because a program can't be asked, and a rare name that is right would never come in.
 */
export function damageOf(text: string): Damage | null {
  if (repaired(text) !== text || leftOver.test(text)) return 'encoding';
  return /[?？¿]/u.test(text) ? 'question_mark' : null;
}
