import { statement, type Tx } from '../db/database.ts';
import { limits } from '../config/limits.ts';

/** Rows of organisation $1 that the sealer has not counted yet. The limit makes the planner use the index by number. */
export const unsealedRows = `(
      select * from audit
       where organisation_id = $1 and audit_id > coalesce((select sealed_id from audit_chain where organisation_id = $1), 0)
       order by audit_id limit 1000000)`;

const backlog = statement('audit.unsealed')`
  select count(*) as count, min(at) as oldest from (
    select a.at from audit_chain c cross join lateral (
      select at from audit a where a.organisation_id = c.organisation_id and a.audit_id > c.sealed_id
       order by a.audit_id limit ${limits.rowsCounted}) a
    union all
    -- Organisations whose chain the sealer has not begun.
    select a.at from organisation o cross join lateral (
      select at from audit a where a.organisation_id = o.organisation_id
       order by a.audit_id limit ${limits.rowsCounted}) a
     where not exists (select from audit_chain c where c.organisation_id = o.organisation_id)) waiting`;

export async function unsealedBacklog(tx: Tx): Promise<{ count: number; oldestMs: number | null }> {
  const [row] = await tx.query<{ count: number; oldest: Date | null }>(backlog);
  return { count: row!.count, oldestMs: row!.oldest?.getTime() ?? null };
}
