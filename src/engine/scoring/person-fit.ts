import { logProbabilities } from './irt.ts';
import type { ScoredAnswer } from './rules.ts';

/**
 * Whether the answers in their order fit one ability. A learner who gets help from some question on, or gives up there,
 * answers like two people. The statistic compares the likelihood of a change by two logits in the middle third with the
 * likelihood of no change, both averaged over the population. It can't find help throughout the sitting.
 *
 * Sources: Shiryaev (1963) and Roberts (1966) for likelihood ratios summed over every possible point of change; van
 * Krimpen-Stoop & Meijer (2000), in Computerized Adaptive Testing, 201–219, for cumulative sums in adaptive tests. The
 * limit is from simulation: `docs/bank-simulation.md` has false alarms and power.
 */
export type PersonFit = {
  /** Logarithms of the likelihood ratios of a change for the better, and for the worse, against no change. */
  better: number;
  worse: number;
  /** `better`, `worse`: beyond the answers of one ability in 97 of 100 sittings. Null with too few answers. */
  change: 'none' | 'better' | 'worse' | null;
};

/** With fewer answers, the parts are too short to judge. */
export const minPersonFitAnswers = 20;
/**
 * Help may improve answers only a little, so its limit is low. Giving up is plain, so a higher limit finds it and
 * leaves more false alarms for help.
 */
const max = { better: 1.75, worse: 2.5 };

const step = 0.1;
/** Two logits, in steps. */
const change = 20;
const reach = 60;
const abilities = Float64Array.from({ length: 2 * reach + 1 }, (_, k) => (k - reach) * step);
/** The population of abilities is N(0, 1). */
const logPrior = abilities.map((theta) => -(theta ** 2) / 2);

/** `answers` in the order given. */
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

/** The log likelihood at each ability of the first n answers, for n from 0 to all. */
function cumulativeLogs(answers: readonly ScoredAnswer[]): Float64Array[] {
  const sums = [new Float64Array(abilities.length)];
  for (const { item, right } of answers) {
    const before = sums.at(-1)!;
    sums.push(before.map((sum, k) => sum + logProbabilities(item, abilities[k]!)[right ? 'right' : 'wrong']));
  }
  return sums;
}

/** Log likelihoods by first ability: the first answers at that ability, the others `by` steps away. */
function changedAt(first: Float64Array, all: Float64Array, by: number): Float64Array {
  const from = Math.max(0, -by);
  return Float64Array.from({ length: abilities.length - Math.abs(by) }, (_, n) => {
    const [before, after] = [from + n, from + n + by];
    return logPrior[before]! + first[before]! + all[after]! - first[after]!;
  });
}

/** log Σ exp, without overflow. */
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
