import { addMembers, removeMembers } from '../../src/organisations/groups/members.ts';
import type { UnitOfWork } from '../../src/platform/db/unit-of-work.ts';

/** Learners of a team, by reference. */

export function addToTeam(work: UnitOfWork, organisationId: number, groupId: string, refs: string[]) {
  return addMembers(work, organisationId, groupId, refs, { managingTeams: true });
}

export function removeFromTeam(work: UnitOfWork, organisationId: number, groupId: string, refs: string[]) {
  return removeMembers(work, organisationId, groupId, refs, { managingTeams: true });
}
