import type { App } from '../app.ts';
import { batcher } from '../db/batcher.ts';
import type { Dedicated } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { hashSecret } from '../keys/keys.ts';
import { limits } from '../limits.ts';

/** Who calls, whether the call is within its key's rate limit, and where the organisation's feed stands. */
export type Admission = {
  organisationId: number; organisationPublicId: string; keyId: string;
  /** The feed's position and groups version, read before anything that the reply shows. */
  feedPosition: number; groupsVersion: number;
  granted: boolean;
  /** Requests left in the window after this one. */
  remaining: number;
  /** Whole seconds after which the oldest admitted request leaves the window. */
  resetSeconds: number;
};

/** Above this limit, times are kept in steps, so that a key's row stays small. */
const exactUpTo = 1000;
const coarseMs = 250;

/**
 * One statement for every request that waits: credentials, rate limit and feed position, always fresh, so nothing can go
 * stale. Rows are locked in the order of their keys, so that two processes can't deadlock. An admitted time counts for a
 * millisecond longer than the window, because times are cut to milliseconds.
 */
const admit = statement('admission.admit', `
  with asked as materialized (
    select a.key_id, a.n, a.pair, k.organisation_id
      from unnest($1::text[], $2::bytea[], $3::int4[]) with ordinality as a(key_id, secret, n, pair)
      join access_key k on k.key_id = a.key_id and k.secret_sha256 = a.secret
       and k.revoked_at is null and (k.expires_at is null or k.expires_at > $4)),
  locked as materialized (
    select w.key_id from rate_window w where w.key_id in (select key_id from asked) order by w.key_id for update),
  counted as (
    update rate_window w set (last_ms, granted, used, admitted_ms, admitted) = (
      select t.at, g.granted, w.used - d.used + g.granted,
             case when g.granted = 0 then w.admitted_ms[d.rows + 1:]
                  when g.joins then w.admitted_ms[d.rows + 1:cardinality(w.admitted_ms) - 1] || t.at
                  else w.admitted_ms[d.rows + 1:] || t.at end,
             case when g.granted = 0 then w.admitted[d.rows + 1:]
                  when g.joins then w.admitted[d.rows + 1:cardinality(w.admitted) - 1] || (w.admitted[cardinality(w.admitted)] + g.granted)
                  else w.admitted[d.rows + 1:] || g.granted end
        from (select greatest(w.last_ms, $5::int8) as at) t,
             lateral (select count(*)::int4 as rows, coalesce(sum(e.n), 0)::int4 as used
                        from unnest(w.admitted_ms, w.admitted) as e(ms, n) where e.ms < t.at - ${limits.rateWindowMs}) d,
             lateral (select least(a.n, greatest($6::int4 - (w.used - d.used), 0)) as granted,
                             cardinality(w.admitted_ms) > d.rows and w.admitted_ms[cardinality(w.admitted_ms)] / $7::int8 = t.at / $7::int8 as joins) g)
      from asked a join locked l on l.key_id = a.key_id
     where w.key_id = a.key_id
    returning w.key_id, w.granted, w.used, w.admitted_ms[1] as oldest_ms, w.last_ms)
  select asked.pair, asked.key_id, asked.organisation_id, o.public_id, f.position, f.groups_version, c.granted, c.used, c.oldest_ms, c.last_ms
    from asked
    join counted c on c.key_id = asked.key_id
    join organisation o on o.organisation_id = asked.organisation_id
    join feed f on f.organisation_id = asked.organisation_id`);

type AdmitRow = {
  pair: number; key_id: string; organisation_id: number; public_id: string; position: number; groups_version: number;
  granted: number; used: number; oldest_ms: number | null; last_ms: number;
};

type Credentials = { keyId: string; secret: string };

/** Admits calls by their credentials; null for any that aren't valid, whatever is wrong with them. */
export type Admit = (credentials: Credentials) => Promise<Admission | null>;

/** @param connection a connection of its own; an admission needn't survive a crash of the database, so it may commit asynchronously */
export function admitter(app: App, connection: Dedicated): Admit {
  const limit = app.settings.rateLimit;
  const stepMs = limit <= exactUpTo ? 1 : coarseMs;
  return batcher<Credentials, Admission | null>(async (calls) => {
    const asked = new Map<string, { keyId: string; secret: string; calls: number[] }>();
    calls.forEach(({ keyId, secret }, i) => {
      const pair = `${keyId}\n${secret}`;
      const found = asked.get(pair);
      if (found === undefined) asked.set(pair, { keyId, secret, calls: [i] });
      else found.calls.push(i);
    });
    const pairs = [...asked.values()];
    const nowMs = app.clock.nowMs();
    const rows = await connection.query<AdmitRow>(admit, [
      pairs.map((pair) => pair.keyId), pairs.map((pair) => hashSecret(pair.secret)), pairs.map((pair) => pair.calls.length),
      new Date(nowMs), nowMs, limit, stepMs]);
    const out = new Array<Admission | null>(calls.length).fill(null);
    for (const row of rows) {
      pairs[row.pair - 1]!.calls.forEach((call, i) => {
        out[call] = {
          organisationId: row.organisation_id, organisationPublicId: row.public_id, keyId: row.key_id,
          feedPosition: row.position, groupsVersion: row.groups_version,
          granted: i < row.granted,
          remaining: Math.max(0, limit - row.used + Math.max(0, row.granted - i - 1)),
          resetSeconds: row.oldest_ms === null ? 0 : Math.max(1, Math.ceil((row.oldest_ms + limits.rateWindowMs + 1 - row.last_ms) / 1000)),
        };
      });
    }
    return out;
  }, 512);
}
