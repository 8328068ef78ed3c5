import { eap, probability } from './irt.ts';
import type { EapEstimate } from './irt.ts';
import type { ScoredItem } from './cuts.ts';
import type { Level } from './levels.ts';
import type { ScoredAnswer } from './rules.ts';

/** Fewer answers than this say nothing about a domain: what was skipped is no answer. */
export const domainMinAnswers = 3;
/** Spread of domain abilities about the overall one: the prior of a domain's own estimate. */
export const domainPriorSd = 0.5;
export const secureFromPct = 65;
export const developingFromPct = 40;

export type DomainStatus = 'secure' | 'developing' | 'needs_support';

/**
 * One domain of a result. `scorePct` is the expected share right, in whole per cent, on the domain's whole pool at the
 * result's own level: the raw share would be 50–60 % for everybody, because delivery adapts. Null with too few answers.
 */
export type DomainResult = {
  name: string;
  scorePct: number | null;
  status: DomainStatus | null;
  right: number;
  /** Right and wrong. Results of before version 1.5.0 are stored without: their scored items were taken for answers. */
  answered: number;
  /** Scored items: right, wrong and skipped. The estimate is from all of them. */
  items: number;
  /** Bank items of the domain at that level, over which the share is expected. */
  poolItems: number;
  theta: number | null;
  se: number | null;
};

/** The domains in the order given, each judged at `level` from its own answers and the overall estimate. */
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

/** The status of a published percentage, so that figure and word never contradict each other. */
export function domainStatus(scorePct: number): DomainStatus {
  if (scorePct >= secureFromPct) return 'secure';
  return scorePct >= developingFromPct ? 'developing' : 'needs_support';
}
