import type { App } from '../app.ts';
import { datedAheadFrom } from '../db/ahead.ts';
import { statement } from '../db/database.ts';
import { waitingEndpoints as waiting } from './backlog.ts';
import { longestWaitMs } from './retry.ts';

/** What a clock that was ahead has dated would wait, or be held, until that time comes (docs/decisions/0029). */

const endpoints = statement(
  'dated_ahead.endpoints',
  `
  update webhook_endpoint
     set leased_by = case when leased_until <= $2 then leased_by end, leased_until = case when leased_until <= $2 then leased_until end,
         failing_since = least(failing_since, $1), updated_at = least(updated_at, $1)
   where leased_until > $2 or failing_since > $2 or updated_at > $2`,
);

const atOnce = 5000;
const isDue = 'next_attempt_at = $1';
const deliveries = statement(
  'dated_ahead.deliveries',
  `${waiting},
  late as (
    select l.organisation_id, l.delivery_id from waiting w cross join lateral (
      select d.organisation_id, d.delivery_id from delivery d
       where d.organisation_id = w.organisation_id and d.endpoint_id = w.endpoint_id and d.status = 'pending' and d.next_attempt_at > $2
       order by d.next_attempt_at limit ${atOnce}) l
     limit ${atOnce}),
  mended as (
    update delivery d set ${isDue} from late
     where d.organisation_id = late.organisation_id and d.delivery_id = late.delivery_id and d.next_attempt_at > $2
    returning 1)
  select count(*) as count from mended`,
);
// Each node changes its own.
const deliveriesAnywhere = statement(
  'dated_ahead.deliveries_anywhere',
  `update delivery set ${isDue} where status = 'pending' and next_attempt_at > $2`,
);

/** Leases end, deliveries are due, and an endpoint fails since now at the latest. */
export async function bringBackDeliveries({ db, clock, settings }: App): Promise<void> {
  const nowMs = clock.nowMs();
  const now = new Date(nowMs);
  await db.query(endpoints, [now, datedAheadFrom(nowMs)]);
  const values = [now, datedAheadFrom(nowMs, longestWaitMs(settings.webhookRetryScheduleMs))];
  if (db.distributed === true) await db.query(deliveriesAnywhere, values);
  else while ((await db.query<{ count: number }>(deliveries, values))[0]!.count === atOnce);
}
