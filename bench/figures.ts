import { appendFileSync } from 'node:fs';

/**
 * What a benchmark is held against: `bench/run.ts` names a file in BENCH_FIGURES and writes what stands there into
 * docs/performance.md. Without one, figures are only printed by whoever measures them.
 */
export type Figure = {
  what: string;
  value: number;
  /** As it stands behind the number: "%", "ms", "a second", "times". */
  unit: string;
  /** The bound, and whether the value has to reach it or stay below it. */
  goal?: { atLeast: number } | { atMost: number };
};

export function figure(what: string, value: number, unit: string, goal?: Figure['goal']): void {
  const file = process.env.BENCH_FIGURES;
  if (file !== undefined && file !== '')
    appendFileSync(file, `${JSON.stringify({ what, value, unit, goal } satisfies Figure)}\n`);
}

/** Whether it is as good as it has to be. */
export function isMet({ value, goal }: Figure): boolean {
  if (goal === undefined) return true;
  return 'atLeast' in goal ? value >= goal.atLeast : value <= goal.atMost;
}
