import { appendFileSync } from 'node:fs';

export type Figure = {
  what: string;
  value: number;
  /** As it is printed behind the number: "%", "ms", "a second", "times". */
  unit: string;
  goal?: { atLeast: number } | { atMost: number };
};

/** Prints a figure. `bench/run.ts` names a file in BENCH_FIGURES and writes its lines into docs/engineering/performance.md. */
export function figure(what: string, value: number, unit: string, goal?: Figure['goal']): void {
  if (!Number.isFinite(value)) throw new Error(`${what} has no figure.`);
  const one: Figure = { what, value, unit, goal };
  console.log(rowOf(one));
  const file = process.env.BENCH_FIGURES;
  if (file !== undefined && file !== '') appendFileSync(file, `${JSON.stringify(one)}\n`);
}

function isMet({ value, goal }: Figure): boolean {
  if (goal === undefined) return true;
  return 'atLeast' in goal ? value >= goal.atLeast : value <= goal.atMost;
}

const rounded = (value: number, more: number) =>
  Math.abs(value) >= 100 ? Number(value.toFixed(more)) : Number(value.toPrecision(2 + more));

const written = (value: number) =>
  Math.abs(value) >= 100 ? value.toLocaleString('en-GB', { maximumFractionDigits: 20 }) : String(value);

/** Two digits, and as many more as the figure needs to be on the same side of its goal. */
function valueOf(figure: Figure): string {
  let more = 0;
  while (more < 8 && isMet({ ...figure, value: rounded(figure.value, more) }) !== isMet(figure)) more++;
  return written(rounded(figure.value, more));
}

/** A row of docs/engineering/performance.md, with the goal in brackets. A figure that misses its goal is printed in bold. */
export function rowOf(figure: Figure): string {
  const { what, unit, goal } = figure;
  const measured = `${valueOf(figure)} ${unit}`;
  if (goal === undefined) return `|${what}|${measured}|`;
  const bound = 'atLeast' in goal ? `≥ ${written(goal.atLeast)}` : `≤ ${written(goal.atMost)}`;
  return `|${what}|${isMet(figure) ? measured : `**${measured}**`} (${bound})|`;
}
