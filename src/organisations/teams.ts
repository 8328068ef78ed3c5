import type { Tx } from '../platform/db/database.ts';
import { statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { ApiError } from '../platform/errors/errors.ts';
import { lockFeed } from '../feed/position.ts';
import { ensureGroups } from './groups/create.ts';
import { addMembers, removeMembers } from './groups/members.ts';
import { teamType } from './groups/types.ts';
import { limits } from '../platform/config/limits.ts';

/**
 * A team and its group are one: making the team makes the group, and the team's learners are the group's members. The
 * API shows such groups and can't change them.
 * @returns the group's id
 */
export async function ensureTeam(
  work: UnitOfWork,
  organisationId: number,
  team: { ref: string; name: string },
): Promise<string> {
  const feed = await lockFeed(work, organisationId);
  const [group] = await ensureGroups(work, feed, [{ type: teamType, ...team }], { autocreate: true });
  return group!.row.group_id;
}

const countTeams = statement(
  'team.count',
  `select count(*)::int4 as count from learner_group where organisation_id = $1 and type = 'team' and active`,
);

/**
 * Makes a team that isn't there yet.
 * @returns the group's id; null where a team has this reference already
 * @throws ApiError group_limit_exceeded
 */
export async function createTeam(
  work: UnitOfWork,
  organisationId: number,
  team: { ref: string; name: string },
): Promise<string | null> {
  const feed = await lockFeed(work, organisationId);
  const [{ count } = { count: 0 }] = await work.tx.query<{ count: number }>(countTeams, [organisationId]);
  if (count >= limits.teamsPerOrganisation) throw new ApiError('group_limit_exceeded');
  const [group] = await ensureGroups(work, feed, [{ type: teamType, ...team }], { autocreate: true });
  return group!.created ? group!.row.group_id : null;
}

/** Learners by reference. */
export function addToTeam(work: UnitOfWork, organisationId: number, groupId: string, refs: string[]) {
  return addMembers(work, organisationId, groupId, refs, { managingTeams: true });
}

export function removeFromTeam(work: UnitOfWork, organisationId: number, groupId: string, refs: string[]) {
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
export function addTeamStaff(work: UnitOfWork, organisationId: number, groupId: string, userIds: string[]) {
  return work.tx.query<{ user_id: string }>(addStaff, [organisationId, groupId, userIds]);
}

/** @returns those who did until now */
export function removeTeamStaff(work: UnitOfWork, organisationId: number, groupId: string, userIds: string[]) {
  return work.tx.query<{ user_id: string }>(removeStaff, [organisationId, groupId, userIds]);
}

/** The teams that somebody works with, by the ids of their groups; archived ones give no sight of anybody. */
export async function teamsOfStaff(tx: Tx, organisationId: number, userId: string): Promise<string[]> {
  return (await tx.query<{ group_id: string }>(ofStaff, [organisationId, userId])).map((row) => row.group_id);
}

const staff = statement(
  'team.staff',
  'select user_id from team_staff where organisation_id = $1 and group_id = $2 order by user_id',
);
const countStaff = statement(
  'team.count_staff',
  'select group_id, count(*)::int4 as staff from team_staff where organisation_id = $1 and group_id = any($2) group by group_id',
);

/** Who works with a team. */
export async function listTeamStaff(tx: Tx, organisationId: number, groupId: string): Promise<string[]> {
  return (await tx.query<{ user_id: string }>(staff, [organisationId, groupId])).map((row) => row.user_id);
}

/** How many work with each of these teams, by the ids of their groups; none is left out. */
export async function countTeamStaff(
  tx: Tx,
  organisationId: number,
  groupIds: readonly string[],
): Promise<Map<string, number>> {
  const rows = await tx.query<{ group_id: string; staff: number }>(countStaff, [organisationId, groupIds]);
  return new Map(rows.map((row) => [row.group_id, row.staff]));
}

const handOver = statement(
  'team.hand_over_staff',
  `
  insert into team_staff (organisation_id, group_id, user_id)
  select organisation_id, group_id, $3 from team_staff where organisation_id = $1 and user_id = $2
  on conflict do nothing`,
);

/** A new account takes the place of an old one: the person goes on working with their teams. */
export async function handOverTeams(
  work: UnitOfWork,
  organisationId: number,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await work.tx.query(handOver, [organisationId, from, to]);
}
