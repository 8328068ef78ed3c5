import type { Dispatcher } from 'undici';
import { Agent, request } from 'undici';
import type { Random } from '../src/random.ts';
import type { Access } from './access.ts';
import { Failure } from './command.ts';

/** What the service says to a listener, a line of JSON each (docs/openapi.json, listenToEvents). */
export type Line = { after: string } & (
  | { type: 'open'; secret: string; heartbeat_seconds: number }
  | { type: 'delivery'; event: string; delivery_id: string; headers: Record<string, string>; body: string }
  | { type: 'heartbeat' }
  | { type: 'end'; reason: string }
);

/** Heartbeats that may stay away before the connection counts as dead. */
const missedHeartbeats = 3;
const usualHeartbeatMs = 15_000;
const firstWaitMs = 250;
const longestWaitMs = 15_000;
const lineChars = 16 * 1024 * 1024;

/** The connection failed, or was refused with an answer that passes: whoever catches this tries again. */
class Broken extends Error {
  readonly retryAfterMs: number;
  constructor(message: string, retryAfterMs = 0) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

const wait = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** One connection's lines, to its end. @throws Broken, or Failure where another attempt would end alike */
async function* connection(
  access: Access,
  query: URLSearchParams,
  agent: Agent,
  signal: AbortSignal,
): AsyncGenerator<Line> {
  let reply: Dispatcher.ResponseData;
  try {
    reply = await request(`${access.baseUrl}/events?${query.toString()}`, {
      headers: {
        'x-access-key-id': access.accessKeyId,
        'x-secret-access-key': access.secretAccessKey,
        accept: 'application/x-ndjson, application/json',
      },
      dispatcher: agent,
      signal,
      headersTimeout: 2 * usualHeartbeatMs,
      bodyTimeout: missedHeartbeats * usualHeartbeatMs,
    });
  } catch (error) {
    throw new Broken(`no connection (${(error as { code?: string }).code ?? 'unknown'})`);
  }
  if (reply.statusCode !== 200) throw await refusal(reply);
  let text = '';
  try {
    for await (const chunk of reply.body.setEncoding('utf8')) {
      text += chunk as string;
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        const line = JSON.parse(text.slice(0, end)) as Line;
        text = text.slice(end + 1);
        yield line;
      }
      if (text.length > lineChars) throw new Failure('What answers at --api sends no lines of events.');
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (error instanceof SyntaxError) throw new Failure('What answers at --api sends no lines of events.');
    throw new Broken('the connection was cut');
  }
  throw new Broken('the connection ended');
}

async function refusal(reply: Dispatcher.ResponseData): Promise<Error> {
  const { statusCode: status, headers } = reply;
  const body = (await reply.body.json().catch(() => null)) as { error?: { code?: string; message?: string } } | null;
  const message = body?.error?.message ?? `it answered ${status}`;
  if (status === 401) return new Failure('The service refuses the key pair.');
  if (status === 404)
    return new Failure('This service has no events to listen to by a key: it is older, or --api names another place.');
  const passes = status === 429 || status >= 500 || body?.error?.code === 'listener_limit_exceeded';
  if (!passes) return new Failure(`The service refuses: ${message}`);
  return new Broken(message, Number(headers['retry-after'] ?? 0) * 1000);
}

/**
 * The events of the key's organisation from now on, over every interruption: where a connection ends, the next one goes
 * on behind the last line that was taken. Ends with the signal.
 * @param interrupted told of every connection that ended or was not made
 * @throws Failure when the service refuses for good
 */
export async function* listenByKey(given: {
  access: Access;
  query: Record<string, string>;
  signal: AbortSignal;
  random: Random;
  interrupted(why: string, againInMs: number): void;
}): AsyncGenerator<Line> {
  const { access, signal, random, interrupted } = given;
  const agent = new Agent({ allowH2: false });
  const query = new URLSearchParams(given.query);
  let failures = 0;
  try {
    while (!signal.aborted) {
      try {
        for await (const line of connection(access, query, agent, signal)) {
          failures = 0;
          if (line.type === 'end' && line.reason === 'key_gone')
            throw new Failure('The key was revoked, or its time is over.');
          yield line;
          query.set('after', line.after);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof Broken)) throw error;
        // The place that was never reached can't be taken up again.
        if (failures >= 3 && !query.has('after') && error.retryAfterMs === 0)
          throw new Failure(`Listening can't begin: ${error.message.replace(/\.$/, '')}.`);
        const growing = Math.min(longestWaitMs, firstWaitMs * 2 ** failures++) * (1 - random.float() / 2);
        const againInMs = Math.max(growing, error.retryAfterMs);
        interrupted(error.message, againInMs);
        await wait(againInMs, signal);
      }
    }
  } finally {
    await agent.destroy();
  }
}
