import type { Row, Store, StoreTransaction } from '../sync/store.ts';

/** The part of a client of `pg` that is used. */
export type PgClient = {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  release(destroy?: boolean): void;
};

/** A `Pool` of `pg`, as you use it yourself. */
export type PgPool = { connect(): Promise<PgClient> };

export type PostgresOptions = {
  /** The table of results, optionally with a schema. The state is in a table whose name ends in `_sync`. */
  table?: string;
};

/**
 * A mirror in PostgreSQL: `assessment_id`, `updated_at` and the record as `jsonb`. Read it as you like; write only in
 * tables of your own. `onChange` gets the client of the transaction.
 */
export function postgresStore(pool: PgPool, { table = 'ars_assessment' }: PostgresOptions = {}): Store<PgClient> {
  if (!/^([a-z_][a-z0-9_]*\.)?[a-z_][a-z0-9_]{0,57}$/.test(table))
    throw new TypeError('table must be a name of small letters, digits and _, of at most 58 characters');
  const state = `${table}_sync`;
  const makeState = makeStateOf(state);
  return {
    open: () =>
      inTransaction(pool, async (client) => {
        // Without the lock, two processes that start together would create the tables twice.
        await client.query("select pg_advisory_xact_lock(hashtext('ars_client'))");
        await client.query(`create table if not exists ${table} (
          assessment_id uuid primary key, updated_at text not null, generation integer not null,
          checksum text not null, record jsonb not null)`);
        await client.query(
          `create table if not exists ${state} (only_one boolean primary key default true check (only_one), state text)`,
        );
        await client.query(makeState);
      }),

    transaction: (work) => inTransaction(pool, (client) => work(transactionOn(client, table, state))),
  };
}

async function inTransaction<Result>(pool: PgPool, work: (client: PgClient) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  let isBroken = true;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    isBroken = false;
    return result;
  } catch (error) {
    // A connection that cannot roll back is not returned to the pool.
    await client.query('rollback').then(
      () => {
        isBroken = false;
      },
      () => {},
    );
    throw error;
  } finally {
    client.release(isBroken);
  }
}

const makeStateOf = (state: string) => `insert into ${state} default values on conflict do nothing`;

const columns = 'assessment_id as id, updated_at, generation, checksum as check, record';

function transactionOn(client: PgClient, table: string, state: string): StoreTransaction<PgClient> {
  const put = `
    insert into ${table} (assessment_id, updated_at, generation, checksum, record)
    select id, updated_at, generation, checksum, record::jsonb
      from unnest($1::text::uuid[], string_to_array($2, E'\\n'), $3::text::integer[], $4::text::text[], string_to_array($5, E'\\n'))
        as r(id, updated_at, generation, checksum, record)
    on conflict (assessment_id) do update set updated_at = excluded.updated_at,
      generation = excluded.generation, checksum = excluded.checksum, record = excluded.record`;

  return {
    native: client,
    async readState() {
      const sql = `select state from ${state} for update`;
      let { rows } = await client.query(sql);
      if (rows.length === 0) {
        // The table was emptied: the next process needs a row to lock.
        await client.query(makeStateOf(state));
        ({ rows } = await client.query(sql));
      }
      return (rows[0] as { state: string | null }).state;
    },
    async writeState(text) {
      await client.query(`update ${state} set state = $1`, [text]);
    },
    async find(ids) {
      if (ids.length === 0) return [];
      const sql = `select ${columns} from ${table} where assessment_id = any($1::uuid[])`;
      return (await client.query(sql, [ids])).rows as Row[];
    },
    async put(rows) {
      if (rows.length === 0) return;
      await client.query(put, [
        literal(rows.map(({ id }) => id)),
        joined(rows.map((row) => row.updated_at)),
        literal(rows.map((row) => row.generation)),
        literal(rows.map((row) => row.check)),
        joined(rows.map((row) => JSON.stringify(row.record))),
      ]);
    },
    async remove(ids) {
      if (ids.length > 0) await client.query(`delete from ${table} where assessment_id = any($1::uuid[])`, [ids]);
    },
    async list(after, limit) {
      const behind = after === null ? '' : 'where assessment_id > $2';
      const sql = `select ${columns} from ${table} ${behind} order by assessment_id limit $1`;
      return (await client.query(sql, after === null ? [limit] : [limit, after])).rows as Row[];
    },
  };
}

/**
 * Lists travel as one text: for the database two thirds of the time of JSON, and less for the driver than an array.
 * JSON and times have no line breaks; IDs, numbers and sums need no quotes.
 */
const joined = (texts: string[]) => texts.join('\n');
const literal = (words: (string | number)[]) => `{${words.join()}}`;
