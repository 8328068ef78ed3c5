import type { Level } from '../../src/engine/scoring/levels.ts';

/** The target range of b for each level, on the logistic metric (D = 1). Ranges of neighbouring levels overlap. */
export const targetB: Record<Level, readonly [min: number, max: number]> = {
  entry: [-2.4, -0.6],
  entry1: [-3.0, -1.6],
  entry2: [-2.4, -1.0],
  entry3: [-1.7, -0.3],
  level1: [-0.8, 0.6],
  level2: [0.2, 1.6],
  level3: [1.1, 2.8],
};
