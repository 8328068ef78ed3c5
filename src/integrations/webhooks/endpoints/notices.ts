import { formatMs } from '../../../platform/time/clock.ts';
import { type Tx, statement } from '../../../platform/db/database.ts';
import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import type { Letter } from '../../../platform/mail/template.ts';
import { writeToMembers } from '../../../organisations/users/email-templates.ts';
import { disableAfterMs } from './health.ts';

export type Notice = {
  notice_id: string;
  endpoint_id: string;
  url: string;
  at: Date;
  kind: 'failing' | 'recovered' | 'disabled';
  since: Date | null;
};

/** A notice about which no email has been written yet. */
type NewNotice = Omit<Notice, 'url'> & { organisation_id: number };

const latest = statement('notice.latest')`
  select n.notice_id, n.endpoint_id, w.url, n.at, n.kind, n.since
    from endpoint_notice n join webhook_endpoint w on w.organisation_id = n.organisation_id and w.endpoint_id = n.endpoint_id
   where n.organisation_id = $1 and n.at >= $2 order by n.at desc, n.notice_id limit $3`;
const withNew = statement('notice.with_new')`
  select distinct organisation_id from endpoint_notice where told_at is null and at >= $1`;
const takeNew = statement('notice.take_new')`
  with taken as (
    update endpoint_notice set told_at = $1 where organisation_id = $3 and told_at is null and at >= $2
    returning notice_id, endpoint_id, at, kind, since)
  select $3::int8 as organisation_id, t.notice_id, t.endpoint_id, t.at, t.kind, t.since
    from taken t join webhook_endpoint w on w.organisation_id = $3 and w.endpoint_id = t.endpoint_id
   order by t.at, t.notice_id`;
const prune = statement('notice.prune')`delete from endpoint_notice where at < $1`;

export const latestNotices = (tx: Tx, organisationId: number, since: Date, max: number) =>
  tx.query<Notice>(latest, [organisationId, since, max]);

export const pruneNotices = (tx: Tx, before: Date) => tx.query(prune, [before]);

/** A mail server may be configured long after a notice was recorded, so older notices are not emailed. */
const newsMs = 24 * 3600_000;

/** Writes an email about each new notice to the people who look after the organisation's integration. */
export async function writeOfEndpoints(work: UnitOfWork): Promise<void> {
  const since = new Date(work.nowMs - newsMs);
  for (const { organisation_id: id } of await work.tx.query<{ organisation_id: number }>(withNew, [since]))
    for (const notice of await work.tx.query<NewNotice>(takeNew, [new Date(work.nowMs), since, id]))
      await writeToMembers(
        work,
        id,
        ['owner', 'admin', 'developer'],
        `endpoint_${notice.kind} ${notice.notice_id}`,
        (organisation, base) => letterOf(notice, organisation, base),
      );
}

const at = (date: Date) => `${formatMs(date.getTime()).slice(0, 16).replace('T', ' ')} UTC`;

/**
 * The email omits the endpoint's URL, because mail programs turn each host into a link, and our emails link only to our
 * pages.
 */
function letterOf(notice: NewNotice, organisation: string, base: `/${string}`): Letter {
  const since = notice.since === null ? '' : ` since ${at(notice.since)}`;
  const link = { to: `${base}/webhooks/${notice.endpoint_id}`, label: 'Open the webhook endpoint' } as const;
  const endpoint = `A webhook endpoint of ${organisation}`;
  if (notice.kind === 'recovered')
    return {
      subject: `${endpoint} has recovered`,
      says: [`The webhook endpoint accepts deliveries again. Every delivery had failed${since}.`, link],
    };
  if (notice.kind === 'disabled')
    return {
      subject: `${endpoint} was disabled`,
      says: [
        `The service sends no more events to the webhook endpoint. Every delivery${since} has failed, or the endpoint returned 410.`,
        'The service keeps the events. Enable the webhook endpoint again to receive them.',
        link,
      ],
    };
  const end = at(new Date(notice.since!.getTime() + disableAfterMs));
  return {
    subject: `${endpoint} has started failing`,
    says: [
      `Every delivery to the webhook endpoint has failed${since}. The service retries deliveries, so no event is lost.`,
      `If no delivery succeeds, the webhook endpoint is disabled at the first failure after ${end}.`,
      link,
    ],
  };
}
