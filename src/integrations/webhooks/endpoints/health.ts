import { formatMs } from '../../../platform/time/clock.ts';
import type { Log } from '../../../platform/observability/log.ts';
import type { EndpointRow } from './endpoints.ts';

/**
 * An endpoint is disabled after all its attempts have failed for `disableAfterMs`. After `warnAfterMs`, the console,
 * the command line and the log show a warning.
 */
export const disableAfterMs = 5 * 24 * 3600_000;
export const warnAfterMs = 24 * 3600_000;
/** If all attempts fail for this time, the members who look after the integration are notified. */
export const noticeAfterMs = 15 * 60_000;

const lasting = (sinceAt: string, ms: number) => `t.last_failed_at >= ${sinceAt} + interval '${ms} milliseconds'`;
const iso = (at: string) => `to_char(${at} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * SQL for `record` in outcome.ts: expressions that record failures and recoveries of endpoints. They read `endpoint`
 * (locked rows), `outcome`, and `moved` (deliveries whose attempt is recorded for the first time).
 *
 * Attempts from before the endpoint's last change, or to an earlier URL, are ignored. A notice's ID is a hash of its
 * contents, so that no notice is written twice.
 */
export const followHealth = `
  attempted as (
    select o.endpoint_id, o.at, o.ended_at, o.status = 'succeeded' as succeeded, o.status_code,
           max(o.ended_at) filter (where o.status = 'succeeded') over (partition by o.endpoint_id) as succeeded_at
      from moved join outcome o using (organisation_id, delivery_id) where not o.is_elsewhere),
  fared as (
    select endpoint_id, succeeded_at, min(at) filter (where fails) as began_at, min(ended_at) filter (where fails) as failed_at,
           max(ended_at) filter (where fails) as last_failed_at, coalesce(bool_or(status_code = 410) filter (where fails), false) as gone
      from (select *, not succeeded and (succeeded_at is null or ended_at > succeeded_at) as fails from attempted) a
     group by endpoint_id, succeeded_at),
  held as (
    select w.endpoint_id, w.status, w.failing_since, w.warned_at, w.noticed_at, f.succeeded_at, f.last_failed_at, f.gone,
           coalesce(f.succeeded_at >= w.failing_since, false) as recovers, case when f.began_at >= w.updated_at then f.failed_at end as failed_at
      from fared f join endpoint w using (endpoint_id) where f.failed_at is not null or w.failing_since is not null),
  -- The failures continue, or begin with the first one after a success.
  became as (
    select *, case when recovers then failed_at else coalesce(failing_since, failed_at) end as since,
           not recovers and noticed_at is not null as was_noticed, not recovers and warned_at is not null as was_warned
      from held),
  judged as (
    select *, recovers and noticed_at is not null as tells_recovered, disables or fails_on and not was_noticed and ${lasting('since', noticeAfterMs)} as tells_failing,
           fails_on and not was_warned and ${lasting('since', warnAfterMs)} as warns,
           case when gone then 'The endpoint answered 410 Gone at ' || ${iso('last_failed_at')} || '.'
                else 'Every delivery since ' || ${iso('since')} || ' failed.' end as reason
      from (select *, failed_at is not null and status <> 'disabled' as fails_on,
                   failed_at is not null and status <> 'disabled' and (gone or ${lasting('since', disableAfterMs)}) as disables from became t) t),
  marked as (
    update webhook_endpoint w set failing_since = t.since, noticed_at = case when t.tells_failing then t.last_failed_at when t.was_noticed then t.noticed_at end,
           warned_at = case when t.warns then t.last_failed_at when t.was_warned then t.warned_at end, status = case when t.disables then 'disabled' else w.status end,
           disabled_reason = case when t.disables then t.reason else w.disabled_reason end, updated_at = case when t.disables then t.last_failed_at else w.updated_at end
      from judged t
     where w.organisation_id = $1 and w.endpoint_id = t.endpoint_id
       and (t.recovers or t.failing_since is distinct from t.since or t.tells_failing or t.warns)),
  noted as (
    insert into endpoint_notice (organisation_id, notice_id, endpoint_id, at, kind, since)
    select $1, substr(encode(sha256(convert_to(concat_ws(' ', t.endpoint_id, n.kind, ${iso('n.at')}), 'UTF8')), 'hex'), 1, 32)::uuid,
           t.endpoint_id, n.at, n.kind, n.since
      from judged t cross join lateral (values
        ('recovered', t.tells_recovered, t.succeeded_at, t.failing_since),
        (case when t.disables then 'disabled' else 'failing' end, t.tells_failing, t.last_failed_at, t.since)) as n(kind, is_so, at, since)
     where n.is_so
    on conflict (organisation_id, notice_id) do nothing),
  news as (
    select json_agg(json_build_object('endpoint_id', endpoint_id, 'since', (extract(epoch from since) * 1000)::int8, 'warns', warns,
                                      'reason', case when disables then reason end)) as all
      from judged where warns or disables)`;

/** A change of an endpoint's health, for the log. `reason`: why the endpoint was disabled. */
export type EndpointNews = { endpoint_id: string; since: number; warns: boolean; reason: string | null };

export function logEndpointNews(log: Log, { endpoint_id: endpoint, since, warns, reason }: EndpointNews): void {
  const disabledAfterMs = since + disableAfterMs;
  if (warns)
    log.error('webhook.failing', {
      endpoint,
      failing_since: formatMs(since),
      disabled_after: formatMs(disabledAfterMs),
    });
  if (reason !== null) log.error('webhook.disabled', { endpoint, reason });
}

/** @returns a warning if all attempts have failed for `warnAfterMs`, otherwise null */
export function endpointWarning({ failing_since: since }: Pick<EndpointRow, 'failing_since'>, nowMs: number) {
  if (since === null || nowMs - since.getTime() < warnAfterMs) return null;
  return `Every delivery since ${formatMs(since.getTime())} has failed; at the first failure after ${formatMs(since.getTime() + disableAfterMs)} the endpoint is disabled. One success ends this.`;
}
