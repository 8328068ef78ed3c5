/** Group types that clients may create (the specification, POST /learners); an open enum for readers. */
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

/** The type that is managed from the organisation's teams, never through the API. */
export const teamType = 'team';

/** Every type that a group may have, for the filter. */
export const groupTypes: readonly string[] = [...clientGroupTypes, teamType];
