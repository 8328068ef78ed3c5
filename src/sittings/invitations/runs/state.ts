import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { teamsOfStaff } from '../../../organisations/teams.ts';
import { roleOf } from '../../../organisations/users/members.ts';

type Made = { organisation_id: number; created_by: string; team_id: string | null; visibility: Visibility };

/**
 * The present visibility of the person who began a run. The visibility may have changed since then
 * (docs/decisions/0025).
 * @returns undefined if the person may no longer invite learners, or may not add them to the run's team
 */
export async function currentVisibility({ tx }: UnitOfWork, run: Made): Promise<Visibility | undefined> {
  if (run.created_by === 'operator') return run.visibility;
  const role = await roleOf(tx, run.organisation_id, run.created_by);
  if (role === 'owner' || role === 'admin') return null;
  if (role !== 'tutor') return undefined;
  const visibility = await teamsOfStaff(tx, run.organisation_id, run.created_by);
  return run.team_id !== null && visibility.includes(run.team_id) ? visibility : undefined;
}
