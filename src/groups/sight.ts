/**
 * Whose learners somebody sees: null for everybody's, or the ids of groups, whose members now they are. It is a parameter
 * of every statement that reads learners for a person.
 */
export type Sight = readonly string[] | null;

/**
 * The condition under which a row of a learner is in sight, for the `where` of a statement whose $1 is the organisation.
 * It suits statements that have found few rows otherwise; a list over all learners begins with the members instead.
 * @param learnerId an expression, such as `l.learner_id`
 * @param sight the parameter that holds a Sight, such as `$4`
 */
export const inSight = (learnerId: string, sight: string): string =>
  `(${sight}::uuid[] is null or exists (
     select from membership seen
      where seen.organisation_id = $1 and seen.learner_id = ${learnerId} and seen.group_id = any(${sight}::uuid[])
        and seen.left_position is null))`;

/** The condition under which a group is in sight: a team of theirs, or one of which a learner in sight is a member. */
export const groupInSight = (groupId: string, sight: string) =>
  `(${sight}::uuid[] is null or ${groupId} = any(${sight}::uuid[]) or ${groupId} in (
     select m.group_id from membership seen
       join membership m on m.organisation_id = seen.organisation_id and m.learner_id = seen.learner_id and m.left_position is null
      where seen.organisation_id = $1 and seen.group_id = any(${sight}::uuid[]) and seen.left_position is null))`;
