import type { EapEstimate, Posterior } from './irt.ts';

/**
 * The error in logits that comes from difficulties judged by authors. It widens the reported errors, intervals, flags
 * and probabilities, but doesn't decide when a sitting ends, because further questions can't reduce it. The value is
 * the lowest with 93 % coverage at every cut in simulations (docs/decisions/0016).
 */
export const calibrationSd = 0.16;

/** Sittings before this time, in microseconds since 1970, used items that were not calibrated on learners' answers. */
export const calibratedFromUs = Infinity;

export function widened({ theta, sd }: EapEstimate): EapEstimate {
  return { theta, sd: Math.hypot(sd, calibrationSd) };
}

/** The kernel ends at 5 standard deviations, where its height is e^−12.5. The posterior's own tails are higher. */
const reach = 5;

/** Returns the posterior convolved with the normal distribution of the calibration error. */
export function widenedPosterior({ theta, logWeights }: Posterior): Posterior {
  const step = theta[1]! - theta[0]!;
  const max = Math.ceil((reach * calibrationSd) / step);
  const kernel = Float64Array.from({ length: 2 * max + 1 }, (_, k) =>
    Math.exp(-0.5 * (((k - max) * step) / calibrationSd) ** 2),
  );
  const top = logWeights.reduce((highest, log) => Math.max(highest, log), -Infinity);
  const density = new Float64Array(theta.length);
  for (let k = 0; k < theta.length; k++) {
    const weight = Math.exp(logWeights[k]! - top);
    // Weights this small don't change the sums. In a narrow posterior, most nodes have such weights.
    if (weight < 1e-30) continue;
    for (let by = -max; by <= max; by++) {
      const at = k + by;
      if (at >= 0 && at < density.length) density[at]! += weight * kernel[by + max]!;
    }
  }
  return { theta, logWeights: density.map(Math.log) };
}
