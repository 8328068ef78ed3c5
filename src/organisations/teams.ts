import { type Tx, statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { ApiError } from '../platform/errors/errors.ts';
import { lockFeed } from '../feed/position.ts';
import { createGroup } from './groups/create.ts';
import { teamType } from './groups/types.ts';
import { limits } from '../platform/config/limits.ts';

/**
 * Finds or creates a team: a group with staff, whose members are the team's learners. The API shows teams, but can't
 * change them.
 * @returns the group's ID
 */
export async function ensureTeam(work: UnitOfWork, organisationId: number, team: TeamInput): Promise<string> {
  return (await createGroup(work, organisationId, { type: teamType, ...team })).row.group_id;
}

type TeamInput = { ref: string; name: string };

const countTeams = statement('team.count')`
  select count(*)::int4 as count from learner_group where organisation_id = $1 and type = 'team' and active`;

/**
 * @returns the group's ID; null if another team has this reference
 * @throws ApiError group_limit_exceeded
 */
export async function createTeam(work: UnitOfWork, organisationId: number, team: TeamInput): Promise<string | null> {
  await lockFeed(work, organisationId);
  const [{ count } = { count: 0 }] = await work.tx.query<{ count: number }>(countTeams, [organisationId]);
  if (count >= limits.teamsPerOrganisation) throw new ApiError('group_limit_exceeded');
  const { row, created } = await createGroup(work, organisationId, { type: teamType, ...team });
  return created ? row.group_id : null;
}

const addStaff = statement('team.add_staff')`
  insert into team_staff (organisation_id, group_id, user_id)
  select $1, $2, user_id from user_membership where organisation_id = $1 and user_id = any($3::uuid[])
  on conflict do nothing
  returning user_id`;
const removeStaff = statement('team.remove_staff')`
  delete from team_staff where organisation_id = $1 and group_id = $2 and user_id = any($3::uuid[]) returning user_id`;
const ofStaff = statement('team.of_staff')`
  select s.group_id from team_staff s
    join learner_group g on g.organisation_id = s.organisation_id and g.group_id = s.group_id and g.active
   where s.organisation_id = $1 and s.user_id = $2`;

/** @returns the people who were not in the team before */
export function addTeamStaff(work: UnitOfWork, organisationId: number, groupId: string, userIds: string[]) {
  return work.tx.query<{ user_id: string }>(addStaff, [organisationId, groupId, userIds]);
}

const activeTeams = statement('team.active')`
  select group_id, name from learner_group where organisation_id = $1 and type = 'team' and active order by name, group_id`;

export function listActiveTeams(tx: Tx, organisationId: number): Promise<{ group_id: string; name: string }[]> {
  return tx.query(activeTeams, [organisationId]);
}

/** Adds a person to the team that the invitation named, unless the team has been archived or deleted since. */
export async function joinTeam(work: UnitOfWork, organisationId: number, teamId: string, userId: string) {
  const teams = await listActiveTeams(work.tx, organisationId);
  if (teams.some((one) => one.group_id === teamId)) await addTeamStaff(work, organisationId, teamId, [userId]);
}

/** @returns the people who were in the team before */
export function removeTeamStaff(work: UnitOfWork, organisationId: number, groupId: string, userIds: string[]) {
  return work.tx.query<{ user_id: string }>(removeStaff, [organisationId, groupId, userIds]);
}

export async function teamsOfStaff(tx: Tx, organisationId: number, userId: string): Promise<string[]> {
  return (await tx.query<{ group_id: string }>(ofStaff, [organisationId, userId])).map((row) => row.group_id);
}

const staff = statement('team.staff')`
  select user_id from team_staff where organisation_id = $1 and group_id = $2 order by user_id`;
const countStaff = statement('team.count_staff')`
  select group_id, count(*)::int4 as staff from team_staff where organisation_id = $1 and group_id = any($2) group by group_id`;

export async function listTeamStaff(tx: Tx, organisationId: number, groupId: string): Promise<string[]> {
  return (await tx.query<{ user_id: string }>(staff, [organisationId, groupId])).map((row) => row.user_id);
}

/** Counts the staff of each team by group ID. Teams without staff are left out. */
export async function countTeamStaff(
  tx: Tx,
  organisationId: number,
  groupIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await tx.query<{ group_id: string; staff: number }>(countStaff, [organisationId, groupIds]);
  return new Map(rows.map((row) => [row.group_id, row.staff]));
}

const handOver = statement('team.hand_over_staff')`
  insert into team_staff (organisation_id, group_id, user_id)
  select organisation_id, group_id, $3 from team_staff where organisation_id = $1 and user_id = $2
  on conflict do nothing`;

/** Gives the teams of an old account to the new account that replaces it. */
export async function handOverTeams(
  work: UnitOfWork,
  organisationId: number,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await work.tx.query(handOver, [organisationId, from, to]);
}
