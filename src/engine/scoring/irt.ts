/**
 * Item response theory: the three-parameter logistic model, its information and its ability estimators.
 * Logistic metric with D = 1. `c = 0` is the two-parameter model; `a = 1, c = 0` is the Rasch model.
 *
 * Sources
 * - Birnbaum (1968), in Lord & Novick, Statistical Theories of Mental Test Scores: the model, its information, maximum
 * likelihood.
 * - Bock & Mislevy (1982), Applied Psychological Measurement 6(4): expected a posteriori (EAP) estimation.
 * - Samejima (1969), Psychometrika Monograph 17: the posterior mode (MAP).
 * - Warm (1989), Psychometrika 54(3): weighted likelihood (WLE).
 */

/** Discrimination `a` > 0, difficulty `b` in logits, lower asymptote `c` in [0, 1). */
export type ItemParameters = { a: number; b: number; c: number };

/** 1: right. 0: wrong. Null: not administered, so all sums leave the item out. */
export type Response = 0 | 1 | null;

export type Prior = { mean: number; sd: number };

export const standardPrior: Prior = { mean: 0, sd: 1 };
export const eapNodes = 201;
export const eapSpanSd = 8;
/** The 0.975 quantile of the standard normal distribution. */
export const z95 = 1.959964;

/** A distribution of ability at equally spaced rising nodes. `logWeights`: log densities plus one unknown constant. */
export type Posterior = { theta: Float64Array; logWeights: Float64Array };

/** Posterior mean and posterior standard deviation. */
export type EapEstimate = { theta: number; sd: number };
/** Posterior mode and 1/√(I + 1/sd²), with the expected information I at the mode. */
export type MapEstimate = { theta: number; se: number };

/**
 * `interior`: there is one finite maximum, inside [−6, 6]. `plus_infinity`: all answers are right. `minus_infinity`:
 * all answers are wrong. `excluded`: the maximum lies outside [−6, 6], or there are several (possible with c > 0).
 */
export type MleEstimate =
  | { status: 'interior'; theta: number; se: number }
  | { status: 'plus_infinity' | 'minus_infinity' | 'excluded' | 'no_answers'; theta: null; se: null };

/** `excluded`: the estimating equation has several roots, or none inside [−10, 10]. `se` is 1/√I. */
export type WleEstimate =
  { status: 'ok'; theta: number; se: number } | { status: 'excluded' | 'no_answers'; theta: null; se: null };

const mleBound = 6;
const wleBound = 10;
const scanStep = 0.05;

/** `l`: the logistic function of z. `m`: 1 − l. Separate formulas keep the full precision of both near 0. */
function logistic(z: number): { l: number; m: number } {
  if (z >= 0) {
    const e = Math.exp(-z);
    return { l: 1 / (1 + e), m: e / (1 + e) };
  }
  const e = Math.exp(z);
  return { l: e / (1 + e), m: 1 / (1 + e) };
}

/** log(1 + eˣ) without overflow and without loss for small x. */
function softplus(x: number): number {
  return x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x));
}

/** P(θ) = c + (1 − c) / (1 + e^(−a(θ − b))) (Birnbaum 1968). */
export function probability(item: ItemParameters, theta: number): number {
  return item.c + (1 - item.c) * logistic(item.a * (theta - item.b)).l;
}

/** log P(θ) and log(1 − P(θ)), both finite for every finite θ. At extreme θ, direct formulas give −∞ or NaN. */
export function logProbabilities(item: ItemParameters, theta: number): { right: number; wrong: number } {
  const z = item.a * (theta - item.b);
  const right = item.c === 0 ? -softplus(-z) : Math.log(item.c + (1 - item.c) * logistic(z).l);
  return { right, wrong: Math.log1p(-item.c) - softplus(z) };
}

/** Fisher information of one item: a² · (Q/P) · ((P − c)/(1 − c))² (Birnbaum 1968). */
export function information(item: ItemParameters, theta: number): number {
  const { l, m } = logistic(item.a * (theta - item.b));
  const { c } = item;
  // If c = 0, the factor l/P is exactly 1. A division would fail if both underflow to 0.
  const ratio = c === 0 ? 1 : ((1 - c) * l) / (c + (1 - c) * l);
  return item.a * item.a * ratio * l * m;
}

export function testInformation(
  items: readonly ItemParameters[],
  responses: readonly Response[],
  theta: number,
): number {
  let sum = 0;
  for (let i = 0; i < items.length; i++) if (isAnswered(responses[i])) sum += information(items[i]!, theta);
  return sum;
}

export function logLikelihood(items: readonly ItemParameters[], responses: readonly Response[], theta: number): number {
  let sum = 0;
  for (let i = 0; i < items.length; i++) {
    const response = responses[i];
    if (!isAnswered(response)) continue;
    const logs = logProbabilities(items[i]!, theta);
    sum += response === 1 ? logs.right : logs.wrong;
  }
  return sum;
}

export function confidenceInterval(eap: EapEstimate): { low: number; high: number } {
  return { low: eap.theta - z95 * eap.sd, high: eap.theta + z95 * eap.sd };
}

/**
 * Posterior mean and standard deviation from equally spaced nodes within 8 prior standard deviations of the prior mean
 * (Bock & Mislevy 1982). A grid of 33 nodes within 4 standard deviations errs by up to 0.14 in θ.
 */
export function eap(
  items: readonly ItemParameters[],
  responses: readonly Response[],
  prior: Prior = standardPrior,
  nodes: number = eapNodes,
): EapEstimate {
  const { theta, logWeights } = posteriorOf(items, responses, prior, nodes);
  return momentsOf(theta, logWeights);
}

export function posteriorOf(
  items: readonly ItemParameters[],
  responses: readonly Response[],
  prior: Prior = standardPrior,
  nodes: number = eapNodes,
): Posterior {
  const theta = quadratureNodes(prior, nodes);
  const logWeights = logPriorAt(prior, theta);
  for (let k = 0; k < nodes; k++) logWeights[k]! += logLikelihood(items, responses, theta[k]!);
  return { theta, logWeights };
}

/** `count` equally spaced abilities within 8 prior standard deviations of the prior mean. */
export function quadratureNodes(prior: Prior, count: number = eapNodes): Float64Array {
  const low = prior.mean - eapSpanSd * prior.sd;
  const step = (2 * eapSpanSd * prior.sd) / (count - 1);
  return Float64Array.from({ length: count }, (_, k) => low + k * step);
}

/** The log of the prior's density at the nodes, without the normalising constant, which cancels in the posterior. */
export function logPriorAt(prior: Prior, theta: Float64Array): Float64Array {
  return theta.map((t) => -0.5 * ((t - prior.mean) / prior.sd) ** 2);
}

/** Mean and standard deviation of the distribution with these unnormalised log weights. */
export function momentsOf(theta: Float64Array, logWeights: Float64Array): EapEstimate {
  let top = -Infinity;
  for (let k = 0; k < theta.length; k++) if (logWeights[k]! > top) top = logWeights[k]!;
  // The moments are taken about the mode, because a narrow posterior far from 0 would otherwise lose precision.
  let mode = 0;
  for (let k = 0; k < theta.length; k++) if (logWeights[k]! === top) mode = theta[k]!;
  let sum = 0;
  let first = 0;
  let second = 0;
  for (let k = 0; k < theta.length; k++) {
    const log = logWeights[k]! - top;
    // Weights below e^−60 don't change the sums. In a narrow posterior, most nodes have such weights.
    if (log < -60) continue;
    const weight = Math.exp(log);
    const distance = theta[k]! - mode;
    sum += weight;
    first += weight * distance;
    second += weight * distance * distance;
  }
  const mean = first / sum;
  return { theta: mode + mean, sd: Math.sqrt(second / sum - mean * mean) };
}

/** Finds the posterior mode. If c > 0, the posterior may have several modes, and the highest is returned. */
export function map(
  items: readonly ItemParameters[],
  responses: readonly Response[],
  prior: Prior = standardPrior,
): MapEstimate {
  const gradient = (t: number) => scoreFunction(items, responses, t) - (t - prior.mean) / prior.sd ** 2;
  const height = (t: number) => logLikelihood(items, responses, t) - 0.5 * ((t - prior.mean) / prior.sd) ** 2;
  const [low, high] = modeRange(
    items.filter((_, i) => isAnswered(responses[i])),
    prior,
  );
  const modes = crossings(gradient, low, high).filter((c) => c.falling);
  let theta = modes[0]?.at ?? prior.mean;
  for (const mode of modes) if (height(mode.at) > height(theta)) theta = mode.at;
  return { theta, se: 1 / Math.sqrt(testInformation(items, responses, theta) + 1 / prior.sd ** 2) };
}

/**
 * An interval that contains all modes. The slopes of the items add up to at most Σa, so every mode is within
 * prior.sd²·Σa of the prior mean. An item's slope is 0 from 40/a logits away, which also bounds the interval under a
 * wide prior.
 */
function modeRange(answered: readonly ItemParameters[], prior: Prior): [number, number] {
  const reach = prior.sd ** 2 * answered.reduce((sum, item) => sum + item.a, 0);
  const lowest = answered.reduce((min, { a, b }) => Math.min(min, b - 40 / a), prior.mean);
  const highest = answered.reduce((max, { a, b }) => Math.max(max, b + 40 / a), prior.mean);
  return [Math.max(prior.mean - reach, lowest) - scanStep, Math.min(prior.mean + reach, highest) + scanStep];
}

/** Maximum likelihood (Birnbaum 1968). `status` says why there is no single finite maximum. */
export function mle(items: readonly ItemParameters[], responses: readonly Response[]): MleEstimate {
  const answered = responses.filter(isAnswered);
  const none = { theta: null, se: null };
  if (answered.length === 0) return { status: 'no_answers', ...none };
  if (answered.every((r) => r === 1)) return { status: 'plus_infinity', ...none };
  if (answered.every((r) => r === 0)) return { status: 'minus_infinity', ...none };
  const maxima = crossings((t) => scoreFunction(items, responses, t), -mleBound, mleBound).filter((c) => c.falling);
  const theta = maxima[0]?.at;
  if (theta === undefined || maxima.length > 1) return { status: 'excluded', ...none };
  return { status: 'interior', theta, se: 1 / Math.sqrt(testInformation(items, responses, theta)) };
}

/** Warm's weighted likelihood: the root of l′(θ) + J/(2I) = 0 with J = Σ P′P″/(PQ) (Warm 1989). */
export function wle(items: readonly ItemParameters[], responses: readonly Response[]): WleEstimate {
  if (!responses.some(isAnswered)) return { status: 'no_answers', theta: null, se: null };
  const equation = (t: number) => scoreFunction(items, responses, t) + warmCorrection(items, responses, t);
  const roots = crossings(equation, -wleBound, wleBound);
  const theta = roots[0]?.at;
  if (theta === undefined || roots.length > 1) return { status: 'excluded', theta: null, se: null };
  return { status: 'ok', theta, se: 1 / Math.sqrt(testInformation(items, responses, theta)) };
}

function isAnswered(response: Response | undefined): response is 0 | 1 {
  return response === 0 || response === 1;
}

/**
 * The slope l′(θ) of the log likelihood. A right answer adds P′/P = a(1 − c)·l·m/P, and a wrong answer subtracts P′/Q =
 * a·l.
 */
function scoreFunction(items: readonly ItemParameters[], responses: readonly Response[], theta: number): number {
  let sum = 0;
  for (let i = 0; i < items.length; i++) {
    const response = responses[i];
    if (!isAnswered(response)) continue;
    const { a, b, c } = items[i]!;
    const { l, m } = logistic(a * (theta - b));
    if (response === 0) sum -= a * l;
    else sum += c === 0 ? a * m : (a * (1 - c) * l * m) / (c + (1 - c) * l);
  }
  return sum;
}

function warmCorrection(items: readonly ItemParameters[], responses: readonly Response[], theta: number): number {
  let j = 0;
  let info = 0;
  for (let i = 0; i < items.length; i++) {
    if (!isAnswered(responses[i])) continue;
    const { a, b, c } = items[i]!;
    const { l, m } = logistic(a * (theta - b));
    const ratio = c === 0 ? 1 : ((1 - c) * l) / (c + (1 - c) * l);
    j += a * a * a * ratio * l * m * (m - l);
    info += a * a * ratio * l * m;
  }
  // If the information of every item underflows to 0, the correction is undefined, so 0 replaces it.
  return info > 0 ? j / (2 * info) : 0;
}

type Crossing = { at: number; falling: boolean };

/** Finds the points in [low, high] at which f changes its sign, with small steps and then bisection. */
function crossings(f: (t: number) => number, low: number, high: number): Crossing[] {
  const steps = Math.ceil((high - low) / scanStep);
  const found: Crossing[] = [];
  let left = low;
  let leftValue = f(low);
  for (let k = 1; k <= steps; k++) {
    const right = k === steps ? high : low + k * scanStep;
    const rightValue = f(right);
    if (leftValue > 0 !== rightValue > 0) {
      const falling = leftValue > 0;
      found.push({ at: bisect((t) => f(t) > 0 === falling, left, right), falling });
    }
    left = right;
    leftValue = rightValue;
  }
  return found;
}

/** Finds the point at which `holds` changes from true to false. `holds` must be true at `low` and false at `high`. */
export function bisect(holds: (t: number) => boolean, low: number, high: number): number {
  for (let k = 0; k < 100; k++) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) break;
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
