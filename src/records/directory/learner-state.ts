import { contentOf } from '../results/body.ts';
import { levelInterval, levelOf } from '../results/lists/interval.ts';
import { type Subject, belowEntry, levelName, levelsOf } from '../../engine/scoring/levels.ts';
import type { ScoredResult } from '../../engine/scoring/score.ts';
import type { RecordedResult } from './learner-page.ts';

/**
 * A result on its subject's ladder. Positions 0 to 1 are below the lowest level, and each level is 1 long. The ability
 * decides the position within a level, so that results of different banks can be compared.
 */
export type LearnerState = {
  assessment_id: string;
  subject: Subject;
  assessed_at: number;
  /** Null if the result is not placed. */
  level: string | null;
  /** The position within the level. Null if the ladder does not have the level. */
  at: number | null;
  /** The 95 % interval as positions and levels; null if it is unknown. */
  interval: { low: number; high: number; from: string; to: string } | null;
};

/** The rungs of a subject, lowest first. */
export const rungsOf = (subject: Subject): string[] => [belowEntry, ...levelsOf(subject).map(levelName)];

/** The lowest and the highest rung are open at one end, so their width on the ability scale is assumed. */
const tailWidth = 1;

/** Maps an ability to a position on the ladder. Each rung begins at its cut score. */
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
  const content = contentOf(body, assessed_at);
  const { subject, level_probabilities } = content;
  const rungs = rungsOf(subject);
  const level = levelOf(content);
  const rung = level === null ? -1 : rungs.indexOf(level);
  const intervalOf = (low: number, high: number) => ({
    low,
    high,
    from: rungs[Math.min(rungs.length - 1, Math.floor(low))]!,
    // If the interval ends exactly at the start of a rung, `to` is the rung below.
    to: rungs[Math.min(rungs.length - 1, Math.max(0, Math.ceil(high) - 1))]!,
  });
  const head = { assessment_id, subject, assessed_at, level };
  if (scored !== null) {
    const { irt, cuts } = JSON.parse(scored) as ScoredResult;
    const thetas = cuts.map((cut) => cut.theta);
    if (thetas.length === rungs.length - 1) {
      const estimate = onLadder(irt.theta, thetas);
      const [low, high] = [onLadder(irt.ci.low, thetas), onLadder(irt.ci.high, thetas)];
      return { ...head, at: rung < 0 ? estimate : withinRung(estimate, rung), interval: intervalOf(low, high) };
    }
  }
  const likely = levelInterval(level_probabilities);
  const [low, high] = [rungs.indexOf(likely?.low ?? ''), rungs.indexOf(likely?.high ?? '')];
  return {
    ...head,
    at: rung < 0 ? null : rung + 0.5,
    interval: low < 0 || high < 0 ? null : intervalOf(low, high + 1),
  };
}
