import type { IncomingHttpHeaders } from 'node:http';
import type { App } from '../platform/app.ts';
import type { KeyScope } from '../organisations/key-scope.ts';
import { arrayLiteral, joinedTexts, joinedTextsOf, uuidArray } from '../platform/db/arrays.ts';
import { batcher } from '../platform/db/batcher.ts';
import type { Database, Dedicated } from '../platform/db/database.ts';
import { statement } from '../platform/db/database.ts';
import { ApiError } from '../platform/errors/errors.ts';
import type { FeedState } from '../feed/etag.ts';
import { sameState } from '../feed/etag.ts';
import type { Caller } from './http/route.ts';
import { hashSecret, isValid } from '../integrations/access-keys/keys.ts';
import { limits } from '../platform/config/limits.ts';
import { admissionBatch, admissionTime } from '../platform/observability/metric-definitions.ts';
import { inSpan } from '../platform/observability/tracing.ts';

/** Who calls, whether the call is within its key's rate limit, and where the organisation's feed stands. */
export type Admission = Caller & {
  granted: boolean;
  /** Requests left in the window after this one. */
  remaining: number;
  /** Whole seconds after which the oldest admitted request leaves the window. */
  resetSeconds: number;
  /** The call repeats a read, nothing has changed since, and the audit row of its reply is committed. */
  answered: boolean;
};

/**
 * Above this limit, times are kept in steps of a second, so that a key's row fits a page of the database whatever the
 * limit is.
 */
const exactUpTo = 400;
const coarseMs = 1000;

/**
 * The window after one more batch, out of the row `w` as it is when the batch gets it: admitted_ms rises, and
 * admitted_total is the running total at each of these times, so what has left the window is found by one binary
 * search. An admitted time counts for a millisecond longer than the window, because times are cut to milliseconds. A
 * clock that is behind the last time waits there; more than a window behind, it is that time which was wrong, and all
 * that is still in the window of then counts as admitted now (docs/decisions/0004).
 */
function countedBy(asked: string, nowMs: string, limit: string, stepMs: string): string {
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
             lateral (select least(${asked}, greatest(${limit}::int8 - (w.total - d.gone), 0)) as granted,
                             cardinality(w.admitted_ms) > d.rows and w.admitted_ms[cardinality(w.admitted_ms)] / ${stepMs}::int8 = t.at / ${stepMs}::int8 as joins) g)`;
}

const result = 'w.granted, w.used, w.admitted_ms[1] as oldest_ms, w.last_ms';

/** Every request that waits uses one key, as most batches do. */
const admitOne = `
  admitted as (
    update rate_window w set ${countedBy('$3::int8', '$6', '$7', '$8')}
      from access_key k join feed f on f.organisation_id = k.organisation_id and not f.suspended
     where w.key_id = $1 and k.key_id = $1 and ${isValid('$2', '$5', '$4::inet')}
    returning 1::int8 as pair, w.granted = $3 as all_granted, w.key_id, k.organisation_id, k.group_ids, k.subjects,
              f.position, f.state, f.restored_at, ${result})`;

/**
 * Several keys, or addresses of one: rows are locked in the order of their keys, so that two processes can't deadlock.
 * What one key asks from several addresses is counted together, and shared out in the order of the rows.
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

/** The audit rows of the reads that are hereby answered, as was presumed. */
const answered = (reads: string) => `
  answered as (
    insert into audit (organisation_id, at, request_id, actor, action, resource, status, detail)
    select a.organisation_id, $5, p.request_id, a.key_id, p.action, p.resource, p.status, p.detail
      from ${reads} as p
      join admitted a on a.pair = p.pair and a.all_granted and a.organisation_id = p.organisation_id and a.position = p.position and a.state = p.state)`;

/**
 * All of one key and one request, as most batches are: each array beyond the ids would cost as much as several rows.
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
  one: statement('admission.one', `with ${admitOne} select * from admitted`),
  oneAnswered: statement('admission.one_answered', `with ${admitOne}, ${answered(readsAlike)} select * from admitted`),
  many: statement('admission.many', `with ${admitMany} select * from admitted`),
  manyAnswered: statement(
    'admission.many_answered',
    `with ${admitMany}, ${answered(readsUnlike)} select * from admitted`,
  ),
};

/** Whose the calls are, which every node knows. */
const known = statement(
  'admission.known',
  `
  select a.pair, k.key_id, k.organisation_id, k.group_ids, k.subjects
    from unnest($1::text[], $2::bytea[], $3::inet[]) with ordinality as a(key_id, secret, address, pair)
    join access_key k on k.key_id = a.key_id and ${isValid('a.secret', '$4', 'a.address')}
   order by a.pair`,
);
const admitWhere = statement(
  'admission.where_it_is',
  `
  update rate_window w set ${countedBy('$3::int8', '$4', '$5', '$6')}
    from feed f
   where w.organisation_id = $1 and w.key_id = $2 and f.organisation_id = $1 and not f.suspended
  returning w.granted = $3 as all_granted, f.position, f.state, f.restored_at, ${result}`,
);

type KnownRow = {
  pair: number;
  key_id: string;
  organisation_id: number;
  group_ids: string[] | null;
  subjects: string[] | null;
};

type AdmitRow = KnownRow & {
  all_granted: boolean;
  position: number;
  state: number;
  restored_at: number;
  granted: number;
  used: number;
  oldest_ms: number | null;
  last_ms: number;
};

/** What is presumed of the reply to a read that repeats one: it holds if the feed is still where it was. */
export type Presumed = {
  organisationId: number;
  /** The feed's state when the read was let in. */
  feed: FeedState;
  /** For the audit log. */
  action: string;
  resource: string | null;
  status: number;
  detail: string;
};

/**
 * What a call shows of itself, where it comes from (null: unknown), and what is presumed of its reply (null unless it
 * repeats a read).
 */
export type Asked = {
  keyId: string;
  secret: string;
  address: string | null;
  read: { presumed: Presumed; requestId: string } | null;
};

/** Calls that show the same of themselves, by their places. */
type Pair = { keyId: string; secret: string; address: string | null; calls: number[] };

/** Admits calls by their credentials; null for any that aren't valid, whatever is wrong with them. */
export type Admit = (asked: Asked) => Promise<Admission | null>;

/**
 * Credentials, rate limit and feed state of all requests that wait, by one statement, always fresh: nothing can go
 * stale. A read that was answered before is answered by the same statement if the feed is still where it was: that
 * statement then writes its audit row, too.
 * @param relaxed a connection of its own that commits asynchronously: an admission needn't survive a crash of the
 * database
 * @param durable another one, for batches with audit rows
 */
export function admitter(app: App, relaxed: Dedicated, durable: Dedicated): Admit {
  const limit = app.settings.rateLimit;
  const stepMs = limit <= exactUpTo ? 1 : coarseMs;
  return batcher<Asked, Admission | null>(
    async (calls) => {
      const pairsOf = new Map<string, Pair>();
      calls.forEach(({ keyId, secret, address }, i) => {
        const pair = `${keyId}\n${secret}\n${address}`;
        const found = pairsOf.get(pair);
        if (found === undefined) pairsOf.set(pair, { keyId, secret, address, calls: [i] });
        else found.calls.push(i);
      });
      const pairs = [...pairsOf.values()];
      const reads = pairs.flatMap((pair, i) =>
        pair.calls.flatMap((call) => {
          const { read } = calls[call]!;
          // Where several nodes would write, a repeated read is answered like any other.
          return read === null || app.db.distributed === true ? [] : [{ pair: i + 1, ...read }];
        }),
      );
      const nowMs = app.clock.nowMs();
      const window: [Date, number, number, number] = [new Date(nowMs), nowMs, limit, stepMs];
      const one = pairs.length === 1 && reads.every((read) => read.presumed === reads[0]!.presumed);
      const asked = one
        ? [pairs[0]!.keyId, hashSecret(pairs[0]!.secret), pairs[0]!.calls.length, pairs[0]!.address]
        : [
            pairs.map((pair) => pair.keyId),
            pairs.map((pair) => hashSecret(pair.secret)),
            pairs.map((pair) => pair.calls.length),
            pairs.map((pair) => pair.address),
          ];
      const sentMs = app.clock.monotonicMs();
      const rows = await inSpan('admission', { 'ars.batch_size': calls.length }, () =>
        app.db.distributed === true
          ? admitWhereTheyAre(app.db, pairs, window)
          : reads.length === 0
            ? relaxed.query<AdmitRow>(one ? statements.one : statements.many, [...asked, ...window])
            : durable.query<AdmitRow>(one ? statements.oneAnswered : statements.manyAnswered, [
                ...asked,
                ...window,
                uuidArray(reads.map((read) => read.requestId)),
                ...(one ? presumedAlike(reads[0]!.presumed) : presumedUnlike(reads)),
              ]),
      );
      admissionBatch.observe(calls.length);
      admissionTime.observe((app.clock.monotonicMs() - sentMs) / 1000);
      const out = new Array<Admission | null>(calls.length).fill(null);
      const counted = new Map<string, number>();
      for (const row of rows) {
        const before = counted.get(row.key_id) ?? 0;
        const here = pairs[row.pair - 1]!.calls;
        if (pairs.length > 1) counted.set(row.key_id, before + here.length);
        const keyScope = keyScopeOf(row);
        here.forEach((call, n) => {
          const i = before + n;
          const presumed = calls[call]!.read?.presumed;
          out[call] = {
            organisationId: row.organisation_id,
            keyId: row.key_id,
            keyScope,
            feed: { position: row.position, state: row.state, restoredAt: row.restored_at },
            granted: i < row.granted,
            remaining: Math.max(0, limit - row.used + Math.max(0, row.granted - i - 1)),
            resetSeconds: row.oldest_ms === null ? 0 : secondsUntilFree(row.oldest_ms, row.last_ms),
            answered:
              presumed !== undefined &&
              app.db.distributed !== true &&
              row.all_granted &&
              presumed.organisationId === row.organisation_id &&
              sameState(presumed.feed, row),
          };
        });
      }
      return out;
    },
    512,
    2,
  );
}

function keyScopeOf({ group_ids: groupIds, subjects }: AdmitRow): KeyScope | null {
  return groupIds === null && subjects === null ? null : { groupIds, subjects };
}

function presumedAlike({ organisationId, feed, action, resource, status, detail }: Presumed): unknown[] {
  return [organisationId, feed.position, feed.state, action, resource, status, detail];
}

function presumedUnlike(reads: { pair: number; presumed: Presumed }[]): unknown[] {
  const numbers = (number: (presumed: Presumed) => number) =>
    arrayLiteral(reads.map(({ presumed }) => number(presumed)));
  const texts = (text: (presumed: Presumed) => string) => joinedTexts(reads.map(({ presumed }) => text(presumed)));
  return [
    numbers((presumed) => presumed.organisationId),
    numbers((presumed) => presumed.feed.position),
    numbers((presumed) => presumed.feed.state),
    texts((presumed) => presumed.action),
    texts((presumed) => presumed.resource ?? ''),
    numbers((presumed) => presumed.status),
    texts((presumed) => presumed.detail),
    arrayLiteral(reads.map((read) => read.pair)),
  ];
}

/**
 * Whole seconds until the oldest admitted time has left the window, never more than the window itself: the millisecond
 * that a time counts for longer passes while the reply is on its way.
 */
function secondsUntilFree(oldestMs: number, nowMs: number): number {
  const seconds = Math.ceil((oldestMs + limits.rateWindowMs + 1 - nowMs) / 1000);
  return Math.min(Math.max(1, seconds), limits.rateWindowMs / 1000);
}

/** The same where organisations are on several nodes: each key is counted on its organisation's. */
async function admitWhereTheyAre(
  db: Database,
  pairs: Pair[],
  [now, nowMs, limit, stepMs]: [Date, number, number, number],
): Promise<AdmitRow[]> {
  const rows = await db.query<KnownRow>(known, [
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
      const [row] = await db.query<Omit<AdmitRow, keyof KnownRow>>(admitWhere, [
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

/** Missing credentials go the same way as wrong ones, so that they can't be told apart by time. */
export function credentialsOf(headers: IncomingHttpHeaders): { keyId: string; secret: string } {
  const keyId = headers['x-access-key-id'];
  const secret = headers['x-secret-access-key'];
  return {
    keyId: typeof keyId === 'string' ? keyId.slice(0, 200) : '',
    secret: typeof secret === 'string' ? secret.slice(0, 500) : '',
  };
}

/** @param why a whole sentence, for whoever is known to have the secret */
export function notLetIn(why?: string): ApiError {
  return new ApiError('invalid_credentials', why, { 'www-authenticate': 'AccessKey realm="api"' });
}

/** Names and values in turn (draft-ietf-httpapi-ratelimit-headers). */
export function rateHeaders(app: App, { remaining, resetSeconds }: Admission): [string, string, string, string] {
  return [
    'ratelimit-policy',
    `"default";q=${app.settings.rateLimit};w=${limits.rateWindowMs / 1000}`,
    'ratelimit',
    `"default";r=${remaining};t=${resetSeconds}`,
  ];
}
