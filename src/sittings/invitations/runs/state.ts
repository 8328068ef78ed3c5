import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { teamsOfStaff } from '../../../organisations/teams.ts';
import { roleOf } from '../../../organisations/users/members.ts';

/** What of a run says who began it, and within what. */
type Made = { organisation_id: number; created_by: string; team_id: string | null; visibility: Visibility };

/**
 * Whose learners a run may touch now: what its maker may see may have changed while it waited (docs/decisions/0025).
 * @returns undefined where its maker may invite nobody any more, or no longer into its team
 */
export async function sightNow({ tx }: UnitOfWork, run: Made): Promise<Visibility | undefined> {
  if (run.created_by === 'operator') return run.visibility;
  const role = await roleOf(tx, run.organisation_id, run.created_by);
  if (role === 'owner' || role === 'admin') return null;
  if (role !== 'tutor') return undefined;
  const visibility = await teamsOfStaff(tx, run.organisation_id, run.created_by);
  return run.team_id !== null && visibility.includes(run.team_id) ? visibility : undefined;
}
