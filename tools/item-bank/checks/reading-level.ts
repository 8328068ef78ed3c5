import { parseInline } from '../../../src/engine/item-bank/markup.ts';
import { readingLoad } from '../../../src/engine/item-bank/reading-load.ts';
import type { Item, RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { error, warning } from './finding.ts';
import type { CheckedBank, Finding } from './finding.ts';
import type { Level, Subject } from '../../../src/engine/scoring/levels.ts';

/** The highest mean reading grade of a level's questions. */
export const gradeLimit: Record<Level, number> = {
  entry: 5,
  entry1: 5,
  entry2: 5,
  entry3: 5,
  level1: 7,
  level2: 9,
  level3: 12,
};

/** The highest reading grade of a passage, which may be harder than its questions. */
export const passageGradeLimit: Record<Level, number> = {
  entry: 6,
  entry1: 5,
  entry2: 6,
  entry3: 8,
  level1: 10,
  level2: 13,
  level3: 16,
};

/** The most words of a question without its passage, by level. A longer question would measure reading. */
const wordLimit: Record<Level, number> = {
  entry: 95,
  entry1: 45,
  entry2: 65,
  entry3: 75,
  level1: 110,
  level2: 130,
  level3: 165,
};

/**
 * The grade of one short question is uncertain. A grade this much over the limit is an error, a smaller excess is a
 * warning.
 */
const margin = 4;
const shortestMeasured = 12;

/** Counts the syllables of an English word by its groups of vowels, which is right for about 9 words in 10. */
export function syllables(word: string): number {
  const letters = word.toLowerCase().replace(/[^a-z]/gu, '');
  if (letters.length <= 3) return 1;
  const trimmed = letters
    .replace(/(?:[^laeiouy]es|[^laeiouy]e|[^aeioutd]ed)$/u, (ending) => ending[0]!)
    .replace(/^y/u, '');
  return Math.max(1, trimmed.match(/[aeiouy]{1,2}/gu)?.length ?? 1);
}

/**
 * Flesch–Kincaid grade: 0.39 words/sentence + 11.8 syllables/word − 15.59 (Kincaid et al. 1975). A name (a capital
 * inside a sentence) counts as one syllable, because a long name does not make a sentence harder.
 */
export function readingGrade(text: string): { grade: number; words: number } {
  const sentences = text.split(/(?<![.!?:])[.!?:]+(?:\s|$)|\n/u).filter((sentence) => /[a-z]/iu.test(sentence));
  const words = sentences.flatMap((sentence) =>
    (sentence.match(/[a-z][a-z'’-]*/giu) ?? []).map((word, at) =>
      at > 0 && /^[A-Z]/u.test(word) ? 1 : syllables(word),
    ),
  );
  if (words.length === 0) return { grade: 0, words: 0 };
  const total = words.reduce((sum, count) => sum + count, 0);
  return {
    grade: 0.39 * (words.length / sentences.length) + 11.8 * (total / words.length) - 15.59,
    words: words.length,
  };
}

/** Words without file names and addresses. */
const said = (text: string): string =>
  parseInline(text)
    .map((part) => (part.kind === 'text' || part.kind === 'strong' || part.kind === 'spot' ? part.text : ' it '))
    .join('');

/**
 * The texts that a learner must read to understand the question. Single words to choose from are left out, because they
 * are what the item measures.
 */
function questionText(rendered: RenderedItem): string {
  const options = 'options' in rendered ? rendered.options.map((option) => option.text) : [];
  const labels = rendered.type === 'task' ? rendered.fields.map((field) => field.label) : [];
  const sentences = [...options, ...labels].filter((text) => text.split(/\s+/u).length > 4);
  return [...rendered.stem.map((paragraph) => paragraph.replace(/^[->] /u, '')), ...sentences].map(said).join('\n');
}

export function readingFindings(bank: CheckedBank): Finding[] {
  const findings: Finding[] = [];
  const groups = new Map<string, { subject: Subject; level: Level; grades: number[] }>();
  for (const { item, rendered } of bank.shown) {
    const { subject, level } = item;
    const load = readingLoad(rendered, null);
    if (load > wordLimit[level])
      findings.push(
        error('reading load', item.id, `${load} words; ${level} questions have ${wordLimit[level]} or fewer`),
      );
    const { grade, words } = readingGrade(questionText(rendered));
    if (words < shortestMeasured) continue;
    const group = groups.get(`${subject} ${level}`) ?? { subject, level, grades: [] };
    groups.set(`${subject} ${level}`, group);
    group.grades.push(grade);
    const limit = gradeLimit[level];
    const message = `reading grade ${grade.toFixed(1)}; ${level} questions aim at ${limit} or less`;
    if (grade > limit + margin) findings.push(error('reading level', item.id, message));
    else if (grade > limit + margin / 2) findings.push(warning('reading level', item.id, message));
  }
  for (const [name, { level, grades }] of groups) {
    const mean = grades.reduce((sum, grade) => sum + grade, 0) / grades.length;
    if (mean > gradeLimit[level])
      findings.push(
        error(
          'reading level',
          null,
          `${name}: mean reading grade ${mean.toFixed(1)} of ${grades.length} questions; at most ${gradeLimit[level]}.`,
        ),
      );
  }
  for (const passage of bank.passages) {
    const { grade } = readingGrade(passage.paragraphs.map(said).join('\n'));
    const limit = passageGradeLimit[passage.level];
    if (grade > limit)
      findings.push(
        warning(
          'reading level',
          passage.id,
          `reading grade ${grade.toFixed(1)}; ${passage.level} passages aim at ${limit} or less`,
        ),
      );
  }
  return findings;
}

/** Mean reading grade of the questions of each subject and level, for the report. */
export function meanGrade(shown: CheckedBank['shown'], of: (item: Item) => boolean): number | null {
  const grades = shown
    .filter(({ item }) => of(item))
    .map(({ rendered }) => readingGrade(questionText(rendered)))
    .filter(({ words }) => words >= shortestMeasured);
  return grades.length === 0 ? null : grades.reduce((sum, { grade }) => sum + grade, 0) / grades.length;
}
