import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { GroupRow } from './store.ts';

const page = statement('group.page', `
  select v.position as feed_position, c.*
    from feed v
    left join (
      select group_id, type, ref, name, active, created_at, position from learner_group g
       where g.organisation_id = $1 and g.position >= $2
         and ($4::text[] is null or g.type = any($4)) and ($5::boolean is null or g.active = $5)
       order by g.position limit $3) c on true
   where v.organisation_id = $1
   order by c.position`);

/** A page of groups in the order of their positions, with the organisation's position in the same snapshot. */
export async function listGroups(tx: Tx, organisationId: number, filter: { types: string[] | null; active: boolean | null }, fromPosition: number, limit: number) {
  const rows = await tx.query<GroupRow & { feed_position: number }>(page, [organisationId, fromPosition, limit, filter.types, filter.active]);
  return { rows: (rows[0]!.group_id === null ? [] : rows) as GroupRow[], position: rows[0]!.feed_position };
}
