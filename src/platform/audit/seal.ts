import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../app.ts';
import { statement, type Tx } from '../db/database.ts';
import { advisoryLocks } from '../db/locks.ts';
import { publicIdOf } from '../db/public-ids.ts';
import { isOutage } from '../db/connection/unavailable.ts';
import { limits } from '../config/limits.ts';
import { errorFields } from '../observability/log.ts';
import { auditSealed } from '../observability/metric-definitions.ts';
import { hashOf, lineOf } from './line.ts';

/**
 * Sealing puts committed audit rows into blocks, in the order of their IDs. A block's hash covers its rows and the
 * previous block's hash.
 * A block contains rows of one organisation and one month, at most one minute apart.
 */

const lastNumber = statement('audit.last_number')`select last_value as number from audit_number`;
// A transaction takes this table lock before it takes a number from the sequence, and holds the lock until it ends.
const writers = statement('audit.writers')`
  select virtualtransaction as id from pg_locks
   where locktype = 'relation' and relation = 'audit'::regclass and mode = 'RowExclusiveLock' and granted
     and database = (select oid from pg_database where datname = current_database())`;

/** @returns the highest number up to which no new row can appear; null if a writing transaction stays open */
async function settledNumber(db: Tx, signal?: AbortSignal): Promise<number | null> {
  const [last] = await db.query<{ number: number }>(lastNumber);
  const readWriters = async () => new Set((await db.query<{ id: string }>(writers)).map(({ id }) => id));
  let open = await readWriters();
  for (let waitMs = 10; open.size > 0 && signal?.aborted !== true; waitMs *= 2) {
    if (waitMs > limits.auditWriterWaitMs) return null;
    await delay(waitMs);
    open = open.intersection(await readWriters());
  }
  return open.size > 0 ? null : last!.number;
}

/** Inserts the next block of each organisation in $1, with rows up to number $3. $2 is the current time. */
const block = statement('audit.seal_block')`
  insert into audit_block as n (organisation_id, number, sealed_at, first_at, last_at, rows, ids, hash)
  select c.organisation_id, c.blocks + 1, $2::timestamptz, f.first_at, f.last_at, f.rows, f.ids,
         ${hashOf('c.hash', 'c.blocks + 1', 'f.rows', 'f.lines')}
    from audit_chain c cross join lateral (
      select min(at) as first_at, max(at) as last_at, count(*)::int4 as rows, array_agg(audit_id order by audit_id) as ids,
             string_agg(${lineOf}, '' order by audit_id) as lines
        from (select r.*, min(at) over w as lowest, max(at) over w as highest
                from (select r.* from audit r
                       where r.organisation_id = c.organisation_id and r.audit_id > c.sealed_id and r.audit_id <= $3
                       order by r.audit_id limit ${limits.auditBlockRows}) r
              window w as (order by audit_id rows unbounded preceding)) r
       where date_trunc('month', lowest, 'UTC') = date_trunc('month', highest, 'UTC')
         and highest - lowest <= interval '${limits.auditBlockMs} milliseconds') f
   where c.organisation_id = any($1) and f.rows > 0
  returning n.organisation_id`;

const count = statement('audit.seal_hours')`
  insert into audit_hour as h (organisation_id, hour, actor, action, status, code, calls, last_at, lowest_id, highest_id, pages, first_position, last_position)
  select organisation_id, date_trunc('hour', at, 'UTC') as hour, actor, action, coalesce(status, 0) as status,
         case when status >= 400 then coalesce(substring(detail from '"code":"([a-z_]+)"'), '') else '' end as code,
         count(*), max(at), min(audit_id), max(audit_id), count(first), min(first), max(last)
    from (select a.*, case when a.status = 200 then substring(a.detail from '"first":(\\d+)')::int8 end as first,
                      case when a.status = 200 then substring(a.detail from '"last":(\\d+)')::int8 end as last
            from audit_chain c join audit_block b on b.organisation_id = c.organisation_id and b.number = c.blocks + 1
            join audit a on a.organisation_id = b.organisation_id and a.audit_id = any(b.ids) and a.at >= b.first_at and a.at <= b.last_at
           where c.organisation_id = any($1)) a
   group by 1, 2, 3, 4, 5, 6
  on conflict (organisation_id, hour, actor, action, status, code) do update
     set calls = h.calls + excluded.calls, last_at = greatest(h.last_at, excluded.last_at),
         lowest_id = least(h.lowest_id, excluded.lowest_id), highest_id = greatest(h.highest_id, excluded.highest_id),
         pages = h.pages + excluded.pages,
         first_position = least(h.first_position, excluded.first_position), last_position = greatest(h.last_position, excluded.last_position)`;
const moveOn = statement('audit.chain_move')`
  update audit_chain c set blocks = b.number, hash = b.hash, sealed_id = b.ids[b.rows]
    from audit_block b
   where b.organisation_id = c.organisation_id and b.number = c.blocks + 1 and c.organisation_id = any($1)`;

/**
 * Seals rows up to a number, unless another process is sealing. After a failure each organisation is sealed alone, so
 * one faulty log does not stop the others.
 */
async function sealSet(app: App, organisationIds: number[], upTo: number, signal?: AbortSignal): Promise<void> {
  try {
    for (let left = organisationIds; left.length > 0 && signal?.aborted !== true;)
      left = await app.db.transaction(async (tx) => {
        if (!(await isSealer(tx))) return [];
        const made = await tx.query<{ organisation_id: number }>(block, [left, new Date(app.clock.nowMs()), upTo]);
        const ids = made.map((row) => row.organisation_id);
        if (ids.length > 0) {
          await tx.query(count, [ids]);
          await tx.query(moveOn, [ids]);
        }
        for (const _ of ids) auditSealed.count();
        return ids;
      });
  } catch (error) {
    if (signal?.aborted === true) return;
    if (isOutage(error)) throw error;
    const [id, ...others] = organisationIds;
    if (others.length === 0) {
      const organisation_id = await publicIdOf(app, id!);
      app.log.error('audit.not_sealed', { organisation_id, ...errorFields(error) });
    } else for (const one of organisationIds) await sealSet(app, [one], upTo, signal);
  }
}

const lock = statement('audit.lock')`select pg_try_advisory_xact_lock(${advisoryLocks.auditSealing}) as held`;
const isSealer = async (tx: Tx) => (await tx.query<{ held: boolean }>(lock))[0]!.held;

const begin = statement('audit.chain_begin')`
  insert into audit_chain (organisation_id) select organisation_id from organisation o
   where not exists (select from audit_chain c where c.organisation_id = o.organisation_id) on conflict do nothing`;
const waiting = statement('audit.waiting')`
  select c.organisation_id from audit_chain c cross join lateral (
    select at from audit a where a.organisation_id = c.organisation_id and a.audit_id > c.sealed_id order by a.audit_id limit 1) a
   where a.at not between $1 and $2 order by 1`;

/**
 * Seals the committed rows of all organisations. A log whose first unsealed row is younger than `youngMs` waits for
 * more rows.
 */
export async function sealAudit(app: App, signal?: AbortSignal, youngMs = limits.auditBlockMs / 2): Promise<void> {
  const begun = await app.db.transaction(async (tx) => {
    if (!(await isSealer(tx))) return false;
    await tx.query(begin);
    return true;
  });
  const upTo = begun ? await settledNumber(app.db, signal) : null;
  if (upTo === null) return;
  const nowMs = app.clock.nowMs();
  const times = [new Date(nowMs - youngMs), new Date(nowMs + youngMs)];
  const ids = (await app.db.query<{ organisation_id: number }>(waiting, times)).map((row) => row.organisation_id);
  for (let from = 0; from < ids.length && signal?.aborted !== true; from += limits.auditSealedTogether)
    await sealSet(app, ids.slice(from, from + limits.auditSealedTogether), upTo, signal);
}

/** Rows of organisation $1 that the sealer has not counted yet. The limit makes the planner use the index by number. */
export const unsealedRows = `(
      select * from audit
       where organisation_id = $1 and audit_id > coalesce((select sealed_id from audit_chain where organisation_id = $1), 0)
       order by audit_id limit 1000000)`;

const backlog = statement('audit.unsealed')`
  select count(*) as count, min(at) as oldest from (
    select a.at from audit_chain c cross join lateral (
      select at from audit a where a.organisation_id = c.organisation_id and a.audit_id > c.sealed_id
       order by a.audit_id limit ${limits.rowsCounted}) a
    union all
    -- Organisations whose chain the sealer has not begun.
    select a.at from organisation o cross join lateral (
      select at from audit a where a.organisation_id = o.organisation_id
       order by a.audit_id limit ${limits.rowsCounted}) a
     where not exists (select from audit_chain c where c.organisation_id = o.organisation_id)) waiting`;

export async function unsealedBacklog(tx: Tx): Promise<{ count: number; oldestMs: number | null }> {
  const [row] = await tx.query<{ count: number; oldest: Date | null }>(backlog);
  return { count: row!.count, oldestMs: row!.oldest?.getTime() ?? null };
}
