import { limits } from '../config/limits.ts';
import { holdsNationalInsuranceNumber, isPlainText } from './personal-data.ts';

/** Whether a cell contains a spreadsheet's error value: `#N/A`, `#REF!`, `#¿NOMBRE?`, `Err:502`, `########`. */
export function isErrorValue(cell: string): boolean {
  return /^(?:[#＃](?:n\/?[av]|getting_data|[\p{L}¡¿][\p{L}_/0]*\s?[!?]|[#＃]+)|err:\d{3})$/iu.test(cell);
}

/** Matches an error value in a name that a spreadsheet joined from several cells. No name has a `#` before a letter. */
const errorWord = /(?<![\p{L}\p{N}])(?:[#＃][\p{L}¡¿]|Err:\d{3})/u;

const notApplicable = /^n\/a$/i;

// The months are constant text, so that test/expressions/check.ts can read the expression below.
const months = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec';
const number = /^[\d.,]+e[+-]?\d+$/i;
const date = new RegExp(`^(?:\\d{1,2}-(?:${months})(?:-\\d{2,4})?|(?:${months})-\\d{2,4})$`, 'i');

export const nameExpected = `text of 1 to ${limits.fullNameChars} characters on one line`;

/**
 * Completes the message "must be …"; null for a valid name. The text never repeats the name, because a name is personal
 * data.
 */
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

/** Signs of a damaged name. Some names with these signs are correct, so a person decides. */
export type Damage = 'encoding' | 'question_mark';

const windows1252 = new TextDecoder('windows-1252');
const byteOf = new Map(Array.from({ length: 128 }, (_, i) => [windows1252.decode(Buffer.from([i + 128])), i + 128]));
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Letters, marks and punctuation of names. If a decoded character is none of these, the text was not misread. */
const ofNames = /^[\p{L}\p{M}\u00a0-\u00bf\u2010-\u2044]$/u;

/** Pairs of capitals in Czech, Slovak and Lithuanian names, such as JANÍŠEK, which look like misread UTF-8. */
const capitals = /^[ÉÍÓÚÝ][ŠŽ]$/u;

/** The character whose UTF-8 bytes were read as these characters of Windows-1252; null if there is none. */
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

/** Repairs UTF-8 that was read as Windows-1252, once or several times. */
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
 * Signs of a damaged text: HTML entities, escapes of Excel, URLs and programs, capitals or symbols inside words, and
 * the byte order mark.
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
 * Returns how a name looks damaged; null if it does not. The console and commands then ask a person. `POST /learners`
 * and imports accept the name, because a program cannot answer and a rare correct name must be possible.
 */
export function damageOf(text: string): Damage | null {
  if (repaired(text) !== text || leftOver.test(text)) return 'encoding';
  return /[?？¿]/u.test(text) ? 'question_mark' : null;
}
