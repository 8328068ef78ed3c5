import { chiSquareTail, inverseDiagonal, solve, square } from './numbers.ts';

/**
 * Differential item functioning (DIF): whether an item is harder for one group than for another of the same ability.
 * Learners are matched on the estimate from all their answers, because adaptive sittings have no common total score
 * (Zwick, Thayer & Wingersky 1994, Applied Psychological Measurement 18(2)).
 */

/** The answers of the two groups to one item. */
export type Matched = { ability: number; right: boolean; isFocal: boolean };

export type MantelHaenszel = {
  /** The ETS delta: −2.35 · log odds ratio. Below 0 if the item is harder for the focal group. */
  delta: number;
  se: number;
  p: number;
  /** The ETS classes (Zieky 1993): A is negligible, B moderate, C large. */
  size: 'A' | 'B' | 'C';
};

const strata = 10;
const moderate = 1;
const large = 1.5;

/** Mantel & Haenszel (1959), with the variance of Robins, Breslow & Greenland (1986). Null if a table is one-sided. */
export function mantelHaenszel(matched: readonly Matched[]): MantelHaenszel | null {
  const ordered = matched.toSorted((x, y) => x.ability - y.ability);
  let [r, s, pr, ps, qs, gap, variance] = [0, 0, 0, 0, 0, 0, 0];
  for (let k = 0; k < strata; k++) {
    const own = ordered.slice(
      Math.round((k * ordered.length) / strata),
      Math.round(((k + 1) * ordered.length) / strata),
    );
    const count = (isFocal: boolean, right: boolean) =>
      own.reduce((sum, one) => sum + Number(one.isFocal === isFocal && one.right === right), 0);
    const [a, b, c, d] = [count(false, true), count(false, false), count(true, true), count(true, false)];
    const n = a + b + c + d;
    if (n < 2 || a + b === 0 || c + d === 0) continue;
    const [rk, sk] = [(a * d) / n, (b * c) / n];
    r += rk;
    s += sk;
    pr += (rk * (a + d)) / n;
    ps += (sk * (a + d) + rk * (b + c)) / n;
    qs += (sk * (b + c)) / n;
    gap += a - ((a + b) * (a + c)) / n;
    variance += ((a + b) * (c + d) * (a + c) * (b + d)) / (n * n * (n - 1));
  }
  if (r === 0 || s === 0) return null;
  const delta = -2.35 * Math.log(r / s);
  const se = 2.35 * Math.sqrt(pr / (2 * r * r) + ps / (2 * r * s) + qs / (2 * s * s));
  const p = chiSquareTail(Math.max(0, Math.abs(gap) - 0.5) ** 2 / variance, 1);
  const isLarge = Math.abs(delta) >= large && (Math.abs(delta) - moderate) / se > 1.645;
  return { delta, se, p, size: p >= 0.05 || Math.abs(delta) < moderate ? 'A' : isLarge ? 'C' : 'B' };
}

export type LogisticDif = {
  /** The difference of the groups' log odds at one ability, in logits. Below 0 if harder for the focal group. */
  shift: number;
  se: number;
  /** The difficulty differs equally at all abilities; and the discrimination differs. */
  uniformP: number;
  nonUniformP: number;
  /** What both differences add to Nagelkerke's R². */
  rSquared: number;
};

type Regression = { logLikelihood: number; coefficients: Float64Array; variances: Float64Array };

/** Logistic regression by Newton's method. Null if it doesn't converge, as with a column that separates the answers. */
function regress(rows: readonly number[][], rights: readonly boolean[]): Regression | null {
  const size = rows[0]!.length;
  let coefficients = new Float64Array(size);
  for (let step = 0; step < 30; step++) {
    const matrix = square(size);
    const gradient = new Float64Array(size);
    let logLikelihood = 0;
    rows.forEach((row, n) => {
      const eta = row.reduce((sum, value, k) => sum + value * coefficients[k]!, 0);
      const p = 1 / (1 + Math.exp(-eta));
      logLikelihood += Math.log(rights[n] ? p : 1 - p);
      for (let x = 0; x < size; x++) {
        gradient[x]! += ((rights[n] ? 1 : 0) - p) * row[x]!;
        for (let y = 0; y < size; y++) matrix.values[x * size + y]! += p * (1 - p) * row[x]! * row[y]!;
      }
    });
    const move = Number.isFinite(logLikelihood) ? solve(matrix, gradient) : null;
    if (move === null) return null;
    if (move.every((one) => Math.abs(one) < 1e-8)) {
      const variances = inverseDiagonal(matrix);
      return variances && { logLikelihood, coefficients, variances };
    }
    coefficients = coefficients.map((one, k) => one + move[k]!);
  }
  return null;
}

/** Swaminathan & Rogers (1990, Journal of Educational Measurement 27(4)). */
export function logisticDif(matched: readonly Matched[]): LogisticDif | null {
  const rights = matched.map(({ right }) => right);
  const fits = [1, 2, 3, 4].map((size) =>
    regress(
      matched.map(({ ability, isFocal }) => [1, ability, Number(isFocal), isFocal ? ability : 0].slice(0, size)),
      rights,
    ),
  );
  if (fits.includes(null)) return null;
  const [empty, plain, uniform, full] = fits as [Regression, Regression, Regression, Regression];
  const n = matched.length;
  const rSquared = (fit: Regression) =>
    (1 - Math.exp((2 * (empty.logLikelihood - fit.logLikelihood)) / n)) / (1 - Math.exp((2 * empty.logLikelihood) / n));
  return {
    shift: uniform.coefficients[2]!,
    se: Math.sqrt(uniform.variances[2]!),
    uniformP: chiSquareTail(2 * (uniform.logLikelihood - plain.logLikelihood), 1),
    nonUniformP: chiSquareTail(2 * (full.logLikelihood - uniform.logLikelihood), 1),
    rSquared: rSquared(full) - rSquared(plain),
  };
}
