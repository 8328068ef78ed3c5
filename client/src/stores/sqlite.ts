import type { Row, Store, StoreTransaction } from '../sync/store.ts';

type SqliteValue = string | number | null;

/** The part of a `DatabaseSync` of `node:sqlite` that is used; `better-sqlite3` and `bun:sqlite` have it too. */
export type SqliteDatabase = {
  exec(sql: string): unknown;
  prepare(sql: string): { all(...values: SqliteValue[]): unknown[]; run(...values: SqliteValue[]): unknown };
};

export type SqliteOptions = {
  /** The table of results. The state is in a table whose name ends in `_sync`. */
  table?: string;
};

/**
 * A mirror in SQLite: `assessment_id`, `updated_at` and the record as JSON. The database must be a connection of the
 * mirror's own, because a transaction takes everything that its connection does. `onChange` gets it.
 */
export function sqliteStore<Database extends SqliteDatabase>(
  database: Database,
  { table = 'ars_assessment' }: SqliteOptions = {},
): Store<Database> {
  if (!/^[a-z_][a-z0-9_]*$/.test(table)) throw new TypeError('table must be a name of small letters, digits and _');
  const state = `${table}_sync`;
  let last: Promise<unknown> = Promise.resolve();

  return {
    async open() {
      database.exec('pragma busy_timeout = 30000');
      database.exec(`create table if not exists ${table} (assessment_id text primary key, updated_at text not null,
        generation integer not null, checksum text not null, record text not null) without rowid`);
      database.exec(
        `create table if not exists ${state} (only_one integer primary key check (only_one = 1), state text)`,
      );
      database.exec(`insert or ignore into ${state} values (1, null)`);
    },

    transaction(work) {
      const turn = last.then(() => inTransaction(database, () => work(transactionOn(database, table, state))));
      last = turn.catch(() => {});
      return turn;
    },
  };
}

async function inTransaction<Result>(database: SqliteDatabase, work: () => Promise<Result>): Promise<Result> {
  database.exec('begin immediate');
  try {
    const result = await work();
    database.exec('commit');
    return result;
  } catch (error) {
    try {
      database.exec('rollback');
    } catch {
      // A full disk has already rolled back; report the fault itself.
    }
    throw error;
  }
}

const columns = 'assessment_id as id, updated_at, generation, checksum as "check", record';

const rowsOf = (found: unknown[]): Row[] =>
  (found as (Omit<Row, 'record'> & { record: string })[]).map((row) => ({ ...row, record: parsed(row.record) }));

function transactionOn<Database extends SqliteDatabase>(
  database: Database,
  table: string,
  state: string,
): StoreTransaction<Database> {
  return {
    native: database,
    async readState() {
      const [row] = database.prepare(`select state from ${state}`).all() as { state: string | null }[];
      return row?.state ?? null;
    },
    async writeState(text) {
      database.prepare(`insert or replace into ${state} values (1, ?)`).run(text);
    },
    async find(ids) {
      const sql = `select ${columns} from ${table} where assessment_id in (select value from json_each(?))`;
      return rowsOf(database.prepare(sql).all(JSON.stringify(ids)));
    },
    async put(rows) {
      const sql = `insert or replace into ${table} (assessment_id, updated_at, generation, checksum, record)
        values (?, ?, ?, ?, ?)`;
      const insert = database.prepare(sql);
      for (const { id, updated_at, generation, check, record } of rows)
        insert.run(id, updated_at, generation, check, JSON.stringify(record));
    },
    async remove(ids) {
      const sql = `delete from ${table} where assessment_id in (select value from json_each(?))`;
      database.prepare(sql).run(JSON.stringify(ids));
    },
    async list(after, limit) {
      const behind = after === null ? '' : 'where assessment_id > ?';
      const sql = `select ${columns} from ${table} ${behind} order by assessment_id limit ?`;
      return rowsOf(database.prepare(sql).all(...(after === null ? [limit] : [after, limit])));
    },
  };
}

/** A damaged record counts as different. */
function parsed(text: string): Row['record'] {
  try {
    return JSON.parse(text) as Row['record'];
  } catch {
    return null as never;
  }
}
