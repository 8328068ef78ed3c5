import { type Tx, statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { limits } from '../platform/config/limits.ts';

/** The views of lists that a person has saved. */

export type View = { view_id: string; name: string; path: string; query: string };

const list = statement('view.list')`
  select view_id, name, path, query from saved_view
   where organisation_id = $1 and user_id = $2 and path = $3 order by name, view_id limit ${limits.viewsOfList}`;

const save = statement('view.save')`
  insert into saved_view (organisation_id, user_id, view_id, path, name, query)
  select $1, $2, $3, $4, $5, $6
   where (select count(*) from saved_view where organisation_id = $1 and user_id = $2 and path = $4) < ${limits.viewsOfList}
  on conflict (organisation_id, user_id, path, name) do update set query = excluded.query returning view_id`;
const remove = statement('view.delete')`
  delete from saved_view where organisation_id = $1 and user_id = $2 and view_id = $3
  returning view_id, name, path, query`;

type Owner = { organisationId: number; userId: string };

export const listViews = (tx: Tx, { organisationId, userId }: Owner, path: string): Promise<View[]> =>
  tx.query<View>(list, [organisationId, userId, path]);

/** @returns the ID of the view; null if the list has the maximum number of views */
export async function saveView(
  work: UnitOfWork,
  { organisationId, userId }: Owner,
  view: View,
): Promise<string | null> {
  const values = [organisationId, userId, view.view_id, view.path, view.name, view.query];
  return (await work.tx.query<{ view_id: string }>(save, values))[0]?.view_id ?? null;
}

export const deleteView = async (work: UnitOfWork, { organisationId, userId }: Owner, viewId: string) =>
  (await work.tx.query<View>(remove, [organisationId, userId, viewId]))[0];
