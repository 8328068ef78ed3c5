import { setTimeout as delay } from 'node:timers/promises';
import type { Database, Tx } from '../database.ts';
import { asideName } from './distributed.ts';
import { placements } from './distribution.ts';
import { advisoryLocks } from '../locks.ts';
import { missingMigrations } from '../migrate.ts';

/**
 * Distributes the database by organisation with Citus (decision 0030). Each step is a transaction that first checks
 * whether the step is done, so a killed command can run again.
 */

export class NotReady extends Error {}

const minCitus = 13;

/** All other tables that are distributed by organisation are colocated with this table. */
const first = 'feed';

export type Step = { step: string; done: boolean };

const state = `
  select (select extversion from pg_extension where extname = 'citus') as citus,
         exists (select from pg_available_extensions where name = 'citus') as available`;

// The foreign keys are stored in this table and dropped. They are created again when every table is distributed.
const aside = `
  create table if not exists ${asideName} (
    table_name text not null, name text not null, definition text not null, primary key (table_name, name))`;

const references = `
  select f.relname as table, c.conname as name, pg_get_constraintdef(c.oid) as definition, f.relispartition as "ofPartition"
    from pg_constraint c join pg_class f on f.oid = c.conrelid
   where c.contype = 'f' and c.conparentid = 0 and f.relnamespace = current_schema()::regnamespace
   order by 1, 2`;

const kept = `select where to_regclass('${asideName}') is null`;

/**
 * Tables whose rows remain on the coordinator's disk after their distribution. No query sees these rows, and Citus does
 * not delete them.
 */
const copies = `
  select logicalrelid as name from pg_dist_partition where pg_relation_size(logicalrelid) > 0`;

const placed = `select table_name::text as name, citus_table_type as type from citus_tables`;

async function tablesOf(tx: Tx): Promise<string[]> {
  const rows = await tx.query<{ name: string }>(
    `select relname as name from pg_class
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
  );
  return rows.map((row) => row.name).filter((name) => name !== asideName);
}

export async function proveReady(db: Database): Promise<void> {
  const [found] = await db.query<{ citus: string | null; available: boolean }>(state);
  if (found!.citus === null)
    throw new NotReady(
      found!.available
        ? 'Citus is installed, but not in this database: as a superuser, run "create extension citus" in it on every node.'
        : 'This PostgreSQL has no Citus: it must be installed, and in shared_preload_libraries, on every node.',
    );
  if (Number.parseInt(found!.citus, 10) < minCitus)
    throw new NotReady(`Citus ${found!.citus} is too old: it must be ${minCitus} or later.`);
  const nodes = await db.query<{ nodename: string; groupid: number; isactive: boolean }>(
    'select nodename, groupid, isactive from pg_dist_node',
  );
  if (!nodes.some((node) => node.groupid === 0))
    throw new NotReady(
      "The coordinator doesn't know its own address: run select citus_set_coordinator_host('HOST', PORT) on it.",
    );
  const away = nodes.find((node) => !node.isactive);
  if (away !== undefined) throw new NotReady(`The node ${away.nodename} is not active.`);
  const missing = await missingMigrations(db);
  if (missing.length > 0)
    throw new NotReady(`The database lacks migrations ${missing.join(', ')}: run ars migrate first.`);
  const unknown = (await tablesOf(db)).filter((name) => placements[name] === undefined);
  if (unknown.length > 0) throw new NotReady(`The placement of ${unknown.join(', ')} is not defined.`);
}

async function othersConnected(tx: Tx): Promise<number> {
  // PostgreSQL caches pg_stat_activity within a transaction, so this cache is cleared first.
  await tx.query('select pg_stat_clear_snapshot()');
  const [row] = await tx.query<{ count: number }>(
    `select count(*)::int4 as count from pg_stat_activity
      where datname = current_database() and application_name ~ '^ars(/|$)' and pid <> pg_backend_pid()`,
  );
  return row!.count;
}

/** How long to wait for ended connections, which stay visible for a moment. */
const goneMs = 2000;
const lookMs = 100;

/**
 * Proves that no process of the service is connected, because tables are locked and lack foreign keys while they are
 * copied.
 * @throws NotReady
 */
export async function proveAlone(tx: Tx): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += lookMs) {
    const others = await othersConnected(tx);
    if (others === 0) return;
    if (waitedMs >= goneMs)
      throw new NotReady(
        `The service still has ${others} connections to the database: stop it first, for tables are locked while they are copied.`,
      );
    await delay(lookMs);
  }
}

type Task = { step: string; isDone(tx: Tx): Promise<boolean>; run(tx: Tx): Promise<void> };

async function typeOf(tx: Tx, table: string): Promise<string | null> {
  return (
    (await tx.query<{ type: string }>(`${placed} where table_name = $1::text::regclass`, [table]))[0]?.type ?? null
  );
}

export async function putReferencesAside(tx: Tx): Promise<void> {
  await tx.query(aside);
  for (const { table, name, definition, ofPartition } of await tx.query<Reference & { ofPartition: boolean }>(
    references,
  )) {
    if (!ofPartition)
      await tx.query(`insert into ${asideName} values ($1, $2, $3) on conflict do nothing`, [table, name, definition]);
    await tx.query(`alter table "${table}" drop constraint "${name}"`);
  }
}

const rateWindowKey: Task = {
  step: "keys of rate windows begin with the key's organisation",
  isDone: async (tx) =>
    (
      await tx.query(
        `select from pg_constraint where conrelid = 'rate_window'::regclass and contype = 'p' and cardinality(conkey) = 2`,
      )
    ).length > 0,
  async run(tx) {
    await tx.query(
      `alter table rate_window drop constraint rate_window_pkey,
         add constraint rate_window_pkey primary key (organisation_id, key_id)`,
    );
  },
};

async function tasks(db: Database, shards: number): Promise<Task[]> {
  const tables = await tablesOf(db);
  const all = Object.keys(placements).filter((name) => tables.includes(name));
  const by = (placement: string) => all.filter((name) => placements[name] === placement);
  return [
    {
      step: 'put foreign keys aside',
      isDone: async (tx) => (await tx.query(references)).length === 0 || (await everythingPlaced(tx, all)),
      run: putReferencesAside,
    },
    rateWindowKey,
    ...by('reference').map((table) => ({
      step: `${table}: complete on every node`,
      isDone: async (tx: Tx) => (await typeOf(tx, table)) === 'reference',
      run: async (tx: Tx) => void (await tx.query('select create_reference_table($1)', [table])),
    })),
    ...by('organisation').map((table) => ({
      step: `${table}: by organisation`,
      isDone: async (tx: Tx) => (await typeOf(tx, table)) === 'distributed',
      run: async (tx: Tx) =>
        void (await (table === first
          ? tx.query(
              `select create_distributed_table($1, 'organisation_id', colocate_with => 'none', shard_count => $2)`,
              [table, shards],
            )
          : tx.query(`select create_distributed_table($1, 'organisation_id', colocate_with => $2)`, [table, first]))),
    })),
    {
      // Truncating would also empty local tables that foreign keys link, so this step comes before the foreign keys.
      step: "delete the coordinator's copies",
      isDone: async (tx) => (await tx.query(kept)).length > 0 || (await tx.query(copies)).length === 0,
      run: async (tx) =>
        void (await tx.query(`select truncate_local_data_after_distributing_table(name) from (${copies}) c`)),
    },
    {
      step: 'take foreign keys back',
      isDone: async (tx) => (await tx.query(kept)).length > 0,
      async run(tx) {
        const references = await tx.query<Reference>(
          `select table_name as table, name, definition from ${asideName} order by 1, 2`,
        );
        for (const { table, name, definition } of references)
          await tx.query(`alter table "${table}" add constraint "${name}" ${definition}`);
        await tx.query(`drop table ${asideName}`);
      },
    },
  ];
}

type Reference = { table: string; name: string; definition: string };

async function everythingPlaced(tx: Tx, tables: string[]): Promise<boolean> {
  for (const table of tables) if (placements[table] !== 'local' && (await typeOf(tx, table)) === null) return false;
  return true;
}

export async function planDistribution(db: Database, shards: number): Promise<Step[]> {
  const steps: Step[] = [];
  for (const { step, isDone } of await tasks(db, shards)) steps.push({ step, done: await isDone(db) });
  return steps;
}

/** Runs the missing steps. @returns the steps that this call ran */
export async function distribute(
  db: Database,
  shards: number,
  signal: AbortSignal,
  onStep: (step: string) => void,
): Promise<string[]> {
  const taken: string[] = [];
  for (const { step, isDone, run } of await tasks(db, shards)) {
    signal.throwIfAborted();
    await db.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock($1)', [advisoryLocks.migration]);
      if (await isDone(tx)) return;
      await proveAlone(tx);
      onStep(step);
      await tx.query("set local lock_timeout = '1min'");
      await run(tx);
      taken.push(step);
    });
  }
  return taken;
}
