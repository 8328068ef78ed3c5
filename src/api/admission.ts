import type { IncomingHttpHeaders } from 'node:http';
import type { App } from '../platform/app.ts';
import type { KeyScope } from '../organisations/key-scope.ts';
import { arrayLiteral, joinedTexts, joinedTextsOf, uuidArray } from '../platform/db/arrays.ts';
import { batcher } from '../platform/db/batcher.ts';
import { type Database, type Dedicated, statement } from '../platform/db/database.ts';
import { ApiError } from '../platform/errors/errors.ts';
import { type FeedState, sameState } from '../feed/etag.ts';
import type { Caller } from './http/route.ts';
import { hashSecret, isValid } from '../integrations/access-keys/keys.ts';
import { limits } from '../platform/config/limits.ts';
import { admissionBatch, admissionTime } from '../platform/observability/metric-definitions.ts';
import { inSpan } from '../platform/observability/tracing.ts';

export type Admission = Caller & {
  granted: boolean;
  /** The number of requests that the rate limit still allows in the current window, after this request. */
  remaining: number;
  /** Whole seconds after which the oldest admitted request leaves the window. */
  resetSeconds: number;
  /** Whether the cached response may be sent: it is still right, and its audit row is committed. */
  answered: boolean;
};

/** With a higher rate limit, times are stored in steps of 1 second, so that a key's row fits into a database page. */
const exactUpTo = 400;
const coarseMs = 1000;

/**
 * The new values of a key's row `w` after a batch of calls. `admitted_ms` rises and `admitted_total` is the running
 * total, so one binary search finds the calls outside the window.
 *
 * Times are cut to milliseconds, so each time counts 1 ms longer than the window. If the clock is behind `last_ms`,
 * `last_ms` is used, unless the difference exceeds the window (docs/decisions/0004).
 */
function countedBy(calls: string, nowMs: string, limit: string, stepMs: string): string {
  return `(last_ms, granted, used, total, gone_total, admitted_ms, admitted_total) = (
      select t.at, g.granted, w.total - d.gone + g.granted, w.total + g.granted, d.gone,
             case when t.at < w.last_ms then array[t.at]
                  when g.granted = 0 then w.admitted_ms[d.rows + 1:]
                  when g.joins then w.admitted_ms[d.rows + 1:cardinality(w.admitted_ms) - 1] || t.at
                  else w.admitted_ms[d.rows + 1:] || t.at end,
             case when t.at < w.last_ms then array[w.total + g.granted]
                  when g.granted = 0 then w.admitted_total[d.rows + 1:]
                  when g.joins then w.admitted_total[d.rows + 1:cardinality(w.admitted_total) - 1] || (w.total + g.granted)
                  else w.admitted_total[d.rows + 1:] || (w.total + g.granted) end
        from (select case when w.last_ms > ${nowMs}::int8 + ${limits.rateWindowMs} then ${nowMs}::int8 else greatest(w.last_ms, ${nowMs}::int8) end as at) t,
             lateral (select width_bucket(t.at - ${limits.rateWindowMs} - 1, w.admitted_ms) as expired) e,
             lateral (select e.expired as rows, coalesce(w.admitted_total[e.expired], w.gone_total) as gone) d,
             lateral (select least(${calls}, greatest(${limit}::int8 - (w.total - d.gone), 0)) as granted,
                             cardinality(w.admitted_ms) > d.rows and w.admitted_ms[cardinality(w.admitted_ms)] / ${stepMs}::int8 = t.at / ${stepMs}::int8 as joins) g)`;
}

const result = 'w.granted, w.used, w.admitted_ms[1] as oldest_ms, w.last_ms';

/** Admits a batch in which all calls have one key and one IP address, as in most batches. */
const admitOne = `
  admitted as (
    update rate_window w set ${countedBy('$3::int8', '$6', '$7', '$8')}
      from access_key k join feed f on f.organisation_id = k.organisation_id and not f.suspended
     where w.key_id = $1 and k.key_id = $1 and ${isValid('$2', '$5', '$4::inet')}
    returning 1::int8 as pair, w.granted = $3 as all_granted, w.key_id, k.organisation_id, k.group_ids, k.subjects,
              f.position, f.state, f.restored_at, ${result})`;

/**
 * Admits a batch with several keys or IP addresses; a key's calls from all addresses are counted together. Rows are
 * locked in the order of their keys, so that two processes cannot deadlock.
 */
const admitMany = `
  asked as materialized (
    select a.key_id, a.n, a.pair, k.organisation_id, k.group_ids, k.subjects
      from unnest($1::text[], $2::bytea[], $3::int8[], $4::inet[]) with ordinality as a(key_id, secret, n, address, pair)
      join access_key k on k.key_id = a.key_id and ${isValid('a.secret', '$5', 'a.address')}),
  locked as materialized (
    select w.key_id from rate_window w where w.key_id in (select key_id from asked) order by w.key_id for update),
  counted as (
    update rate_window w set ${countedBy('a.n', '$6', '$7', '$8')}
      from (select key_id, sum(n)::int8 as n from asked group by key_id) a join locked l on l.key_id = a.key_id
     where w.key_id = a.key_id
    returning w.key_id, w.granted = a.n as all_granted, ${result}),
  admitted as (
    select asked.pair, c.all_granted, asked.key_id, asked.organisation_id, asked.group_ids, asked.subjects,
           f.position, f.state, f.restored_at, c.granted, c.used, c.oldest_ms, c.last_ms
      from asked
      join counted c on c.key_id = asked.key_id
      join feed f on f.organisation_id = asked.organisation_id and not f.suspended)`;

/** Writes the audit rows of reads whose cached responses are still right. */
const answered = (reads: string) => `
  answered as (
    insert into audit (organisation_id, at, request_id, actor, action, resource, status, detail)
    select a.organisation_id, $5, p.request_id, a.key_id, p.action, p.resource, p.status, p.detail
      from ${reads} as p
      join admitted a on a.pair = p.pair and a.all_granted and a.organisation_id = p.organisation_id and a.position = p.position and a.state = p.state)`;

/**
 * The reads of a batch in which all calls repeat one request with one key. Single values replace arrays, because each
 * array costs as much as several rows.
 */
const readsAlike = `
  (select 1::int8 as pair, request_id, $10::int8 as organisation_id, $11::int8 as position, $12::int8 as state,
          $13::text as action, $14::text as resource, $15::int2 as status, $16::text as detail
     from unnest($9::uuid[]) as u(request_id))`;

const readsUnlike = `
  (select * from unnest($9::uuid[], $10::int8[], $11::int8[], $12::int8[], ${joinedTextsOf('$13')}, ${joinedTextsOf('$14', 'emptyAsNull')},
                        $15::int2[], ${joinedTextsOf('$16')}, $17::int8[])
     as u(request_id, organisation_id, position, state, action, resource, status, detail, pair))`;

const statements = {
  one: statement('admission.one')`with ${admitOne} select * from admitted`,
  oneAnswered: statement('admission.one_answered')`with ${admitOne}, ${answered(readsAlike)} select * from admitted`,
  many: statement('admission.many')`with ${admitMany} select * from admitted`,
  manyAnswered: statement('admission.many_answered')`
  with ${admitMany}, ${answered(readsUnlike)} select * from admitted`,
};

/** Reads the keys of the calls. Every node has a copy of the keys, so any node can run this statement. */
const keysOfCalls = statement('admission.known')`
  select a.pair, k.key_id, k.organisation_id, k.group_ids, k.subjects
    from unnest($1::text[], $2::bytea[], $3::inet[]) with ordinality as a(key_id, secret, address, pair)
    join access_key k on k.key_id = a.key_id and ${isValid('a.secret', '$4', 'a.address')}
   order by a.pair`;
const admitWhere = statement('admission.where_it_is')`
  update rate_window w set ${countedBy('$3::int8', '$4', '$5', '$6')}
    from feed f
   where w.organisation_id = $1 and w.key_id = $2 and f.organisation_id = $1 and not f.suspended
  returning w.granted = $3 as all_granted, f.position, f.state, f.restored_at, ${result}`;

type KeyRow = {
  pair: number;
  key_id: string;
  organisation_id: number;
  group_ids: string[] | null;
  subjects: string[] | null;
};

type AdmitRow = KeyRow & {
  all_granted: boolean;
  position: number;
  state: number;
  restored_at: number;
  granted: number;
  used: number;
  oldest_ms: number | null;
  last_ms: number;
};

/** The data for a cached response's audit row. The response is right as long as the feed has the state `feed`. */
export type CachedRead = {
  organisationId: number;
  feed: FeedState;
  action: string;
  resource: string | null;
  status: number;
  detail: string;
};

export type Credentials = {
  keyId: string;
  secret: string;
  /** The caller's IP address; null: unknown. */
  address: string | null;
};

/** `read`: the cached response to this request; null: there is none. */
export type AdmissionCall = Credentials & { read: { cached: CachedRead; requestId: string } | null };

/** Calls with the same credentials. `calls`: their indexes in the batch. */
type Pair = Credentials & { calls: number[] };

/** Admits a call, or resolves to null if its credentials are not valid. */
export type Admit = (call: AdmissionCall) => Promise<Admission | null>;

/**
 * Admits calls in batches: one statement checks credentials, rate limits and feed states in the database, so no process
 * uses outdated values. If a cached response is still right, the same statement writes its audit row.
 * @param relaxed a connection that commits asynchronously, because an admission need not survive a crash of the
 * database
 * @param durable a connection that commits synchronously, for batches with audit rows
 */
export function admitter(app: App, relaxed: Dedicated, durable: Dedicated): Admit {
  const limit = app.settings.rateLimit;
  const stepMs = limit <= exactUpTo ? 1 : coarseMs;
  return batcher<AdmissionCall, Admission | null>(
    async (calls) => {
      const pairs = pairsOf(calls);
      const reads = pairs.flatMap((pair, i) =>
        pair.calls.flatMap((call) => {
          const { read } = calls[call]!;
          // In a distributed database, the admission and the audit row would be written on several nodes, so no cached
          // response is sent.
          return read === null || app.db.distributed === true ? [] : [{ pair: i + 1, ...read }];
        }),
      );
      const nowMs = app.clock.nowMs();
      const window: [Date, number, number, number] = [new Date(nowMs), nowMs, limit, stepMs];
      const isOne = pairs.length === 1 && reads.every((read) => read.cached === reads[0]!.cached);
      const columns = [
        pairs.map((pair) => pair.keyId),
        pairs.map((pair) => hashSecret(pair.secret)),
        pairs.map((pair) => pair.calls.length),
        pairs.map((pair) => pair.address),
      ];
      const values = [...(isOne ? columns.map(([value]) => value) : columns), ...window];
      const sentMs = app.clock.monotonicMs();
      const rows = await inSpan('admission', { 'ars.batch_size': calls.length }, () =>
        app.db.distributed === true
          ? admitWhereTheyAre(app.db, pairs, window)
          : reads.length === 0
            ? relaxed.query<AdmitRow>(isOne ? statements.one : statements.many, values)
            : durable.query<AdmitRow>(isOne ? statements.oneAnswered : statements.manyAnswered, [
                ...values,
                uuidArray(reads.map((read) => read.requestId)),
                ...(isOne ? readAlike(reads[0]!.cached) : readsApart(reads)),
              ]),
      );
      admissionBatch.observe(calls.length);
      admissionTime.observe((app.clock.monotonicMs() - sentMs) / 1000);
      return admissionsOf(calls, pairs, rows, limit, app.db.distributed === true);
    },
    512,
    2,
  );
}

function pairsOf(calls: AdmissionCall[]): Pair[] {
  const pairs = new Map<string, Pair>();
  calls.forEach(({ keyId, secret, address }, i) => {
    const name = `${keyId}\n${secret}\n${address}`;
    const pair = pairs.get(name);
    if (pair === undefined) pairs.set(name, { keyId, secret, address, calls: [i] });
    else pair.calls.push(i);
  });
  return [...pairs.values()];
}

function admissionsOf(
  calls: AdmissionCall[],
  pairs: Pair[],
  rows: AdmitRow[],
  limit: number,
  isDistributed: boolean,
): (Admission | null)[] {
  const admissions = new Array<Admission | null>(calls.length).fill(null);
  const counted = new Map<string, number>();
  for (const row of rows) {
    const before = counted.get(row.key_id) ?? 0;
    const ofPair = pairs[row.pair - 1]!.calls;
    if (pairs.length > 1) counted.set(row.key_id, before + ofPair.length);
    const keyScope = keyScopeOf(row);
    ofPair.forEach((call, n) => {
      const i = before + n;
      const cached = calls[call]!.read?.cached;
      admissions[call] = {
        organisationId: row.organisation_id,
        keyId: row.key_id,
        keyScope,
        feed: { position: row.position, state: row.state, restoredAt: row.restored_at },
        granted: i < row.granted,
        remaining: Math.max(0, limit - row.used + Math.max(0, row.granted - i - 1)),
        resetSeconds: row.oldest_ms === null ? 0 : secondsUntilFree(row.oldest_ms, row.last_ms),
        answered:
          cached !== undefined &&
          !isDistributed &&
          row.all_granted &&
          cached.organisationId === row.organisation_id &&
          sameState(cached.feed, row),
      };
    });
  }
  return admissions;
}

function keyScopeOf({ group_ids: groupIds, subjects }: AdmitRow): KeyScope | null {
  return groupIds === null && subjects === null ? null : { groupIds, subjects };
}

function readAlike({ organisationId, feed, action, resource, status, detail }: CachedRead): unknown[] {
  return [organisationId, feed.position, feed.state, action, resource, status, detail];
}

function readsApart(reads: { pair: number; cached: CachedRead }[]): unknown[] {
  const numbers = (number: (cached: CachedRead) => number) => arrayLiteral(reads.map(({ cached }) => number(cached)));
  const texts = (text: (cached: CachedRead) => string) => joinedTexts(reads.map(({ cached }) => text(cached)));
  return [
    numbers((cached) => cached.organisationId),
    numbers((cached) => cached.feed.position),
    numbers((cached) => cached.feed.state),
    texts((cached) => cached.action),
    texts((cached) => cached.resource ?? ''),
    numbers((cached) => cached.status),
    texts((cached) => cached.detail),
    arrayLiteral(reads.map((read) => read.pair)),
  ];
}

/** Whole seconds until the oldest admitted call leaves the window, from 1 to the length of the window. */
function secondsUntilFree(oldestMs: number, nowMs: number): number {
  const seconds = Math.ceil((oldestMs + limits.rateWindowMs + 1 - nowMs) / 1000);
  return Math.min(Math.max(1, seconds), limits.rateWindowMs / 1000);
}

/** Admits calls in a distributed database. Each key is counted on the node that stores its organisation. */
async function admitWhereTheyAre(
  db: Database,
  pairs: Pair[],
  [now, nowMs, limit, stepMs]: [Date, number, number, number],
): Promise<AdmitRow[]> {
  const rows = await db.query<KeyRow>(keysOfCalls, [
    pairs.map((pair) => pair.keyId),
    pairs.map((pair) => hashSecret(pair.secret)),
    pairs.map((pair) => pair.address),
    now,
  ]);
  const counted = Map.groupBy(rows, (row) => row.key_id);
  const admitted = await Promise.all(
    [...counted.values()].map(async (ofKey) => {
      const calls = ofKey.reduce((sum, { pair }) => sum + pairs[pair - 1]!.calls.length, 0);
      const { organisation_id: organisationId, key_id: keyId } = ofKey[0]!;
      const [row] = await db.query<Omit<AdmitRow, keyof KeyRow>>(admitWhere, [
        organisationId,
        keyId,
        calls,
        nowMs,
        limit,
        stepMs,
      ]);
      return row === undefined ? [] : ofKey.map((one) => ({ ...one, ...row }));
    }),
  );
  return admitted.flat();
}

/** Missing credentials become empty texts, so that checking them takes as long as checking wrong credentials. */
export function credentialsOf(headers: IncomingHttpHeaders): { keyId: string; secret: string } {
  const keyId = headers['x-access-key-id'];
  const secret = headers['x-secret-access-key'];
  return {
    keyId: typeof keyId === 'string' ? keyId.slice(0, 200) : '',
    secret: typeof secret === 'string' ? secret.slice(0, 500) : '',
  };
}

/** @param message replaces the default sentence, but only for a caller who has the secret */
export function invalidCredentials(message?: string): ApiError {
  return new ApiError('invalid_credentials', message, { 'www-authenticate': 'AccessKey realm="api"' });
}

/** @returns header names and values alternately (draft-ietf-httpapi-ratelimit-headers) */
export function rateHeaders(app: App, { remaining, resetSeconds }: Admission): [string, string, string, string] {
  return [
    'ratelimit-policy',
    `"default";q=${app.settings.rateLimit};w=${limits.rateWindowMs / 1000}`,
    'ratelimit',
    `"default";r=${remaining};t=${resetSeconds}`,
  ];
}
