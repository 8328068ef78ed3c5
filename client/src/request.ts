import { ApiError, ArsError, ConnectionError, TimeoutError, UnexpectedReplyError } from './errors.ts';
import type { Operations } from './openapi.ts';
import type { Surroundings } from './surroundings.ts';
import { longestTimerMs } from './surroundings.ts';

export type OperationId = keyof Operations;

/** The input of an operation: its `path`, `query` and `body`, if it has them. */
export type Input<Id extends OperationId> = (Record<string, never> extends Operations[Id]['path']
  ? { path?: undefined }
  : { path: Operations[Id]['path'] }) & { query?: Operations[Id]['query'] } & (Operations[Id]['body'] extends undefined
    ? { body?: undefined }
    : { body: Operations[Id]['body'] });

export type CallOptions = {
  /** Ends the call, including waits between attempts. */
  signal?: AbortSignal;
  /** For this call, instead of the setting of the client. */
  timeoutMs?: number;
  patienceMs?: number;
  /** For a POST that must happen once even if your program is restarted in between: a key that you have stored. */
  idempotencyKey?: string;
};

/** Options of `Client.call`, which returns the full response. */
export type FullCallOptions = CallOptions & {
  /** Your stored ETag. An unchanged object returns status 304 without data. */
  ifNoneMatch?: string;
  /** One range of bytes of a PDF, such as `bytes=0-65535`. */
  range?: string;
};

/** A response with its body. */
export type Reply<Body> = {
  status: number;
  body: Body;
  etag: string | null;
  requestId: string | null;
  /** True if the service repeated its first response to this idempotency key. The request had no second effect. */
  isReplayed: boolean;
  headers: Headers;
};

export type Connection = {
  baseUrl: string;
  accessKeyId: string;
  secretAccessKey: string;
  timeoutMs: number;
  patienceMs: number;
  surroundings: Surroundings;
};

const firstWaitMs = 500;
const longestWaitMs = 20_000;
/** A page of the largest results takes a hundredth of this limit. */
const maxBytes = 64 * 1024 * 1024;

/** The URL of a request, and its name in errors. */
type Target = { id: string; method: string; path: string };

/**
 * Sends one request, and retries temporary faults for the allowed time. Waits double from 0.5 to 20 seconds, and each
 * wait is randomly shorter by up to a half. A wait never ends before `Retry-After`. Every operation can be repeated:
 * reads, PATCH and DELETE are idempotent, and each POST has an idempotency key.
 * @param search a query as the service has written it, in place of `input.query`
 */
export async function send(
  connection: Connection,
  target: Target,
  input: { path?: Record<string, string>; query?: Record<string, unknown>; body?: unknown },
  options: FullCallOptions = {},
  search = searchOf(input.query ?? {}),
): Promise<Reply<unknown>> {
  const { id, method, path } = target;
  const { surroundings } = connection;
  const patienceMs = options.patienceMs ?? connection.patienceMs;
  const address = `${connection.baseUrl}${pathOf(path, input.path ?? {})}${search}`;
  const headers = headersOf(connection, 'application/json, application/pdf');
  if (options.ifNoneMatch !== undefined) headers['If-None-Match'] = options.ifNoneMatch;
  if (options.range !== undefined) headers.Range = options.range;
  if (method === 'POST') headers['Idempotency-Key'] = options.idempotencyKey ?? surroundings.uuid();
  if (input.body !== undefined) headers['Content-Type'] = 'application/json';
  const init: RequestInit = {
    method,
    headers,
    // The key pair must not follow a redirect to wherever it leads.
    redirect: 'manual',
    ...(input.body === undefined ? {} : { body: JSON.stringify(input.body) }),
  };

  // Measured without the system clock, which may be changed meanwhile.
  let spentMs = 0;
  for (let attempt = 0; ; attempt++) {
    options.signal?.throwIfAborted();
    const beganMs = surroundings.monotonicMs();
    try {
      return await sendOnce(connection, id, address, init, options);
    } catch (error) {
      options.signal?.throwIfAborted();
      // A repeated removal, whose first response was lost, finds nothing left.
      if (method === 'DELETE' && attempt > 0 && error instanceof ApiError && error.code === 'not_found')
        return removedBefore(error);
      if (!(error instanceof ArsError) || !error.isTransient) throw error;
      const waitMs = waitAfter(attempt, error, surroundings.random());
      spentMs += surroundings.monotonicMs() - beganMs + waitMs;
      if (spentMs > patienceMs) throw error;
      await surroundings.wait(waitMs, options.signal);
    }
  }
}

export function headersOf({ accessKeyId, secretAccessKey }: Connection, accept: string): Record<string, string> {
  return { 'X-Access-Key-Id': accessKeyId, 'X-Secret-Access-Key': secretAccessKey, Accept: accept };
}

function waitAfter(attempt: number, error: ArsError, random: number): number {
  const growing = Math.min(longestWaitMs, firstWaitMs * 2 ** attempt);
  const told = error instanceof ApiError ? error.retryAfterMs : null;
  // Many clients with one `Retry-After` spread over half a second.
  if (told !== null && told > 0) return told + random * firstWaitMs;
  return growing * (1 - random / 2);
}

async function sendOnce(
  { timeoutMs: usual, surroundings }: Connection,
  id: string,
  address: string,
  init: RequestInit,
  { signal, timeoutMs = usual }: FullCallOptions,
): Promise<Reply<unknown>> {
  const attempt = new AbortController();
  const pass = () => attempt.abort(signal!.reason);
  signal?.addEventListener('abort', pass, { once: true });
  let isLate = false;
  const timer = setTimeout(
    () => {
      isLate = true;
      attempt.abort();
    },
    Math.min(timeoutMs, longestTimerMs),
  );
  try {
    const response = await surroundings.fetch(address, { ...init, signal: attempt.signal });
    return await read(id, response, init, surroundings);
  } catch (error) {
    // The rest of an unwanted response is not read.
    attempt.abort();
    if (isLate) throw new TimeoutError(id, timeoutMs);
    if (error instanceof ArsError) throw error;
    throw new ConnectionError(id, { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', pass);
  }
}

/** @throws ArsError for whatever is no success */
export async function read(
  id: string,
  response: Response,
  init: RequestInit,
  { nowMs }: Surroundings,
): Promise<Reply<unknown>> {
  const { status, headers } = response;
  const isHead = init.method === 'HEAD';
  const requestId = headers.get('X-Request-Id');
  const reply = (body: unknown) => ({
    status,
    body,
    etag: headers.get('ETag'),
    requestId,
    isReplayed: headers.get('Idempotency-Replayed') === 'true',
    headers,
  });
  const isConditional = 'If-None-Match' in (init.headers as Record<string, string>);
  if ((status === 204 && init.method === 'DELETE') || (status === 304 && isConditional) || (isHead && response.ok)) {
    await response.body?.cancel();
    return reply(undefined);
  }
  const bytes = await bytesOf(id, response);
  if (response.ok && /^application\/pdf\b/.test(headers.get('Content-Type') ?? '')) return reply(bytes);
  const body = parsed(new TextDecoder().decode(bytes)) as { error?: { code?: unknown; message?: unknown } } | undefined;
  if (response.ok) {
    if (typeof body !== 'object' || Array.isArray(body))
      throw new UnexpectedReplyError(id, status, 'the response is not a JSON object');
    return reply(body);
  }
  const error = body?.error;
  const isRefusal = typeof error?.code === 'string' && typeof error.message === 'string';
  const retryAfterMs = readRetryAfter(headers, nowMs());
  if (isRefusal || isHead || (status >= 400 && status < 600 && isPassing(status))) {
    const code = isRefusal ? (error.code as string) : codeOf(status);
    const message = isRefusal ? (error.message as string) : 'the request was refused without a message';
    throw new ApiError(id, { status, code, message, requestId, retryAfterMs });
  }
  throw new UnexpectedReplyError(id, status, 'the response is not from the service');
}

/** Proxies and load balancers also send these, with bodies of their own. */
const isPassing = (status: number) => [429, 502, 503, 504].includes(status);

/** The code of a refusal that came without one. */
function codeOf(status: number): string {
  if (status === 401) return 'invalid_credentials';
  if (status === 404) return 'not_found';
  if (status === 429) return 'rate_limited';
  return status >= 500 ? 'service_unavailable' : 'bad_request';
}

function removedBefore(error: ApiError): Reply<undefined> {
  const { requestId } = error;
  return { status: 204, body: undefined, etag: null, requestId, isReplayed: false, headers: new Headers() };
}

/** The full body, uncompressed, up to the limit. */
async function bytesOf(id: string, { body, status }: Response): Promise<Uint8Array<ArrayBuffer>> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let length = 0;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      await reader.cancel().catch(() => {});
      throw new UnexpectedReplyError(id, status, `the response is longer than ${maxBytes} bytes`, false);
    }
    chunks.push(value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** Seconds, or an HTTP date, which is compared with the sender's `Date`, because this machine's clock may be wrong. */
function readRetryAfter(headers: Headers, nowMs: number): number | null {
  const text = headers.get('Retry-After')?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = readDate(text);
  return at === null ? null : Math.max(0, at - (readDate(headers.get('Date') ?? '') ?? nowMs));
}

/** Every runtime takes more for a date than HTTP does: `-5` among them. */
function readDate(text: string): number | null {
  return /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(text) ? Date.parse(text) : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

function pathOf(path: string, values: Record<string, string>): string {
  return path.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const value = values[name];
    // An address with an empty segment, or one of dots, is another address.
    if (typeof value !== 'string' || /^\.{0,2}$/.test(value))
      throw new TypeError(`${name} must be a text that is not empty`);
    return encodeURIComponent(value);
  });
}

/** Parameters that are undefined are left out. A list is one parameter with commas. */
export function searchOf(query: Record<string, unknown>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const text = (Array.isArray(value) ? value : [value]).map((one) => encodeURIComponent(String(one))).join(',');
    return [`${encodeURIComponent(name)}=${text}`];
  });
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}
