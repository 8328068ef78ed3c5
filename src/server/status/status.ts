import { hasCountedCredits } from '../../organisations/credits.ts';
import { limits } from '../../platform/config/limits.ts';
import { type Tx, statement } from '../../platform/db/database.ts';

/** The state of every organisation for the operator. It contains no personal data: no labels, contacts or paths. */

export type KeyStatus = {
  key_id: string;
  last_request_ms: number | null;
  expires_ms: number | null;
  is_replaced: boolean;
  /** 98 % of the pauses between hours with requests were at most this long. Null: too few pauses to tell. */
  usual_ms: number | null;
  is_silent: boolean;
};

export type EndpointStatus = {
  endpoint_id: string;
  host: string;
  status: 'active' | 'failing' | 'paused' | 'disabled';
  failing_since_ms: number | null;
  disabled_reason: string | null;
  /** Counts stop at `maxCounted`. */
  dead_letters: number;
  pending: number;
  oldest_pending_ms: number | null;
};

type Facts = {
  organisation_id: string;
  name: string;
  is_sandbox: boolean;
  is_suspended: boolean;
  plan: string;
  credits: number;
  last_request_ms: number | null;
  /** Responses with 4xx and 5xx in this hour and the hour before. */
  refused: number;
  failed: number;
  dead_letters: number;
  oldest_pending_ms: number | null;
  keys: KeyStatus[];
  endpoints: EndpointStatus[];
};

/** `bad`: something is broken. `wait`: it needs attention soon. */
export type Attention = { level: 'bad' | 'wait'; text: string };

export type OrganisationStatus = Facts & { attention: Attention[] };

export type Status = { at: string; silent_after: number; organisations: OrganisationStatus[] };

export const maxCounted = 1000;
const historyDays = 14;
const minPauses = 3;
const hourMs = 3600_000;

const ms = (time: string) => `(extract(epoch from ${time}) * 1000)::int8`;

// Each common table expression groups a distributed table by organisation, which Citus can do on every node.
const read = statement('status.organisations')`
  with keys as materialized (
    select w.organisation_id, max(nullif(w.last_ms, 0)) as last_request_ms,
           json_agg(json_build_object(
             'key_id', k.key_id, 'last_request_ms', nullif(w.last_ms, 0), 'expires_ms', ${ms('k.expires_at')}, 'usual_ms', u.usual_ms,
             'is_replaced', exists (select from access_key n where n.replaces = k.key_id and n.revoked_at is null)) order by k.key_id) as keys
      from rate_window w join access_key k on k.key_id = w.key_id and k.organisation_id = w.organisation_id
      left join lateral (
        select case when count(*) >= ${minPauses} then ${ms('percentile_disc(0.98) within group (order by pause)')} end as usual_ms from (
          select hour - lag(hour) over (order by hour) as pause from (
            select h.hour from audit_hour h
             where h.organisation_id = w.organisation_id and h.actor = w.key_id
               and h.hour > to_timestamp(w.last_ms / 1000.0::float8) - interval '${historyDays} days' group by h.hour) h) p
         where pause is not null) u on true
     where k.revoked_at is null and (k.expires_at is null or k.expires_at > $1::timestamptz - interval '7 days')
       and ($2::int8 is null or w.organisation_id = $2)
     group by w.organisation_id),
  endpoints as materialized (
    select w.organisation_id, sum(d.dead)::int8 as dead_letters, min(p.oldest_ms) as oldest_pending_ms,
           json_agg(json_build_object(
             'endpoint_id', w.endpoint_id, 'host', substring(w.url from '^[a-z]+://([^/?#]+)'),
             'status', case when w.status = 'active' and w.failing_since is not null then 'failing' else w.status end,
             'failing_since_ms', ${ms('w.failing_since')}, 'disabled_reason', w.disabled_reason, 'dead_letters', d.dead,
             'pending', p.pending, 'oldest_pending_ms', p.oldest_ms) order by w.created_at, w.endpoint_id) as endpoints
      from webhook_endpoint w cross join lateral (
        select count(*) as dead from (
          select from delivery d where d.organisation_id = w.organisation_id and d.endpoint_id = w.endpoint_id and d.status = 'dead'
           limit ${maxCounted}) d) d
      cross join lateral (
        select count(*) as pending, ${ms('min(created_at)')} as oldest_ms from (
          select d.created_at from delivery d
           where d.organisation_id = w.organisation_id and d.endpoint_id = w.endpoint_id and d.status = 'pending'
           order by d.next_attempt_at limit ${maxCounted}) d) p
     where $2::int8 is null or w.organisation_id = $2
     group by w.organisation_id),
  errors as materialized (
    select f.organisation_id, e.refused, e.failed
      from feed f cross join lateral (
        select coalesce(sum(calls) filter (where status < 500), 0)::int8 as refused,
               coalesce(sum(calls) filter (where status >= 500), 0)::int8 as failed
          from audit_hour h
         where h.organisation_id = f.organisation_id and h.hour >= date_trunc('hour', $1::timestamptz, 'UTC') - interval '1 hour'
           and h.status >= 400) e
     where $2::int8 is null or f.organisation_id = $2)
  select o.public_id as organisation_id, o.name, o.sandbox as is_sandbox, o.suspended_at is not null as is_suspended, o.plan, o.credits,
         k.last_request_ms, coalesce(e.refused, 0) as refused, coalesce(e.failed, 0) as failed,
         coalesce(w.dead_letters, 0) as dead_letters, w.oldest_pending_ms, coalesce(k.keys, '[]') as keys,
         coalesce(w.endpoints, '[]') as endpoints
    from organisation o left join keys k using (organisation_id) left join endpoints w using (organisation_id)
    left join errors e using (organisation_id)
   where $2::int8 is null or o.organisation_id = $2`;

const units = [
  [86_400_000, 'day'],
  [3600_000, 'hour'],
  [60_000, 'minute'],
] as const;

/** A duration in its largest unit, such as `3 hours`. */
export function duration(lengthMs: number): string {
  const [unitMs, unit] = units.find(([one]) => lengthMs >= one) ?? units[2];
  const count = Math.max(1, Math.floor(lengthMs / unitMs));
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

export const counted = (count: number): string => (count >= maxCounted ? `${maxCounted} or more` : String(count));

function endpointAttention(endpoint: EndpointStatus, nowMs: number): Attention[] {
  const {
    host,
    status,
    failing_since_ms: since,
    disabled_reason: reason,
    pending,
    oldest_pending_ms: oldest,
  } = endpoint;
  const found: Attention[] = [];
  const bad = (text: string) => found.push({ level: 'bad', text: `Webhook endpoint ${host} ${text}` });
  if (status === 'disabled') bad(`is disabled${reason === null ? '' : `: ${reason}`}`);
  else if (status === 'failing') bad(`has failed for ${duration(nowMs - since!)}`);
  else if (status === 'active' && pending > 0 && nowMs - oldest! > hourMs)
    bad(`is late: a delivery has waited for ${duration(nowMs - oldest!)}`);
  if (endpoint.dead_letters > 0) bad(`has ${counted(endpoint.dead_letters)} dead letters`);
  return found;
}

function keyAttention(key: KeyStatus, nowMs: number): Attention[] {
  const { key_id: id, expires_ms: ends, last_request_ms: last, usual_ms: usual } = key;
  if (key.is_replaced) return [];
  if (ends !== null && ends <= nowMs) return [{ level: 'bad', text: `Key ${id} ended ${duration(nowMs - ends)} ago` }];
  const found: Attention[] = [];
  if (key.is_silent)
    found.push({
      level: 'bad',
      text: `Key ${id} has been silent for ${duration(nowMs - last!)}, usually at most ${duration(usual!)}`,
    });
  if (ends !== null && ends - nowMs <= limits.keyEndingMs)
    found.push({ level: 'wait', text: `Key ${id} ends in ${duration(ends - nowMs)}` });
  return found;
}

function attentionOf(facts: Facts, nowMs: number): Attention[] {
  if (facts.is_suspended) return [];
  const found = [
    ...facts.endpoints.flatMap((endpoint) => endpointAttention(endpoint, nowMs)),
    ...facts.keys.flatMap((key) => keyAttention(key, nowMs)),
  ];
  if (facts.failed > 0) found.push({ level: 'bad', text: `${facts.failed} responses with 5xx` });
  if (hasCountedCredits(facts.plan) && facts.credits === 0) found.push({ level: 'wait', text: 'No credits are left' });
  return found.sort((a, b) => a.level.localeCompare(b.level));
}

/** A sandbox comes after every organisation that needs attention. */
function rank({ attention, is_sandbox }: OrganisationStatus): number {
  const weight = attention.reduce((sum, { level }) => sum + (level === 'bad' ? 1000 : 1), 0);
  return is_sandbox ? weight / 1_000_000 : weight;
}

/**
 * Reads all organisations, or one, in one statement. The organisations that need attention most come first.
 * @param silentAfter a key counts as silent after this many times its usual pause
 */
export async function readStatus(
  tx: Tx,
  { nowMs, silentAfter, organisationId = null }: { nowMs: number; silentAfter: number; organisationId?: number | null },
): Promise<Status> {
  const rows = await tx.query<Facts>(read, [new Date(nowMs), organisationId]);
  const organisations = rows.map((row): OrganisationStatus => {
    const keys = row.keys.map((key) => {
      const { last_request_ms: last, usual_ms: usual } = key;
      return { ...key, is_silent: last !== null && usual !== null && nowMs - last > silentAfter * usual };
    });
    const facts = { ...row, keys };
    return { ...facts, attention: attentionOf(facts, nowMs) };
  });
  organisations.sort((a, b) => rank(b) - rank(a) || a.name.localeCompare(b.name));
  return { at: new Date(nowMs).toISOString(), silent_after: silentAfter, organisations };
}
