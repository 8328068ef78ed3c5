import { type Statement, statement, type Tx } from '../db/database.ts';
import { errorTable } from '../errors/errors.ts';
import { timeOf, isUuid, nilUuid } from '../crypto/random.ts';
import { unsealedRows } from './seal.ts';

/**
 * Queries return the newest calls first. The sealer's counts show which hours contain matching calls, and unsealed rows
 * are read directly.
 */

/**
 * What the audit log records of a request for a list. `cursor`, `first` and `last` are values of the sorted column;
 * times are microseconds since 1970.
 */
export type Recorded = {
  /** All parameters except `limit` and `cursor`, in normalised form. */
  query?: string;
  limit?: number;
  cursor?: number;
  through?: number;
  first?: number;
  last?: number;
  rows?: number;
  more?: boolean;
  /** The next page begins after this value and ID. */
  next?: number;
  next_id?: string;
};

export type Detail = Recorded & { code?: string; account?: string; bytes?: number; ms?: number; calls?: number };

export type LoggedCall = {
  audit_id: number;
  at: Date;
  request_id: string;
  actor: string;
  action: string;
  resource: string | null;
  status: number | null;
  detail: Detail | null;
};

export type LogFilter = {
  actor?: string | null;
  action?: string | null;
  /** The first digit of the status, from 2 to 5. Class 3 is only 304. */
  statusClass?: number | null;
  code?: string | null;
  from: Date;
  /** Exclusive. */
  to: Date;
};

export type LogPlace = { at: Date; id: number };

type Row = Omit<LoggedCall, 'detail'> & { detail: string | null };

const columns = 'audit_id, at, request_id, actor, action, resource, status, detail';
const fits = `($4::text is null or actor = $4) and ($5::text is null or action = $5)
     and ($6::int4 is null or coalesce(status, 0) / 100 = $6)`;

const ofClass: Record<number, string> = {
  2: 'status between 200 and 299',
  3: 'status = 304',
  4: 'status >= 400 and status < 500',
  5: 'status >= 500',
};

/**
 * Finds the latest hours with matching calls. Each combination of filters has its own statement, so that PostgreSQL
 * uses the right index.
 */
function hours({ actor = null, action = null, statusClass = null, code = null }: LogFilter): Statement {
  const which = [
    actor !== null && ' and actor = $4',
    action !== null && ' and action = $5',
    ` and ${statusClass === null ? 'status > 0' : (ofClass[statusClass] ?? 'false')}`,
    code !== null && ' and status >= 400 and code = $7',
  ];
  const conditions = which.filter((one) => one !== false).join('');
  return statement(`audit.log_hours${conditions}`)`
  select hour, min(lowest_id) as lowest, max(highest_id) as highest, sum(calls)::int8 as calls from audit_hour
   where organisation_id = $1 and hour >= date_trunc('hour', $2::timestamptz, 'UTC') and hour < $3
     and ($4::text is null or true) and ($5::text is null or true) and ($6::int4 is null or true) and ($7::text is null or true)
     ${conditions}
   group by hour order by hour desc limit 24`;
}

const within = `organisation_id = $1 and at >= $2 and at < $3 and status is not null and ${fits}
     and ($7::text is null or detail like '%"code":"' || $7 || '"%')
     and ($8::timestamptz is null or (at, audit_id) < ($8, $9::int8))`;
const ofHours = statement('audit.log_rows')`
  select ${columns} from audit where ${within} and audit_id between $11 and $12 order by at desc, audit_id desc limit $10`;
const unsealed = statement('audit.log_unsealed')`
  select ${columns} from audit
   where ${within} and audit_id > coalesce((select sealed_id from audit_chain where organisation_id = $1), 0)
   order by at desc, audit_id desc limit $10`;
const one = statement('audit.log_one')`select ${columns} from audit where organisation_id = $1 and audit_id = $2`;

function readCall(row: Row): LoggedCall {
  return { ...row, detail: row.detail === null ? null : (JSON.parse(row.detail) as Detail) };
}

/** Finds requests of platforms; acts of people have no status. `next` is null on the last page. */
export async function findCalls(
  tx: Tx,
  organisationId: number,
  filter: LogFilter,
  after: LogPlace | null,
  limit: number,
): Promise<{ calls: LoggedCall[]; next: LogPlace | null }> {
  const { from, actor = null, action = null, statusClass = null, code = null } = filter;
  const chosen = [actor, action, statusClass, code];
  const place = [after?.at ?? null, after?.id ?? null, limit + 1];
  const found = await tx.query<Row>(unsealed, [organisationId, from, filter.to, ...chosen, ...place]);
  let to = after === null || after.at >= filter.to ? filter.to : new Date(after.at.getTime() + 1);
  // All rows at or after this time have been read.
  let readFrom = to;
  const complete = () => found.filter((row) => row.at >= readFrom).length > limit;
  while (!complete()) {
    const batch = await tx.query<{ hour: Date; lowest: number; highest: number; calls: number }>(hours(filter), [
      organisationId,
      from,
      to,
      ...chosen,
    ]);
    for (const { hour, lowest, highest } of batch) {
      const start = hour < from ? from : hour;
      const end = new Date(Math.min(to.getTime(), hour.getTime() + 3600_000));
      found.push(...(await tx.query<Row>(ofHours, [organisationId, start, end, ...chosen, ...place, lowest, highest])));
      readFrom = start;
      if (complete()) break;
    }
    if (batch.length < 24) {
      readFrom = from;
      break;
    }
    to = batch.at(-1)!.hour;
  }
  // A row that is sealed between two statements is found twice.
  const rows = [...new Map(found.map((row) => [row.audit_id, row])).values()]
    .filter((row) => row.at >= readFrom)
    .sort((a, b) => b.at.getTime() - a.at.getTime() || b.audit_id - a.audit_id);
  const calls = rows.slice(0, limit).map(readCall);
  const last = calls.at(-1);
  return {
    calls,
    next: rows.length > limit && last !== undefined ? { at: last.at, id: last.audit_id } : null,
  };
}

/** A request's row is at most this far from the time in its ID, because requests are short and clocks differ little. */
const requestMs = 10 * 60_000;

const byRequest = statement('audit.log_by_request')`
  select found.audit_id from (
    select a.audit_id from (
      select min(lowest_id) as lowest, max(highest_id) as highest from audit_hour
       where organisation_id = $1 and hour >= date_trunc('hour', $3::timestamptz, 'UTC') and hour <= $4) h
      cross join lateral (
        select audit_id from audit
         where organisation_id = $1 and audit_id between h.lowest and h.highest and at >= $3 and at <= $4 and request_id = $2) a
    union
    select audit_id from audit
     where organisation_id = $1 and at >= $3 and at <= $4 and request_id = $2
       and audit_id > coalesce((select sealed_id from audit_chain where organisation_id = $1), 0)) found
   order by found.audit_id limit 1`;

/**
 * Finds the call with this X-Request-Id by the time in the ID (`uuidAt`). Null: the log has no such call, or the text
 * is not an ID.
 */
export async function findRequest(tx: Tx, organisationId: number, requestId: string): Promise<number | null> {
  const atMs = timeOf(requestId) ?? 0;
  const [from, to] = [new Date(atMs - requestMs), new Date(atMs + requestMs)];
  const id = isUuid(requestId) ? requestId : nilUuid;
  return (await tx.query<{ audit_id: number }>(byRequest, [organisationId, id, from, to]))[0]?.audit_id ?? null;
}

export async function findCall(tx: Tx, organisationId: number, id: number): Promise<LoggedCall | undefined> {
  const [row] = await tx.query<Row>(one, [organisationId, id]);
  return row === undefined ? undefined : readCall(row);
}

export type CallHour = {
  hour: Date;
  answered: number;
  /** Responses with status 304. */
  unchanged: number;
  refused: number;
  /** Responses with status 429. */
  limited: number;
  failed: number;
};

const ofCalls = `organisation_id = $1 and ($4::text is null or actor = $4) and ($5::text is null or action = $5)`;
const callHours = statement('audit.calls_by_hour')`
  select hour, coalesce(sum(calls) filter (where status between 200 and 299), 0)::int8 as answered,
         coalesce(sum(calls) filter (where status = 304), 0)::int8 as unchanged,
         coalesce(sum(calls) filter (where status between 400 and 499 and status <> 429), 0)::int8 as refused,
         coalesce(sum(calls) filter (where status = 429), 0)::int8 as limited,
         coalesce(sum(calls) filter (where status >= 500), 0)::int8 as failed
    from (
      select hour, status, calls from audit_hour
       where hour >= date_trunc('hour', $2::timestamptz, 'UTC') and hour < $3 and ${ofCalls}
      union all
      select date_trunc('hour', at, 'UTC'), status, 1 from ${unsealedRows} a
       where at >= $2 and at < $3 and ${ofCalls}) c
   where status >= 200 group by hour order by hour desc`;

/**
 * Counts calls by hour, the newest hour first, without empty hours. Rows that the sealer has not counted yet are read
 * directly.
 */
export function callsByHour(
  tx: Tx,
  organisationId: number,
  { actor = null, action = null, from, to }: { actor?: string | null; action?: string | null; from: Date; to: Date },
): Promise<CallHour[]> {
  return tx.query<CallHour>(callHours, [organisationId, from, to, actor, action]);
}

export type ErrorGroup = {
  code: string;
  action: string;
  status: number;
  calls: number;
  keys: number;
  last_at: Date;
  fix: string;
};

const ofKey = (which: 'key' | 'all') => (which === 'all' ? '$4::text is null' : 'actor = $4');
const errorsOf = (which: 'key' | 'all') =>
  statement(`audit.log_errors_${which}`)`
  select code, action, status, sum(calls)::int8 as calls, count(distinct actor)::int4 as keys, max(last_at) as last_at from (
    select code, action, status, actor, sum(calls) as calls, max(last_at) as last_at from audit_hour
     where organisation_id = $1 and hour >= date_trunc('hour', $2::timestamptz, 'UTC') and hour < $3 and status >= 400
       and ${ofKey(which)}
     group by 1, 2, 3, 4
    union all
    select coalesce(substring(detail from '"code":"([a-z_]+)"'), ''), action, status, actor, 1, at from ${unsealedRows} a
     where at >= $2 and at < $3 and status >= 400 and ${ofKey(which)}) e
   group by code, action, status order by calls desc, code, action`;
const errors = { key: errorsOf('key'), all: errorsOf('all') };

export async function groupErrors(
  tx: Tx,
  organisationId: number,
  { actor = null, from, to }: Pick<LogFilter, 'actor' | 'from' | 'to'>,
): Promise<ErrorGroup[]> {
  const rows = await tx.query<Omit<ErrorGroup, 'fix'>>(errors[actor === null ? 'all' : 'key'], [
    organisationId,
    from,
    to,
    actor,
  ]);
  return rows.map((row) => ({ ...row, fix: fixOf(row.code) }));
}

export function fixOf(code: string): string {
  const known = Object.entries(errorTable).find(([name]) => name === code);
  if (known !== undefined) return known[1][1];
  const field = /^invalid_([a-z_]+)$/.exec(code)?.[1];
  return field === undefined ? '' : `${field} in the body is not valid. Check it against the API reference.`;
}

/** Writes the call as a curl command. Words in capitals replace values that the log does not contain. */
export function asCurl(baseUrl: string, call: LoggedCall): string | null {
  const match = /^(GET|POST|PATCH|DELETE) (\/\S*)$/.exec(call.action);
  if (match === null) return null;
  const [, method, path] = match;
  const filled = path!.replace('{id}', call.resource ?? 'ID').replace('{ref}', 'LEARNER_REF');
  const { query, limit, cursor } = call.detail ?? {};
  const parts = [
    ...(query === undefined ? [] : [query.replace(/learner_id=[^&]*/, 'learner_ref=LEARNER_REF')]),
    ...(limit === undefined ? [] : [`limit=${limit}`]),
    ...(cursor === undefined ? [] : ['cursor=CURSOR']),
  ];
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}'${baseUrl}${filled}${parts.length === 0 ? '' : `?${parts.join('&')}`}'`,
    `  -H 'X-Access-Key-Id: ${call.actor}'`,
    `  -H "X-Secret-Access-Key: $SECRET_ACCESS_KEY"`,
    ...(method === 'POST' || method === 'PATCH' ? [`  -H 'Content-Type: application/json' -d 'BODY'`] : []),
  ].join(' \\\n');
}
