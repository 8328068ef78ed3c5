import { ApiError, ArsError, ConnectionError, UnexpectedReplyError } from './errors.ts';
import type { EventLine } from './openapi.ts';
import type { Connection } from './request.ts';
import { headersOf, read, searchOf } from './request.ts';

/** Filters of the events, and the place to continue. */
export type ListenQuery = {
  event_types?: readonly string[];
  group_id?: readonly string[];
  /** The `after` of the last line that you processed, also in an earlier process. Without it, new events only. */
  after?: string;
};

export type ListenOptions = {
  /** Ends it. */
  signal?: AbortSignal;
  /** Called when a connection ends or fails, with the wait before the next one. */
  onInterrupted?: (error: unknown, againInMs: number) => void;
};

const operation = 'listenToEvents';
const usualHeartbeatMs = 15_000;
/** Heartbeats that may stay away before the connection counts as dead. */
const missedHeartbeats = 3;
const firstWaitMs = 250;
const longestWaitMs = 15_000;
const maxLineChars = 16 * 1024 * 1024;
/** Attempts before the client gives up the first connection. */
const firstAttempts = 4;

/**
 * Each line of `GET /events` except heartbeats. After an interruption the next connection continues behind the last
 * line. This is a tool for development; in production register an endpoint.
 */
export async function* listenTo(
  connection: Connection,
  { after: begin, ...query }: ListenQuery = {},
  { signal, onInterrupted }: ListenOptions = {},
): AsyncGenerator<EventLine, void, undefined> {
  const { surroundings } = connection;
  const isOver = () => signal?.aborted === true;
  let after = begin;
  let failures = 0;
  while (!isOver()) {
    try {
      for await (const line of linesOf(connection, searchOf({ ...query, after }), signal)) {
        failures = 0;
        if (line.type !== 'heartbeat') yield line;
        ({ after } = line);
      }
    } catch (error) {
      if (isOver()) return;
      if (!(error instanceof ArsError) || !mayPass(error)) throw error;
      const told = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
      failures += 1;
      if (failures === firstAttempts && after === undefined && told === 0) throw error;
      const growing = Math.min(longestWaitMs, firstWaitMs * 2 ** (failures - 1)) * (1 - surroundings.random() / 2);
      const againInMs = Math.max(growing, told);
      onInterrupted?.(error, againInMs);
      await surroundings.wait(againInMs, signal).catch(() => {});
    }
  }
}

/** Another listener may end, and then there is room. */
const mayPass = (error: ArsError) =>
  error.isTransient || (error instanceof ApiError && error.code === 'listener_limit_exceeded');

/** One connection's lines, to its end, which is always an error. */
async function* linesOf(
  connection: Connection,
  search: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<EventLine, never, undefined> {
  const attempt = new AbortController();
  const end = () => attempt.abort();
  /** The program may take any time for a line. */
  const awaited = async <Result>(coming: Promise<Result>): Promise<Result> => {
    const timer = setTimeout(end, missedHeartbeats * usualHeartbeatMs);
    return coming.finally(() => clearTimeout(timer));
  };
  signal?.addEventListener('abort', end, { once: true });
  try {
    const init: RequestInit = {
      method: 'GET',
      headers: headersOf(connection, 'application/x-ndjson, application/json'),
      redirect: 'manual',
    };
    const address = `${connection.baseUrl}/events${search}`;
    const reply = await awaited(connection.surroundings.fetch(address, { ...init, signal: attempt.signal }));
    // Throws the error of a refusal.
    if (reply.status !== 200) await read(operation, reply, init, connection.surroundings);
    const reader = reply.body!.getReader();
    const decoder = new TextDecoder();
    let text = '';
    for (;;) {
      const { done, value } = await awaited(reader.read());
      if (done) throw new Error('the connection ended');
      text += decoder.decode(value, { stream: true });
      for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n')) {
        const line = lineOf(text.slice(0, at));
        text = text.slice(at + 1);
        yield line;
      }
      if (text.length > maxLineChars) lineOf('');
    }
  } catch (error) {
    if (error instanceof ArsError) throw error;
    throw new ConnectionError(operation, { cause: error });
  } finally {
    signal?.removeEventListener('abort', end);
    attempt.abort();
  }
}

/** @throws UnexpectedReplyError for what the service does not say */
function lineOf(text: string): EventLine {
  try {
    const line = JSON.parse(text) as Partial<EventLine> | null;
    if (typeof line?.type === 'string' && typeof line.after === 'string') return line as EventLine;
  } catch {
    // Said below.
  }
  throw new UnexpectedReplyError(operation, 200, 'the response has no lines of events', false);
}
