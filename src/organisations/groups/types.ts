/**
 * Group types that clients may create (the specification, POST /learners). Clients that read groups must accept further
 * types.
 */
export const clientGroupTypes = [
  'cohort',
  'course',
  'class',
  'curriculum_area',
  'campus',
  'funding_stream',
  'employer',
  'caseload',
  'registration_group',
  'teaching_group',
  'year_group',
] as const;

/** The API shows groups of this type, but can't change them. */
export const teamType = 'team';

export const groupTypes: readonly string[] = [...clientGroupTypes, teamType];
