import { longDay } from '../../platform/time/dates.ts';
import type { ResultContent, ShownDomain } from '../../records/results/body.ts';
import { isClose } from '../../engine/scoring/probabilities.ts';
import type { ScoredResult } from '../../engine/scoring/score.ts';
import { isExtension } from '../../sittings/scoring/standards.ts';

export function inMinutes(ms: number): string {
  const minutes = Math.max(0, Math.ceil(ms / 60_000));
  return minutes === 1 ? '1 minute' : `${minutes} minutes`;
}

export function timeLeft(ms: number): string {
  return ms < 60_000 ? 'Less than 1 minute left' : `${inMinutes(ms)} left`;
}

const london = new Intl.DateTimeFormat('en-GB', {
  timeZone: 'Europe/London',
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/** Returns, for example, `Sunday 22 November at 09:45` in UK time. */
export function momentInLondon(ms: number): string {
  const part = Object.fromEntries(london.formatToParts(ms).map(({ type, value }) => [type, value]));
  return `${part.weekday} ${part.day} ${part.month} at ${part.hour}:${part.minute}`;
}

export const dayInLondon = (ms: number): string => longDay(ms, 'Europe/London');

export function isSetByPerson(content: ResultContent, { published }: Pick<ScoredResult, 'published'>): boolean {
  const { working_level, rqf_level } = content;
  return rqf_level !== published.rqf_level || (working_level !== null && working_level !== published.working_level);
}

/** @param byPerson true if a reviewer set the level, so that the probabilities do not describe it */
export function resultWords(content: ResultContent, byPerson = false): { level: string; sentences: string[] } {
  // An amendment may have removed the working level or the next step.
  const level = content.working_level ?? content.rqf_level ?? 'Not placed';
  const sentences =
    content.rqf_level === null
      ? ['You are working towards the first level. That is a fine place to start.']
      : [`You showed the skills of ${level}.`];
  if (isExtension(content.subject, content.rqf_level))
    sentences.push(
      `${content.rqf_level} of this assessment is an extension. It is not part of the national standards.`,
    );
  if (content.recommended_next_level !== null) sentences.push(`Your next step is ${content.recommended_next_level}.`);
  else if (content.rqf_level === 'Level 3') sentences.push('There is no higher level in this assessment.');
  const likely = byPerson ? 'A person at your provider has set this level.' : likelyWords(content);
  if (likely !== null) sentences.push(likely);
  if (!byPerson && isClose(Object.values(content.level_probabilities ?? {})))
    sentences.push(
      'Your result is close to the line between two levels. On another day it could fall on the other side, so your provider may talk with you about it.',
    );
  if (content.needs_review && content.reviewed_at === undefined)
    sentences.push('A person at your provider will look at this result before it is used.');
  return { level, sentences: sentences.map((sentence) => sentence.replace(/Level (\d)/g, 'Level\u00a0$1')) };
}

/** Says the probabilities as "of 100 people", which is easier to understand. */
function likelyWords({ level_probabilities: probabilities }: ResultContent): string | null {
  const likely = Object.entries(probabilities ?? {})
    .map(([level, p]) => ({ level, of100: Math.round(100 * p) }))
    .filter(({ of100 }) => of100 >= 10);
  if (likely.length === 0) return null;
  const likeliest = likely.reduce((best, one) => (one.of100 > best.of100 ? one : best));
  const place = (level: string) => (level.startsWith('Working') ? 'below the first level' : `at ${level}`);
  const each = likely.map(({ level, of100 }, i) => `${i === 0 ? 'about ' : ''}${of100} are ${place(level)}`);
  const list = each.length === 1 ? each[0]! : `${each.slice(0, -1).join(', ')} and ${each.at(-1)}`;
  return `Most likely you are ${place(likeliest.level)}: of 100 people with answers like yours, ${list}.`;
}

const comparedWords = new Map([
  ['stronger', 'Stronger than your other areas'],
  ['same', 'About the same as your other areas'],
  ['weaker', 'Weaker than your other areas'],
]);

/** Words that group the areas of a report. Older results and results made elsewhere have only a status. */
export function areaWords({ compared, status }: ShownDomain): string {
  if (compared === undefined) return domainWords(status);
  return comparedWords.get(compared ?? '') ?? 'Too few questions to compare with your other areas';
}

/** How certain a named difference is. An area that is about the same names no difference. */
export function sureWords(domain: ShownDomain): string {
  const sure = certaintyPct(domain);
  return sure === null || domain.compared === 'same' ? '' : ` (we are about ${sure}\u00a0% sure)`;
}

/** How certain the sign of a difference is, in per cent (logistic approximation of the normal distribution). */
function certaintyPct({ difference, difference_se: se }: ShownDomain): number | null {
  if (difference == null || se == null || se === 0) return null;
  return Math.min(99, Math.round(100 / (1 + Math.exp((-1.702 * Math.abs(difference)) / se))));
}

/** @param next the level to which the learner goes on, if the areas are measured there */
export function nextWords({ next_level_pct: pct, compared }: ShownDomain, next: string | null): string {
  if (pct == null || next === null || compared === null) return '';
  return ` At ${next.replace(/ (\d)/, '\u00a0$1')} you would get about ${Math.round(pct / 10)} of 10 questions right.`;
}

function domainWords(status: string | null): string {
  switch (status) {
    case 'secure':
      return 'Secure';
    case 'developing':
      return 'Getting there';
    case 'needs_support':
      return 'Needs some work';
    default:
      return 'Too few questions to say';
  }
}
