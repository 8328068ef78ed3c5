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
