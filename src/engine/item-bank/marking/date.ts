import { monthNames } from '../../../platform/time/clock.ts';
import { digitsForWords, ordinals } from './numbers/number-words.ts';

/** `year` is null if the text has no year. */
type TypedDate = {
  day: number;
  month: number;
  year: number | null;
  isDigitsOnly: boolean;
};

const months = monthNames.map((name) => name.toLowerCase());
const weekdays = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ');

function monthNamed(word: string): number | null {
  if (word.length < 3) return null;
  const at = months.findIndex((month) => month.startsWith(word === 'sept' ? 'sep' : word));
  return at < 0 ? null : at + 1;
}

function yearOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  return text.length === 2 ? (Number(text) > 50 ? 1900 : 2000) + Number(text) : Number(text);
}

/**
 * Reads a date such as 16/06/2026, 16.6.26, 2026-06-16, 16 June, June 16th or Tuesday the 16th of June. Returns null
 * for other texts.
 */
export function readDate(text: string): TypedDate | null {
  if (text.length > 60) return null;
  const plain = digitsForWords(
    text
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[“”"‘’']/gu, '')
      .replace(/[–—]/gu, '-')
      .replace(/\b(twenty|thirty)[- ](?=[a-z]+(?:st|nd|rd|th)\b)/gu, (_all, tens: string) =>
        tens === 'twenty' ? '2~' : '3~',
      )
      .replace(/\bthirtieth\b/gu, '30')
      .replace(/(?<![a-z])[a-z]+(?:st|nd|rd|th)\b/gu, (word) => {
        const at = ordinals.indexOf(word);
        return at < 0 ? word : String(at + 1);
      })
      .replace(/~/gu, ''),
  )
    .replace(/(\d)(?:st|nd|rd|th)\b/gu, '$1')
    .replace(/\b(?:on or before|no later than|at the latest|latest|until|till|up to)\b/gu, ' ')
    .replace(/\b(?:on|by|the|of|day|date|is|it|born)\b/gu, ' ')
    .replace(/[\s,]+/gu, ' ')
    .replace(/^[. ]+|(?<![. ])[. ]+$/gu, '');
  const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})$/u.exec(plain);
  if (iso !== null) return valid(Number(iso[3]), Number(iso[2]), Number(iso[1]), false, null);
  const run = /^(\d{2})(\d{2})(\d{4})$/u.exec(plain);
  if (run !== null) return valid(Number(run[1]), Number(run[2]), Number(run[3]), true, null);
  const digits = /^(\d{1,2}) ?[/.\- ] ?(\d{1,2})(?: ?[/.\- ] ?(\d{4}|\d{2}))?$/u.exec(plain);
  if (digits !== null) return valid(Number(digits[1]), Number(digits[2]), yearOf(digits[3]), true, null);
  const words = plain
    .replace(/[/.-]/gu, ' ')
    .split(' ')
    .filter((word) => word !== '');
  let day: number | null = null;
  let month: number | null = null;
  let year: number | null = null;
  let weekday: number | null = null;
  for (const word of words) {
    const named = monthNamed(word);
    const ofWeek =
      word.length < 3
        ? -1
        : weekdays.findIndex((name) =>
            name.startsWith(word.replace(/^(tues|weds|thurs|thur)$/u, (it) => it.slice(0, 3))),
          );
    if (/^\d{4}$/u.test(word) && year === null) year = Number(word);
    else if (/^\d{1,2}$/u.test(word) && day === null) day = Number(word);
    else if (/^\d{2}$/u.test(word) && year === null) year = yearOf(word);
    else if (named !== null && month === null) month = named;
    else if (ofWeek >= 0 && weekday === null) weekday = ofWeek;
    else return null;
  }
  return day === null || month === null ? null : valid(day, month, year, false, weekday);
}

function valid(
  day: number,
  month: number,
  year: number | null,
  isDigitsOnly: boolean,
  weekday: number | null,
): TypedDate | null {
  if (month < 1 || month > 12 || day < 1 || day > 31) return null;
  const at = new Date(Date.UTC(year ?? 2024, month - 1, day));
  if (at.getUTCDate() !== day) return null;
  // A weekday that doesn't fit the date makes the date invalid.
  if (weekday !== null && year !== null && at.getUTCDay() !== weekday) return null;
  return { day, month, year, isDigitsOnly };
}

/**
 * @param form `digits` if the box asks for DD/MM/YYYY
 * @returns `form` if the date is right but isn't written as the box asks; null if the text is no date
 */
export function markDate(text: string, key: TypedDate, form: 'any' | 'digits'): 'right' | 'wrong' | 'form' | null {
  const read = readDate(text);
  if (read === null) return null;
  const same =
    read.day === key.day &&
    read.month === key.month &&
    (read.year === null || key.year === null || read.year === key.year);
  if (!same) return 'wrong';
  return form === 'digits' && (!read.isDigitsOnly || read.year === null) ? 'form' : 'right';
}
