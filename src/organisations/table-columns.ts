import { type Tx, statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { lockFeed } from '../feed/position.ts';

/** How the people of an organisation read the columns of other systems' tables: the column by heading. */
export type TableKind = 'invite' | 'import';

const maxHeadings = 300;

const find = statement('organisation.table_columns')`
  select table_columns -> $2 as columns from organisation where organisation_id = $1`;
const keep = statement('organisation.keep_table_columns')`
  update organisation set table_columns = jsonb_set(table_columns, array[$2], $3::jsonb) where organisation_id = $1`;

export async function readTableColumns(tx: Tx, organisationId: number, kind: TableKind): Promise<Map<string, string>> {
  const [row] = await tx.query<{ columns: Record<string, string> | null }>(find, [organisationId, kind]);
  return new Map(Object.entries(row?.columns ?? {}));
}

/** @param changes the new column by heading; null: the heading is forgotten */
export async function keepTableColumns(
  work: UnitOfWork,
  organisationId: number,
  kind: TableKind,
  changes: ReadonlyMap<string, string | null>,
): Promise<void> {
  await lockFeed(work, organisationId);
  const before = await readTableColumns(work.tx, organisationId, kind);
  const all = [...before, ...changes].filter((one): one is [string, string] => one[1] !== null);
  const kept = new Map(all.filter(([heading]) => changes.get(heading) !== null).slice(-maxHeadings));
  await work.tx.query(keep, [organisationId, kind, JSON.stringify(Object.fromEntries(kept))]);
}
