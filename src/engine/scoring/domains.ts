import { eap, type EapEstimate, probability } from './irt.ts';
import type { ScoredItem } from './cuts.ts';
import type { Level } from './levels.ts';
import type { ScoredAnswer } from './rules.ts';

/** A domain with fewer answers has no score. Skipped items are no answers. */
export const domainMinAnswers = 3;
/** The standard deviation of domain abilities around the overall ability. */
export const domainPriorSd = 0.5;
export const secureFromPct = 65;
export const developingFromPct = 40;

export type DomainStatus = 'secure' | 'developing' | 'needs_support';

/**
 * `scorePct`: the expected share right on all items of the domain at the result's level, in whole percent. The raw
 * share would be 50–60 % for all learners, because delivery adapts. Null with too few answers.
 */
export type DomainResult = {
  name: string;
  scorePct: number | null;
  status: DomainStatus | null;
  right: number;
  /** Right and wrong, without skipped. */
  answered: number;
  /** Right, wrong and skipped. The estimate uses all of them. */
  items: number;
  /** Items of the bank behind `scorePct`. */
  poolItems: number;
  theta: number | null;
  se: number | null;
};

/** Scores each domain at `level` from its own answers and the overall estimate. */
export function scoreDomains(
  domains: readonly string[],
  level: Level,
  bank: readonly ScoredItem[],
  answers: readonly ScoredAnswer[],
  overall: EapEstimate,
): DomainResult[] {
  return domains.map((name) => {
    const own = answers.filter((answer) => answer.item.domain === name);
    const pool = bank.filter((item) => item.domain === name && item.level === level);
    const answered = own.filter((answer) => answer.skipped !== true).length;
    const counts = {
      name,
      right: own.filter((answer) => answer.right).length,
      answered,
      items: own.length,
      poolItems: pool.length,
    };
    if (answered < domainMinAnswers || pool.length === 0)
      return { ...counts, scorePct: null, status: null, theta: null, se: null };
    const prior = { mean: overall.theta, sd: domainPriorSd };
    const estimate = eap(
      own.map((answer) => answer.item),
      own.map((answer) => (answer.right ? 1 : 0)),
      prior,
    );
    const share = pool.reduce((sum, item) => sum + probability(item, estimate.theta), 0) / pool.length;
    const scorePct = Math.round(share * 100);
    return { ...counts, scorePct, status: domainStatus(scorePct), theta: estimate.theta, se: estimate.sd };
  });
}

/** The status follows from the published percentage, so that both agree. */
export function domainStatus(scorePct: number): DomainStatus {
  if (scorePct >= secureFromPct) return 'secure';
  return scorePct >= developingFromPct ? 'developing' : 'needs_support';
}
