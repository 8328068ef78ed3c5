import { logLikelihood, logPriorAt, quadratureNodes, standardPrior } from './irt.ts';
import type { ScoredAnswer } from './rules.ts';

/** The standard deviation of domain abilities around the overall ability, in logits. Assumed, until it is measured. */
export const domainSd = 0.5;
/** A difference is named from this many posterior standard deviations on: its sign is then right in 7 of 10 cases. */
export const namedFromSds = 0.52;
/**
 * If the data alone give a larger error, in logits, fewer than 60 % of domains that are at least 0.7 logits weaker would
 * be named, so the domain is not compared.
 */
export const maxDifferenceSe = 0.83;

export type Compared = 'weaker' | 'same' | 'stronger';
/** The difference of a domain from the mean of the others, in logits. `compared` is null if the error is too large. */
export type Comparison = { difference: number; se: number; compared: Compared | null };

/** Quadrature covers four standard deviations of a domain around the overall ability. */
const reachSds = 4;

/**
 * Compares each domain with the mean of the learner's other domains.
 *
 * The model: a domain's ability is N(overall ability, `domainSd`²), and the overall ability is N(0, 1). `difference` and
 * `se` are the mean and the standard deviation of the exact posterior. Given the overall ability, domains are
 * independent, so the law of total variance combines them.
 *
 * Sources: Efron & Morris (1975), JASA 70(350), and Wainer et al. (2001), Test Scoring, chapter 9, for shrinkage with a
 * known variance; Gelman, Hill & Yajima (2012), Journal of Research on Educational Effectiveness 5(2): shrinkage
 * controls multiple comparisons; Haberman (2008), Journal of Educational and Behavioral Statistics 33(2): a subscore
 * with too large an error says nothing.
 */
export function compareDomains(domains: readonly string[], answers: readonly ScoredAnswer[]): Comparison[] {
  const nodes = quadratureNodes(standardPrior);
  const own = domains.map((name) =>
    deviationsAt(
      answers.filter(({ item }) => item.domain === name),
      nodes,
    ),
  );
  const logWeights = logPriorAt(standardPrior, nodes).map(
    (log, k) => log + own.reduce((sum, one) => sum + one.log[k]!, 0),
  );
  const top = logWeights.reduce((max, log) => Math.max(max, log), -Infinity);
  const weights = logWeights.map((log) => Math.exp(log - top));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const meanOf = (at: (k: number) => number) => weights.reduce((sum, weight, k) => sum + weight * at(k), 0) / total;
  const others = domains.length - 1;
  const between = domainSd ** 2 * (1 + 1 / others);
  return own.map((one) => {
    const rest = own.filter((other) => other !== one);
    const gapAt = (k: number) => one.mean[k]! - rest.reduce((sum, other) => sum + other.mean[k]!, 0) / others;
    const varianceAt = (k: number) =>
      one.variance[k]! + rest.reduce((sum, other) => sum + other.variance[k]!, 0) / others ** 2;
    const difference = meanOf(gapAt);
    const variance = meanOf((k) => varianceAt(k) + (gapAt(k) - difference) ** 2);
    const se = Math.sqrt(variance);
    // The error without the prior: precisions add up.
    const isKnown = 1 / variance - 1 / between >= 1 / maxDifferenceSe ** 2;
    return { difference, se, compared: isKnown ? comparedBy(difference / se) : null };
  });
}

function comparedBy(sds: number): Compared {
  if (Math.abs(sds) < namedFromSds) return 'same';
  return sds < 0 ? 'weaker' : 'stronger';
}

/** At each overall ability: the log likelihood of a domain's answers, and its deviation's mean and variance. */
function deviationsAt(
  answers: readonly ScoredAnswer[],
  nodes: Float64Array,
): { log: Float64Array; mean: Float64Array; variance: Float64Array } {
  const items = answers.map(({ item }) => item);
  const scores = answers.map(({ right }) => (right ? 1 : 0));
  const logs = nodes.map((theta) => logLikelihood(items, scores, theta));
  const step = nodes[1]! - nodes[0]!;
  const reach = Math.ceil((reachSds * domainSd) / step);
  const last = nodes.length - 1;
  const [log, mean, variance] = [nodes.slice(), nodes.slice(), nodes.slice()];
  const at = new Float64Array(2 * reach + 1);
  for (let k = 0; k <= last; k++) {
    let top = -Infinity;
    for (let j = -reach; j <= reach; j++) {
      const one = logs[Math.min(last, Math.max(0, k + j))]! - 0.5 * ((j * step) / domainSd) ** 2;
      at[j + reach] = one;
      if (one > top) top = one;
    }
    let [sum, first, second] = [0, 0, 0];
    for (let j = -reach; j <= reach; j++) {
      const weight = Math.exp(at[j + reach]! - top);
      sum += weight;
      first += weight * j * step;
      second += weight * (j * step) ** 2;
    }
    log[k] = top + Math.log(sum);
    mean[k] = first / sum;
    variance[k] = second / sum - mean[k]! ** 2;
  }
  return { log, mean, variance };
}
