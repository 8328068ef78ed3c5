import type { Random } from '../../platform/crypto/random.ts';
import type { RenderedItem } from './schema.ts';

/**
 * A seeded maths item. `make` is pure: the same randomness gives the same item. Parameters are constrained so that
 * every seed gives one right key, distinct options and a worked solution in `rationale`; distractors are computed from
 * named errors and explained in `distractor_rationales`.
 */
export type Template = {
  id: string;
  make(random: Random): RenderedItem;
};
