import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Tx } from './database.ts';
import { statement } from './database.ts';
import type { Clock } from '../time/clock.ts';
import { formatMs } from '../time/clock.ts';
import { advisoryLocks, lockMigration } from './locks.ts';

const folder = new URL('./migrations/', import.meta.url);

/** The oldest PostgreSQL that the service works with. */
const minMajor = 15;

/** The service can't work with the database, with what to do about it. */
export class DatabaseUnfit extends Error {}

/** @throws DatabaseUnfit where a version or an encoding would fail later, or store names that it can't compare */
async function proveDatabase(tx: Tx): Promise<void> {
  const [found] = await tx.query<{ major: number; encoding: string }>(
    "select current_setting('server_version_num')::int4 / 10000 as major, current_setting('server_encoding') as encoding",
  );
  const { major, encoding } = found!;
  if (major < minMajor)
    throw new DatabaseUnfit(`The database is PostgreSQL ${major}; the service needs ${minMajor} or later.`);
  if (encoding !== 'UTF8')
    throw new DatabaseUnfit(
      `The database's encoding is ${encoding}, and must be UTF8: make it anew (create database … encoding 'UTF8' template template0).`,
    );
}

/** The database is newer than this code. */
export class SchemaTooNew extends Error {}

const undefinedTable = '42P01';
const applied = statement('migration.applied', 'select number from migration');

const numberOf = (file: string) => Number(file.slice(0, 4));

/** This version's migrations, in their order. */
async function migrationFiles(from = folder): Promise<string[]> {
  return (await readdir(from)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).sort();
}

let needed: number[] | null = null;

/** The numbers of those that this version needs and the database lacks. A newer database lacks none, an empty one all. */
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
 * First line of a file whose statements, with empty lines between them, run one by one outside a transaction: indexes of tables
 * that may be large are built beside everybody. It must stand being broken off anywhere and run again from its beginning, but for
 * indexes that it builds: one that is whole under its name is kept. PostgreSQL goes on building for whoever was killed.
 */
const concurrently = '-- concurrently\n';

const wholeIndexes = `
  select c.relname as name from pg_class c join pg_index i on i.indexrelid = c.oid
   where c.relnamespace = current_schema()::regnamespace and i.indisvalid and c.relname = any($1::text[])`;

/** How often a process asks whether another has made such a file's indexes. */
const askMs = 100;

/** Versions before 1.0.0 had another first migration. */
const baseline = '0001_baseline.sql';

/** The numbers of those that were applied; what the transaction does is then done by one process at a time. */
async function lockApplied(tx: Tx, newestKnown: number): Promise<Set<number>> {
  await lockMigration(tx);
  // Within the lock: "if not exists" by itself doesn't keep two sessions from making the table at once.
  await tx.query(
    'create table if not exists migration (number int4 primary key, name text not null, applied_at timestamptz not null)',
  );
  const done = await tx.query<{ number: number; name: string }>('select number, name from migration order by number');
  if (done.length > 0 && done[0]!.name !== baseline)
    throw new DatabaseUnfit('This database was made by a version before 1.0.0. Create a new one.');
  const newest = done.at(-1)?.number ?? 0;
  if (newest > newestKnown) {
    throw new SchemaTooNew(
      `The database has migration ${newest}, which this version of the service does not know: start a version at least as new as the one that made it.`,
    );
  }
  return new Set(done.map((row) => row.number));
}

const keep = (tx: Tx, name: string, clock: Clock) =>
  tx.query('insert into migration values ($1, $2, $3)', [numberOf(name), name, new Date(clock.nowMs())]);

/** A file's statements, each by itself. What stands between two dollar signs is one text, whatever it holds. */
export function partsOf(text: string): string[] {
  const parts = [''];
  for (const [i, piece] of text.split('$$').entries()) {
    const [first, ...more] = i % 2 === 0 ? piece.split(/(?<=;)[ \t]*\n/) : [`$$${piece}$$`];
    parts[parts.length - 1] += first!;
    parts.push(...more);
  }
  return parts.filter((part) => /^[ \t]*(?!--)\S/m.test(part));
}

/**
 * Brings the schema up to date, each numbered file in a transaction of its own, forward only. Any number of processes
 * may call it at once.
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
      // Nodes of a cluster refuse several statements or settings that are passed on together.
      await tx.query("select set_config('citus.propagate_set_commands', 'none', true)");
      for (const part of partsOf(text)) await tx.query(part);
      await keep(tx, name, clock);
      return true;
    });
    if (!missing || (beside && !(await runBeside(db, clock, name, text, newestKnown)))) continue;
    made.push(number);
  }
  return made;
}

/**
 * Runs a file outside a transaction, one process at a time. The others ask instead of waiting for the lock: building an index
 * waits for every statement under way, theirs among them.
 * @returns false when another process has done it
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
    // It waits for everybody who was there before it, however long they take, and holds nobody up meanwhile.
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
