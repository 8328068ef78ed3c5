import { type Block, facts, heading, paragraph } from '../../records/evidence/content.ts';
import type { ShownDomain } from '../../records/results/body.ts';
import { comparedWords, date, plainText, subjectName } from '../../records/evidence/wording.ts';
import { renderPdf } from '../../records/evidence/pdf/pdf.ts';
import { strengthsOf } from '../../records/results/lists/distribution.ts';
import { type Outcome, type Progress, changeOf } from '../../records/results/lists/progress.ts';
import { byNeed, isNeed } from '../../records/results/lists/gaps.ts';
import { isProvisional, levelOf, placementWords, provisionalWords } from '../../records/results/lists/interval.ts';
import { formatMs } from '../../platform/time/clock.ts';
import { type Subject, belowEntry, levelName, levelsOf } from '../../engine/scoring/levels.ts';

/** A report of a class in one subject, for its tutor. */

type Of = {
  organisation: string;
  group: string;
  subject: Subject;
  members: number;
  nowMs: number;
  rows: readonly Progress[];
};

const changeWords: Record<Outcome, string> = {
  gain: 'Clear gain',
  unclear: 'No clear change',
  loss: 'Clear loss',
  unmeasured: 'Not measured',
};

export function classReport({ organisation, group, subject, members, nowMs, rows }: Of): Buffer {
  const today = date(formatMs(nowMs));
  return renderPdf({
    version: 1,
    language: 'en-GB',
    title: 'Class report',
    reference: `Class report, ${today}`,
    organisation: plainText(organisation),
    heading: 'Class report',
    subheading: `${subjectName(subject)} · ${today}`,
    learner: { label: 'Class', value: plainText(group) },
    verify: null,
    blocks: [
      facts(
        ['Learners', `${members}, of whom ${rows.length} have a result in ${subjectName(subject)}`],
        ['Distance travelled', distanceWords(rows)],
      ),
      ...levels(subject, rows),
      ...domains(rows),
      ...learners(rows),
      ...(rows.some((row) => isProvisional(row.latest)) ? [paragraph(provisionalWords)] : []),
      paragraph(
        'Domain scores rest on few questions: use them only to plan teaching. Do not compare classes or tutors by this report.',
      ),
    ],
  });
}

function distanceWords(rows: readonly Progress[]): string {
  const counted = Map.groupBy(rows, (row) => changeOf(row)?.outcome);
  const words = (Object.keys(changeWords) as Outcome[]).flatMap((outcome) => {
    const n = counted.get(outcome)?.length ?? 0;
    return n === 0 ? [] : `${changeWords[outcome]}: ${n}`;
  });
  return words.length === 0 ? 'No learner has two results yet' : words.join('. ');
}

const shareBar = (name: string, n: number, of: number) => ({
  name: plainText(name),
  percent: of === 0 ? 0 : Math.round((100 * n) / of),
  figure: String(n),
  status: of === 0 ? '' : `${Math.round((100 * n) / of)}%`,
  answered: null,
});

function levels(subject: Subject, rows: readonly Progress[]): Block[] {
  const counted = Map.groupBy(rows, (row) => levelOf(row.latest.content) ?? 'Not placed');
  const ladder = [belowEntry, 'Entry Level', ...levelsOf(subject).map(levelName)];
  const names = [...new Set([...ladder, ...counted.keys()])].filter((one) => counted.has(one));
  const bars = names.map((one) => shareBar(one, counted.get(one)!.length, rows.length));
  return rows.length === 0
    ? []
    : [
        heading('Where the class is'),
        {
          kind: 'bars',
          head: ['Level', 'Learners', 'Share'],
          rows: bars,
          marks: [],
          caption: 'The latest result of each learner.',
        },
      ];
}

function domains(rows: readonly Progress[]): Block[] {
  const strengths = strengthsOf(rows.map((row) => row.latest.content));
  const needed = rows.flatMap((row) => row.latest.content.domains.filter(isNeed));
  const needs = (one: (typeof strengths)[number]) => needed.filter(({ name }) => name === one.name).length;
  const bars = strengths
    .toSorted((x, y) => needs(y) - needs(x))
    .map((one) => shareBar(one.name, needs(one), one.results));
  return bars.length === 0
    ? []
    : [
        heading('What the class needs most'),
        {
          kind: 'bars',
          head: ['Domain', 'Learners', 'Share'],
          rows: bars,
          marks: [],
          caption:
            'Learners who need support in the domain, or for whom it is weaker than their others (right for 4 of 5).',
        },
      ];
}

const needWords = (one: ShownDomain) => (one.compared === 'weaker' ? ` (${comparedWords(one)!.toLowerCase()})` : '');

function learners(rows: readonly Progress[]): Block[] {
  const sorted = byNeed(rows.map((row) => ({ ...row, content: row.latest.content })));
  const needsOf = (row: Progress) => {
    const needed = row.latest.content.domains.filter(isNeed);
    return needed.map((one) => plainText(`${one.name}${needWords(one)}`)).join('; ') || 'None';
  };
  if (rows.length === 0) return [];
  const widths = { Learner: 25, Placement: 19, 'Weaker, or needs support': 44, Change: 20 };
  return [
    heading('Learners, greatest need first'),
    {
      kind: 'table',
      caption: 'The domains of each learner’s latest result, and the change since the first result.',
      columns: Object.entries(widths).map(([label, width]) => ({ label, width, align: 'left' })),
      rows: sorted.map((row) => {
        const change = changeOf(row);
        return [
          plainText(row.full_name),
          placementWords(row.latest),
          needsOf(row),
          change === null ? 'One result' : changeWords[change.outcome],
        ];
      }),
    },
  ];
}
