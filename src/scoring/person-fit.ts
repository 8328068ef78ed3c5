import { probability } from './irt.ts';
import type { ScoredAnswer } from './rules.ts';

/**
 * Whether the answers in their order fit one ability. Someone who is helped from some question on, or gives up there,
 * answers like two people: the two statistics look for a change in the middle, and say nothing about somebody who was
 * helped all along.
 *
 * Sources: Page (1954) for cumulative sums, van Krimpen-Stoop & Meijer (2000), in Computerized Adaptive Testing,
 * 201–219, for those of residuals, here each with its item's weight in the estimate; Rao (1948) for the halves, a score
 * test of one ability against two. Limits from simulation: `docs/bank-simulation.md` has false alarms and power.
 */
export type PersonFit = {
  /** Ability in the second half less that in the first, in its standard errors. */
  halves: number;
  /** The greatest cumulative sum, upwards or downwards, in standard errors of the whole sum. */
  sum: number;
  /**
   * `better`, `worse`: beyond what the answers of one ability show in 97 of 100 sittings. Null with too few answers to
   * tell.
   */
  change: 'none' | 'better' | 'worse' | null;
};

/** Fewer answers than this leave halves that say nothing. */
export const personFitLeast = 20;
const halvesMost = 2.35;
const sumMost = 1.79;

/** `answers` in the order given, `theta` the estimate from all of them. */
export function personFit(answers: readonly ScoredAnswer[], theta: number): PersonFit {
  const parts = answers.map((answer) => scorePart(answer, theta));
  const half = Math.floor(parts.length / 2);
  const [first, second] = [totalOf(parts.slice(0, half)), totalOf(parts.slice(half))];
  const difference = second.score / second.information - first.score / first.information;
  const halves = difference / Math.sqrt(1 / first.information + 1 / second.information);
  const found = { halves, sum: greatestSum(parts) };
  return { ...found, change: parts.length < personFitLeast ? null : changeOf(found) };
}

/** What one answer adds to the derivative of the log likelihood, and to the information. */
type Part = { score: number; information: number };

function scorePart({ item, right }: ScoredAnswer, theta: number): Part {
  const p = probability(item, theta);
  const slope = (item.a * (p - item.c) * (1 - p)) / (1 - item.c);
  const variance = p * (1 - p);
  return { score: (((right ? 1 : 0) - p) * slope) / variance, information: slope ** 2 / variance };
}

function totalOf(parts: readonly Part[]): Part {
  return {
    score: parts.reduce((sum, part) => sum + part.score, 0),
    information: parts.reduce((sum, part) => sum + part.information, 0),
  };
}

function greatestSum(parts: readonly Part[]): number {
  const scale = Math.sqrt(totalOf(parts).information);
  let [up, down, most] = [0, 0, 0];
  for (const { score } of parts) {
    up = Math.max(0, up + score / scale);
    down = Math.max(0, down - score / scale);
    most = Math.max(most, up, down);
  }
  return most;
}

/**
 * At the estimate all parts add up to about nothing, so a path that rises late fell before: the halves say which way.
 */
function changeOf({ halves, sum }: Pick<PersonFit, 'halves' | 'sum'>): 'none' | 'better' | 'worse' {
  if (Math.abs(halves) <= halvesMost && sum <= sumMost) return 'none';
  return halves > 0 ? 'better' : 'worse';
}
