import { type Tx, statement } from '../../platform/db/database.ts';
import type { GroupRow } from './store.ts';

const page = statement('group.page')`
  select group_id, type, ref, name, active, created_at, position from learner_group g
   where g.organisation_id = $1 and g.position >= $2
     and ($4::text[] is null or g.type = any($4)) and ($5::boolean is null or g.active = $5)
     and ($6::uuid[] is null or g.group_id = any($6))
   order by g.position limit $3`;

export function listGroups(
  tx: Tx,
  organisationId: number,
  filter: { types: string[] | null; active: boolean | null; groupIds: readonly string[] | null },
  fromPosition: number,
  limit: number,
): Promise<GroupRow[]> {
  return tx.query<GroupRow>(page, [organisationId, fromPosition, limit, filter.types, filter.active, filter.groupIds]);
}

const search = statement('group.search')`
  select group_id, type, ref, name, active, created_at, position, count(*) over ()::int4 as found from learner_group
   where organisation_id = $1 and ($2::text is null or type = $2) and group_id <> all($4::uuid[])
     and (strpos(lower(ref), lower($3)) > 0 or strpos(lower(name), lower($3)) > 0)
   order by lower(ref) = lower($3) desc, active desc, type, name, ref, group_id limit $5`;
const types = statement('group.types')`
  select type, count(*)::int4 as groups from learner_group
   where organisation_id = $1 and ($2::uuid[] is null or group_id = any($2)) group by type order by type`;

/**
 * Finds the first groups whose reference or name contains a text, archived groups last. `found`: how many groups match.
 * @param options `not`: IDs of groups to leave out
 */
export function searchGroups(
  tx: Tx,
  organisationId: number,
  { type, text, not }: { type: string | null; text: string; not: readonly string[] },
  limit: number,
): Promise<(GroupRow & { found: number })[]> {
  return tx.query(search, [organisationId, type, text, not, limit]);
}

/** @param among counts only groups with these IDs */
export function countGroupTypes(
  tx: Tx,
  organisationId: number,
  among: readonly string[] | null = null,
): Promise<{ type: string; groups: number }[]> {
  return tx.query(types, [organisationId, among]);
}
