import { eap, type EapEstimate, probability } from './irt.ts';
import { type Compared, type Comparison, compareDomains, domainSd } from './compare-domains.ts';
import type { Cut, ScoredItem } from './cuts.ts';
import type { Level } from './levels.ts';
import type { ScoredAnswer } from './rules.ts';

/** A domain with fewer answers has no score. Skipped items don't count as answers. */
export const domainMinAnswers = 3;
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
  /** The expected percentage at the level above the result's level; null if there is no score or no such level. */
  nextPct: number | null;
  /** How the domain compares with the learner's others; null if it can't be compared. */
  compared: Compared | null;
  /** The difference from the mean of the others with its standard error, in levels: mean distances between cuts. */
  difference: number | null;
  differenceSe: number | null;
};

/** @param next the level above `level` */
export function scoreDomains(
  domains: readonly string[],
  { level, next, cuts }: { level: Level; next: Level | null; cuts: readonly Cut[] },
  bank: readonly ScoredItem[],
  answers: readonly ScoredAnswer[],
  overall: EapEstimate,
): DomainResult[] {
  const comparisons = compareDomains(domains, answers);
  const levelStep = (cuts.at(-1)!.theta - cuts[0]!.theta) / (cuts.length - 1);
  return domains.map((name, d) => {
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
      return { ...counts, scorePct: null, status: null, theta: null, se: null, nextPct: null, ...notCompared };
    const prior = { mean: overall.theta, sd: domainSd };
    const estimate = eap(
      own.map((answer) => answer.item),
      own.map((answer) => (answer.right ? 1 : 0)),
      prior,
    );
    const scorePct = expectedPct(pool, estimate.theta)!;
    const above = bank.filter((item) => item.domain === name && item.level === next);
    return {
      ...counts,
      scorePct,
      status: domainStatus(scorePct),
      theta: estimate.theta,
      se: estimate.sd,
      nextPct: expectedPct(above, estimate.theta),
      ...inLevels(comparisons[d]!, levelStep),
    };
  });
}

function expectedPct(items: readonly ScoredItem[], theta: number): number | null {
  if (items.length === 0) return null;
  return Math.round((100 * items.reduce((sum, item) => sum + probability(item, theta), 0)) / items.length);
}

type Shown = Pick<DomainResult, 'compared' | 'difference' | 'differenceSe'>;
const notCompared: Shown = { compared: null, difference: null, differenceSe: null };

function inLevels({ compared, difference, se }: Comparison, levelStep: number): Shown {
  if (compared === null) return notCompared;
  const rounded = (logits: number) => Math.round((100 * logits) / levelStep) / 100 + 0;
  return { compared, difference: rounded(difference), differenceSe: rounded(se) };
}

/** Derives the status from the rounded percentage, so that the published status and percentage agree. */
export function domainStatus(scorePct: number): DomainStatus {
  if (scorePct >= secureFromPct) return 'secure';
  return scorePct >= developingFromPct ? 'developing' : 'needs_support';
}
