import type { Socket } from 'node:net';
import pg from 'pg';
import type { Log } from '../../observability/log.ts';
import type { StorageFault } from './storage-fault.ts';

/**
 * If the database's host vanishes, statements wait until TCP gives up after 15 minutes. The watch therefore asks the
 * server on another connection whether a silent statement still runs (decision 0029).
 */
export type Watch = {
  add(client: Watched, by: ProbeTarget): void;
  stop(): void;
};

export type Watched = (pg.Client | pg.PoolClient) & {
  underWay?: number;
  lost?: Error;
  onStorageFault?: (what: StorageFault) => void;
};

/** `pooled`: a pooler answers. It does not know which server process runs a statement. */
export type ProbeTarget = { config: pg.ClientConfig; pooled: boolean };

export type WatchTimes = {
  everyMs: number;
  answerMs: number;
};
export const watchTimes: WatchTimes = { everyMs: 5000, answerMs: 5000 };

/**
 * A connection is silent after this many checks without a received byte. The first check may come just after the
 * statement began.
 */
const silentPolls = 3;
/** The watch ends a connection after this many doubtful checks in a row, because an answer may be on its way. */
const doubtsToEnd = 2;

type State = { by: ProbeTarget; read: number; silent: number; doubts: number };
/** The state of each server process that the probe found. Null: the probe proves nothing. */
type Answer = 'unreachable' | Map<number, string | null> | null;

const doing = 'select pid, state from pg_stat_activity where pid = any($1::int4[])';
/** An idle process waits for a statement. If the client waits as well, the statement or its answer is lost. */
const waits = /^idle/;

/**
 * Whether the server cannot be reached. An unresolved name is only a DNS fault, and an error with a severity comes from
 * the server.
 */
function isUnreachable(error: unknown): boolean {
  const { code, severity } = error as { code?: string; severity?: string };
  return severity === undefined && !/^(?:ENOTFOUND|EAI_)/.test(code ?? '');
}

async function ask({ config, pooled }: ProbeTarget, pids: number[], answerMs: number): Promise<Answer> {
  const client = new pg.Client({ ...config, connectionTimeoutMillis: answerMs });
  client.on('error', () => {});
  const late = setTimeout(() => client.connection.stream.destroy(), answerMs);
  try {
    await client.connect();
    if (pooled) return null;
    const { rows } = await client.query<{ pid: number; state: string | null }>(doing, [pids]);
    return new Map(rows.map(({ pid, state }) => [pid, state]));
  } catch (error) {
    return isUnreachable(error) ? 'unreachable' : null;
  } finally {
    clearTimeout(late);
    client.end().catch(() => {});
  }
}

const socketOf = (client: Watched) => client.connection.stream as Socket;
const pidOf = (client: Watched) => (client as unknown as { processID: number | null }).processID ?? 0;

export function startWatch(log: Log, { everyMs, answerMs }: WatchTimes): Watch {
  const watched = new Map<Watched, State>();
  let asking = false;

  function isSilent(client: Watched, state: State): boolean {
    const { bytesRead } = socketOf(client);
    const isQuiet = (client.underWay ?? 0) > 0 && bytesRead === state.read;
    state.read = bytesRead;
    state.silent = isQuiet ? state.silent + 1 : 0;
    if (!isQuiet) state.doubts = 0;
    return state.silent >= silentPolls;
  }

  function doubt(client: Watched, state: State, answer: Answer): boolean {
    const found = answer instanceof Map ? answer.get(pidOf(client)) : answer;
    // PostgreSQL shows null instead of the state of some processes, which proves nothing.
    const isDoubtful = answer === 'unreachable' || found === undefined || (found !== null && waits.test(found));
    state.doubts = isDoubtful && socketOf(client).bytesRead === state.read ? state.doubts + 1 : 0;
    return state.doubts >= doubtsToEnd;
  }

  /** Dead idle connections. The next statement on such a connection would wait. */
  const idleDead = (by: ProbeTarget, answer: Answer) =>
    [...watched].filter(
      ([client, state]) =>
        state.by === by &&
        (client.underWay ?? 0) === 0 &&
        (answer === 'unreachable' || (answer !== null && !answer.has(pidOf(client)))),
    );

  async function check(by: ProbeTarget, silent: [Watched, State][]): Promise<void> {
    const pids = [...watched.keys()].map(pidOf);
    const answer = await ask(by, pids, answerMs);
    const dead = silent.filter(([client, state]) => doubt(client, state, answer));
    if (dead.length === 0) return;
    const ended = [...dead, ...idleDead(by, answer)];
    log.error('database.silent', { connections: ended.length, reached: answer !== 'unreachable' });
    for (const [client] of ended) socketOf(client).destroy();
  }

  async function poll(): Promise<void> {
    if (asking) return;
    asking = true;
    const silent = [...watched].filter(([client, state]) => isSilent(client, state));
    const groups = Map.groupBy(silent, ([, state]) => state.by);
    await Promise.all([...groups].map(([by, ones]) => check(by, ones)));
    asking = false;
  }

  const timer = setInterval(() => void poll(), everyMs);
  timer.unref();
  return {
    add(client, by) {
      watched.set(client, { by, read: 0, silent: 0, doubts: 0 });
      client.once('end', () => watched.delete(client));
    },
    stop: () => clearInterval(timer),
  };
}
