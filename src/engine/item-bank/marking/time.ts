import { digitsForWords } from './numbers/number-words.ts';

type TimeOfDay = {
  /** Minutes after midnight. If am or pm is missing, the hour is taken as written. */
  minutes: number;
  /** `said_by_clock`: the 24-hour clock shows the half of the day. Null: the text doesn't show the half. */
  half: 'am' | 'pm' | 'said_by_clock' | null;
  /** Whether only the 24-hour clock writes the hour in this way: 00, 09, 19. */
  clock24: boolean;
};

const partsOfDay: readonly [RegExp, 'am' | 'pm'][] = [
  [/\b(?:a\.? ?m\.?|in the morning|morning)(?=$|\W)/gu, 'am'],
  [/(?<=\d ?)(?:noon|midday)(?=$|\W)/gu, 'pm'],
  [/\b(?:p\.? ?m\.?|in the (?:afternoon|evening)|at night|afternoon|evening)(?=$|\W)/gu, 'pm'],
];

const withPlainMinutes = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[‘’]/gu, "'")
    .replace(/^[\s"'(]+/u, '')
    .replace(/(\d)(?=[ap]\.? ?m|o ?'? ?clock|h(?:rs?|ours?)?\.?$)/gu, '$1 ')
    .replace(/\b(?:a|one) quarter\b/gu, 'quarter')
    .replace(/(?<=\p{L})-(?=(?:past|to)\b)/gu, ' ')
    .replace(/(?<=\b(?:past|to))-/gu, ' ')
    .replace(/\bhalf(?= past)/gu, '30')
    .replace(/\bhalf (?=\d|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)/gu, '30 past ')
    .replace(/\bquarter(?= (?:past|to))/gu, '15');

/** Reads a time such as 9:30, 9.30 am, 0930, 9 30, half past nine, 4 o'clock or noon. Returns null for other texts. */
export function readTime(text: string): TimeOfDay | null {
  if (text.length > 60) return null;
  let rest = ` ${digitsForWords(withPlainMinutes(text))} `;
  let half: 'am' | 'pm' | null = null;
  for (const [pattern, which] of partsOfDay) {
    const without = rest.replace(pattern, ' ');
    if (without === rest) continue;
    if (half !== null) return null;
    half = which;
    rest = without;
  }
  const named = /\b(?:past|to) (midnight|noon|midday)\b/u.exec(rest)?.[1];
  if (named !== undefined) {
    half ??= (named === 'midnight') === rest.includes(' past ') ? 'am' : 'pm';
    rest = rest.replace(named, '12');
  }
  rest = rest
    .replace(/\b(?:at|about|around|by|it|is|it's|the|time|o ?'? ?clock|hours|hrs|hour|h|exactly|local)(?=\W)/gu, ' ')
    .replace(/(?<![.,;!"')(])[.,;!"')(]+(?=\s)/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim();
  if (/^(?:12 )?(?:noon|midday)$/u.test(rest)) return { minutes: 720, half: 'said_by_clock', clock24: false };
  if (/^(?:12 )?midnight$/u.test(rest)) return { minutes: 0, half: 'said_by_clock', clock24: false };
  const spoken = /^(\d{1,2}) (?:minutes? |mins? )?(past|to) (\d{1,2})$/u.exec(rest);
  const digits =
    /^(\d{1,2})(?: ?[:.;,h-] ?|\s)(\d{2})(?:[:.]00)?$/u.exec(rest) ??
    /^(\d{1,2})(\d{2})$/u.exec(rest) ??
    /^(\d{1,2})$/u.exec(rest);
  let hour: number;
  let minute: number;
  let padded = false;
  if (spoken !== null) {
    hour = Number(spoken[3]);
    minute = spoken[2] === 'past' ? Number(spoken[1]) : -Number(spoken[1]);
    if (hour < 1 || hour > 12 || Math.abs(minute) > 59) return null;
    if (minute < 0) {
      hour = hour === 1 ? 12 : hour - 1;
      minute += 60;
    }
  } else if (digits !== null) {
    hour = Number(digits[1]);
    minute = Number(digits[2] ?? 0);
    padded = digits[2] !== undefined && digits[1]!.length === 2 && digits[1]!.startsWith('0');
    if (digits[2] === undefined && digits[1]!.length === 2 && digits[1]!.startsWith('0')) return null;
  } else return null;
  if (hour > 23 || minute > 59) return null;
  if (hour > 12 || hour === 0)
    return (half === 'am' && hour > 12) || (half === 'pm' && hour === 0)
      ? null
      : { minutes: hour * 60 + minute, half: half ?? 'said_by_clock', clock24: true };
  if (half === null) return { minutes: hour * 60 + minute, half: padded ? 'said_by_clock' : null, clock24: padded };
  return { minutes: (hour % 12) * 60 + minute + (half === 'pm' ? 720 : 0), half, clock24: padded && half === 'am' };
}

const nextDay =
  /[,(]? ?(?:\bon )?(?:\bthe )?(?:\b(?:next|following) day\b|\b(?:next|following)(?= morning\b)|\bday after\b|\btomorrow\b|\+ ?1(?: day)?\b)[).]?/iu;
const sameDay = /[,(]? ?(?:\bon )?\b(?:the same|that same) day\b[).]?/iu;

/**
 * Removes the words for the day, such as "the next day", from a time.
 * @param isNextDay whether the right time is after midnight
 * @returns null if the words name the wrong day
 */
export function timeOnItsDay(text: string, isNextDay: boolean): string | null {
  const [said, other] = isNextDay ? [nextDay, sameDay] : [sameDay, nextDay];
  return other.test(text) ? null : text.replace(said, ' ');
}

/**
 * Whether the first time in the question, such as a departure at 22:50, is later than the answer. The answer is then on
 * the next day.
 */
export function isPastMidnight(answer: TimeOfDay, question: string): boolean {
  const named = /\b\d{1,2}[:.]\d{2}(?: ?[ap]\.?m\b)?/iu.exec(question)?.[0];
  const from = named === undefined ? null : readTime(named);
  return from !== null && from.minutes > answer.minutes;
}

type ClockWanted = 'any' | '12' | '24';

/**
 * @param wanted the clock that the question tests: `12` requires am or pm, `24` requires the 24-hour clock
 * @returns `form` if the time is right but isn't written as the clock requires; null if the text is no time
 */
export function markTime(text: string, key: TimeOfDay, wanted: ClockWanted): 'right' | 'wrong' | 'form' | null {
  const read = readTime(text);
  if (read === null) return null;
  const keyMinutes = key.minutes;
  const same = read.minutes === keyMinutes;
  const sameFace = read.minutes % 720 === keyMinutes % 720;
  if (wanted === '12') {
    if (read.half === 'am' || read.half === 'pm') return same ? 'right' : 'wrong';
    return same || (read.half === null && sameFace) ? 'form' : 'wrong';
  }
  if (wanted === '24') {
    if (!same) return 'wrong';
    // From 10:00 to 12:59 both clocks write the same digits.
    return read.clock24 || (read.half === null && keyMinutes >= 600) ? 'right' : 'form';
  }
  // If the text or the key doesn't say am or pm, the time may be in either half of the day.
  return same || ((read.half === null || key.half === null) && sameFace) ? 'right' : 'wrong';
}
