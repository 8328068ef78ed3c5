import { logProbabilities } from './irt.ts';
import type { ScoredAnswer } from './rules.ts';

/**
 * Whether all answers of a sitting fit one ability. If a learner gets help or gives up from some question on, the
 * answers look like those of two people.
 * The statistic compares the likelihood of a change by two logits in the middle third of the sitting with the
 * likelihood of no change. Both are averaged over the population. The statistic can't find help that lasts through the
 * full sitting.
 *
 * Sources: Shiryaev (1963) and Roberts (1966) for likelihood ratios summed over every possible point of change; van
 * Krimpen-Stoop & Meijer (2000), in Computerized Adaptive Testing, 201–219, for cumulative sums in adaptive tests. The
 * limits come from simulation: `docs/engineering/bank-simulation.md` has false alarms and power.
 */
export type PersonFit = {
  /** The log likelihood ratio of a change for the better (`better`) or for the worse (`worse`) against no change. */
  better: number;
  worse: number;
  /**
   * The ratio that is above its limit. Of 100 sittings with one ability, 97 stay within the limits. Null: too few
   * answers.
   */
  change: 'none' | 'better' | 'worse' | null;
};

/** With fewer answers, the parts before and after a change are too short to judge. */
export const minPersonFitAnswers = 20;
/**
 * The limit for `better` is low, because help may improve answers only a little. Giving up shows clearly, so a higher
 * limit finds it and causes fewer false alarms.
 */
const max = { better: 1.75, worse: 2.5 };

const step = 0.1;
/** The size of the change: 2 logits, counted in steps of 0.1. */
const change = 20;
const reach = 60;
const abilities = Float64Array.from({ length: 2 * reach + 1 }, (_, k) => (k - reach) * step);
/** Abilities in the population are distributed as N(0, 1). */
const logPrior = abilities.map((theta) => -(theta ** 2) / 2);

/** `answers` must be in the order in which the learner gave them. */
export function personFit(answers: readonly ScoredAnswer[]): PersonFit {
  const upTo = cumulativeLogs(answers);
  const all = upTo.at(-1)!;
  const unchanged = logSum(all.map((log, k) => logPrior[k]! + log));
  const ratio = (way: 1 | -1): number => {
    const found: number[] = [];
    for (let at = Math.ceil(answers.length / 3); at <= Math.floor((2 * answers.length) / 3); at++)
      found.push(logSum(changedAt(upTo[at]!, all, way * change)) - unchanged);
    return found.length === 0 ? 0 : logSum(found) - Math.log(found.length);
  };
  const ratios = { better: ratio(1), worse: ratio(-1) };
  return { ...ratios, change: answers.length < minPersonFitAnswers ? null : changeOf(ratios) };
}

/** Entry n has the log likelihood of the first n answers at each ability. Entry 0 is for no answers. */
function cumulativeLogs(answers: readonly ScoredAnswer[]): Float64Array[] {
  const sums = [new Float64Array(abilities.length)];
  for (const { item, right } of answers) {
    const before = sums.at(-1)!;
    sums.push(before.map((sum, k) => sum + logProbabilities(item, abilities[k]!)[right ? 'right' : 'wrong']));
  }
  return sums;
}

/** Log likelihoods of a change, by the ability before the change. The ability after the change is `by` steps away. */
function changedAt(first: Float64Array, all: Float64Array, by: number): Float64Array {
  const from = Math.max(0, -by);
  return Float64Array.from({ length: abilities.length - Math.abs(by) }, (_, n) => {
    const [before, after] = [from + n, from + n + by];
    return logPrior[before]! + first[before]! + all[after]! - first[after]!;
  });
}

/** Returns log Σ exp(x) without overflow. */
function logSum(logs: Iterable<number> & { readonly length: number }): number {
  let top = -Infinity;
  for (const log of logs) if (log > top) top = log;
  let sum = 0;
  for (const log of logs) sum += Math.exp(log - top);
  return top + Math.log(sum);
}

function changeOf({ better, worse }: Pick<PersonFit, 'better' | 'worse'>): 'none' | 'better' | 'worse' {
  const [forBetter, forWorse] = [better - max.better, worse - max.worse];
  if (Math.max(forBetter, forWorse) <= 0) return 'none';
  return forBetter > forWorse ? 'better' : 'worse';
}
