import { probability } from '../../../src/engine/scoring/irt.ts';
import type { ItemParameters } from '../../../src/engine/scoring/irt.ts';
import { nodes } from './model.ts';

/** Brings new estimates to the bank's scale and finds items that have drifted. */

/** θ of the bank = slope · θ of the new estimates + shift. */
export type Link = { slope: number; shift: number };

export const linked = ({ a, b, c }: ItemParameters, { slope, shift }: Link): ItemParameters => ({
  a: a / slope,
  b: slope * b + shift,
  c,
});

type Pairs = readonly { bank: ItemParameters; found: ItemParameters }[];

const meanOf = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
const sdOf = (values: readonly number[]) => {
  const mean = meanOf(values);
  return Math.sqrt(meanOf(values.map((one) => (one - mean) ** 2)));
};

/** The mean/sigma method (Marco 1977). */
export function meanSigma(anchors: Pairs): Link {
  const [bank, found] = [anchors.map((one) => one.bank.b), anchors.map((one) => one.found.b)];
  const slope = sdOf(found) > 0 && sdOf(bank) > 0 ? sdOf(bank) / sdOf(found) : 1;
  return { slope, shift: meanOf(bank) - slope * meanOf(found) };
}

/**
 * The link that brings the test characteristic curves of the anchors together (Stocking & Lord 1983, Applied
 * Psychological Measurement 7(2)), over abilities N(0, 1), by Gauss–Newton from the mean/sigma link.
 */
export function stockingLord(anchors: Pairs): Link {
  const step = 1e-5;
  let link = meanSigma(anchors);
  const gaps = (at: Link) => {
    const items = anchors.map(({ found }) => linked(found, at));
    return Array.from(nodes, (theta) => {
      const weight = Math.exp((-theta * theta) / 4);
      return (
        weight *
        items.reduce((sum, item, i) => sum + probability(item, theta) - probability(anchors[i]!.bank, theta), 0)
      );
    });
  };
  for (let round = 0; round < 50; round++) {
    const now = gaps(link);
    const bySlope = gaps({ ...link, slope: link.slope + step }).map((gap, k) => (gap - now[k]!) / step);
    const byShift = gaps({ ...link, shift: link.shift + step }).map((gap, k) => (gap - now[k]!) / step);
    const dot = (x: readonly number[], y: readonly number[]) => x.reduce((sum, one, k) => sum + one * y[k]!, 0);
    const [aa, ab, bb] = [dot(bySlope, bySlope), dot(bySlope, byShift), dot(byShift, byShift)];
    const [ga, gb] = [dot(bySlope, now), dot(byShift, now)];
    const determinant = aa * bb - ab * ab;
    if (!(determinant > 0)) return link;
    const move = { slope: (ab * gb - bb * ga) / determinant, shift: (ab * ga - aa * gb) / determinant };
    link = { slope: Math.max(0.2, link.slope + move.slope), shift: link.shift + move.shift };
    if (Math.abs(move.slope) + Math.abs(move.shift) < 1e-10) break;
  }
  return link;
}

function quantile(ordered: readonly number[], share: number): number {
  const at = share * (ordered.length - 1);
  const low = Math.floor(at);
  return ordered[low]! + (at - low) * (ordered[Math.min(low + 1, ordered.length - 1)]! - ordered[low]!);
}

/**
 * The robust z of each difference: its distance from the median in units of 0.74 interquartile ranges (Huynh & Meyer
 * 2010, Practical Assessment, Research & Evaluation 15(2)).
 * @param among the differences that give median and range
 */
export function robustZ(differences: readonly number[], among = differences): number[] {
  const ordered = among.toSorted((x, y) => x - y);
  const spread = 0.74 * (quantile(ordered, 0.75) - quantile(ordered, 0.25));
  const median = quantile(ordered, 0.5);
  return differences.map((one) => (spread > 0 ? (one - median) / spread : 0));
}
