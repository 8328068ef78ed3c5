import type { Clock } from '../time/clock.ts';
import type { Database, Tx } from './database.ts';

/** Large tables are partitioned by month. Partitions are made in advance, and retention drops them. */

export type ByMonths = {
  /** Partitions are named after the table: `audit_2026_11`. */
  table: string;
  /** Further tables to lock with `table`, in this order. */
  along?: readonly string[];
  make: string;
  lock: number;
  /** The number of months after the current month whose partitions are made. */
  ahead: number;
};

/** Other statements queue behind a transaction that waits for a table lock, so the wait must be short. */
const shortLock = "set local lock_timeout = '200ms'";

export function changeMonths(db: Database, { lock }: ByMonths, inside: (tx: Tx) => Promise<void>): Promise<void> {
  return db.transaction(async (tx) => {
    // No statement queues behind an advisory lock, so waiting for another process is harmless.
    await tx.query('select pg_advisory_xact_lock($1)', [lock]);
    await tx.query(shortLock);
    await inside(tx);
  });
}

const missing = ({ table, ahead }: ByMonths) => `
  select to_char(month, 'YYYY-MM-DD') as month from (
    select date_trunc('month', $1::timestamptz at time zone 'UTC') + n * interval '1 month' as month from generate_series(0, ${ahead}) n) m
   where to_regclass(to_char(month, '"${table}_"YYYY_MM')) is null`;

// When Citus distributes a new partition, the local copies of its rows stay. This statement deletes the local copies.
const leftBehind = `
  select truncate_local_data_after_distributing_table(logicalrelid) from pg_dist_partition
   where logicalrelid::text ~ '_\\d{4}_\\d\\d$' and pg_relation_size(logicalrelid) > 0`;

export async function makeMonths({ db, clock }: { db: Database; clock: Clock }, months: ByMonths): Promise<void> {
  const now = new Date(clock.nowMs());
  if ((await db.query(missing(months), [now])).length === 0) return;
  await changeMonths(db, months, async (tx) => {
    // This lock makes writers wait until the partition exists. Otherwise a writer could choose the default partition,
    // which then refuses the row.
    await tx.query(
      `lock table only ${[months.table, ...(months.along ?? [])].join(', only ')} in share row exclusive mode`,
    );
    for (const { month } of await tx.query<{ month: string }>(missing(months), [now]))
      await tx.query(`select ${months.make}($1::date::timestamp at time zone 'UTC')`, [month]);
    if (tx.distributed === true) await tx.query(leftBehind);
  });
}

export type Month = { name: string; until: Date };

export function monthsBefore(tx: Tx, { table }: ByMonths, before: Date): Promise<Month[]> {
  return tx.query<Month>(
    `select name, until from (
       select c.relname as name, (to_timestamp(right(c.relname, 7), 'YYYY_MM')::timestamp + interval '1 month') at time zone 'UTC' as until
         from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = $1::text::regclass and c.relname ~ ('^' || $1 || '_\\d{4}_\\d\\d$')) p
      where until <= $2::timestamptz order by until`,
    [table, before],
  );
}
