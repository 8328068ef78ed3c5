import { type Block, heading, paragraph, shortLevel } from '../../records/evidence/content.ts';
import { date, plainText, subjectName } from '../../records/evidence/wording.ts';
import { renderPdf } from '../../records/evidence/pdf/pdf.ts';
import { isProvisional, levelOf } from '../../records/results/lists/interval.ts';
import type { ShownDomain } from '../../records/results/body.ts';
import { isNeed } from '../../records/results/lists/gaps.ts';
import { type Progress, changeOf } from '../../records/results/lists/progress.ts';
import { formatMs } from '../../platform/time/clock.ts';
import { belowEntry, levelName, levelsOf } from '../../engine/scoring/levels.ts';
import { areaWords, resultWords, sureWords } from '../player/words.ts';

/** A page for a learner: what the results mean, and what to do next. */

type Of = { organisation: string; learner: string; nowMs: number; rows: readonly Progress[] };

export function learnerReport({ organisation, learner, nowMs, rows }: Of): Buffer {
  const today = date(formatMs(nowMs));
  return renderPdf({
    version: 1,
    language: 'en-GB',
    title: 'Learner report',
    reference: `Learner report, ${today}`,
    organisation: plainText(organisation),
    heading: 'Your results',
    subheading: `What you can do now, and what to learn next · ${today}`,
    learner: { label: 'For', value: plainText(learner) },
    verify: null,
    blocks: [...rows.flatMap(subjectPart), ...next(rows)],
  });
}

function subjectPart(row: Progress): Block[] {
  const { content } = row.latest;
  const { level, sentences } = resultWords(content);
  const assessed = date(formatMs(content.assessed_at_us / 1000));
  return [
    heading(`${subjectName(content.subject)}: ${level}`),
    ...ladder(row),
    paragraph([`You took this assessment on ${assessed}.`, ...sentences, ...sinceFirst(row)].map(plainText).join(' ')),
    { kind: 'list', items: areas(content.domains) },
  ];
}

const best = ['stronger', 'secure', 'same', 'developing', 'weaker', 'needs_support'];

/** The areas in the words of the learner's own result page, the best first. */
function areas(domains: readonly ShownDomain[]): string[] {
  const rank = ({ compared, status }: ShownDomain) => {
    const at = best.indexOf((compared === undefined ? status : compared) ?? '');
    return at < 0 ? best.length : at;
  };
  const grouped = Map.groupBy(
    domains.toSorted((x, y) => rank(x) - rank(y)),
    areaWords,
  );
  return [...grouped].map(([words, list]) => {
    return `${words}: ${list.map((one) => plainText(one.name + sureWords(one))).join('; ')}`;
  });
}

/** Levels of other systems are not on our ladder, so they have no ladder. */
function ladder({ latest: { content } }: Progress): Block[] {
  const placed = levelOf(content);
  const levels = [belowEntry, ...levelsOf(placed === levelName('entry') ? 'digital' : content.subject).map(levelName)];
  if (placed === null || !levels.includes(placed)) return [];
  return [
    {
      kind: 'ladder',
      scale: null,
      rungs: levels.map((one) => ({
        label: one,
        short: shortLevel(one),
        from: null,
        to: null,
        placed: one === placed,
      })),
      caption: '',
      description: `Ladder of levels from ${levels[0]} to ${levels.at(-1)}. You are at ${placed}.`,
    },
  ];
}

const outcomeWords = {
  gain: (day: string) => `You have made a clear step forward since ${day}. Well done.`,
  unclear: (day: string) => `There is no clear change since ${day}. Small ups and downs are normal.`,
  loss: (day: string) => `On ${day} your result was higher. A bad day can do that, so talk with your tutor.`,
  unmeasured: (day: string) => `You also took this assessment on ${day}. We cannot say how much has changed.`,
};

function sinceFirst(row: Progress): string[] {
  const change = changeOf(row);
  if (change === null) return [];
  return [outcomeWords[change.outcome](date(formatMs(row.first.content.assessed_at_us / 1000)))];
}

function next(rows: readonly Progress[]): Block[] {
  const toLearn = rows.flatMap(({ latest: { content } }) => {
    const weak = content.domains.filter(isNeed).toSorted((x, y) => (x.difference ?? 0) - (y.difference ?? 0));
    const first = weak.length > 0 ? weak : content.domains.filter((one) => one.status === 'developing');
    const names = first.slice(0, 2).map((one) => plainText(one.name));
    return names.length === 0 ? [] : [`${subjectName(content.subject)}: start with ${names.join(', then with ')}.`];
  });
  return [
    heading('What to do next'),
    {
      kind: 'list',
      items: [
        ...toLearn,
        'Show this page to your tutor. Choose one area together, and agree when you look at it again.',
        'If you think that a result is wrong, ask your provider. A person then checks your answers.',
      ],
    },
    paragraph(
      `A result shows what you can do today. You cannot pass or fail, and you can improve every part of it.${rows.some((row) => isProvisional(row.latest)) ? ' Results are provisional: we are still finding out how hard the questions are.' : ''}`,
    ),
  ];
}
