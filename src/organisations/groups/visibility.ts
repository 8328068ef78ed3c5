import { type Tx, statement } from '../../platform/db/database.ts';
import { limits } from '../../platform/config/limits.ts';

/**
 * The groups whose current members a person may see; null means every learner. Every statement that reads learners for
 * a person takes a Visibility as a parameter.
 */
export type Visibility = readonly string[] | null;

/**
 * SQL condition for statements that find few learners; for scans of many learners, see `amongMembers`. $1 is the
 * organisation.
 * @param learnerId an expression, such as `l.learner_id`
 * @param visibility a parameter that holds a Visibility, such as `$4`
 */
export const isVisibleLearner = (learnerId: string, visibility: string): string =>
  `(${visibility}::uuid[] is null or exists (
     select from membership seen
      where seen.organisation_id = $1 and seen.learner_id = ${learnerId} and seen.group_id = any(${visibility}::uuid[])
        and seen.left_position is null))`;

/**
 * SQL condition for a scan of many learners of whom few are members: the statement reads the members once. `is true`
 * keeps the planner from rewriting the condition as a join.
 * @param groupIds an expression of an array of groups
 */
export const amongMembers = (learnerId: string, groupIds: string): string =>
  `(${learnerId} in (select unnest(array(
     select m.learner_id from membership m
      where m.organisation_id = $1 and m.group_id = any(${groupIds}) and m.left_position is null)))) is true`;

/**
 * SQL condition: the learner is a member of each chosen group. For a scan of many learners, it is checked last.
 * @param groupIds a parameter that holds an array of groups; an empty array allows every learner
 */
export const isInEach = (learnerId: string, groupIds: string): string =>
  `not exists (
     select from unnest(${groupIds}::uuid[]) as chosen(group_id)
      where not exists (
        select from membership c
         where c.organisation_id = $1 and c.learner_id = ${learnerId} and c.group_id = chosen.group_id
           and c.left_position is null))`;

/** How many members of a group are checked one by one before the statement searches all members. */
const checkedFirst = 20;

/**
 * A person sees their own groups and each group with a visible member. Group sets quickly exclude most other groups. A
 * group set may have no learners left, so the statement also searches for a visible member.
 */
export const isVisibleGroup = (groupId: string, visibility: string) => {
  const ofGroup = `m.organisation_id = $1 and m.group_id = ${groupId} and m.left_position is null`;
  return `(${visibility}::uuid[] is null or ${groupId} = any(${visibility}::uuid[]) or (${groupId} in (
     select o.group_id from group_set_group s
       join group_set_group o on o.organisation_id = s.organisation_id and o.group_set_id = s.group_set_id
      where s.organisation_id = $1 and s.group_id = any(${visibility}::uuid[]))
     and (exists (
         select from (select m.learner_id from membership m where ${ofGroup} order by m.learner_id limit ${checkedFirst}) m
          where exists (
            select from membership seen
             where seen.organisation_id = $1 and seen.learner_id = m.learner_id and seen.group_id = any(${visibility}::uuid[])
               and seen.left_position is null offset 0)
         offset 0)
       or exists (select from membership m where ${ofGroup} and ${isVisibleLearner('m.learner_id', visibility)} offset 0))))`;
};

const fewMembers = statement('group.few_members')`
  select count(*) <= $3 as few from (
    select from membership where organisation_id = $1 and group_id = any($2::uuid[]) and left_position is null limit $3 + 1) m`;

/**
 * Whether a list reads the members of the groups and sorts them. If the groups have many members, a scan of all
 * learners in order finds the first page sooner.
 */
export async function haveFewMembers(tx: Tx, organisationId: number, groupIds: readonly string[]): Promise<boolean> {
  const [row] = await tx.query<{ few: boolean }>(fewMembers, [organisationId, groupIds, limits.membersSorted]);
  return row!.few;
}

/**
 * The groups at which a list of chosen groups' learners begins, and whether they have few members. The list checks
 * the visibility and the other chosen groups for each learner.
 */
export async function startOfScan(
  tx: Tx,
  organisationId: number,
  visibility: Visibility,
  groupIds: readonly string[],
): Promise<{ start: Visibility; isFew: boolean }> {
  const choices = [...(visibility === null ? [] : [visibility]), ...groupIds.map((id) => [id])];
  for (const start of choices) if (await haveFewMembers(tx, organisationId, start)) return { start, isFew: true };
  return { start: choices.at(-1) ?? null, isFew: false };
}
