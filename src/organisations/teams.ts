import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';
import { lockFeed } from '../feed/position.ts';
import { ensureGroups } from '../groups/create.ts';
import { addMembers, removeMembers } from '../groups/members.ts';
import { teamType } from '../groups/types.ts';

/**
 * A team and its group are one: making the team makes the group, and the team's learners are the group's members. The
 * API shows such groups and can't change them.
 * @returns the group's id
 */
export async function ensureTeam(
  work: Work,
  organisationId: number,
  team: { ref: string; name: string },
): Promise<string> {
  const feed = await lockFeed(work, organisationId);
  const [group] = await ensureGroups(work, feed, [{ type: teamType, ...team }], { autocreate: true });
  return group!.row.group_id;
}

/** Learners by reference. */
export function addToTeam(work: Work, organisationId: number, groupId: string, refs: string[]) {
  return addMembers(work, organisationId, groupId, refs, { managingTeams: true });
}

export function removeFromTeam(work: Work, organisationId: number, groupId: string, refs: string[]) {
  return removeMembers(work, organisationId, groupId, refs, { managingTeams: true });
}

const addStaff = statement(
  'team.add_staff',
  `
  insert into team_staff (organisation_id, group_id, user_id)
  select $1, $2, user_id from user_membership where organisation_id = $1 and user_id = any($3::uuid[])
  on conflict do nothing
  returning user_id`,
);
const removeStaff = statement(
  'team.remove_staff',
  'delete from team_staff where organisation_id = $1 and group_id = $2 and user_id = any($3::uuid[]) returning user_id',
);
const ofStaff = statement(
  'team.of_staff',
  `
  select s.group_id from team_staff s
    join learner_group g on g.organisation_id = s.organisation_id and g.group_id = s.group_id and g.active
   where s.organisation_id = $1 and s.user_id = $2`,
);

/** People of the organisation work with the team from now on. @returns those who didn't before */
export function addTeamStaff(work: Work, organisationId: number, groupId: string, userIds: string[]) {
  return work.tx.query<{ user_id: string }>(addStaff, [organisationId, groupId, userIds]);
}

/** @returns those who did until now */
export function removeTeamStaff(work: Work, organisationId: number, groupId: string, userIds: string[]) {
  return work.tx.query<{ user_id: string }>(removeStaff, [organisationId, groupId, userIds]);
}

/** The teams that somebody works with, by the ids of their groups; archived ones give no sight of anybody. */
export async function teamsOfStaff(tx: Tx, organisationId: number, userId: string): Promise<string[]> {
  return (await tx.query<{ group_id: string }>(ofStaff, [organisationId, userId])).map((row) => row.group_id);
}
