import type { ResultFilter } from './browse-statements.ts';

/** Two funding lists. Each shows learners whose latest result in a subject is below a level. */

export type List = {
  name: string;
  title: string;
  below: 'Level 1' | 'Level 2';
  /** Subject and level in one number (src/records/results/facet.ts). */
  facets: readonly number[];
  says: string;
};

export const fundingLists: readonly List[] = [
  {
    name: 'digital-below-level-1',
    title: 'Digital skills below Level 1',
    below: 'Level 1',
    facets: [1, 2],
    says: 'Learners whose latest digital skills result is below Level 1.',
  },
  {
    name: 'english-maths-below-level-2',
    title: 'English or maths assessed below Level 2',
    below: 'Level 2',
    facets: [9, 10, 11, 17, 18, 19],
    says: 'Learners whose latest result in English or maths is below Level 2. Each subject has a row.',
  },
];

export const fundingFilter = (filter: ResultFilter, { facets }: List): ResultFilter => ({
  ...filter,
  facets,
  latest: true,
  flag: null,
  source: null,
  changedSinceUs: null,
});
