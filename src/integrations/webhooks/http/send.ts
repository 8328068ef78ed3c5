import type { IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import { isIP, type LookupFunction } from 'node:net';
import { LRUCache } from 'lru-cache';
import type { Agent, Dispatcher } from 'undici';
import type { Clock } from '../../../platform/time/clock.ts';
import { limits } from '../../../platform/config/limits.ts';
import {
  type Network,
  type UrlVerdict,
  checkAddress,
  checkUrl,
  isLocalhost,
  loopbackAddresses,
} from '../../../platform/validation/networks.ts';
import { passOverInformational } from './informational.ts';
import { createResolver, DnsError, type Resolve } from './resolve.ts';
import { parseRetryAfter } from '../retry.ts';

// undici is loaded with the first agent, because most commands send nothing.
const require = createRequire(import.meta.url);
const undici = () => require('undici') as typeof import('undici');

/**
 * `secret_unreadable`: nothing was sent. `aborted`: the worker was stopping, so the attempt says nothing about the
 * endpoint.
 */
type SendOutcome =
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
  outcome: SendOutcome;
  /** Null if no status line arrived. */
  status_code: number | null;
  duration_ms: number;
  /** A sentence for the endpoint's owner, without text of the response, address or URL; null after a success. */
  error: string | null;
  /** The wait that a 429 or 503 response requests with `Retry-After`. */
  retry_after_ms: number | null;
};

export type Sender = {
  /** Makes one POST and never throws. The body of the response is read, up to a limit, and dropped. */
  send(request: {
    url: string;
    headers: Record<string, string>;
    body: Uint8Array | string;
    signal?: AbortSignal;
  }): Promise<Attempt>;
  /** Waits until the current attempts have ended, and closes all connections. */
  close(): Promise<void>;
};

class AddressRefusedError extends Error {}

/** After this time a connection is closed, because it keeps its IP address when the DNS entry changes. */
const connectionLifetimeMs = 5 * 60_000;
const idleConnectionMs = 10_000;
const maxIdleConnectionMs = 60_000;
const maxUrls = 10_000;

/**
 * Resolves the host name of each new connection, and refuses the name if one of its addresses is refused. The socket
 * gets exactly the checked addresses, so that a second DNS response cannot differ (DNS rebinding).
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
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = found;
        if (first === undefined) callback(new DnsError('ENODATA', 'The host name has no address.'), '');
        else if (options.all === true) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ''),
    );
  };
}

function outcomeOf(error: Error & { code?: unknown }): { outcome: SendOutcome; error: string } {
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

class Exchange implements Dispatcher.DispatchHandler {
  readonly done: Promise<Attempt>;
  readonly #terms: Terms;
  readonly #startMs: number;
  readonly #settle: (attempt: Attempt) => void;
  #isSettled = false;
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

  end(outcome: SendOutcome, error: string | null): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
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

  /** Ends the attempt and closes its connection, because a response may still arrive. */
  cut(outcome: SendOutcome, error: string): void {
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
    // If the attempt ended while its connection was being made, the request must not be sent.
    if (this.#isSettled) controller.abort(new Error('ended'));
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    // A repeated header arrives as a list, although its type says string.
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

/** An agent that connects to checked addresses only. @param timeoutMs the time limit for making a connection */
export function openAgent(resolve: Resolve, networks: readonly Network[], timeoutMs: number): Agent {
  const { Agent, buildConnector } = undici();
  const connect = buildConnector({
    allowH2: false,
    lookup: checkedLookup(resolve, networks),
    autoSelectFamily: true,
    timeout: timeoutMs,
    // NODE_TLS_REJECT_UNAUTHORIZED=0 must not apply to deliveries.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  });
  return new Agent({
    // With HTTP/2, several deliveries would share a connection, so aborting one delivery would abort the others.
    allowH2: false,
    clientTtl: connectionLifetimeMs,
    keepAliveTimeout: idleConnectionMs,
    keepAliveMaxTimeout: maxIdleConnectionMs,
    // createSender() limits the time of the full attempt. undici's limits are coarser and apply to parts of an attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) =>
      connect(options, (...result) => {
        if (result[0] === null) passOverInformational(result[1]);
        callback(...result);
      }),
  });
}

/**
 * Checks a URL and caches the verdict, which depends on the URL alone. IP addresses are checked for each connection.
 */
function createUrlCheck(allowNetworks: readonly Network[]): (url: string) => UrlVerdict {
  const verdicts = new LRUCache<string, UrlVerdict>({ max: maxUrls });
  return (url) => {
    const verdict = verdicts.get(url) ?? checkUrl(url, { allowNetworks });
    verdicts.set(url, verdict);
    return verdict;
  };
}

/**
 * Sends webhook deliveries by `https` to checked and pinned addresses, without following redirects and with limits of
 * time and size. Certificates are checked against the system's roots and `NODE_EXTRA_CA_CERTS`.
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
  const check = createUrlCheck(allowNetworks);
  const underWay = new Set<Exchange>();
  const signals = new WeakSet<AbortSignal>();

  /** All attempts of a worker share a signal, so one listener is enough. */
  function listenTo(signal: AbortSignal): void {
    if (signals.has(signal)) return;
    signals.add(signal);
    const breakOff = () => underWay.forEach((one) => one.breakOffBy(signal));
    signal.addEventListener('abort', breakOff, { once: true });
  }

  return {
    send({ url, headers, body, signal }) {
      const exchange = new Exchange({ maxResponseBytes, clock, signal, ended: (one) => underWay.delete(one) });
      const verdict = check(url);
      if (!verdict.ok) exchange.end('address_refused', `The URL was refused: ${verdict.reason}.`);
      else if (signal?.aborted === true) exchange.breakOffBy(signal);
      else {
        if (signal !== undefined) listenTo(signal);
        underWay.add(exchange);
        exchange.cutAfter(timeoutMs);
        try {
          const { origin, pathname, search } = verdict.url;
          agent.dispatch({ origin, path: pathname + search, method: 'POST', headers, body }, exchange);
        } catch (error) {
          exchange.fail(error as Error);
        }
      }
      return exchange.done;
    },
    async close() {
      await Promise.all([...underWay].map((one) => one.done));
      // The close() of undici would also wait for connections that aborted attempts are still making.
      await agent.destroy();
    },
  };
}
