import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { limits } from '../limits.ts';
import type { GroupRow } from './store.ts';

const page = statement(
  'group.page',
  `
  select group_id, type, ref, name, active, created_at, position from learner_group g
   where g.organisation_id = $1 and g.position >= $2
     and ($4::text[] is null or g.type = any($4)) and ($5::boolean is null or g.active = $5)
     and ($6::uuid[] is null or g.group_id = any($6))
   order by g.position limit $3`,
);

/** A page of groups in the order of their positions. */
export function listGroups(
  tx: Tx,
  organisationId: number,
  filter: { types: string[] | null; active: boolean | null; groupIds: readonly string[] | null },
  fromPosition: number,
  limit: number,
): Promise<GroupRow[]> {
  return tx.query<GroupRow>(page, [organisationId, fromPosition, limit, filter.types, filter.active, filter.groupIds]);
}

/** Every group, archived ones too, by type and name: as many as an organisation may have. */
export async function allGroups(tx: Tx, organisationId: number): Promise<GroupRow[]> {
  const none = { types: null, active: null, groupIds: null };
  const rows = await listGroups(tx, organisationId, none, 0, mostGroups);
  return rows.sort((a, b) => (`${a.type} ${a.name}` < `${b.type} ${b.name}` ? -1 : 1));
}

/** Archived ones have no limit of their own. */
const mostGroups = 4 * limits.groupsPerOrganisation;
