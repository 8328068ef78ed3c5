import { readFile, readdir } from 'node:fs/promises';
import type { Database, Tx } from './database.ts';
import { statement } from './database.ts';
import type { Clock } from '../clock.ts';
import { formatMs } from '../clock.ts';
import { advisoryLocks } from './locks.ts';

const folder = new URL('./migrations/', import.meta.url);

/** The database is newer than this code. */
export class SchemaTooNew extends Error {}

const applied = statement('migration.applied', 'select number from migration');

const numberOf = (file: string) => Number(file.slice(0, 4));

/** This version's migrations, in their order. */
async function migrationFiles(): Promise<string[]> {
  return (await readdir(folder)).filter((name) => /^\d{4}_\w+\.sql$/.test(name)).sort();
}

let needed: Promise<number[]> | null = null;

/** The numbers of those that this version needs and the database lacks. A newer database lacks none. */
export async function missingMigrations(tx: Tx): Promise<number[]> {
  needed ??= migrationFiles().then((files) => files.map(numberOf));
  const there = new Set((await tx.query<{ number: number }>(applied)).map((row) => row.number));
  return (await needed).filter((number) => !there.has(number));
}

/**
 * Brings the schema up to date, each numbered file in a transaction of its own, forward only. Any number of processes
 * may call it at once.
 * @returns the numbers of the migrations that this call applied
 */
export async function migrate(db: Database, clock: Clock): Promise<number[]> {
  const files = await migrationFiles();
  const made: number[] = [];
  for (const name of files) {
    const number = numberOf(name);
    await db.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [advisoryLocks.migration]);
      // Within the lock: "if not exists" by itself doesn't keep two sessions from making the table at once.
      await tx.query(
        'create table if not exists migration (number int4 primary key, name text not null, applied_at timestamptz not null)',
      );
      const done = await tx.query<{ number: number }>('select number from migration order by number');
      const newest = done.at(-1)?.number ?? 0;
      if (newest > numberOf(files.at(-1)!)) {
        throw new SchemaTooNew(
          `The database has migration ${newest}, which this version of the service does not know: start a version at least as new as the one that made it.`,
        );
      }
      if (done.some((row) => row.number === number)) return;
      await tx.query("select set_config('ars.now', $1, true)", [formatMs(clock.nowMs())]);
      await tx.query(await readFile(new URL(name, folder), 'utf8'));
      await tx.query('insert into migration values ($1, $2, $3)', [number, name, new Date(clock.nowMs())]);
      made.push(number);
    });
  }
  return made;
}
