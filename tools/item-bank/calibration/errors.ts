import type { Answers } from './answers.ts';
import type { Estimate, Model } from './mml.ts';
import type { CalibrationItem } from './model.ts';
import { isFree, Posteriors } from './mml.ts';
import { nodes, pairs, slopesAt } from './model.ts';
import { inverseDiagonal, square } from './numbers.ts';
import type { Square } from './numbers.ts';
import type { Prior } from './priors.ts';
import { BankPrior } from './priors.ts';

/**
 * Standard errors from the observed information of all parameters together (Louis 1982, JRSS B 44(2)): for each
 * sitting, the expected information of its full data minus the covariance of its scores. The prior's precision is
 * added, so the errors are posterior standard deviations.
 */

export type StandardErrors = { a: number; b: number; c: number | null };

/** Scores and information of every estimated coordinate at every node, for a right and for a wrong answer. */
type Tables = { rows: Int32Array; counts: Int32Array; size: number; scores: Float64Array[]; bends: Float64Array[] };

function tablesOf(items: readonly CalibrationItem[], found: Estimate, model: Model): Tables {
  const size = nodes.length;
  const counts = Int32Array.from(items, (item, i) =>
    item.isAnchor || found.answers[i] === 0 ? 0 : isFree(model, item) ? 3 : 2,
  );
  const rows = new Int32Array(items.length);
  let total = 0;
  counts.forEach((count, i) => {
    rows[i] = total;
    total += count;
  });
  const scores = [0, 1].map(() => new Float64Array(total * size));
  const bends = [0, 1].map(() => new Float64Array(items.length * pairs.length * size));
  items.forEach((_, i) => {
    if (counts[i] === 0) return;
    nodes.forEach((theta, k) => {
      const { p, first, second } = slopesAt(found.items[i]!, theta);
      for (const right of [0, 1] as const) {
        const by = right === 1 ? 1 / p : -1 / (1 - p);
        for (let x = 0; x < counts[i]!; x++) scores[right]![(rows[i]! + x) * size + k] = by * first[x]!;
        pairs.forEach(([x, y], pair) => {
          bends[right]![(i * pairs.length + pair) * size + k] = by * by * first[x] * first[y] - by * second[pair]!;
        });
      }
    });
  });
  return { rows, counts, size: total, scores, bends };
}

/** Adds the observed information of one sitting. `scaled` is working space. */
function addSitting(
  matrix: Square,
  { rows, counts, scores, bends }: Tables,
  answers: Answers,
  sitting: number,
  { weights, from, to }: ReturnType<Posteriors['of']>,
  scaled: Float64Array,
): void {
  const size = nodes.length;
  const own: number[] = [];
  const width = to - from + 1;
  for (let n = answers.starts[sitting]!; n < answers.starts[sitting + 1]!; n++) {
    const i = answers.items[n]!;
    const right = answers.rights[n]!;
    pairs.forEach(([x, y], pair) => {
      if (x >= counts[i]!) return;
      const at = (i * pairs.length + pair) * size;
      let sum = 0;
      for (let k = from; k <= to; k++) sum += weights[k]! * bends[right]![at + k]!;
      matrix.values[(rows[i]! + x) * matrix.size + rows[i]! + y]! += sum;
    });
    for (let x = 0; x < counts[i]!; x++) {
      const at = (rows[i]! + x) * size;
      let mean = 0;
      for (let k = from; k <= to; k++) mean += weights[k]! * scores[right]![at + k]!;
      const into = own.length * width;
      for (let k = from; k <= to; k++)
        scaled[into + k - from] = Math.sqrt(weights[k]!) * (scores[right]![at + k]! - mean);
      own.push(rows[i]! + x);
    }
  }
  for (let p = 0; p < own.length; p++) {
    for (let q = 0; q <= p; q++) {
      let sum = 0;
      for (let k = 0; k < width; k++) sum += scaled[p * width + k]! * scaled[q * width + k]!;
      const [row, column] = own[p]! > own[q]! ? [own[p]!, own[q]!] : [own[q]!, own[p]!];
      matrix.values[row * matrix.size + column]! -= sum;
    }
  }
}

/**
 * Errors of all items; null for anchors and items without answers. Null for all if the answers don't determine the
 * parameters.
 */
export async function standardErrors(
  answers: Answers,
  items: readonly CalibrationItem[],
  found: Estimate,
  { model, prior, pause }: { model: Model; prior: Prior; pause?: () => Promise<void> },
): Promise<(StandardErrors | null)[]> {
  const tables = tablesOf(items, found, model);
  const shifts = prior instanceof BankPrior ? prior.names.length : 0;
  const matrix = square(tables.size + shifts);
  const posteriors = new Posteriors(found.items, found.group);
  let longest = 0;
  for (let s = 1; s < answers.starts.length; s++)
    longest = Math.max(longest, answers.starts[s]! - answers.starts[s - 1]!);
  const scaled = new Float64Array(3 * longest * nodes.length);
  for (let s = 0; s < answers.starts.length - 1; s++) {
    if (s % 1000 === 0) await pause?.();
    const posterior = posteriors.of(answers, answers.starts[s]!, answers.starts[s + 1]!);
    addSitting(matrix, tables, answers, s, posterior, scaled);
  }
  const rowOf = (i: number, x: number) => (x < tables.counts[i]! ? tables.rows[i]! + x : -1);
  items.forEach((_, i) => {
    for (let x = 0; x < tables.counts[i]!; x++)
      matrix.values[rowOf(i, x) * matrix.size + rowOf(i, x)]! += prior.precision(i)[x]!;
  });
  if (prior instanceof BankPrior) prior.addTo(matrix, tables.size, rowOf);
  const variances = inverseDiagonal(matrix);
  return items.map((_, i) => {
    if (variances === null || tables.counts[i] === 0) return null;
    const { a, c } = found.items[i]!;
    const sd = (x: number) => Math.sqrt(variances[rowOf(i, x)]!);
    return { a: a * sd(0), b: sd(1), c: tables.counts[i] === 3 ? c * (1 - c) * sd(2) : null };
  });
}
