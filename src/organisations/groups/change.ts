import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { lockFeed } from '../../feed/position.ts';
import { stampMembers } from '../../feed/stamp.ts';
import { limits } from '../../platform/config/limits.ts';
import { withoutNationalInsuranceNumbers } from '../../platform/validation/personal-data.ts';
import type { GroupRow } from './store.ts';
import { countActiveGroups, findGroup, updateGroup } from './store.ts';
import { teamType } from './types.ts';

/**
 * Renames, archives or reactivates a group. Whatever shows the group gets a new position; a change to what already
 * is changes nothing.
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
  const changed = {
    ...group,
    name: change.name ?? group.name,
    active: change.active ?? group.active,
    ref: change.ref ?? group.ref,
  };
  if (changed.name === group.name && changed.active === group.active && changed.ref === group.ref) return group;
  if (
    changed.active &&
    !group.active &&
    group.type !== teamType &&
    (await countActiveGroups(work.tx, organisationId)) >= limits.groupsPerOrganisation
  ) {
    throw new ApiError('group_limit_exceeded');
  }
  changed.position = feed.next();
  await updateGroup(work.tx, organisationId, changed);
  feed.used(1);
  feed.groupsChanged();
  // A renamed archived group shows nowhere.
  if (changed.active || group.active) await stampMembers(work, feed, groupId);
  return changed;
}

/** Takes National Insurance numbers out of a group's name and reference, which then is made from its id. */
export async function redactGroup(work: UnitOfWork, organisationId: number, groupId: string): Promise<void> {
  await lockFeed(work, organisationId);
  const group = await findGroup(work.tx, organisationId, groupId);
  if (group === undefined) return;
  const name = withoutNationalInsuranceNumbers(group.name);
  const ref = withoutNationalInsuranceNumbers(group.ref) === group.ref ? group.ref : `redacted-${groupId}`;
  await changeGroup(work, organisationId, groupId, { name, ref }, { managingTeams: true });
}
