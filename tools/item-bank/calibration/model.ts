import type { ItemParameters } from '../../../src/engine/scoring/irt.ts';

/**
 * The item parameters on the scale on which they are estimated: log a, b, logit c. Derivatives are by these three.
 */

export type CalibrationItem = ItemParameters & {
  level: string;
  domain: string;
  type: string;
  /** Held at the bank's parameters, as an anchor of the scale. */
  isAnchor: boolean;
};

export type Coordinates = [logA: number, b: number, logitC: number];

export const coordinatesOf = ({ a, b, c }: ItemParameters): Coordinates => [Math.log(a), b, Math.log(c / (1 - c))];

export const parametersOf = ([logA, b, logitC]: Coordinates): ItemParameters => ({
  a: Math.exp(logA),
  b,
  c: 1 / (1 + Math.exp(-logitC)),
});

/** Equally spaced abilities. The posterior of a sitting is several steps wide, so more nodes change nothing. */
export const nodes = Float64Array.from({ length: 61 }, (_, k) => -6 + 0.2 * k);

/** The pairs of coordinates in the order in which second derivatives are stored. */
export const pairs = [
  [0, 0],
  [1, 0],
  [1, 1],
  [2, 0],
  [2, 1],
  [2, 2],
] as const;

/** At one ability: P, and its first and second derivatives. */
export type Slopes = { p: number; first: [number, number, number]; second: number[] };

export function slopesAt({ a, b, c }: ItemParameters, theta: number): Slopes {
  const l = 1 / (1 + Math.exp(-a * (theta - b)));
  const steep = l * (1 - l);
  const bend = steep * (1 - 2 * l);
  const eta = a * (theta - b);
  const ofC = c * (1 - c);
  const up = 1 - c;
  return {
    p: Math.min(Math.max(c + up * l, 1e-12), 1 - 1e-12),
    first: [up * steep * eta, -up * steep * a, ofC * (1 - l)],
    second: [
      up * (bend * eta * eta + steep * eta),
      -up * a * (bend * eta + steep),
      up * bend * a * a,
      -ofC * steep * eta,
      ofC * steep * a,
      ofC * (1 - 2 * c) * (1 - l),
    ],
  };
}
