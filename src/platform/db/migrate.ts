import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Database, statement, type Tx } from './database.ts';
import { type Clock, formatMs } from '../time/clock.ts';
import { placements } from './citus/distribution.ts';
import { advisoryLocks, lockMigration } from './locks.ts';

const folder = new URL('./migrations/', import.meta.url);

const minMajor = 15;

/** The service cannot use this database. The message says what to do. */
export class DatabaseUnfit extends Error {}

async function proveDatabase(tx: Tx): Promise<void> {
  const [found] = await tx.query<{ major: number; encoding: string }>(
    "select current_setting('server_version_num')::int4 / 10000 as major, current_setting('server_encoding') as encoding",
  );
  const { major, encoding } = found!;
  if (major < minMajor)
    throw new DatabaseUnfit(`The database is PostgreSQL ${major}; the service needs ${minMajor} or later.`);
  if (encoding !== 'UTF8')
    throw new DatabaseUnfit(
      `The encoding of the database is ${encoding}, and must be UTF8. Create the database again (create database … encoding 'UTF8' template template0).`,
    );
}

export class SchemaTooNew extends Error {}

const undefinedTable = '42P01';
const applied = statement('migration.applied')`select number from migration`;

const numberOf = (file: string) => Number(file.slice(0, 4));

async function migrationFiles(from = folder): Promise<string[]> {
  return (await readdir(from)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).sort();
}

let needed: number[] | null = null;

/** The numbers of the missing migrations. A newer database lacks no migration, and an empty database lacks all. */
export async function missingMigrations(tx: Tx): Promise<number[]> {
  const rows = await tx.query<{ number: number }>(applied).catch((error: { code?: string }) => {
    if (error.code === undefinedTable) return [];
    throw error;
  });
  const there = new Set(rows.map((row) => row.number));
  needed ??= (await migrationFiles()).map(numberOf);
  return needed.filter((number) => !there.has(number));
}

/**
 * The first line of a file whose statements run one by one outside a transaction, such as those for indexes of large
 * tables. After a failure the file runs again from its beginning, but valid indexes are not built again.
 */
const concurrently = '-- concurrently\n';

const wholeIndexes = `
  select c.relname as name from pg_class c join pg_index i on i.indexrelid = c.oid
   where c.relnamespace = current_schema()::regnamespace and i.indisvalid and c.relname = any($1::text[])`;

const askMs = 100;

/** Versions before 1.0.0 had another first migration. */
const baseline = '0001_baseline.sql';

/** Keeps other processes from migrating until the transaction ends. @returns the numbers of the applied migrations */
async function lockApplied(tx: Tx, newestKnown: number): Promise<Set<number>> {
  await lockMigration(tx);
  // Without the lock, two sessions could both create the table despite "if not exists".
  await tx.query(
    'create table if not exists migration (number int4 primary key, name text not null, applied_at timestamptz not null)',
  );
  const done = await tx.query<{ number: number; name: string }>('select number, name from migration order by number');
  if (done.length > 0 && done[0]!.name !== baseline)
    throw new DatabaseUnfit('This database was made by a version before 1.0.0. Create a new one.');
  const newest = done.at(-1)?.number ?? 0;
  if (newest > newestKnown) {
    throw new SchemaTooNew(
      `The database has migration ${newest}, which this version of the service does not know. Start a newer version.`,
    );
  }
  return new Set(done.map((row) => row.number));
}

const keep = (tx: Tx, name: string, clock: Clock) =>
  tx.query('insert into migration values ($1, $2, $3)', [numberOf(name), name, new Date(clock.nowMs())]);

/** Splits a file into statements. Text between two `$$` belongs to its statement. */
export function partsOf(text: string): string[] {
  const parts = [''];
  for (const [i, piece] of text.split('$$').entries()) {
    const [first, ...more] = i % 2 === 0 ? piece.split(/(?<=;)[ \t]*\n/) : [`$$${piece}$$`];
    parts[parts.length - 1] += first!;
    parts.push(...more);
  }
  return parts.filter((part) => /^[ \t]*(?!--)\S/m.test(part));
}

/** Whether `ars distribute` has placed the tables. */
const isPlaced = async (tx: Tx): Promise<boolean> =>
  tx.distributed === true &&
  (await tx.query("select from pg_dist_partition where logicalrelid = to_regclass('feed')")).length > 0;

/** Places a table on Citus as soon as it is created, because foreign keys of a later statement need its place. */
async function placeCreated(tx: Tx, part: string): Promise<void> {
  const [, table] = /^create (?:unlogged )?table (\w+)/m.exec(part) ?? [];
  const placement = table === undefined ? undefined : placements[table];
  if (placement === 'reference') await tx.query('select create_reference_table($1)', [table]);
  if (placement === 'organisation')
    await tx.query("select create_distributed_table($1, 'organisation_id', colocate_with => 'feed')", [table]);
}

/**
 * Applies the missing migrations, each file in a transaction. Several processes may call it together.
 * @returns the numbers of the migrations that this call applied
 */
export async function migrate(db: Database, clock: Clock, from = folder): Promise<number[]> {
  const files = await migrationFiles(from);
  const newestKnown = numberOf(files.at(-1)!);
  await proveDatabase(db);
  const made: number[] = [];
  for (const name of files) {
    const number = numberOf(name);
    const text = await readFile(new URL(name, from), 'utf8');
    const beside = text.startsWith(concurrently);
    const missing = await db.transaction(async (tx) => {
      if ((await lockApplied(tx, newestKnown)).has(number)) return false;
      if (beside) return true;
      await tx.query("select set_config('ars.now', $1, true)", [formatMs(clock.nowMs())]);
      // Citus would pass these settings on to its nodes together, and the nodes would refuse them.
      await tx.query("select set_config('citus.propagate_set_commands', 'none', true)");
      const placed = await isPlaced(tx);
      // Citus refuses a foreign key to a reference table after parallel statements of the same transaction.
      if (placed) await tx.query("select set_config('citus.multi_shard_modify_mode', 'sequential', true)");
      for (const part of partsOf(text)) {
        await tx.query(part);
        if (placed) await placeCreated(tx, part);
      }
      await keep(tx, name, clock);
      return true;
    });
    if (!missing || (beside && !(await runBeside(db, clock, name, text, newestKnown)))) continue;
    made.push(number);
  }
  return made;
}

/**
 * Runs a file outside a transaction in one process. The other processes poll, because an index build would wait for
 * their statements if these waited for the lock.
 * @returns false if another process ran the file
 */
async function runBeside(
  db: Database,
  clock: Clock,
  name: string,
  text: string,
  newestKnown: number,
): Promise<boolean> {
  const connection = db.dedicated();
  try {
    await connection.query('set lock_timeout = 0');
    for (;;) {
      const [lock] = await connection.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [
        advisoryLocks.concurrentMigration,
      ]);
      if (lock!.held) break;
      await delay(askMs);
    }
    const done = await db.transaction((tx) => lockApplied(tx, newestKnown));
    if (done.has(numberOf(name))) return false;
    const built = [...text.matchAll(/^create (?:unique )?index concurrently (\w+)/gm)].map(([, name]) => name!);
    const whole = await connection.query<{ name: string }>(wholeIndexes, [built]);
    for (const part of text.split('\n\n')) {
      const [, index] =
        /^(?:create (?:unique )?index concurrently|drop index concurrently if exists) (\w+)/m.exec(part) ?? [];
      if (!whole.some(({ name }) => name === index)) await connection.query(part);
    }
    await db.transaction(async (tx) => {
      await lockApplied(tx, newestKnown);
      await keep(tx, name, clock);
    });
    return true;
  } finally {
    await connection.close();
  }
}
