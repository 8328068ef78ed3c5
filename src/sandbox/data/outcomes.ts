import { readFileSync } from 'node:fs';
import type { Random } from '../../platform/crypto/random.ts';

/**
 * Outcomes of simulated sittings by subject and ability. `ars bank outcomes` generates the table in advance, because
 * thousands of sittings would delay the start of a sandbox.
 */
export type OutcomeTable = {
  made_from: OutcomeSources;
  seed: string;
  subjects: Record<'digital' | 'english' | 'maths', { cuts: number[]; outcomes: OutcomeRow[] }>;
};

/** The inputs of the table. If one of them changes, the table is out of date. */
export type OutcomeSources = { bank: string; delivery: string; engines: Record<string, string> };

/**
 * A simulated sitting. Rows are sorted by ability. Flag 1 is borderline, and flag 2 needs review. `levels`: the
 * probability of each level in thousandths, lowest first.
 */
export type OutcomeRow = [
  ability: number,
  estimate: number,
  rung: number,
  flags: number,
  levels: number[],
  ...domains: DomainRow[],
];
type DomainRow = [
  score: number | null,
  next: number | null,
  compared: string | null,
  difference: number | null,
  se: number | null,
];

export const outcomesFile = new URL('./outcomes.json', import.meta.url);

let read: OutcomeTable | undefined;

export function outcomeTable(): OutcomeTable {
  read ??= JSON.parse(readFileSync(outcomesFile, 'utf8')) as OutcomeTable;
  return read;
}

/** An outcome is drawn from this many rows around an ability. The rows span a fifth of a logit. */
const neighbours = 11;

/**
 * Draws an outcome for an ability. `luck` in [0, 1) is the rank of the estimate among similar learners. If a learner's
 * luck stays the same, the learner progresses steadily.
 */
export function drawOutcome(subject: keyof OutcomeTable['subjects'], ability: number, luck: number) {
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
  const [, , rung, flags, levels, ...rows] = near[Math.floor(luck * neighbours)]!;
  const domains = rows.map(([score_pct, next_level_pct, compared, difference, difference_se]) => ({
    ...{ score_pct, next_level_pct, compared, difference, difference_se },
  }));
  const probabilities = levels.map((thousandths) => thousandths / 1000);
  return { rung, is_borderline: (flags & 1) > 0, needs_review: (flags & 2) > 0, probabilities, domains };
}

export const nextLuck = (random: Random, luck: number): number =>
  Math.min(0.999, Math.max(0, luck + 0.3 * (random.float() - 0.5)));
