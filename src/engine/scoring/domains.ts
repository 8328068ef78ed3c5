import { eap, type EapEstimate, probability } from './irt.ts';
import type { ScoredItem } from './cuts.ts';
import type { Level } from './levels.ts';
import type { ScoredAnswer } from './rules.ts';

/** A domain with fewer answers has no score. Skipped items don't count as answers. */
export const domainMinAnswers = 3;
/** The prior of each domain's ability is centred on the overall ability and has this standard deviation. */
export const domainPriorSd = 0.5;
export const secureFromPct = 65;
export const developingFromPct = 40;

export type DomainStatus = 'secure' | 'developing' | 'needs_support';

/**
 * `scorePct`: the percentage of the domain's items at the result's level that the learner is expected to answer right;
 * null with too few answers. The raw percentage would be 50–60 for all learners, because delivery adapts.
 */
export type DomainResult = {
  name: string;
  scorePct: number | null;
  status: DomainStatus | null;
  right: number;
  /** The number of right and wrong answers, without skipped items. */
  answered: number;
  /** The number of right, wrong and skipped items. The ability estimate uses all of them. */
  items: number;
  /** The number of bank items from which `scorePct` is computed. */
  poolItems: number;
  theta: number | null;
  se: number | null;
};

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

/** Derives the status from the rounded percentage, so that the published status and percentage agree. */
export function domainStatus(scorePct: number): DomainStatus {
  if (scorePct >= secureFromPct) return 'secure';
  return scorePct >= developingFromPct ? 'developing' : 'needs_support';
}
