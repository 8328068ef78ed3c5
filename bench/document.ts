import type { Figure } from './figures.ts';
import { isMet } from './figures.ts';

/** The part of docs/performance.md that `bench/run.ts` writes: a heading, a line about how it was measured, and a table. */

const rounded = (value: number, more: number) =>
  Math.abs(value) >= 100 ? Number(value.toFixed(more)) : Number(value.toPrecision(2 + more));

const told = (value: number) =>
  Math.abs(value) >= 100 ? value.toLocaleString('en-GB', { maximumFractionDigits: 20 }) : String(value);

/** Two digits, or all of a whole number; as many more as it takes to be on the same side of the goal as the value itself. */
function valueOf(figure: Figure): string {
  let more = 0;
  while (more < 8 && isMet({ ...figure, value: rounded(figure.value, more) }) !== isMet(figure)) more++;
  return told(rounded(figure.value, more));
}

/** A figure that misses its goal is printed in bold. */
export function rowOf(figure: Figure): string {
  const { what, unit, goal } = figure;
  const measured = `${valueOf(figure)} ${unit}`;
  const wanted = goal === undefined ? '' : 'atLeast' in goal ? `≥ ${told(goal.atLeast)}` : `≤ ${told(goal.atMost)}`;
  return `| ${what} | ${wanted} | ${isMet(figure) ? measured : `**${measured}**`} |`;
}

/** The part under a heading, up to the next one. */
export function partOf(heading: string, text: string): string[] {
  const part = text.split(/^(?=### )/m).find((one) => one.startsWith(`### ${heading}\n`));
  return part === undefined ? [] : part.trim().split('\n\n');
}

/** What comes before the parts: how many of their figures reach their goals, and those that don't. */
export function summaryOf(parts: string[][]): string[] {
  const rows = parts.flatMap((part) => {
    const heading = part[0]!.slice('### '.length);
    const cells = part.join('\n').matchAll(/^\| (.+) \| ([≤≥] .+) \| (.+) \|$/gm);
    return [...cells].map(([, what, goal, measured]) => ({ heading, what, goal, measured: measured! }));
  });
  const missed = rows.filter(({ measured }) => measured.startsWith('**'));
  return [
    `Of ${rows.length} figures with a goal ${rows.length - missed.length} reach it.${missed.length > 0 ? ' These don’t:' : ''}`,
    ...(missed.length > 0
      ? [
          [
            '| | | Goal | Measured |',
            '| --- | --- | --- | --- |',
            ...missed.map((row) => `| ${row.heading} | ${row.what} | ${row.goal} | ${row.measured} |`),
          ].join('\n'),
        ]
      : []),
  ];
}

/**
 * Whether a part was measured after a commit, elsewhere: what was measured here then is out of date.
 * @param isBefore whether the first commit is, or leads to, the second
 */
export function isAfter(part: string[], commit: string, isBefore: (one: string, other: string) => boolean): boolean {
  const written = /, commit ([0-9a-f]{7,40});/.exec(part[1] ?? '')?.[1];
  return written !== undefined && !commit.startsWith(written) && isBefore(commit, written);
}
