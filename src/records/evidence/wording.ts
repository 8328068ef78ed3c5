import { monthNames } from '../../platform/time/clock.ts';
import type { ShownDomain } from '../results/body.ts';
import { type Subject, subjectNames } from '../../engine/scoring/levels.ts';

/**
 * Removes what is unsafe to print, such as control characters, direction overrides and lone surrogates. Runs of blanks
 * become single spaces. Joiners stay, because several scripts need them.
 */
export function plainText(text: string): string {
  return text
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd')
    .replace(/[\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g, ' ')
    .replace(
      /[\u00ad\u061c\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff0-\ufffb\ufffe\uffff]/g,
      '',
    )
    .replace(/[\u{e0000}-\u{e0fff}]/gu, '')
    .replace(/ {2,}/g, ' ')
    .replace(/^ | $/g, '');
}

/** `20 November 2026` from an RFC 3339 date or date-time. @throws RangeError */
export function date(iso: string): string {
  const match = /^(\d{4})-(0[1-9]|1[0-2])-(\d\d)(T|$)/.exec(iso);
  if (match === null) throw new RangeError('expected an RFC 3339 date');
  return `${Number(match[3])} ${monthNames[Number(match[2]) - 1]} ${match[1]}`;
}

/** Formats a date-time as `20 November 2026, 09:49 UTC`. Local times would depend on time-zone rules. */
export function dateTime(iso: string): string {
  const match = /^\d{4}-\d\d-\d\dT(\d\d):(\d\d):\d\d(?:\.\d+)?Z$/.exec(iso);
  if (match === null) throw new RangeError('expected an RFC 3339 date-time in UTC');
  return `${date(iso)}, ${match[1]}:${match[2]} UTC`;
}

/** Two decimals with a real minus sign, but not "−0.00". */
export function decimal(value: number, places = 2): string {
  const text = Math.abs(value).toFixed(places);
  return value < 0 && Number(text) !== 0 ? `\u2212${text}` : text;
}

export function subjectName(subject: string): string {
  return Object.hasOwn(subjectNames, subject) ? subjectNames[subject as Subject] : subject;
}

const statusWords = new Map([
  ['secure', 'Secure'],
  ['developing', 'Developing'],
  ['needs_support', 'Needs support'],
  ['not_assessed', 'Not assessed'],
]);

export const domainStatus = (status: string | null): string =>
  status === null ? 'Not judged' : (statusWords.get(status) ?? status);

const comparedNames = new Map([
  ['weaker', 'Weaker'],
  ['same', 'About the same'],
  ['stronger', 'Stronger'],
]);

type Comparison = Pick<ShownDomain, 'compared' | 'difference' | 'difference_se'>;

/** How a domain compares with the learner's others, for staff: `Weaker: −0.6 ± 0.4 levels`. Null without a comparison. */
export function comparedWords({ compared, difference, difference_se: se }: Comparison): string | null {
  if (compared == null) return null;
  const word = comparedNames.get(compared) ?? compared;
  return difference == null || se == null ? word : `${word}: ${decimal(difference, 1)} ± ${decimal(se, 1)} levels`;
}

export function levelCodeWords(code: number | null): string {
  return code === null
    ? ''
    : ` (ILR PriorLevel code ${code}, used here for assessed skill, not for a qualification held)`;
}

export const borderlineWords =
  'The 95% confidence interval holds the threshold of the deciding rule: the placement is close to a level boundary, and a second sitting could fall on its other side.';

export const importedBorderlineWords =
  'Flagged where the result was made: the placement is close to a level boundary, and a second sitting could fall on its other side. The interval behind the flag was not recorded.';

const apartWords =
  'The two scoring engines placed this result a full level or more apart. The reconciled level is shown; ';
const lookWords = 'someone who knows the learner should look at the result before it is relied on.';
const lookedWords = 'a person at the provider has looked at the result since.';

export const reviewAdvice = (isReviewed: boolean): string => (isReviewed ? lookedWords : lookWords);
export const reviewWords = (isReviewed: boolean): string => apartWords + reviewAdvice(isReviewed);

export function provisionalText(calibrationSd: number | undefined): string {
  const judged =
    'The level is provisional: how difficult the questions are was judged by their authors and has not yet been measured on learners’ answers, so ';
  return calibrationSd === undefined
    ? `${judged}the true error may be larger than the one printed.`
    : `${judged}the printed error holds ${decimal(calibrationSd)} for that. If the judgements are wrong together, the true error is larger still.`;
}

/** A duration such as `21 days`, in the largest unit of which there are at least two. */
function longWords(seconds: number): string {
  const [size, unit] = seconds < 2 * 3600 ? [60, 'minute'] : seconds < 48 * 3600 ? [3600, 'hour'] : [86_400, 'day'];
  const n = Math.max(1, Math.round(seconds / size));
  return `${n} ${n === 1 ? unit : `${unit}s`}`;
}

export const suspendedWords = ({ count, seconds }: { count: number; seconds: number }): string =>
  `${count === 1 ? 'Once, for' : `${count} times, for`} ${longWords(seconds)}${count === 1 ? '' : ' together'}: nobody could go on meanwhile`;
