import { statement, type Tx } from '../../../platform/db/database.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import type { Organisation } from '../../../organisations/organisations.ts';
import type { Subject } from '../../../engine/scoring/levels.ts';
import type { RowContext } from './row.ts';

/** All active groups (limits.groupsPerOrganisation) and the newest archived groups fit into this number. */
const maxGroups = 2000;

const groups = statement('invitation.groups')`
  select type, ref, name, active from learner_group
   where organisation_id = $1 and type <> 'team' order by active desc, created_at desc limit ${maxGroups}`;

const teams = statement('invitation.teams')`
  select group_id, name from learner_group
   where organisation_id = $1 and type = 'team' and active and ($2::uuid[] is null or group_id = any($2)) order by name, group_id`;

/** The teams to which a person with this visibility may add learners. */
export function listTeams(
  tx: Tx,
  organisationId: number,
  visibility: Visibility,
): Promise<{ group_id: string; name: string }[]> {
  return tx.query(teams, [organisationId, visibility]);
}

/** @param lastInstantOf returns the end of a day in the organisation's time zone */
export async function contextOf(
  tx: Tx,
  organisation: Pick<Organisation, 'organisation_id' | 'default_subjects'>,
  nowMs: number,
  lastInstantOf: RowContext['lastInstantOf'],
): Promise<RowContext> {
  return {
    defaultSubjects: organisation.default_subjects as Subject[],
    groups: await tx.query<RowContext['groups'][number]>(groups, [organisation.organisation_id]),
    nowMs,
    lastInstantOf,
  };
}
