import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import { limits } from '../../platform/config/limits.ts';

/**
 * Whose learners somebody sees: null for everybody's, or the ids of groups, whose members now they are. It is a parameter
 * of every statement that reads learners for a person.
 */
export type Visibility = readonly string[] | null;

/**
 * The condition under which a row of a learner is in sight, for the `where` of a statement whose $1 is the organisation.
 * It suits statements that have found few rows otherwise; a list over all learners begins with the members instead.
 * @param learnerId an expression, such as `l.learner_id`
 * @param sight the parameter that holds a Sight, such as `$4`
 */
export const isVisibleLearner = (learnerId: string, visibility: string): string =>
  `(${visibility}::uuid[] is null or exists (
     select from membership seen
      where seen.organisation_id = $1 and seen.learner_id = ${learnerId} and seen.group_id = any(${visibility}::uuid[])
        and seen.left_position is null))`;

/**
 * The condition under which a learner is now a member of one of these groups, for a walk that looks at many learners and
 * meets few of them: the members are read once, and each learner is looked up among them. Behind "is true" it stays so.
 * @param groupIds an expression of an array of groups
 */
export const amongMembers = (learnerId: string, groupIds: string): string =>
  `(${learnerId} in (select unnest(array(
     select m.learner_id from membership m
      where m.organisation_id = $1 and m.group_id = any(${groupIds}) and m.left_position is null)))) is true`;

/** So many members of a group are asked whether they are in sight, before it is known of all of them. */
const askedFirst = 20;

/**
 * The condition under which a group is in sight: a team of theirs, or one of which a learner in sight is a member. Sets of
 * groups say quickly which ones can be, once for a statement; nobody may hold such a set any more, so a member is looked for
 * then, and is mostly found among the first ones.
 */
export const isVisibleGroup = (groupId: string, visibility: string) => {
  const ofGroup = `m.organisation_id = $1 and m.group_id = ${groupId} and m.left_position is null`;
  return `(${visibility}::uuid[] is null or ${groupId} = any(${visibility}::uuid[]) or (${groupId} in (
     select o.group_id from group_set_group s
       join group_set_group o on o.organisation_id = s.organisation_id and o.group_set_id = s.group_set_id
      where s.organisation_id = $1 and s.group_id = any(${visibility}::uuid[]))
     and (exists (
         select from (select m.learner_id from membership m where ${ofGroup} order by m.learner_id limit ${askedFirst}) m
          where exists (
            select from membership seen
             where seen.organisation_id = $1 and seen.learner_id = m.learner_id and seen.group_id = any(${visibility}::uuid[])
               and seen.left_position is null offset 0)
         offset 0)
       or exists (select from membership m where ${ofGroup} and ${isVisibleLearner('m.learner_id', visibility)} offset 0))))`;
};

const fewMembers = statement(
  'group.few_members',
  `
  select count(*) <= $3 as few from (
    select from membership where organisation_id = $1 and group_id = any($2::uuid[]) and left_position is null limit $3 + 1) m`,
);

/** Whether so few are members of these groups now that a list begins with them; of many, soon one is met in any list. */
export async function haveFewMembers(tx: Tx, organisationId: number, groupIds: readonly string[]): Promise<boolean> {
  const [row] = await tx.query<{ few: boolean }>(fewMembers, [organisationId, groupIds, limits.membersSorted]);
  return row!.few;
}
