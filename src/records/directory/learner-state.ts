import { contentOf } from '../results/body.ts';
import { levelInterval } from '../results/lists/interval.ts';
import { belowEntry, levelName, levelsOf } from '../../engine/scoring/levels.ts';
import type { Subject } from '../../engine/scoring/levels.ts';
import type { ScoredResult } from '../../engine/scoring/score.ts';
import type { RecordedResult } from './learner-page.ts';

/**
 * Where a result stands on its subject's ladder. A whole number is where a rung begins: 0 below the lowest level, 1 at
 * the lowest, and so on; between two of them abilities are spread evenly, so that results of different banks compare.
 */
export type LearnerState = {
  assessment_id: string;
  subject: Subject;
  assessed_at: number;
  /** The level of the result; null where it isn't placed. */
  level: string | null;
  /** Where it is drawn: within the level of the result. Null where its level is none of the ladder's. */
  at: number | null;
  /** The 95 % interval, where something tells it. */
  interval: { low: number; high: number; from: string; to: string } | null;
};

/** The rungs of a subject, lowest first. */
export const rungsOf = (subject: Subject): string[] => [belowEntry, ...levelsOf(subject).map(levelName)];

/** Abilities beyond the outermost cuts reach this far into the outermost rungs. */
const tailWidth = 1;

/** An ability on the ladder: rungs begin at their cuts. */
function onLadder(theta: number, cuts: readonly number[]): number {
  const first = cuts[0]!;
  const last = cuts.at(-1)!;
  if (theta < first) return Math.max(0, 1 - (first - theta) / tailWidth);
  if (theta >= last) return Math.min(cuts.length + 1, cuts.length + (theta - last) / tailWidth);
  const rung = cuts.findIndex((cut, i) => theta >= cut && theta < cuts[i + 1]!);
  return rung + 1 + (theta - cuts[rung]!) / (cuts[rung + 1]! - cuts[rung]!);
}

const withinRung = (at: number, rung: number): number => Math.min(rung + 0.95, Math.max(rung + 0.05, at));

/** @returns null for a withdrawn result */
export function learnerStateOf({ assessment_id, body, assessed_at, scored }: RecordedResult): LearnerState | null {
  if (body === null) return null;
  const { subject, working_level, rqf_level, below_level_1, level_probabilities } = contentOf(body, assessed_at);
  const rungs = rungsOf(subject);
  const level = working_level ?? rqf_level ?? (below_level_1 === true ? belowEntry : null);
  const rung = level === null ? -1 : rungs.indexOf(level);
  const named = (low: number, high: number) => ({
    low,
    high,
    from: rungs[Math.min(rungs.length - 1, Math.floor(low))]!,
    // An end that lies where a rung begins has not reached it.
    to: rungs[Math.min(rungs.length - 1, Math.max(0, Math.ceil(high) - 1))]!,
  });
  const head = { assessment_id, subject, assessed_at, level };
  if (scored !== null) {
    const { irt, cuts } = JSON.parse(scored) as ScoredResult;
    const thetas = cuts.map((cut) => cut.theta);
    if (thetas.length === rungs.length - 1) {
      const estimate = onLadder(irt.theta, thetas);
      const [low, high] = [onLadder(irt.ci.low, thetas), onLadder(irt.ci.high, thetas)];
      return { ...head, at: rung < 0 ? estimate : withinRung(estimate, rung), interval: named(low, high) };
    }
  }
  const likely = levelInterval(level_probabilities);
  const [low, high] = [rungs.indexOf(likely?.low ?? ''), rungs.indexOf(likely?.high ?? '')];
  return {
    ...head,
    at: rung < 0 ? null : rung + 0.5,
    interval: low < 0 || high < 0 ? null : named(low, high + 1),
  };
}
