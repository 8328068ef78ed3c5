import { rqfLevels, subjects } from '../../engine/scoring/levels.ts';
import type { Subject } from '../../engine/scoring/levels.ts';

/**
 * The combinations of rqf_level, its code and below_level_1 that a result can have, in the order of the stored facet.
 */
export const levels = [{ rqf_level: null, rqf_level_code: null, below_level_1: null }, ...rqfLevels] as const;

/** How far the facets of two subjects are apart: more than there are levels. */
const levelsApart = 8;

export const levelCodes = rqfLevels.flatMap(({ rqf_level_code: code }) => (code === null ? [] : [code]));

/**
 * What a result is by its immutable filter fields, as one small integer: subject × level. A filter on them becomes a
 * merge of one ordered index scan per matching facet.
 * @returns undefined when the three level fields contradict each other
 */
export function facetOf(
  subject: Subject,
  level: { rqf_level: string | null; rqf_level_code: number | null; below_level_1: boolean | null },
): number | undefined {
  const index = levels.findIndex(
    (known) =>
      known.rqf_level === level.rqf_level &&
      known.rqf_level_code === level.rqf_level_code &&
      known.below_level_1 === level.below_level_1,
  );
  return index < 0 ? undefined : subjects.indexOf(subject) * levelsApart + index;
}

/** Every facet that a result can have. */
export const allFacets: readonly number[] = subjects.flatMap((_, s) => levels.map((_level, l) => s * levelsApart + l));

/** The subject of a facet. */
export const subjectOf = (facet: number): Subject => subjects[Math.floor(facet / levelsApart)]!;

/** The facets that a filter lets through, or null when it lets all through. An empty list matches nothing. */
export function facetsMatching(filter: {
  subject: readonly string[] | null;
  rqf_level_code: readonly number[] | null;
  below_level_1: boolean | null;
}): number[] | null {
  if (filter.subject === null && filter.rqf_level_code === null && filter.below_level_1 === null) return null;
  const facets: number[] = [];
  subjects.forEach((subject, s) => {
    if (filter.subject !== null && !filter.subject.includes(subject)) return;
    levels.forEach((level, l) => {
      if (
        filter.rqf_level_code !== null &&
        (level.rqf_level_code === null || !filter.rqf_level_code.includes(level.rqf_level_code))
      )
        return;
      if (filter.below_level_1 !== null && level.below_level_1 !== filter.below_level_1) return;
      facets.push(s * levelsApart + l);
    });
  });
  return facets;
}
