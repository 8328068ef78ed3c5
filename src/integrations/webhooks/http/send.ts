import type { IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import { isIP, type LookupFunction } from 'node:net';
import type { Agent, Dispatcher } from 'undici';
import type { Clock } from '../../../platform/time/clock.ts';
import { limits } from '../../../platform/config/limits.ts';
import type { Network } from '../../../platform/validation/networks.ts';
import { checkAddress, checkUrl, isLocalhost, loopbackAddresses } from '../../../platform/validation/networks.ts';
import { passOverInformational } from './informational.ts';
import { createResolver, DnsError, type Resolve } from './resolve.ts';
import { parseRetryAfter } from '../retry.ts';

// Loaded with the first agent: commands send nothing.
const require = createRequire(import.meta.url);
const undici = () => require('undici') as typeof import('undici');

/**
 * How an attempt ended; `secret_unreadable` before anything was sent. `aborted` is the worker's own doing (it is
 * stopping) and says nothing about the endpoint.
 */
export type Outcome =
  | 'succeeded'
  | 'http_error'
  | 'redirect'
  | 'timeout'
  | 'dns_error'
  | 'address_refused'
  | 'tls_error'
  | 'connection_error'
  | 'response_too_large'
  | 'secret_unreadable'
  | 'aborted';

export type Attempt = {
  outcome: Outcome;
  /** Null if no status line arrived. */
  status_code: number | null;
  /** From the call to its end, in whole milliseconds. */
  duration_ms: number;
  /** One sentence for the endpoint's owner; null if it succeeded. Never part of the response, an address or a URL. */
  error: string | null;
  /** What a 429 or 503 asked for. */
  retry_after_ms: number | null;
};

export type SendRequest = {
  url: string;
  headers: Record<string, string>;
  body: Uint8Array | string;
  signal?: AbortSignal | undefined;
};

export type Sender = {
  /** Makes one POST and never throws. The response's body is read to its end, bounded, and thrown away. */
  send(request: SendRequest): Promise<Attempt>;
  /**
   * Waits for the attempts under way, each of which ends by its time limit or its signal, and closes all connections.
   */
  close(): Promise<void>;
};

class AddressRefusedError extends Error {}

/**
 * A connection stays at the address that was checked when it was made; after this long a new one asks the name server
 * again.
 */
const connectionLifetimeMs = 5 * 60_000;
const idleConnectionMs = 10_000;
const maxIdleConnectionMs = 60_000;
const maxTargets = 10_000;

/**
 * The lookup of every new connection. Each address that the name has is checked, one that is refused refuses the name,
 * and exactly the checked addresses go to the socket: there is no second question whose answer could differ
 * (DNS rebinding).
 */
function checkedLookup(resolve: Resolve, networks: readonly Network[]): LookupFunction {
  const checked = async (hostname: string): Promise<string[]> => {
    if (isLocalhost(hostname)) return loopbackAddresses.filter((address) => checkAddress(address, networks).ok);
    const addresses = await resolve(hostname);
    for (const address of addresses) {
      const verdict = checkAddress(address, networks);
      if (!verdict.ok) throw new AddressRefusedError(`The host was refused: ${verdict.reason}.`);
    }
    return addresses;
  };
  return (hostname, options, callback) => {
    checked(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined) callback(new DnsError('ENODATA', 'The host name has no address.'), '');
        else if (options.all === true)
          callback(
            null,
            addresses.map((address) => ({ address, family: isIP(address) })),
          );
        else callback(null, first, isIP(first));
      },
      (error: Error) => callback(error, ''),
    );
  };
}

function outcomeOf(error: Error & { code?: unknown }): { outcome: Outcome; error: string } {
  const code = typeof error.code === 'string' && /^[A-Z0-9_]{1,60}$/.test(error.code) ? error.code : 'unknown';
  if (error instanceof AddressRefusedError) return { outcome: 'address_refused', error: error.message };
  if (error instanceof DnsError) return { outcome: 'dns_error', error: error.message };
  if (code === 'UND_ERR_CLOSED' || code === 'UND_ERR_DESTROYED')
    return { outcome: 'aborted', error: 'The sender is closed.' };
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT')
    return { outcome: 'timeout', error: 'The connection was not made in time.' };
  if (code === 'UND_ERR_HEADERS_OVERFLOW' || code === 'HPE_HEADER_OVERFLOW')
    return { outcome: 'response_too_large', error: 'The response headers are too large.' };
  if (
    /^(ERR_TLS_|ERR_SSL_|ERR_OSSL_|EPROTO$|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|INVALID_CA|INVALID_PURPOSE|HOSTNAME_MISMATCH|.*CERT)/.test(
      code,
    )
  ) {
    return { outcome: 'tls_error', error: `The TLS connection was not trusted or not understood (${code}).` };
  }
  return { outcome: 'connection_error', error: `The connection failed (${code}).` };
}

type Terms = {
  maxResponseBytes: number;
  clock: Clock;
  signal: AbortSignal | undefined;
  ended(exchange: Exchange): void;
};

/** One attempt: collects what undici reports and settles once, whatever else happens afterwards. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly done: Promise<Attempt>;
  readonly #terms: Terms;
  readonly #startMs: number;
  readonly #settle: (attempt: Attempt) => void;
  #settled = false;
  #timer: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | null = null;
  #status: number | null = null;
  #retryAfterMs: number | null = null;
  #bytes = 0;

  constructor(terms: Terms) {
    this.#terms = terms;
    this.#startMs = terms.clock.monotonicMs();
    const { promise, resolve } = Promise.withResolvers<Attempt>();
    this.done = promise;
    this.#settle = resolve;
  }

  end(outcome: Outcome, error: string | null): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#terms.ended(this);
    this.#settle({
      outcome,
      status_code: this.#status,
      duration_ms: Math.round(this.#terms.clock.monotonicMs() - this.#startMs),
      error,
      retry_after_ms: this.#retryAfterMs,
    });
  }

  /** Ends the attempt now; the connection goes with it, because an answer may still be on its way. */
  cut(outcome: Outcome, error: string): void {
    this.end(outcome, error);
    this.#controller?.abort(new Error(outcome));
  }

  cutAfter(ms: number): void {
    this.#timer = setTimeout(() => this.cut('timeout', `The endpoint did not answer within ${ms} ms.`), ms);
  }

  breakOffBy(signal: AbortSignal): void {
    if (this.#terms.signal === signal)
      this.cut('aborted', 'The attempt was broken off because the service is stopping.');
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // An attempt that ended while its connection was being made must not be sent after all.
    if (this.#settled) controller.abort(new Error('ended'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    // A header that stands twice arrives as a list, whatever the type says.
    const retryAfter = [(headers['retry-after'] as string | string[] | undefined) ?? []].flat();
    if (status === 429 || status === 503)
      this.#retryAfterMs = parseRetryAfter(retryAfter[0], this.#terms.clock.nowMs());
    if (Number(headers['content-length'] ?? 0) > this.#terms.maxResponseBytes) this.#tooLarge();
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#terms.maxResponseBytes) this.#tooLarge();
  }

  onResponseEnd(): void {
    const status = this.#status ?? 0;
    if (status >= 200 && status < 300) this.end('succeeded', null);
    else if (status >= 300 && status < 400)
      this.end('redirect', `The endpoint answered with a redirect (${status}); redirects are not followed.`);
    else this.end('http_error', `The endpoint answered ${status}.`);
  }

  onResponseError(controller: Dispatcher.DispatchController, error: Error): void {
    this.fail(error);
  }

  fail(error: Error): void {
    const { outcome, error: sentence } = outcomeOf(error);
    this.end(outcome, sentence);
  }

  #tooLarge(): void {
    this.cut('response_too_large', `The response body has more than ${this.#terms.maxResponseBytes} bytes.`);
  }
}

/** Connections whose addresses are checked; `timeoutMs` bounds the making of one. */
export function openAgent(resolve: Resolve, networks: readonly Network[], timeoutMs: number): Agent {
  const { Agent, buildConnector } = undici();
  const connect = buildConnector({
    allowH2: false,
    lookup: checkedLookup(resolve, networks),
    autoSelectFamily: true,
    timeout: timeoutMs,
    // Said here so that NODE_TLS_REJECT_UNAUTHORIZED=0, set for something else, can't reach deliveries.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  });
  return new Agent({
    // HTTP/2 would put several endpoints' deliveries on one connection, where one that is cut cuts the others.
    allowH2: false,
    clientTtl: connectionLifetimeMs,
    keepAliveTimeout: idleConnectionMs,
    keepAliveMaxTimeout: maxIdleConnectionMs,
    // The time limit of the whole attempt is kept by createSender(); undici's own are coarser and only part of the way.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) =>
      connect(options, (...result) => {
        if (result[0] === null) passOverInformational(result[1]);
        callback(...result);
      }),
  });
}

type Target = { ok: true; origin: string; path: string } | { ok: false; reason: string };

/**
 * Where a URL leads, or why it is refused. That depends on nothing else, so it is remembered; the addresses behind a name are
 * judged at each connection.
 */
function createJudge(allowNetworks: readonly Network[]): (url: string) => Target {
  const targets = new Map<string, Target>();
  const judge = (text: string): Target => {
    const verdict = checkUrl(text, { allowNetworks });
    if (!verdict.ok) return verdict;
    const { origin, pathname, search } = verdict.url;
    return { ok: true, origin, path: pathname + search };
  };
  return (url) => {
    let target = targets.get(url);
    if (target === undefined) {
      target = judge(url);
      if (targets.size >= maxTargets) targets.clear();
      targets.set(url, target);
    }
    return target;
  };
}

/**
 * The sender of webhook deliveries: `https` only, addresses checked and pinned, redirects not followed, time and size
 * bounded. Certificates are judged against the system's roots and `NODE_EXTRA_CA_CERTS`.
 */
export function createSender({
  clock,
  allowNetworks = [],
  timeoutMs = limits.webhookAnswerMs,
  maxResponseBytes = limits.webhookAnswerBytes,
  resolve = createResolver(),
}: {
  clock: Clock;
  allowNetworks?: readonly Network[];
  timeoutMs?: number;
  maxResponseBytes?: number;
  resolve?: Resolve;
}): Sender {
  const agent = openAgent(resolve, allowNetworks, timeoutMs);
  const judge = createJudge(allowNetworks);
  const underWay = new Set<Exchange>();
  const heard = new WeakSet<AbortSignal>();

  /** A worker's attempts share their signal, which is listened to once for all of them. */
  function hear(signal: AbortSignal): void {
    if (heard.has(signal)) return;
    heard.add(signal);
    const breakOff = (): void => {
      for (const one of underWay) one.breakOffBy(signal);
    };
    signal.addEventListener('abort', breakOff, { once: true });
  }

  return {
    send({ url, headers, body, signal }) {
      const exchange = new Exchange({ maxResponseBytes, clock, signal, ended: (one) => underWay.delete(one) });
      const target = judge(url);
      if (!target.ok) exchange.end('address_refused', `The URL was refused: ${target.reason}.`);
      else if (signal?.aborted === true) exchange.breakOffBy(signal);
      else {
        if (signal !== undefined) hear(signal);
        underWay.add(exchange);
        exchange.cutAfter(timeoutMs);
        try {
          agent.dispatch({ origin: target.origin, path: target.path, method: 'POST', headers, body }, exchange);
        } catch (error) {
          exchange.fail(error as Error);
        }
      }
      return exchange.done;
    },
    async close() {
      await Promise.all([...underWay].map((one) => one.done));
      // Its own close() would wait for connections that are still being made for attempts that were broken off.
      await agent.destroy();
    },
  };
}
