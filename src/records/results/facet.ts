import { type Subject, rqfLevels, subjects } from '../../engine/scoring/levels.ts';

/** The index of a level in this list is part of the stored facet, so the order must not change. */
export const levels = [{ rqf_level: null, rqf_level_code: null, below_level_1: null }, ...rqfLevels] as const;

/** The distance between the facets of two subjects, which must exceed the number of levels. */
const levelsApart = 8;

export const levelCodes = rqfLevels.flatMap(({ rqf_level_code: code }) => (code === null ? [] : [code]));

/**
 * A result's subject and level as one small integer. For a filter on these fields, PostgreSQL merges one ordered index
 * scan for each matching facet.
 * @returns undefined if the three level fields contradict each other
 */
export function facetOf(
  subject: Subject,
  { rqf_level, rqf_level_code, below_level_1 }: Record<keyof (typeof levels)[number], unknown>,
): number | undefined {
  const index = levels.findIndex(
    (level) =>
      level.rqf_level === rqf_level && level.rqf_level_code === rqf_level_code && level.below_level_1 === below_level_1,
  );
  return index < 0 ? undefined : subjects.indexOf(subject) * levelsApart + index;
}

export const allFacets: readonly number[] = subjects.flatMap((_, s) => levels.map((_level, l) => s * levelsApart + l));

export const subjectOf = (facet: number): Subject => subjects[Math.floor(facet / levelsApart)]!;

/** The facets that match a filter. Null: every facet matches. An empty list: no facet matches. */
export function facetsMatching(filter: {
  subject?: readonly string[] | null;
  rqf_level_code?: readonly number[] | null;
  below_level_1?: boolean | null;
}): number[] | null {
  const { subject = null, rqf_level_code: codes = null, below_level_1: isBelow = null } = filter;
  if (subject === null && codes === null && isBelow === null) return null;
  return allFacets.filter((facet) => {
    const level = levels[facet % levelsApart]!;
    if (subject?.includes(subjectOf(facet)) === false) return false;
    if (codes !== null && (level.rqf_level_code === null || !codes.includes(level.rqf_level_code))) return false;
    return isBelow === null || level.below_level_1 === isBelow;
  });
}
