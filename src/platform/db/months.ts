import type { Clock } from '../time/clock.ts';
import type { Database, Tx } from './database.ts';

/** Tables by months: partitions are made ahead, and retention drops whole ones. */

export type ByMonths = {
  /** The table, whose partitions are called after it: `audit_2026_11`. */
  table: string;
  /** Those that go with it, in the order in which they are locked. */
  along?: readonly string[];
  /** The function of the database that makes a month. */
  make: string;
  /** One process at a time makes and drops. */
  lock: number;
  /** Months that there are beside the present one. */
  ahead: number;
};

/** Waits for nobody: who comes behind a statement that waits for this lock waits, too. */
const shortLock = "set local lock_timeout = '200ms'";

/** Runs what changes partitions, one process at a time, and gives up at once where it would hold others up. */
export function changeMonths(db: Database, { lock }: ByMonths, inside: (tx: Tx) => Promise<void>): Promise<void> {
  return db.transaction(async (tx) => {
    // Nobody waits behind who waits for another maker here, which may take its time.
    await tx.query('select pg_advisory_xact_lock($1)', [lock]);
    await tx.query(shortLock);
    await inside(tx);
  });
}

const missing = ({ table, ahead }: ByMonths) => `
  select to_char(month, 'YYYY-MM-DD') as month from (
    select date_trunc('month', $1::timestamptz at time zone 'UTC') + n * interval '1 month' as month from generate_series(0, ${ahead}) n) m
   where to_regclass(to_char(month, '"${table}_"YYYY_MM')) is null`;

// On several nodes a month is made on this one, and what has come for it from elsewhere is copied to where it belongs
// when the month takes its place: what is copied stays here, where nobody sees or deletes it.
const leftBehind = `
  select truncate_local_data_after_distributing_table(logicalrelid) from pg_dist_partition
   where logicalrelid::text ~ '_\\d{4}_\\d\\d$' and pg_relation_size(logicalrelid) > 0`;

/** Makes the present month and those ahead of it, where they aren't there yet. */
export async function makeMonths({ db, clock }: { db: Database; clock: Clock }, months: ByMonths): Promise<void> {
  const now = new Date(clock.nowMs());
  if ((await db.query(missing(months), [now])).length === 0) return;
  await changeMonths(db, months, async (tx) => {
    // Whoever writes for the month meanwhile waits here: held up in the default partition, they would be refused, for the row
    // belongs elsewhere by then.
    await tx.query(
      `lock table only ${[months.table, ...(months.along ?? [])].join(', only ')} in share row exclusive mode`,
    );
    for (const { month } of await tx.query<{ month: string }>(missing(months), [now]))
      await tx.query(`select ${months.make}($1::date::timestamp at time zone 'UTC')`, [month]);
    if (tx.distributed === true) await tx.query(leftBehind);
  });
}

export type Month = { name: string; until: Date };

/** The partitions of months that were over at a time, the oldest first. */
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
