import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';
import type { Sight } from '../groups/sight.ts';
import { withSandbox } from '../organisations/sandboxes.ts';
import { teamsOfStaff } from '../organisations/teams.ts';
import { roleOf } from '../users/members.ts';

/** What of a run says who began it, and within what. */
type Made = { organisation_id: number; created_by: string; team_id: string | null; sight: Sight };

/**
 * Whose learners a run may touch now: what its maker may see may have changed while it waited (docs/decisions/0025).
 * @returns undefined where its maker may invite nobody any more, or no longer into its team
 */
export async function sightNow({ tx }: Work, run: Made): Promise<Sight | undefined> {
  if (run.created_by === 'operator') return run.sight;
  const role = await roleOf(tx, run.organisation_id, run.created_by);
  if (role === 'owner' || role === 'admin') return null;
  if (role !== 'tutor') return undefined;
  const sight = await teamsOfStaff(tx, run.organisation_id, run.created_by);
  return run.team_id !== null && sight.includes(run.team_id) ? sight : undefined;
}

const handOver = statement(
  'invitation_run.hand_over',
  `
  update invitation_run set created_by = $3
   where organisation_id = $1 and created_by = $2 and status in ('draft', 'running', 'waiting')`,
);

/** A new account takes the place of another one: what that had begun, also in the sandbox, goes on for the new one. */
export async function handOverRuns(
  work: Work,
  organisationId: number,
  { from, to }: { from: string; to: string },
): Promise<void> {
  for (const id of await withSandbox(work, organisationId)) await work.tx.query(handOver, [id, from, to]);
}
