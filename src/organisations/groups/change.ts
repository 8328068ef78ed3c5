import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { lockFeed } from '../../feed/position.ts';
import { stampMembers } from '../../feed/stamp.ts';
import { limits } from '../../platform/config/limits.ts';
import { withoutNationalInsuranceNumbers } from '../../platform/validation/personal-data.ts';
import { type GroupRow, countActiveGroups, findGroup, updateGroup } from './store.ts';
import { teamType } from './types.ts';

/**
 * Renames, archives or reactivates a group. Records that show the group get a new position, unless nothing changes.
 * @throws ApiError not_found, team_group_managed, group_limit_exceeded (on reactivation)
 */
export async function changeGroup(
  work: UnitOfWork,
  organisationId: number,
  groupId: string,
  change: { name?: string; active?: boolean; ref?: string },
  options: { managingTeams?: boolean } = {},
): Promise<GroupRow> {
  const feed = await lockFeed(work, organisationId);
  const group = await findGroup(work.tx, organisationId, groupId);
  if (group === undefined) throw new ApiError('not_found');
  if (group.type === teamType && options.managingTeams !== true) throw new ApiError('team_group_managed');
  const { name = group.name, active = group.active, ref = group.ref } = change;
  if (name === group.name && active === group.active && ref === group.ref) return group;
  const isCounted = active && !group.active && group.type !== teamType;
  if (isCounted && (await countActiveGroups(work.tx, organisationId)) >= limits.groupsPerOrganisation)
    throw new ApiError('group_limit_exceeded');
  const changed = { ...group, name, active, ref, position: feed.next() };
  await updateGroup(work.tx, organisationId, changed);
  feed.used(1);
  feed.groupsChanged();
  // Records show only active groups, so a group that stays archived changes no record.
  if (active || group.active) await stampMembers(work, feed, groupId);
  return changed;
}

/** Removes National Insurance numbers from a group. A reference that contains one is replaced by the group's ID. */
export async function redactGroup(work: UnitOfWork, organisationId: number, groupId: string): Promise<void> {
  await lockFeed(work, organisationId);
  const group = await findGroup(work.tx, organisationId, groupId);
  if (group === undefined) return;
  const name = withoutNationalInsuranceNumbers(group.name);
  const ref = withoutNationalInsuranceNumbers(group.ref) === group.ref ? group.ref : `redacted-${groupId}`;
  await changeGroup(work, organisationId, groupId, { name, ref }, { managingTeams: true });
}
