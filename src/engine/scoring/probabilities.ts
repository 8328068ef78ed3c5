import type { Cut } from './cuts.ts';
import type { Posterior } from './irt.ts';
import { type Placement, publishedLevels, type Subject } from './levels.ts';

/** Published probabilities are whole thousandths. */
const partsOfOne = 1000;

/**
 * Splits `total` into whole numbers in proportion to `shares`. Units that are left after rounding down go to the
 * largest remainders (Hare's method).
 */
export function wholeShares(shares: readonly number[], total: number): number[] {
  const whole = shares.map((share) => Math.floor(share * total));
  const left = total - whole.reduce((sum, n) => sum + n, 0);
  const byRemainder = shares.map((share, i) => ({ i, remainder: share * total - whole[i]! }));
  byRemainder.sort((x, y) => y.remainder - x.remainder || x.i - y.i);
  for (const { i } of byRemainder.slice(0, left)) whole[i]!++;
  return whole;
}

/**
 * The probability of each level given the answers: the posterior's mass between the level's cut and the next. Keys are
 * the names in `working_level`, lowest first, with "Working towards Entry Level". Values are thousandths that add up to
 * exactly 1.
 */
export function levelProbabilities(
  subject: Subject,
  cuts: readonly Cut[],
  posterior: Posterior,
): Record<string, number> {
  const placements: Placement[] = ['below_entry', ...cuts.map((cut) => cut.level)];
  const below = [0, ...massesBelow(posterior, cuts), 1];
  const parts = wholeShares(
    placements.map((_, i) => below[i + 1]! - below[i]!),
    partsOfOne,
  );
  return Object.fromEntries(
    placements.map((placement, i) => [publishedLevels(subject, placement).working_level, parts[i]! / partsOfOne]),
  );
}

/** A level is plausible from this probability on, and clear from the next. */
const plausible = 0.3;
const clear = 0.7;

/**
 * Whether a result is close to the line between two levels: no level is clear, and two are plausible. In the middle of
 * a narrow level, the likeliest level may not be clear, but no line is near.
 */
export function isClose(probabilities: readonly number[]): boolean {
  return probabilities.filter((one) => one >= plausible && one < clear).length >= 2;
}

/** Returns the posterior's mass below each cut. The cuts must rise, so the masses rise, too. */
export function massesBelow({ theta, logWeights }: Posterior, cuts: readonly Cut[]): number[] {
  const top = logWeights.reduce((max, log) => Math.max(max, log), -Infinity);
  const density = logWeights.map((log) => Math.exp(log - top));
  const total = density.reduce((sum, weight) => sum + weight, 0);
  let floor = 0;
  return cuts.map((cut) => {
    const mass = integralTo(density, (cut.theta - theta[0]!) / (theta[1]! - theta[0]!)) / total;
    // Far from the mode, the cubic may be slightly below 0, so each mass is at least the previous mass.
    floor = Math.min(1, Math.max(floor, mass));
    return floor;
  });
}

/**
 * The integral of a density, given at equally spaced nodes, from the first node to `x`. `x` and the result are in units
 * of the node spacing. Counting the nodes below a cut would err by up to 0.06. The cubic through four neighbouring
 * nodes errs by less than 0.0001.
 */
function integralTo(density: Float64Array, x: number): number {
  const at = (k: number) => density[k] ?? 0;
  let sum = 0;
  for (let k = 0; k < Math.min(x, density.length - 1); k++) {
    const t = Math.min(1, x - k);
    const [t2, t3, t4] = [t ** 2, t ** 3, t ** 4];
    sum +=
      at(k - 1) * (-t4 / 24 + t3 / 6 - t2 / 6) +
      at(k) * (t4 / 8 - t3 / 3 - t2 / 4 + t) +
      at(k + 1) * (-t4 / 8 + t3 / 6 + t2 / 2) +
      at(k + 2) * (t4 / 24 - t2 / 12);
  }
  return sum;
}
