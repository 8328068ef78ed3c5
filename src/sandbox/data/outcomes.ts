import { readFileSync } from 'node:fs';
import type { Random } from '../../platform/crypto/random.ts';

/**
 * What the scoring engines really make of sittings, by subject and ability: drawn from, because a sitting takes
 * milliseconds to deliver and score and a sandbox has thousands. `ars bank outcomes` makes the table.
 */
export type OutcomeTable = {
  made_from: OutcomeSources;
  seed: string;
  subjects: Record<'digital' | 'english' | 'maths', { cuts: number[]; outcomes: OutcomeRow[] }>;
};

/** What the outcomes follow from; another one of any of these makes the table stale. */
export type OutcomeSources = { bank: string; delivery: string; engines: Record<string, string> };

/** Rows stand in the order of the learners' true abilities. Flags: 1 is borderline, 2 needs review. */
export type OutcomeRow = [ability: number, estimate: number, rung: number, flags: number, ...scores: (number | null)[]];

export type DrawnOutcome = {
  rung: number;
  is_borderline: boolean;
  needs_review: boolean;
  /** By domain, in the order in which results show them; null where too few items were answered. */
  scores: readonly (number | null)[];
};

export const outcomesFile = new URL('./outcomes.json', import.meta.url);

let read: OutcomeTable | undefined;

export function outcomeTable(): OutcomeTable {
  read ??= JSON.parse(readFileSync(outcomesFile, 'utf8')) as OutcomeTable;
  return read;
}

/** Outcomes of about the same ability that one is drawn from: with 300 over six logits they span a fifth of one. */
const neighbours = 11;

/**
 * An outcome of a learner with this ability. `luck` in [0, 1) says how far the estimate lay above or below the truth:
 * whoever keeps about the same luck from one sitting to the next is seen to progress and not to jump.
 */
export function drawOutcome(subject: keyof OutcomeTable['subjects'], ability: number, luck: number): DrawnOutcome {
  const { outcomes } = outcomeTable().subjects[subject];
  let low = 0;
  let high = outcomes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (outcomes[middle]![0] < ability) low = middle + 1;
    else high = middle;
  }
  const first = Math.min(Math.max(0, low - (neighbours >> 1)), outcomes.length - neighbours);
  const near = outcomes.slice(first, first + neighbours).sort((a, b) => a[1] - b[1]);
  const [, , rung, flags, ...scores] = near[Math.floor(luck * neighbours)]!;
  return { rung, is_borderline: (flags & 1) > 0, needs_review: (flags & 2) > 0, scores };
}

/** The luck of the next sitting of somebody who had this one. */
export const nextLuck = (random: Random, luck: number): number =>
  Math.min(0.999, Math.max(0, luck + 0.3 * (random.float() - 0.5)));
