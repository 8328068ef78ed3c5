import { idIn } from '../../feed/events/about.ts';
import { deliveryIdOf } from '../../feed/events/emit.ts';
import type { AccessKey } from '../../integrations/access-keys/keys.ts';
import type { BrowsedDelivery } from '../../integrations/webhooks/browse.ts';
import type { EndpointRow } from '../../integrations/webhooks/endpoints/endpoints.ts';
import type { Detail } from '../../platform/audit/log.ts';
import { unsealedRows } from '../../platform/audit/seal.ts';
import { type Tx, statement } from '../../platform/db/database.ts';
import { assessmentCompleted } from '../../platform/validation/event-types.ts';
import { timeOf } from './words.ts';

/** Reads the facts about a result, its keys and its webhook endpoints. The other files of this folder explain them. */

export type TracedResult = {
  learner_id: string;
  learner_ref: string | null;
  /** Learners that were merged into this learner. Earlier audit rows contain their IDs. */
  merged_ids: string[];
  position: number;
  deleted: boolean;
  assessed_at: number;
  facet: number;
  /** The position rises when the learner's groups change. */
  group_ids: string[];
  source: 'imported' | 'sitting';
  /** The position at which the result was first recorded. */
  first_position: number;
  recorded_at: Date;
  /** The event of the result's completion; null: no event was emitted, or the event is no longer stored. */
  event: { occurred_at: Date; group_ids: string[] } | null;
  changes: { at: Date; kind: string }[];
};

type KeyFields =
  'key_id' | 'label' | 'created_at' | 'expires_at' | 'revoked_at' | 'group_ids' | 'subjects' | 'networks';
/** `last_poll_at`: the time of the last GET /assessments, whatever its status. */
export type TracedKey = Pick<AccessKey, KeyFields> & { last_poll_at: Date | null };

export type Poll = { audit_id: number; actor: string; at: Date; action: string; status: number; detail: Detail | null };

type DeliveryFields = 'delivery_id' | 'status' | 'attempts' | 'next_attempt_at' | 'last_error' | 'last_status';
export type TracedDelivery = Pick<BrowsedDelivery, DeliveryFields> & { finished_at: Date | null };

type EndpointFields = 'endpoint_id' | 'status' | 'created_at' | 'updated_at' | 'event_types' | 'group_ids';
export type TracedEndpoint = Pick<EndpointRow, EndpointFields> & { host: string; delivery: TracedDelivery | null };

// Queries use this text with `offset 0` or as a materialized subquery, so that the planner uses the index on the
// assessment ID.
const eventsOf = `select e.event_id, e.number, e.occurred_at, e.payload from event e
     where e.organisation_id = $1 and e.type = '${assessmentCompleted}' and e.emptied is null
       and ${idIn.result} = $2::text`;

const result = statement('trace.result')`
  select f.learner_id, l.ref as learner_ref,
         array(select m.learner_id from learner m where m.organisation_id = $1 and m.merged_into = f.learner_id) as merged_ids, f.position, f.deleted, f.assessed_at, f.facet, coalesce(g.group_ids, '{}') as group_ids,
         a.source, a.first_position, e.occurred_at, e.group_ids as event_groups
    from assessment a
    join assessment_feed f on f.organisation_id = $1 and f.learner_id = a.learner_id and f.assessment_id = a.assessment_id
    left join learner l on l.organisation_id = $1 and l.learner_id = f.learner_id
    left join group_set g on g.organisation_id = $1 and g.group_set_id = f.group_set_id
    left join lateral (
      select occurred_at, array(select jsonb_array_elements_text(payload::jsonb -> 'group_ids')) as group_ids
        from (${eventsOf} offset 0) e order by number limit 1) e on true
   where a.organisation_id = $1 and a.assessment_id = $2::uuid`;
const changes = statement('trace.changes')`
  select at, kind from assessment_change where organisation_id = $1 and assessment_id = $2 order by at`;

export async function readResult(tx: Tx, organisationId: number, id: string): Promise<TracedResult | undefined> {
  type Row = Omit<TracedResult, 'changes' | 'recorded_at' | 'event'>;
  type Event = { occurred_at: Date | null; event_groups: string[] | null };
  const [found] = await tx.query<Row & Event>(result, [organisationId, id]);
  if (found === undefined) return undefined;
  const { occurred_at: at, event_groups: groups, ...row } = found;
  return {
    ...row,
    recorded_at: timeOf(row.first_position),
    event: at === null ? null : { occurred_at: at, group_ids: groups! },
    changes: await tx.query(changes, [organisationId, id]),
  };
}

const list = `action = 'GET /assessments'`;
const keys = statement('trace.keys')`
  with lately as materialized (
    select actor, max(at) as at from ${unsealedRows} a where ${list} group by actor)
  select k.key_id, k.label, k.created_at, k.expires_at, k.revoked_at, k.group_ids, k.subjects, k.networks::text[] as networks, greatest(p.at, n.at) as last_poll_at
    from access_key k
    left join lateral (
      select max(h.last_at) as at from audit_hour h
       where h.organisation_id = $1 and h.actor = k.key_id and ${list} and h.hour = (
         select l.hour from audit_hour l where l.organisation_id = $1 and l.actor = k.key_id and ${list} order by l.hour desc limit 1)) p on true
    left join lately n on n.actor = k.key_id
   where k.organisation_id = $1 order by k.created_at, k.key_id`;

export const readKeys = (tx: Tx, organisationId: number) => tx.query<TracedKey>(keys, [organisationId]);

const logBegin = statement('trace.log_bounds')`
  select greatest(b.at, c.dropped_before) as at from audit_begun b left join audit_chain c on c.organisation_id = $1`;

/** The time from which the audit log has queries and responses. */
export async function readLogBegin(tx: Tx, organisationId: number): Promise<Date> {
  return (await tx.query<{ at: Date }>(logBegin, [organisationId]))[0]!.at;
}

/** For each key, at most this many hours of the audit log are searched for pages around a position. */
const maxHours = 6;
const columns = 'audit_id, actor, at, action, status, detail';
const around = `status = 200 and substring(detail from '"first":(\\d+)')::int8 <= $2 and substring(detail from '"last":(\\d+)')::int8 >= $2`;
const pages = statement('trace.pages')`
  select ${columns} from (
    select a.* from access_key k
     cross join lateral (
      select lowest_id, highest_id from audit_hour
       where organisation_id = $1 and actor = k.key_id and hour >= date_trunc('hour', $3::timestamptz, 'UTC')
         and ${list} and status = 200 and first_position <= $2 and last_position >= $2
       order by hour limit ${maxHours}) h
     cross join lateral (
      select ${columns} from audit a
       where a.organisation_id = $1 and a.actor = k.key_id and a.audit_id between h.lowest_id and h.highest_id and a.at >= $3
         and ${list} and status <> 304 and ${around}
       order by a.audit_id limit 5) a
     where k.organisation_id = $1
    union all
    select ${columns} from ${unsealedRows} a where ${list} and ${around}) found
   order by at, audit_id`;
const reads = statement('trace.reads')`
  select distinct on (actor, at >= $5) ${columns} from audit
   where organisation_id = $1 and at >= $2 and status = 200
     and ((resource = $3 and action in ('GET /assessments/{id}', 'GET /assessments/{id}/report.pdf'))
       or (resource = $4 and action = 'GET /learners/{ref}'))
   order by actor, at >= $5, at, audit_id`;

type Found = Omit<Poll, 'detail'> & { detail: string | null };

function byKey(found: Found[]): Map<string, Poll[]> {
  const polls = found.map((row) => ({
    ...row,
    detail: row.detail === null ? null : (JSON.parse(row.detail) as Detail),
  }));
  return Map.groupBy(polls, ({ actor }) => actor);
}

/** The pages of each key whose lowest and highest position enclose the position, the oldest first. */
export async function readPages(tx: Tx, organisationId: number, position: number, from: Date) {
  return byKey(await tx.query<Found>(pages, [organisationId, position, from]));
}

/**
 * For each key: the first read by ID of the result or its learner, and the first such read since the result got its
 * present position.
 */
export async function readReads(
  tx: Tx,
  organisationId: number,
  { from, stood }: { from: Date; stood: Date },
  { id, learnerId }: { id: string; learnerId: string },
) {
  return byKey(await tx.query<Found>(reads, [organisationId, from, id, learnerId, stood]));
}

// Polls with status 304 are left out, because the first poll after a change never gets a 304.
const polls = (order: 'asc' | 'desc', limit: number) =>
  statement(`trace.polls_${order}`)`
  select a.* from unnest($2::text[]) as k(key_id)
   cross join lateral (
    select coalesce((select min(lowest_id) from (
             select lowest_id from audit_hour
              where organisation_id = $1 and actor = k.key_id and hour >= date_trunc('hour', $3::timestamptz, 'UTC') and ${list}
              order by hour limit 8) h),
           (select sealed_id + 1 from audit_chain where organisation_id = $1), 0) as id) since
   cross join lateral (
    select ${columns} from audit
     where organisation_id = $1 and actor = k.key_id and audit_id >= since.id and at >= $3 and ${list} and status <> 304
     order by audit_id ${order} limit ${limit}) a`;
const firstPolls = polls('asc', 20);
const lastPolls = polls('desc', 10);

/** The first and the last polls of each key since a time, sorted by time. Polls with status 304 are left out. */
export async function readPolls(tx: Tx, organisationId: number, keyIds: string[], from: Date) {
  const values = [organisationId, keyIds, from];
  const found = [...(await tx.query<Found>(firstPolls, values)), ...(await tx.query<Found>(lastPolls, values))];
  const unique = [...new Map(found.map((row) => [row.audit_id, row])).values()];
  return byKey(unique.sort((a, b) => a.at.getTime() - b.at.getTime() || a.audit_id - b.audit_id));
}

const endpoints = statement('trace.endpoints')`
  with found as materialized (${eventsOf})
  select w.endpoint_id, coalesce(substring(w.url from '^https?://([^/?#]+)'), '') as host, w.status, w.created_at, w.updated_at, w.event_types, w.group_ids, d.*
    from webhook_endpoint w
    left join lateral (
      select json_build_object('delivery_id', d.delivery_id, 'status', d.status, 'attempts', d.attempts,
               'next_attempt_at', d.next_attempt_at, 'finished_at', d.finished_at, 'last_error', t.error, 'last_status', t.status_code) as delivery
        from found e
        join delivery d on d.organisation_id = $1
                       and d.delivery_id = ${deliveryIdOf('e.event_id', 'w.endpoint_id')}
        left join lateral (
          select error, status_code from delivery_attempt t where t.organisation_id = $1 and t.delivery_id = d.delivery_id
           order by number desc limit 1) t on true
       order by e.number desc limit 1) d on true
   where w.organisation_id = $1 order by w.created_at, w.endpoint_id`;

export async function readEndpoints(tx: Tx, organisationId: number, id: string): Promise<TracedEndpoint[]> {
  const rows = await tx.query<TracedEndpoint>(endpoints, [organisationId, id]);
  // JSON has no dates, so times arrive as text.
  for (const { delivery } of rows)
    if (delivery !== null) {
      delivery.next_attempt_at &&= new Date(delivery.next_attempt_at);
      delivery.finished_at &&= new Date(delivery.finished_at);
    }
  return rows;
}
