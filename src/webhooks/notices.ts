import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';

/** What is told of endpoints: that one has begun to fail, that it has recovered, that it was disabled. */

export type Notice = {
  notice_id: string;
  endpoint_id: string;
  url: string;
  at: Date;
  kind: 'failing' | 'recovered' | 'disabled';
  /** Since when it had failed. */
  since: Date | null;
};

/** One that nobody was written of yet. */
export type Untold = Omit<Notice, 'url'> & { organisation_id: number };

const latest = statement(
  'notice.latest',
  `
  select n.notice_id, n.endpoint_id, w.url, n.at, n.kind, n.since
    from endpoint_notice n join webhook_endpoint w on w.organisation_id = n.organisation_id and w.endpoint_id = n.endpoint_id
   where n.organisation_id = $1 and n.at >= $2 order by n.at desc, n.notice_id limit $3`,
);
const withUntold = statement(
  'notice.untold',
  'select distinct organisation_id from endpoint_notice where told_at is null and at >= $1',
);
const takeUntoldNotices = statement(
  'notice.take_untold',
  `
  with told as (
    update endpoint_notice set told_at = $1 where organisation_id = $3 and told_at is null and at >= $2
    returning notice_id, endpoint_id, at, kind, since)
  select $3::int8 as organisation_id, t.notice_id, t.endpoint_id, t.at, t.kind, t.since
    from told t join webhook_endpoint w on w.organisation_id = $3 and w.endpoint_id = t.endpoint_id
   order by t.at, t.notice_id`,
);
const prune = statement('notice.prune', 'delete from endpoint_notice where at < $1');

/** The newest first. */
export function latestNotices(tx: Tx, organisationId: number, since: Date, most: number): Promise<Notice[]> {
  return tx.query<Notice>(latest, [organisationId, since, most]);
}

/** Takes the notices that nobody was written of yet; whoever takes them writes in the same unit of work. */
export async function takeUntold(work: Work, sinceMs: number): Promise<Untold[]> {
  const values = [new Date(work.nowMs), new Date(sinceMs)];
  const taken: Untold[] = [];
  for (const { organisation_id: id } of await work.tx.query<{ organisation_id: number }>(withUntold, [values[1]]))
    taken.push(...(await work.tx.query<Untold>(takeUntoldNotices, [...values, id])));
  return taken;
}

export async function pruneNotices(tx: Tx, before: Date): Promise<void> {
  await tx.query(prune, [before]);
}
