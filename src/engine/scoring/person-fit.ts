import { logProbabilities } from './irt.ts';
import type { ScoredAnswer } from './rules.ts';

/**
 * Whether the answers in their order fit one ability. Someone who is helped from some question on, or gives up there,
 * answers like two people. What is compared is how likely the answers are if ability changed by two logits somewhere in
 * the middle third, and how likely if it never did; nobody's ability is known, so that both are averaged over the
 * population. It says nothing about somebody who was helped all along.
 *
 * Sources: Shiryaev (1963) and Roberts (1966) for likelihood ratios summed over every question where the change may
 * have come, which find a change soonest; van Krimpen-Stoop & Meijer (2000), in Computerized Adaptive Testing, 201–219,
 * for cumulative sums in adaptive tests. The limit is from simulation: `docs/bank-simulation.md` has false alarms and
 * power.
 */
export type PersonFit = {
  /** Logarithms of the two likelihood ratios: for a change to the better, and to the worse, against none. */
  better: number;
  worse: number;
  /**
   * `better`, `worse`: beyond what the answers of one ability show in 97 of 100 sittings. Null with too few answers to
   * tell.
   */
  change: 'none' | 'better' | 'worse' | null;
};

/** Fewer answers than this leave parts that say nothing. */
export const personFitLeast = 20;
/**
 * Help has to be found where answers got better by little; who gives up shows it so plainly that a higher limit finds
 * it, which leaves more of the false alarms for the other.
 */
const max = { better: 1.75, worse: 2.5 };

const step = 0.1;
/** Two logits, in steps of the abilities that are summed over. */
const change = 20;
const reach = 60;
const abilities = Float64Array.from({ length: 2 * reach + 1 }, (_, k) => (k - reach) * step);
/** Abilities are N(0, 1), whoever the learner is. */
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
  return { ...ratios, change: answers.length < personFitLeast ? null : changeOf(ratios) };
}

/** The log likelihood of the first answers, of none to all, at each ability. */
function cumulativeLogs(answers: readonly ScoredAnswer[]): Float64Array[] {
  const sums = [new Float64Array(abilities.length)];
  for (const { item, right } of answers) {
    const before = sums.at(-1)!;
    sums.push(before.map((sum, k) => sum + logProbabilities(item, abilities[k]!)[right ? 'right' : 'wrong']));
  }
  return sums;
}

/** By the ability before: the first answers at that one, the others at one so many steps away. */
function changedAt(first: Float64Array, all: Float64Array, by: number): Float64Array {
  const from = Math.max(0, -by);
  return Float64Array.from({ length: abilities.length - Math.abs(by) }, (_, n) => {
    const [before, after] = [from + n, from + n + by];
    return logPrior[before]! + first[before]! + all[after]! - first[after]!;
  });
}

/** The logarithm of the sum of what these are the logarithms of. */
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
