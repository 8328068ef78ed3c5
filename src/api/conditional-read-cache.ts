import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { App } from '../platform/app.ts';
import { onEveryResponse } from './http/headers.ts';
import { hostFault } from './target.ts';
import { hashSecret } from '../integrations/access-keys/keys.ts';
import { uuidAt } from '../platform/crypto/random.ts';
import { tracing } from '../platform/observability/tracing.ts';
import { type Admission, type Admit, type CachedRead, credentialsOf, rateHeaders } from './admission.ts';
import type { KeyUses } from '../integrations/access-keys/key-uses.ts';
import { logAnswer, requestIdHeader } from './request-log.ts';

/** `headers` contains names and values alternately. */
type CachedResponse = CachedRead & { headers: string[]; body: Buffer | null };

const onEveryResponsePairs = Object.entries(onEveryResponse).flat();
const maxKeyLength = 1000;

/**
 * Caches responses to reads. A cached response is sent only if the SQL statement that admits the request finds the key
 * valid and the feed unchanged.
 */
export class ConditionalReadCache {
  #responses = new LRUCache<string, CachedResponse>({
    max: 10_000,
    maxSize: 32 * 1024 * 1024,
    sizeCalculation: ({ body }, key) => key.length + (body?.length ?? 0),
  });

  find(request: IncomingMessage): CachedResponse | null {
    return (isPlainRead(request) ? this.#responses.get(keyOf(request)) : undefined) ?? null;
  }

  keep(request: IncomingMessage, response: CachedResponse): void {
    const key = keyOf(request);
    if (isPlainRead(request) && key.length <= maxKeyLength) this.#responses.set(key, response);
  }
}

function isPlainRead(request: IncomingMessage): boolean {
  return request.method === 'GET' && request.headers.range === undefined && hostFault(request) === null;
}

/**
 * The cache key contains the credentials, so that a caller cannot measure whether another access key made the same read
 * (law 6).
 */
function keyOf({ url, headers, socket }: IncomingMessage): string {
  const { keyId, secret } = credentialsOf(headers);
  return `${keyId}\n${hashOf(secret, socket)}\n${headers['if-none-match'] ?? ''}\n${url}`;
}

/** The last secret of each connection and its hash, because the next request nearly always has the same secret. */
const lastSecrets = new WeakMap<Socket, { secret: string; hash: string }>();

function hashOf(secret: string, socket: Socket): string {
  const last = lastSecrets.get(socket);
  if (last?.secret === secret) return last.hash;
  const hash = hashSecret(secret).toString('base64');
  lastSecrets.set(socket, { secret, hash });
  return hash;
}

export type Admitting = {
  admit: Admit;
  /** The admissions of requests that `answerRepeatedReads` passes to routes, so that no request is counted twice. */
  admissions: WeakMap<IncomingMessage, Promise<Admission | null>>;
  cache: ConditionalReadCache;
  addressOf(request: IncomingMessage): string | null;
  uses: KeyUses;
};

/** Answers repeated reads before Fastify sees them, because Fastify's router and hooks would take half of the time. */
export function answerRepeatedReads(
  app: App,
  server: Server,
  { cache, admit, admissions, addressOf, uses }: Admitting,
  isStopping: () => boolean,
): void {
  const [answerByRoute] = server.listeners('request') as [RequestListener];
  server.removeAllListeners('request').on('request', (request, response) => {
    // Only routes create spans, so every request goes to its route while tracing is on.
    const cached = tracing || isStopping() || app.restored.pending ? null : cache.find(request);
    if (cached === null) {
      answerByRoute(request, response);
      return;
    }
    const startedMs = app.clock.monotonicMs();
    const requestId = uuidAt(app.random, app.clock.nowMs());
    const address = addressOf(request);
    const admission = admit({ ...credentialsOf(request.headers), address, read: { cached, requestId } });
    const answerOtherwise = () => {
      admissions.set(request, admission);
      answerByRoute(request, response);
    };
    admission.then((caller) => {
      if (caller === null || !caller.answered) {
        answerOtherwise();
        return;
      }
      uses.note(caller, address, request.headers['user-agent']);
      response
        .writeHead(cached.status, [
          requestIdHeader,
          requestId,
          ...onEveryResponsePairs,
          ...cached.headers,
          ...rateHeaders(app, caller),
          ...(isStopping() ? ['connection', 'close'] : []),
        ])
        .end(cached.body);
      logAnswer(app, startedMs, requestId, cached.action, cached.action, cached.status, caller);
    }, answerOtherwise);
  });
}
