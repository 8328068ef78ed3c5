/**
 * The ladder of levels, from below Entry Level to Level 3.
 *
 * Two scales are used. A *rung* is the finest step that a subject has (Entry Level has three in English and maths,
 * one in digital). The *order* ignores Entry sub-levels: below Entry −1, Entry 0, Level 1 1, Level 2 2, Level 3 3.
 */

export type Subject = 'digital' | 'english' | 'maths';
export const SUBJECTS: readonly Subject[] = ['digital', 'english', 'maths'];

/** The level that an item is written for. Digital has `entry`; English and maths have `entry1` to `entry3`. */
export type Level = 'entry' | 'entry1' | 'entry2' | 'entry3' | 'level1' | 'level2' | 'level3';

/** A placement: a level met, or `below_entry` where not even the lowest is. */
export type Placement = 'below_entry' | Level;

/** −1 below Entry, 0 Entry, 1 to 3 Level 1 to 3. */
export type Order = -1 | 0 | 1 | 2 | 3;

/** The levels that have rules of their own in the result: the Level 1, 2 and 3 cuts. */
export type RuleLevel = 'level1' | 'level2' | 'level3';

const ENTRY_IN_THREE: readonly Level[] = ['entry1', 'entry2', 'entry3', 'level1', 'level2', 'level3'];
const ENTRY_IN_ONE: readonly Level[] = ['entry', 'level1', 'level2', 'level3'];

/** The subject's levels, lowest first. */
export function levelsOf(subject: Subject): readonly Level[] {
  return subject === 'digital' ? ENTRY_IN_ONE : ENTRY_IN_THREE;
}

const ORDERS: Record<Placement, Order> = {
  below_entry: -1,
  entry: 0,
  entry1: 0,
  entry2: 0,
  entry3: 0,
  level1: 1,
  level2: 2,
  level3: 3,
};

export function orderOf(placement: Placement): Order {
  return ORDERS[placement];
}

const NAMES: Record<Level, string> = {
  entry: 'Entry Level',
  entry1: 'Entry Level 1',
  entry2: 'Entry Level 2',
  entry3: 'Entry Level 3',
  level1: 'Level 1',
  level2: 'Level 2',
  level3: 'Level 3',
};

export function levelName(level: Level): string {
  return NAMES[level];
}

/** The funding fields of a result, as they are published. */
export type PublishedLevels = {
  rqf_level: 'Entry Level' | 'Level 1' | 'Level 2' | 'Level 3' | null;
  /** ILR PriorLevel number of that level: 1, 2, 3 or 5. It reports assessed skill, not qualifications held. */
  rqf_level_code: 1 | 2 | 3 | 5 | null;
  below_level_1: boolean;
  working_level: string;
  recommended_next_level: string | null;
};

const RQF: Record<Order, Pick<PublishedLevels, 'rqf_level' | 'rqf_level_code'>> = {
  [-1]: { rqf_level: null, rqf_level_code: null },
  0: { rqf_level: 'Entry Level', rqf_level_code: 1 },
  1: { rqf_level: 'Level 1', rqf_level_code: 2 },
  2: { rqf_level: 'Level 2', rqf_level_code: 3 },
  3: { rqf_level: 'Level 3', rqf_level_code: 5 },
};

/** What a placement is called in the published result. The subject decides whether Entry has sub-levels. */
export function publishedLevels(subject: Subject, placement: Placement): PublishedLevels {
  const levels = levelsOf(subject);
  const met = placement === 'below_entry' ? -1 : levels.indexOf(placement);
  if (placement !== 'below_entry' && met < 0) throw new RangeError(`${subject} has no level ${placement}.`);
  const next = levels[met + 1];
  return {
    ...RQF[orderOf(placement)],
    below_level_1: orderOf(placement) < 1,
    working_level: placement === 'below_entry' ? 'Working towards Entry Level' : levelName(placement),
    recommended_next_level: next === undefined ? null : levelName(next),
  };
}
