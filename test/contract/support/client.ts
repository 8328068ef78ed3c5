import { Pool } from 'undici';

/** A reply as it came, and its body read as JSON where it is JSON. */
export type Answer = {
  status: number;
  headers: Record<string, string>;
  text: string;
  bytes: Buffer;
  /** Undefined when the body isn't JSON, or is compressed. */
  body: any;
};

export type Key = { access_key_id: string; secret_access_key: string };

export type Ask = {
  /** Sent as JSON; a text is sent as it is. */
  body?: unknown;
  headers?: Record<string, string>;
};

/** Calls the API of one address with one key pair. Paths go out as they are written: nothing is folded or encoded. */
export type Client = {
  key: Key | null;
  baseUrl: string;
  api(method: string, path: string, ask?: Ask): Promise<Answer>;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  patch(path: string, body: unknown): Promise<Answer>;
  delete(path: string): Promise<Answer>;
};

const pools = new Map<string, Pool>();

function poolOf(origin: string): Pool {
  let pool = pools.get(origin);
  if (pool === undefined) {
    pool = new Pool(origin, { connections: 64, keepAliveTimeout: 1000 });
    pools.set(origin, pool);
  }
  return pool;
}

/** Closes the connections to an origin, or to all, so that a process can end. */
export async function hangUp(origin?: string): Promise<void> {
  for (const [known, pool] of [...pools]) {
    if (origin !== undefined && known !== origin) continue;
    pools.delete(known);
    await pool.destroy();
  }
}

function isPlainJson(headers: Record<string, string>): boolean {
  return (headers['content-type'] ?? '').startsWith('application/json') && headers['content-encoding'] === undefined;
}

/** One request to an address, whatever the path is. */
export async function ask(baseUrl: string, method: string, path: string, given: Ask = {}): Promise<Answer> {
  const { body, headers = {} } = given;
  const sent: Record<string, string> = { ...headers };
  if (body !== undefined && sent['content-type'] === undefined) sent['content-type'] = 'application/json';
  const reply = await poolOf(new URL(baseUrl).origin).request({
    method: method as 'GET',
    path,
    headers: sent,
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const bytes = Buffer.from(await reply.body.arrayBuffer());
  const flat = Object.fromEntries(
    Object.entries(reply.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : (value ?? ''),
    ]),
  );
  let known: { read: unknown } | null = null;
  return {
    status: reply.statusCode,
    headers: flat,
    bytes,
    get text() {
      return bytes.toString('utf8');
    },
    // Read where somebody looks at it: what passes through has no need of it.
    get body() {
      known ??= { read: isPlainJson(flat) && bytes.length > 0 ? JSON.parse(bytes.toString('utf8')) : undefined };
      return known.read;
    },
  };
}

export function credentials(key: Key): Record<string, string> {
  return { 'x-access-key-id': key.access_key_id, 'x-secret-access-key': key.secret_access_key };
}

/** @param baseUrl origin of the service; paths are under its `/api/v1` */
export function client(baseUrl: string, key: Key | null): Client {
  const api = (method: string, path: string, given: Ask = {}) =>
    ask(baseUrl, method, `/api/v1${path}`, {
      ...given,
      headers: { ...(key === null ? {} : credentials(key)), ...given.headers },
    });
  return {
    key,
    baseUrl,
    api,
    get: (path, headers) => api('GET', path, { headers }),
    post: (path, body, headers) => api('POST', path, { body, headers }),
    patch: (path, body) => api('PATCH', path, { body }),
    delete: (path) => api('DELETE', path),
  };
}
