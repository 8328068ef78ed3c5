/**
 * This file defines the levels from below Entry Level to Level 3. Entry Level has three sub-levels in English and
 * maths, and none in digital. The order of a level ignores sub-levels.
 */

export const subjects = ['digital', 'english', 'maths'] as const;
export type Subject = (typeof subjects)[number];

export const subjectNames: Record<Subject, string> = { digital: 'Digital skills', english: 'English', maths: 'Maths' };
export const shortSubjectNames: Record<Subject, string> = { ...subjectNames, digital: 'Digital' };

/** The level of an item. Digital has one Entry level, `entry`. */
export const levels = ['entry', 'entry1', 'entry2', 'entry3', 'level1', 'level2', 'level3'] as const;
export type Level = (typeof levels)[number];

export type Placement = 'below_entry' | Level;

/** −1: below Entry Level. 0: Entry Level. 1 to 3: Level 1 to Level 3. */
export type Order = -1 | 0 | 1 | 2 | 3;

const entryInThree: readonly Level[] = ['entry1', 'entry2', 'entry3', 'level1', 'level2', 'level3'];
const entryInOne: readonly Level[] = ['entry', 'level1', 'level2', 'level3'];

/** The subject's levels, lowest first. */
export function levelsOf(subject: Subject): readonly Level[] {
  return subject === 'digital' ? entryInOne : entryInThree;
}

const orders: Record<Placement, Order> = {
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
  return orders[placement];
}

const names: Record<Level, string> = {
  entry: 'Entry Level',
  entry1: 'Entry Level 1',
  entry2: 'Entry Level 2',
  entry3: 'Entry Level 3',
  level1: 'Level 1',
  level2: 'Level 2',
  level3: 'Level 3',
};

export function levelName(level: Level): string {
  return names[level];
}

export const belowEntry = 'Working towards Entry Level';

/**
 * The levels that results publish, lowest first. Codes are the numbers of ILR PriorLevel, but for assessed skill
 * instead of qualifications.
 */
export const rqfLevels = [
  { rqf_level: null, rqf_level_code: null, below_level_1: true },
  { rqf_level: 'Entry Level', rqf_level_code: 1, below_level_1: true },
  { rqf_level: 'Level 1', rqf_level_code: 2, below_level_1: false },
  { rqf_level: 'Level 2', rqf_level_code: 3, below_level_1: false },
  { rqf_level: 'Level 3', rqf_level_code: 5, below_level_1: false },
] as const;

export type PublishedLevels = (typeof rqfLevels)[number] & {
  working_level: string;
  recommended_next_level: string | null;
};

/** @throws RangeError if the subject doesn't have the level */
export function publishedLevels(subject: Subject, placement: Placement): PublishedLevels {
  const levels = levelsOf(subject);
  const met = placement === 'below_entry' ? -1 : levels.indexOf(placement);
  if (placement !== 'below_entry' && met < 0) throw new RangeError(`${subject} has no level ${placement}.`);
  const next = levels[met + 1];
  return {
    ...rqfLevels[(orderOf(placement) + 1) as 0 | 1 | 2 | 3 | 4],
    working_level: placement === 'below_entry' ? belowEntry : levelName(placement),
    recommended_next_level: next === undefined ? null : levelName(next),
  };
}
