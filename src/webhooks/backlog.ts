import { limits } from '../limits.ts';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';

// One index probe for each endpoint that has anything pending, however many deliveries wait for it.
export const waitingEndpoints = `
  with recursive waiting as (
    (select organisation_id, endpoint_id from delivery where status = 'pending' order by organisation_id, endpoint_id limit 1)
    union all
    select n.organisation_id, n.endpoint_id
      from waiting p cross join lateral (
        select d.organisation_id, d.endpoint_id from delivery d
         where d.status = 'pending' and (d.organisation_id, d.endpoint_id) > (p.organisation_id, p.endpoint_id)
         order by d.organisation_id, d.endpoint_id limit 1) n)`;

const backlog = statement(
  'backlog.due',
  `${waitingEndpoints},
  active as materialized (
    select organisation_id, endpoint_id from waiting join webhook_endpoint w using (organisation_id, endpoint_id) where w.status = 'active')
  select (select count(*) from (
            select from active join delivery d using (organisation_id, endpoint_id)
             where d.status = 'pending' and d.next_attempt_at <= $1 limit ${limits.rowsCounted}) due) as due,
         (select min(f.next_attempt_at) from active a cross join lateral (
            select d.next_attempt_at from delivery d
             where d.organisation_id = a.organisation_id and d.endpoint_id = a.endpoint_id and d.status = 'pending'
             order by d.next_attempt_at limit 1) f where f.next_attempt_at <= $1) as oldest`,
);

const anywhere = statement(
  'backlog.anywhere',
  `
  select count(*) as due, min(d.next_attempt_at) as oldest from delivery d
    join webhook_endpoint w on w.organisation_id = d.organisation_id and w.endpoint_id = d.endpoint_id
   where d.status = 'pending' and d.next_attempt_at <= $1 and w.status = 'active'`,
);

/** What is due to active endpoints now, and since when the oldest of it has been. */
export async function dueBacklog(tx: Tx, nowMs: number): Promise<{ due: number; oldestMs: number | null }> {
  const [row] = await tx.query<{ due: number; oldest: Date | null }>(tx.distributed === true ? anywhere : backlog, [
    new Date(nowMs),
  ]);
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
