import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import { systemClock } from '../time/clock.ts';
import type { Log } from '../observability/log.ts';
import { errorFields } from '../observability/log.ts';
import { connectionTo } from './connection/connection.ts';
import { sessionSettings, distributedSettings } from './connection/session-settings.ts';
import { limits } from '../config/limits.ts';
import {
  poolConnections,
  maxPool,
  poolWait,
  poolWaiting,
  turnsRefused,
  turnWait,
} from '../observability/metric-definitions.ts';
import { beforeReading } from '../observability/metrics.ts';
import type { StorageFaults } from './connection/storage-fault.ts';
import { createStorageFaults, storageFaultOf } from './connection/storage-fault.ts';
import { prepared } from './connection/prepared.ts';
import type { WriteQueue, Leave, WriteQueues } from './write-queue.ts';
import { createWriteQueues, WriteQueueRefusal } from './write-queue.ts';
import { DatabaseUnavailable, lockHeld, namedFailure } from './connection/unavailable.ts';
import type { Asked, Watched, WatchTimes } from './connection/watch.ts';
import { startWatch, watchTimes } from './connection/watch.ts';

/**
 * A statement with its name. Connections keep it prepared only if its name is in the list of prepared.ts. `arrays`: rows
 * come as arrays of their columns.
 */
export type Statement = { name: string; text: string; arrays?: boolean };

type Template = (text: TemplateStringsArray, ...parts: unknown[]) => Statement;

/** A statement by its name and its text, which can also be a template: statement('user.by_id')`select …`. */
export function statement(name: string): Template;
export function statement(name: string, text: string): Statement;
export function statement(name: string, text?: string): Statement | Template {
  if (text !== undefined) return { name, text };
  return (template, ...parts) => statement(name, String.raw({ raw: template }, ...parts));
}

/** A row as the driver gives it; columns are named by the statement. */
export type Row = Record<string, any>;

/** What a statement can be run on: a transaction, or the pool for a single read. */
export type Tx = {
  query<R = Row>(sql: Statement | string, values?: readonly unknown[]): Promise<R[]>;
  /** Organisations are on several nodes, and one statement can't always ask several of them (docs/decisions/0030). */
  readonly distributed?: boolean;
};

function asQuery(sql: Statement | string, values: readonly unknown[]): pg.QueryConfig & { rowMode?: 'array' } {
  if (typeof sql === 'string') return { text: sql, values: values as unknown[] };
  // The driver prepares what has a name. `statement` only tells its name to tests that count statements.
  const named = prepared.has(sql.name) ? { name: sql.name } : { statement: sql.name };
  const query = { ...named, text: sql.text, values: values as unknown[] };
  return sql.arrays === true ? { ...query, rowMode: 'array' } : query;
}

async function run<R>(client: Watched, sql: Statement | string, values: readonly unknown[] = []): Promise<R[]> {
  client.underWay = (client.underWay ?? 0) + 1;
  try {
    const result = await client.query(asQuery(sql, values));
    const rows = result.rows as R[];
    // The driver's own objects outlive a collection of the young generation and would take every row with them.
    result.rows = [];
    return rows;
  } catch (error) {
    // A statement on a lost connection fails without a code. What ended the connection has one.
    const { lost } = client;
    const isCoded = (error as { code?: string }).code !== undefined;
    const failure = isCoded || lost === undefined ? namedFailure(error) : new DatabaseUnavailable(lost);
    const storageFault = storageFaultOf(failure);
    if (storageFault !== null) client.onStorageFault?.(storageFault);
    throw failure;
  } finally {
    client.underWay -= 1;
  }
}

/**
 * The transaction that the code runs in, with its connection until it is released. Code that holds one connection and
 * waits for a second one can deadlock with others that do so. A request for a second connection is therefore a fault.
 */
const holding = new AsyncLocalStorage<{ connectionOf: object | null }>();

function refuseSecondConnection(database: object): void {
  if (holding.getStore()?.connectionOf === database)
    throw new Error('a second connection was asked for inside a transaction; use its tx');
}

/** The service's connections to its one database. */
export type Database = Tx & {
  /** What its statements found that keeps it from taking changes. */
  storageFaults: StorageFaults;
  /**
   * Runs `inside` in one transaction; commits when it returns, rolls back when it throws.
   * @param turn what to wait for before a connection is taken, and that a lock is waited for `limits.lockWaitMs` at
   * most. Without it, the transaction shares the connections of the reads.
   */
  transaction<T>(inside: (tx: Tx) => Promise<T>, turn?: Turn): Promise<T>;
  /**
   * Runs reads in one snapshot, so that several statements see the same state. The first of them travels together with
   * the snapshot's beginning, and nobody waits for its end.
   */
  snapshot<T>(inside: (tx: Tx) => Promise<T>): Promise<T>;
  /** A connection of its own for one hot statement or for notifications; it reconnects by itself. */
  dedicated(options?: DedicatedOptions): Dedicated;
  /** Refuses changes that wait for a turn, and new ones, because the service stops. */
  refuseWaiting(): void;
  close(): Promise<void>;
};

/** `again`: the turn had come before, and a lock was held by somebody else for too long. */
export type Turn = { queue: WriteQueue; signal: AbortSignal; again: boolean };

/** `connected` is run on each new connection, before anything else. */
export type DedicatedOptions = {
  synchronousCommit?: boolean;
  throughPooler?: boolean;
  connected?: (tx: Tx) => Promise<unknown>;
};

export type Dedicated = Tx & {
  /**
   * Calls back on every notification of the channel, and with null whenever the connection is up: what came before may
   * have been missed.
   */
  listen(channel: string, onNotify: (payload: string | null) => void): Promise<void>;
  close(): Promise<void>;
};

/** An idle connection that leads nowhere any more is found after a minute, not after two hours. */
const probed = { keepAliveInitialDelayMillis: 60_000 };

type Pooled = { name: string; log: Log; watch(client: pg.PoolClient): void };

function openPool(config: pg.PoolConfig, { name, log, watch }: Pooled): pg.Pool {
  const pool = new pg.Pool({ ...config, idleTimeoutMillis: 30_000, allowExitOnIdle: true });
  pool.on('error', (error) => log.error('database.connection_lost', { connection: name, ...errorFields(error) }));
  // A connection that is lost between two statements of a transaction says so by an event, which would end the process
  // if nobody listened; the next statement on it fails and tells the caller.
  pool.on('connect', (client) => {
    client.on('error', (error) => {
      (client as Watched).lost ??= error;
    });
    watch(client as pg.PoolClient);
  });
  return pool;
}

/** Runs one statement and gives the connection back. */
async function runAlone<R>(client: pg.PoolClient, sql: Statement | string, values?: readonly unknown[]): Promise<R[]> {
  let broken = false;
  try {
    return await run<R>(client, sql, values);
  } catch (error) {
    broken = error instanceof DatabaseUnavailable;
    throw error;
  } finally {
    client.release(broken);
  }
}

/** A database whose connection is held. */
type Held = { distributed: boolean };

const txOn = (client: pg.PoolClient, { distributed }: Held): Tx => ({
  query: (sql, values) => run(client, sql, values),
  distributed,
});

/** Runs `inside` in a transaction on the connection of this database, and gives it back. */
async function runTransaction<T>(
  client: pg.PoolClient,
  database: Held,
  inside: (tx: Tx) => Promise<T>,
  begin = ['begin'],
): Promise<T> {
  const held: { connectionOf: object | null } = { connectionOf: database };
  let broken = false;
  try {
    await Promise.all(begin.map((sql) => run(client, sql)));
    const result = await holding.run(held, () => inside(txOn(client, database)));
    await run(client, 'commit').catch((error: unknown) => {
      throw error instanceof DatabaseUnavailable ? new DatabaseUnavailable(error.cause, { atCommit: true }) : error;
    });
    return result;
  } catch (error) {
    broken = error instanceof DatabaseUnavailable && error.code !== lockHeld;
    if (!broken)
      await run(client, 'rollback').catch(() => {
        broken = true;
      });
    throw error;
  } finally {
    held.connectionOf = null;
    client.release(broken);
  }
}

/** Runs the reads of `inside` in one snapshot on the connection of this database, and gives it back. */
async function runSnapshot<T>(client: pg.PoolClient, database: Held, inside: (tx: Tx) => Promise<T>): Promise<T> {
  const held: { connectionOf: object | null } = { connectionOf: database };
  const begun = run(client, 'begin isolation level repeatable read read only');
  begun.catch(() => {});
  let broken = false;
  try {
    const result = await holding.run(held, () => inside(txOn(client, database)));
    await begun;
    return result;
  } catch (error) {
    broken = error instanceof DatabaseUnavailable;
    throw error;
  } finally {
    held.connectionOf = null;
    // Nothing was written, so a snapshot ends in the same way whatever came of it. A broken connection ends by itself.
    if (broken) client.release(true);
    else
      run(client, 'rollback').then(
        () => client.release(),
        () => client.release(true),
      );
  }
}

/** Waits for the turn, and counts how long that was or why none came. */
async function turnOf(turns: WriteQueues, { queue, signal, again }: Turn): Promise<Leave> {
  const askedMs = systemClock.monotonicMs();
  try {
    const leave = await turns.take(queue, signal, again);
    turnWait.observe((systemClock.monotonicMs() - askedMs) / 1000);
    return leave;
  } catch (error) {
    if (error instanceof WriteQueueRefusal) turnsRefused.count(error.why);
    throw error;
  }
}

// Said with each change: behind a pooler no connection is a change's own.
const lockWait = `set local lock_timeout = ${limits.lockWaitMs}`;
const beginChange = [`begin; ${lockWait}`];
// Citus passes on the whole message that a setting came in: beginning twice is a warning of each worker, each time.
const beginDistributedChange = ['begin', lockWait];

/**
 * Opens the pools; nothing is connected before the first statement. Reads and changes have pools of their own, so that
 * no number of changes keeps a read waiting, and changes wait in lanes before they take a connection.
 * @param url a postgres:// address
 * @param directUrl the same database past a pooler: what needs a session of its own goes there
 * @param size connections for reads and single statements at most; those for changes and dedicated ones not counted
 * @param distributed organisations are on several nodes (distributed.ts)
 */
export function openDatabase(
  url: string,
  log: Log,
  size: number = limits.readConnections,
  directUrl?: string,
  distributed = false,
  times: WatchTimes = watchTimes,
): Database {
  const pooled = directUrl !== undefined;
  const settings = distributed ? distributedSettings : sessionSettings;
  const config = { ...connectionTo(url, pooled, settings), ...probed };
  const direct = { ...connectionTo(directUrl ?? url, false, settings), ...probed };
  const watch = startWatch(log, times);
  const asked: Asked = { config, pooled };
  const askedDirectly: Asked = pooled ? { config: direct, pooled: false } : asked;
  const storageFaults = createStorageFaults(() => systemClock.monotonicMs());
  const watchBy = (by: Asked) => (client: Watched) => {
    client.onStorageFault = storageFaults.note;
    watch.add(client, by);
  };
  const self: Held = { distributed };
  const pooling = (name: string): Pooled => ({ name, log, watch: watchBy(asked) });
  const kept = Math.min(size, limits.readConnectionsKept);
  const reads = openPool({ ...config, max: size, min: kept }, pooling('reads'));
  const max = limits.quickChanges + limits.slowChanges;
  const changes = openPool({ ...config, max: max }, pooling('changes'));
  const turns = createWriteQueues({
    quick: limits.quickChanges,
    slow: limits.slowChanges,
    slowMs: limits.slowChangeMs,
    max: limits.changesWaiting,
  });
  const open = new Set<Dedicated>();

  const pools = [
    ['reads', reads],
    ['changes', changes],
  ] as const;
  const waits = new Map<pg.Pool, number>(pools.map(([name, pool]) => [pool, poolWait.place(name)]));
  const stopCounting = beforeReading(() => {
    for (const [name, pool] of pools) {
      poolConnections.set(pool.idleCount, name, 'idle');
      poolConnections.set(pool.totalCount - pool.idleCount, name, 'busy');
      maxPool.set(pool.options.max, name);
      poolWaiting.set(pool.waitingCount, name);
    }
  });

  async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
    refuseSecondConnection(self);
    const askedMs = systemClock.monotonicMs();
    try {
      const client = await pool.connect();
      poolWait.observe((systemClock.monotonicMs() - askedMs) / 1000, waits.get(pool));
      return client;
    } catch (error) {
      throw namedFailure(error) instanceof DatabaseUnavailable ? namedFailure(error) : new DatabaseUnavailable(error);
    }
  }

  return {
    distributed,
    storageFaults,
    query: async <R>(sql: Statement | string, values?: readonly unknown[]) =>
      runAlone<R>(await connect(reads), sql, values),
    async transaction(inside, turn) {
      if (turn === undefined) return runTransaction(await connect(reads), self, inside);
      // Whoever holds a connection would not only wait for another one, but for a turn as well.
      refuseSecondConnection(self);
      const leave = await turnOf(turns, turn);
      try {
        return await runTransaction(
          await connect(changes),
          self,
          inside,
          distributed ? beginDistributedChange : beginChange,
        );
      } finally {
        leave();
      }
    },
    snapshot: async (inside) => runSnapshot(await connect(reads), self, inside),
    dedicated(options = {}) {
      // What a node forgets in its crash, the coordinator's log doesn't tell of.
      const synchronous = distributed || (options.synchronousCommit ?? true);
      const way = options.throughPooler ? asked : askedDirectly;
      const connection = openDedicated(
        way.config,
        synchronous,
        log,
        () => open.delete(connection),
        distributed,
        watchBy(way),
        options.connected,
      );
      open.add(connection);
      return connection;
    },
    refuseWaiting: () => turns.close(),
    async close() {
      turns.close();
      stopCounting();
      await Promise.all([...open].map((connection) => connection.close()));
      await Promise.all([reads.end(), changes.end()]);
      watch.stop();
    },
  };
}

function openDedicated(
  config: pg.ClientConfig,
  synchronousCommit: boolean,
  log: Log,
  onClose: () => void,
  distributed: boolean,
  watch: (client: pg.Client) => void,
  connected: DedicatedOptions['connected'],
): Dedicated {
  let current: Promise<pg.Client> | null = null;
  let closed = false;
  let retry: NodeJS.Timeout | null = null;
  const channels = new Map<string, (payload: string | null) => void>();

  async function connect(ended: () => void): Promise<pg.Client> {
    const client: Watched & pg.Client = new pg.Client(config);
    let up = false;
    client.on('error', (error) => {
      client.lost ??= error;
    });
    client.on('notification', (message) => channels.get(message.channel)?.(message.payload ?? ''));
    client.once('end', () => {
      ended();
      if (!up || closed || channels.size === 0) return;
      log.error('database.connection_lost', { connection: 'notifications', ...errorFields(client.lost) });
      // Listeners are told once it is up again: told now, they would ask at once, and again, without end.
      reconnect();
    });
    try {
      await client.connect();
      watch(client);
      if (!synchronousCommit) await run(client, 'set synchronous_commit = off');
      for (const channel of channels.keys()) await run(client, `listen ${channel}`);
      await connected?.({ query: (sql, values) => run(client, sql, values), distributed });
    } catch (error) {
      ended();
      client.end().catch(() => {});
      throw new DatabaseUnavailable(error);
    }
    up = true;
    for (const notify of channels.values()) notify(null);
    return client;
  }
  function reconnect() {
    if (closed || retry !== null) return;
    retry = setTimeout(() => {
      retry = null;
      if (!closed) client().catch(reconnect);
    }, 500);
    retry.unref();
  }
  function client(): Promise<pg.Client> {
    if (current !== null) return current;
    const opening = connect(() => {
      if (current === opening) current = null;
    });
    return (current = opening);
  }
  return {
    distributed,
    async query<R>(sql: Statement | string, values?: readonly unknown[]) {
      if (closed) throw new DatabaseUnavailable(null);
      const opening = client();
      const connected = await opening;
      try {
        return await run<R>(connected, sql, values);
      } catch (error) {
        if (error instanceof DatabaseUnavailable) {
          if (current === opening) current = null;
          (connected as Watched).lost ??= error;
          connected.end().catch(() => {});
        }
        throw error;
      }
    },
    async listen(channel, onNotify) {
      channels.set(channel, onNotify);
      try {
        await run(await client(), `listen ${channel}`);
      } catch {
        reconnect();
      }
    },
    async close() {
      closed = true;
      if (retry !== null) clearTimeout(retry);
      onClose();
      const connected = await current?.catch(() => null);
      await connected?.end().catch(() => {});
    },
  };
}
