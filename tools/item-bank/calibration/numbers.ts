/**
 * Tail probabilities and linear algebra for calibration.
 *
 * Sources: Press et al., Numerical Recipes (3rd ed.), 6.1 and 6.2 (gamma functions), 2.9 (Cholesky).
 */

const lanczos = [
  676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
  -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
];

/** log Γ(x) for x ≥ 0.5 (Lanczos 1964). */
function logGamma(x: number): number {
  const t = x + 6.5;
  const sum = lanczos.reduce((total, term, k) => total + term / (x + k), 0.9999999999998099);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/** The probability that a χ² variable with `df` degrees of freedom exceeds `value`. */
export function chiSquareTail(value: number, df: number): number {
  const [a, x] = [df / 2, value / 2];
  if (!(x > 0)) return 1;
  const front = Math.exp(a * Math.log(x) - x - logGamma(a));
  if (x < a + 1) {
    let term = 1 / a;
    let sum = term;
    for (let n = 1; n < 1000 && term > sum * 1e-16; n++) sum += term *= x / (a + n);
    return 1 - front * sum;
  }
  // Lentz's continued fraction.
  let b = x + 1 - a;
  let c = 1e300;
  let d = 1 / b;
  let h = d;
  for (let n = 1; n < 1000; n++) {
    const an = -n * (n - a);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return front * h;
}

/** A symmetric matrix, row by row. */
export type Square = { size: number; values: Float64Array };

export const square = (size: number): Square => ({ size, values: new Float64Array(size * size) });

/** The lower triangle L of L·Lᵀ, in place. False if the matrix isn't positive definite. */
function factorise({ size: n, values: m }: Square): boolean {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = m[i * n + j]!;
      for (let k = 0; k < j; k++) sum -= m[i * n + k]! * m[j * n + k]!;
      if (i > j) m[i * n + j] = sum / m[j * n + j]!;
      else if (!(sum > 0)) return false;
      else m[i * n + i] = Math.sqrt(sum);
    }
  }
  return true;
}

/** Solves m·x = y for a positive definite m. Null if m isn't. */
export function solve({ size: n, values }: Square, y: ArrayLike<number>): Float64Array | null {
  const m = { size: n, values: values.slice() };
  if (!factorise(m)) return null;
  const x = Float64Array.from(y);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i]! -= m.values[i * n + k]! * x[k]!;
    x[i]! /= m.values[i * n + i]!;
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i]! -= m.values[k * n + i]! * x[k]!;
    x[i]! /= m.values[i * n + i]!;
  }
  return x;
}

/** The diagonal of the inverse of a positive definite matrix, which is overwritten. Null if it isn't. */
export function inverseDiagonal(matrix: Square): Float64Array | null {
  if (!factorise(matrix)) return null;
  const { size: n, values: m } = matrix;
  const diagonal = new Float64Array(n);
  const column = new Float64Array(n);
  // (L·Lᵀ)⁻¹ = L⁻ᵀ·L⁻¹, so each diagonal element is the squared length of a column of L⁻¹.
  for (let j = 0; j < n; j++) {
    for (let i = j; i < n; i++) {
      let sum = i === j ? 1 : 0;
      for (let k = j; k < i; k++) sum -= m[i * n + k]! * column[k]!;
      column[i] = sum / m[i * n + i]!;
      diagonal[j]! += column[i]! ** 2;
    }
  }
  return diagonal;
}
