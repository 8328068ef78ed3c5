import type { EapEstimate, Posterior } from './irt.ts';

/**
 * The error that difficulties judged by authors add to a result, in logits. It widens reported standard errors,
 * intervals, flags and probabilities. The end of a sitting depends on the model's own error, which further questions
 * can lower. Found by simulation as the least value with 93 % coverage at every cut (docs/decisions/0016).
 */
export const calibrationSd = 0.16;

/** The estimate with the reported error. */
export function widened({ theta, sd }: EapEstimate): EapEstimate {
  return { theta, sd: Math.hypot(sd, calibrationSd) };
}

/** At 5 standard deviations the kernel is e^−12.5 of its height, below the posterior's own tails. */
const reach = 5;

/** The posterior convolved with the error of calibration. */
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
    // Most nodes of a narrow posterior are below the resolution of the sums.
    if (weight < 1e-30) continue;
    for (let by = -max; by <= max; by++) {
      const at = k + by;
      if (at >= 0 && at < density.length) density[at]! += weight * kernel[by + max]!;
    }
  }
  return { theta, logWeights: density.map(Math.log) };
}
