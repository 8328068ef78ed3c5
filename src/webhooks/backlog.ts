import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';

const backlog = statement(
  'backlog.due',
  `
  select count(*) as due, min(d.next_attempt_at) as oldest from delivery d
    join webhook_endpoint w on w.organisation_id = d.organisation_id and w.endpoint_id = d.endpoint_id
   where d.status = 'pending' and d.next_attempt_at <= $1 and w.status = 'active'`,
);

/** What is due to active endpoints now, and since when the oldest of it has been. */
export async function dueBacklog(tx: Tx, nowMs: number): Promise<{ due: number; oldestMs: number | null }> {
  const [row] = await tx.query<{ due: number; oldest: Date | null }>(backlog, [new Date(nowMs)]);
  return { due: row!.due, oldestMs: row!.oldest?.getTime() ?? null };
}

const statuses = statement(
  'backlog.endpoints',
  `
  select case when status = 'active' and failing_since is not null then 'failing' else status end as status, count(*) as count
    from webhook_endpoint group by 1`,
);

/** How many endpoints there are of each status, those that fail apart. */
export function endpointCounts(tx: Tx): Promise<{ status: string; count: number }[]> {
  return tx.query(statuses);
}
