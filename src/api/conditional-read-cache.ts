import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { App } from '../platform/app.ts';
import { noSniff } from './http/headers.ts';
import { hostFault } from './http/host.ts';
import { hashSecret } from '../integrations/access-keys/keys.ts';
import { uuidAt } from '../platform/crypto/random.ts';
import { tracing } from '../platform/observability/tracing.ts';
import type { Admission, Admit, Presumed } from './admission.ts';
import { credentialsOf, rateHeaders } from './admission.ts';
import type { KeyUses } from './key-uses.ts';
import { logAnswer, requestIdHeader } from './request-log.ts';

/** A reply to a read, which stays the same for as long as the organisation's feed stands where it stood. */
export type Unchanged = Presumed & {
  /** Names and values in turn. */
  headers: string[];
  body: Buffer | null;
};

const noSniffPair = Object.entries(noSniff).flat();
const maxReplies = 10_000;
const maxBytes = 32 * 1024 * 1024;
const longestKey = 1000;

/**
 * Reads that were answered before, so that the next one that is the same can be answered by the very statement that
 * admits it. Nothing here is trusted: that statement looks whose the key is and where the feed stands.
 */
export class RepeatedReads {
  #kept = new LRUCache<string, Unchanged>({
    max: maxReplies,
    maxSize: maxBytes,
    sizeCalculation: ({ body }, key) => key.length + (body?.length ?? 0),
  });

  find(request: IncomingMessage): Unchanged | null {
    return (isPlainRead(request) ? this.#kept.get(keyOf(request)) : undefined) ?? null;
  }

  keep(request: IncomingMessage, reply: Unchanged): void {
    const key = keyOf(request);
    if (isPlainRead(request) && key.length <= longestKey) this.#kept.set(key, reply);
  }
}

/** Whether address and If-None-Match alone decide the reply. */
function isPlainRead(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers.range === undefined && hostFault(request) === null;
}

/**
 * The credentials are part of the key: what others have read is found by nobody else, so it takes nobody else the time
 * of a read that was found (law 6).
 */
function keyOf({ url, headers, socket }: IncomingMessage): string {
  const { keyId, secret } = credentialsOf(headers);
  return `${keyId}\n${hashOf(secret, socket)}\n${headers['if-none-match'] ?? ''}\n${url}`;
}

/** The secret that a connection showed last: its next request nearly always shows the same. */
const shown = new WeakMap<Socket, { secret: string; hash: string }>();

function hashOf(secret: string, socket: Socket): string {
  const last = shown.get(socket);
  if (last?.secret === secret) return last.hash;
  const hash = hashSecret(secret).toString('base64');
  shown.set(socket, { secret, hash });
  return hash;
}

/** Admissions that were asked for before the request came to its route. */
export type Admissions = WeakMap<IncomingMessage, Promise<Admission | null>>;

/** What lets requests in, whichever way they go. */
export type Admitting = {
  admit: Admit;
  admissions: Admissions;
  reads: RepeatedReads;
  addressOf(request: IncomingMessage): string | null;
  uses: KeyUses;
};

/**
 * Takes reads that repeat one out before Fastify sees them: router and hooks would be half of their time, and further
 * statements the other half. All that can't be answered so goes the way of every other request.
 */
export function answerRepeatedReads(
  app: App,
  server: Server,
  { reads, admit, admissions, addressOf, uses }: Admitting,
  stopping: () => boolean,
): void {
  const [everyOther] = server.listeners('request') as [RequestListener];
  server.removeAllListeners('request').on('request', (request, response) => {
    // With spans, every request goes the way on which they are made.
    const unchanged = tracing || stopping() || app.restored.pending ? null : reads.find(request);
    if (unchanged === null) {
      everyOther(request, response);
      return;
    }
    const startedMs = app.clock.monotonicMs();
    const requestId = uuidAt(app.random, app.clock.nowMs());
    const address = addressOf(request);
    const admission = admit({ ...credentialsOf(request.headers), address, read: { presumed: unchanged, requestId } });
    const proceed = () => {
      admissions.set(request, admission);
      everyOther(request, response);
    };
    admission.then((caller) => {
      if (caller === null || !caller.answered) {
        proceed();
        return;
      }
      uses.note(caller, address, request.headers['user-agent']);
      response
        .writeHead(unchanged.status, [
          requestIdHeader,
          requestId,
          ...noSniffPair,
          ...unchanged.headers,
          ...rateHeaders(app, caller),
          ...(stopping() ? ['connection', 'close'] : []),
        ])
        .end(unchanged.body);
      logAnswer(app, startedMs, requestId, unchanged.action, unchanged.action, unchanged.status, caller);
    }, proceed);
  });
}
