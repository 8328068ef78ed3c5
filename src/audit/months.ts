import type { App } from '../app.ts';
import { statement } from '../db/database.ts';
import { advisoryLocks } from '../db/locks.ts';

/** The log by months: partitions are made ahead, and retention drops whole ones. */

/** Months that there are beside the present one. */
const ahead = 2;

const missing = statement(
  'audit.months_missing',
  `
  select month from (
    select date_trunc('month', $1::timestamptz at time zone 'UTC') + n * interval '1 month' as month from generate_series(0, ${ahead}) n) m
   where month at time zone 'UTC' >= (select months_from from audit_begun)
     and to_regclass(to_char(month, '"audit_"YYYY_MM')) is null`,
);

/** Waits for nobody: who comes behind a statement that waits for this lock waits, too. */
const shortLock = "set local lock_timeout = '200ms'";

export async function makeMonths(app: App): Promise<void> {
  const now = new Date(app.clock.nowMs());
  if ((await app.db.query(missing, [now])).length === 0) return;
  await app.db.transaction(async (tx) => {
    await tx.query(shortLock);
    await tx.query('select pg_advisory_xact_lock($1)', [advisoryLocks.auditMonths]);
    for (const { month } of await tx.query<{ month: string }>(
      `select to_char(month, 'YYYY-MM-DD') as month from (${missing.text}) m`,
      [now],
    ))
      await tx.query('select make_audit_month($1::date::timestamp at time zone $2)', [month, 'UTC']);
  });
}

/** Partitions and where they end, the oldest first: what was there before the log had months ends where they begin. */
const partitions = statement(
  'audit.months_old',
  `
  select name, until from (
    select c.relname as name,
           case when c.relname = 'audit_before' then (select months_from from audit_begun)
                when c.relname ~ '^audit_\\d{4}_\\d\\d$' then
                  (to_timestamp(right(c.relname, 7), 'YYYY_MM')::timestamp + interval '1 month') at time zone 'UTC' end as until
      from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'audit'::regclass) p
   where until <= $1::timestamptz order by until`,
);

/** @returns the first instant that is kept: the beginning of the month so many months back */
function keptFrom(nowMs: number, months: number): Date {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months));
}

/**
 * Drops the months that are older than the setting keeps, once all their rows are sealed. The hashes of their blocks
 * stay: the last of each run of blocks, from which the chain goes on and to which an export of the month leads.
 */
export async function dropMonths(app: App): Promise<void> {
  const months = app.settings.auditMonths;
  if (months === null) return;
  const old = await app.db.query<{ name: string; until: Date }>(partitions, [keptFrom(app.clock.nowMs(), months)]);
  for (const { name, until } of old) {
    const unsealed = await app.db.query(
      `select from ${name} p left join audit_chain c using (organisation_id) where p.audit_id > coalesce(c.sealed_id, 0) limit 1`,
    );
    // The next month's rows may be in blocks that lead to this one's.
    if (unsealed.length > 0) return;
    await app.db.transaction(async (tx) => {
      await tx.query(shortLock);
      await tx.query('select pg_advisory_xact_lock($1)', [advisoryLocks.auditMonths]);
      if ((await tx.query('select from pg_class where oid = to_regclass($1)', [name])).length === 0) return;
      // The sealer locks the same rows one at a time, and holds nothing else.
      await tx.query('update audit_chain set dropped_before = greatest(dropped_before, $1)', [until]);
      await tx.query('update audit_block set ids = null, counters = null where last_at < $1 and ids is not null', [
        until,
      ]);
      await tx.query(
        `delete from audit_block b where b.ids is null
            and exists (select from audit_block n
                         where n.organisation_id = b.organisation_id and n.number = b.number + 1 and n.ids is null)`,
      );
      await tx.query('delete from audit_hour where hour < $1', [until]);
      await tx.query('delete from audit_default where at < $1', [until]);
      await tx.query(`drop table ${name}`);
    });
  }
}
