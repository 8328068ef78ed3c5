import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import { systemClock } from '../time/clock.ts';
import { errorFields, type Log } from '../observability/log.ts';
import { connectionTo, sessionSettings, distributedSettings } from './connection/connection.ts';
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
import { createStorageFaults, storageFaultOf, type StorageFaults } from './connection/storage-fault.ts';
import { prepared } from './connection/prepared.ts';
import { type Leave, type WriteQueue, WriteQueueRefusal, WriteQueues } from './write-queue.ts';
import { DatabaseUnavailable, lockHeld, namedFailure } from './connection/unavailable.ts';
import { type ProbeTarget, startWatch, type Watched, type WatchTimes, watchTimes } from './connection/watch.ts';

/** Only statements that prepared.ts names stay prepared. `arrays`: each row is an array of its columns. */
export type Statement = { name: string; text: string; arrays?: boolean };

type Template = (text: TemplateStringsArray, ...parts: unknown[]) => Statement;

/** The text is a template: statement('user.by_id')`select …`. */
export function statement(name: string): Template;
export function statement(name: string, text: string): Statement;
export function statement(name: string, text?: string): Statement | Template {
  if (text !== undefined) return { name, text };
  return (template, ...parts) => statement(name, String.raw({ raw: template }, ...parts));
}

export type Row = Record<string, any>;

export type Tx = {
  query<R = Row>(sql: Statement | string, values?: readonly unknown[]): Promise<R[]>;
  readonly distributed?: boolean;
};

function asQuery(sql: Statement | string, values: readonly unknown[]): pg.QueryConfig & { rowMode?: 'array' } {
  if (typeof sql === 'string') return { text: sql, values: values as unknown[] };
  // The driver prepares a query that has a `name`. Tests recognise other queries by `statement`.
  const named = prepared.has(sql.name) ? { name: sql.name } : { statement: sql.name };
  const query = { ...named, text: sql.text, values: values as unknown[] };
  return sql.arrays === true ? { ...query, rowMode: 'array' } : query;
}

async function run<R>(client: Watched, sql: Statement | string, values: readonly unknown[] = []): Promise<R[]> {
  client.underWay = (client.underWay ?? 0) + 1;
  try {
    const result = await client.query(asQuery(sql, values));
    const rows = result.rows as R[];
    // The driver's result outlives a young garbage collection and would keep every row.
    result.rows = [];
    return rows;
  } catch (error) {
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

/** The database whose transaction is running. A transaction that waits for a second connection can deadlock. */
const currentTransaction = new AsyncLocalStorage<{ connectionOf: object | null }>();

function refuseSecondConnection(database: object): void {
  if (currentTransaction.getStore()?.connectionOf === database)
    throw new Error('a second connection was asked for inside a transaction; use its tx');
}

export type Database = Tx & {
  storageFaults: StorageFaults;
  /**
   * Commits when `inside` returns, and rolls back when it throws.
   * @param turn the write queue to wait in; the transaction then waits for a lock for at most `limits.lockWaitMs`.
   * Without a turn, the transaction uses a connection of the read pool.
   */
  transaction<T>(inside: (tx: Tx) => Promise<T>, turn?: Turn): Promise<T>;
  /** Runs reads in one snapshot. The first read is sent together with the statement that begins the snapshot. */
  snapshot<T>(inside: (tx: Tx) => Promise<T>): Promise<T>;
  /** Opens a connection for one frequent statement or for notifications. A lost connection is replaced. */
  dedicated(options?: DedicatedOptions): Dedicated;
  refuseWaiting(): void;
  close(): Promise<void>;
};

/** `again`: another process held a lock for too long during the last turn. */
export type Turn = { queue: WriteQueue; signal: AbortSignal; again: boolean };

export type DedicatedOptions = {
  synchronousCommit?: boolean;
  throughPooler?: boolean;
  connected?: (tx: Tx) => Promise<unknown>;
};

export type Dedicated = Tx & {
  /**
   * Calls back on every notification. After each connection it also calls back with null, because notifications may
   * have been missed.
   */
  listen(channel: string, onNotify: (payload: string | null) => void): Promise<void>;
  close(): Promise<void>;
};

/** TCP notices a dead idle connection after 1 minute. The default is 2 hours. */
const probed = { keepAliveInitialDelayMillis: 60_000 };

type Held = { distributed: boolean };

class ConnectionPool {
  readonly #database: Held;
  readonly #pool: pg.Pool;
  readonly #waits: number;
  readonly #stopCounting: () => void;

  constructor(name: string, config: pg.PoolConfig, database: Held, log: Log, watch: (client: Watched) => void) {
    const pool = new pg.Pool({ ...config, idleTimeoutMillis: 30_000, allowExitOnIdle: true });
    pool.on('error', (error) => log.error('database.connection_lost', { connection: name, ...errorFields(error) }));
    // Without a listener, a connection that is lost between two statements would end the process. With it, only the
    // next statement fails.
    pool.on('connect', (client) => {
      client.on('error', (error) => {
        (client as Watched).lost ??= error;
      });
      watch(client as Watched);
    });
    this.#database = database;
    this.#pool = pool;
    this.#waits = poolWait.place(name);
    this.#stopCounting = beforeReading(() => {
      poolConnections.set(pool.idleCount, name, 'idle');
      poolConnections.set(pool.totalCount - pool.idleCount, name, 'busy');
      maxPool.set(pool.options.max, name);
      poolWaiting.set(pool.waitingCount, name);
    });
  }

  async connect(): Promise<pg.PoolClient> {
    refuseSecondConnection(this.#database);
    const startedMs = systemClock.monotonicMs();
    try {
      const client = await this.#pool.connect();
      poolWait.observe((systemClock.monotonicMs() - startedMs) / 1000, this.#waits);
      return client;
    } catch (error) {
      throw namedFailure(error) instanceof DatabaseUnavailable ? namedFailure(error) : new DatabaseUnavailable(error);
    }
  }

  async end(): Promise<void> {
    this.#stopCounting();
    await this.#pool.end();
  }
}

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

const txOn = (client: pg.PoolClient, { distributed }: Held): Tx => ({
  query: (sql, values) => run(client, sql, values),
  distributed,
});

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
    const result = await currentTransaction.run(held, () => inside(txOn(client, database)));
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

async function runSnapshot<T>(client: pg.PoolClient, database: Held, inside: (tx: Tx) => Promise<T>): Promise<T> {
  const held: { connectionOf: object | null } = { connectionOf: database };
  const begun = run(client, 'begin isolation level repeatable read read only');
  begun.catch(() => {});
  let broken = false;
  try {
    const result = await currentTransaction.run(held, () => inside(txOn(client, database)));
    await begun;
    return result;
  } catch (error) {
    broken = error instanceof DatabaseUnavailable;
    throw error;
  } finally {
    held.connectionOf = null;
    // A snapshot wrote nothing, so the caller does not wait for its end.
    if (broken) client.release(true);
    else
      run(client, 'rollback').then(
        () => client.release(),
        () => client.release(true),
      );
  }
}

async function turnOf(turns: WriteQueues, { queue, signal, again }: Turn): Promise<Leave> {
  const startedMs = systemClock.monotonicMs();
  try {
    const leave = await turns.take(queue, signal, again);
    turnWait.observe((systemClock.monotonicMs() - startedMs) / 1000);
    return leave;
  } catch (error) {
    if (error instanceof WriteQueueRefusal) turnsRefused.count(error.why);
    throw error;
  }
}

// A pooler may give each transaction another connection, so each change sets its own limit.
const lockWait = `set local lock_timeout = ${limits.lockWaitMs}`;

const queueLimits = {
  quick: limits.quickChanges,
  slow: limits.slowChanges,
  slowMs: limits.slowChangeMs,
  max: limits.changesWaiting,
};

/**
 * Opens a pool for reads and a pool for changes, so that changes never delay reads. The first statement opens the first
 * connection.
 * @param url a postgres:// URL
 * @param directUrl the same database past a pooler, for connections that need a session
 * @param size the most connections for reads
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
  const configOf = (to: string, isPooled: boolean) => ({ ...connectionTo(to, isPooled, settings), ...probed });
  const target: ProbeTarget = { config: configOf(url, pooled), pooled };
  const direct = pooled ? { config: configOf(directUrl, false), pooled: false } : target;
  const watch = startWatch(log, times);
  const storageFaults = createStorageFaults(() => systemClock.monotonicMs());
  const watchBy = (by: ProbeTarget) => (client: Watched) => {
    client.onStorageFault = storageFaults.note;
    watch.add(client, by);
  };
  const self: Held = { distributed };
  const pool = (name: string, max: number, min = 0) =>
    new ConnectionPool(name, { ...target.config, max, min }, self, log, watchBy(target));
  const reads = pool('reads', size, Math.min(size, limits.readConnectionsKept));
  const changes = pool('changes', limits.quickChanges + limits.slowChanges);
  const turns = new WriteQueues(queueLimits);
  const open = new Set<Dedicated>();

  return {
    distributed,
    storageFaults,
    query: async <R>(sql: Statement | string, values?: readonly unknown[]) =>
      runAlone<R>(await reads.connect(), sql, values),
    async transaction(inside, turn) {
      if (turn === undefined) return runTransaction(await reads.connect(), self, inside);
      // A transaction must not wait for a turn while it holds a connection, so this check comes first.
      refuseSecondConnection(self);
      const leave = await turnOf(turns, turn);
      try {
        return await runTransaction(await changes.connect(), self, inside, ['begin', lockWait]);
      } finally {
        leave();
      }
    },
    snapshot: async (inside) => runSnapshot(await reads.connect(), self, inside),
    dedicated(options = {}) {
      const way = options.throughPooler ? target : direct;
      const context = { ...options, log, distributed, watch: watchBy(way) };
      const connection = openDedicated(way.config, context, () => open.delete(connection));
      open.add(connection);
      return connection;
    },
    refuseWaiting: () => turns.close(),
    async close() {
      turns.close();
      await Promise.all([...open].map((connection) => connection.close()));
      await Promise.all([reads.end(), changes.end()]);
      watch.stop();
    },
  };
}

type DedicatedContext = DedicatedOptions & { log: Log; distributed: boolean; watch(client: pg.Client): void };

type Channels = Map<string, (payload: string | null) => void>;

/** @param onEnd called when the connection ends; with its error, unless the connection never opened */
async function connectDedicated(
  config: pg.ClientConfig,
  { watch, distributed, synchronousCommit = true, connected }: DedicatedContext,
  channels: Channels,
  onEnd: (lost: { error: unknown } | null) => void,
): Promise<pg.Client> {
  const client: Watched & pg.Client = new pg.Client(config);
  let up = false;
  client.on('error', (error) => {
    client.lost ??= error;
  });
  client.on('notification', (message) => channels.get(message.channel)?.(message.payload ?? ''));
  client.once('end', () => onEnd(up ? { error: client.lost } : null));
  try {
    await client.connect();
    watch(client);
    // A distributed database commits synchronously, because the coordinator's log does not show what a crashed node lost.
    if (!distributed && !synchronousCommit) await run(client, 'set synchronous_commit = off');
    for (const channel of channels.keys()) await run(client, `listen ${channel}`);
    await connected?.({ query: (sql, values) => run(client, sql, values), distributed });
  } catch (error) {
    onEnd(null);
    client.end().catch(() => {});
    throw new DatabaseUnavailable(error);
  }
  up = true;
  for (const notify of channels.values()) notify(null);
  return client;
}

function openDedicated(config: pg.ClientConfig, context: DedicatedContext, onClose: () => void): Dedicated {
  const { log, distributed } = context;
  let current: Promise<pg.Client> | null = null;
  let closed = false;
  let retry: NodeJS.Timeout | null = null;
  const channels: Channels = new Map();

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
    const opening = connectDedicated(config, context, channels, (lost) => {
      if (current === opening) current = null;
      if (lost === null || closed || channels.size === 0) return;
      log.error('database.connection_lost', { connection: 'notifications', ...errorFields(lost.error) });
      // Listeners are notified only after the reconnection, because their statements would fail now.
      reconnect();
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

/** A statement as a function: `Values` are its parameters in the order of `$1`, `$2` and so on. */
export function query<Values extends readonly unknown[], Row = unknown>(name: string, text: string) {
  const sql = statement(name, text);
  return (tx: Tx, ...values: Values): Promise<Row[]> => tx.query<Row>(sql, values);
}
