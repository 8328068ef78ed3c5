import { type Subject, rqfLevels, subjects } from '../../engine/scoring/levels.ts';

/** The possible values of rqf_level, its code and below_level_1 together, in the order of the stored facet. */
export const levels = [{ rqf_level: null, rqf_level_code: null, below_level_1: null }, ...rqfLevels] as const;

/** The distance between the facets of two subjects. It exceeds the number of levels. */
const levelsApart = 8;

export const levelCodes = rqfLevels.flatMap(({ rqf_level_code: code }) => (code === null ? [] : [code]));

/**
 * A result's immutable filter fields as one small integer: subject × level. A filter on them becomes a merge of one
 * ordered index scan per matching facet.
 * @returns undefined when the three level fields contradict each other
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

/** The facets that match a filter, or null for a filter that matches every facet. An empty list matches nothing. */
export function facetsMatching(filter: {
  subject: readonly string[] | null;
  rqf_level_code: readonly number[] | null;
  below_level_1: boolean | null;
}): number[] | null {
  const { subject, rqf_level_code: codes, below_level_1: isBelow } = filter;
  if (subject === null && codes === null && isBelow === null) return null;
  return allFacets.filter((facet) => {
    const level = levels[facet % levelsApart]!;
    if (subject?.includes(subjectOf(facet)) === false) return false;
    if (codes !== null && (level.rqf_level_code === null || !codes.includes(level.rqf_level_code))) return false;
    return isBelow === null || level.below_level_1 === isBelow;
  });
}
