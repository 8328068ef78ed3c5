import { createHash } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { after } from 'node:test';
import { ask } from '../contract/client.ts';
import type { Answer } from '../contract/client.ts';

type Result = { assessment_id: string; updated_at: string; status: string };

/** Which filters the service has a digest for. */
const known = new Set(['subject', 'rqf_level_code', 'below_level_1', 'group_id']);

/** The token as the contract defines it, by the runtime's own hash. */
function tokenOf({ assessment_id, updated_at }: Result): [number, number] {
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(BigInt(Date.parse(updated_at)));
  const hash = createHash('sha256')
    .update(Buffer.from(assessment_id.replaceAll('-', ''), 'hex'))
    .update(time)
    .digest();
  return [hash.readUInt32BE(0), hash.readUInt32BE(4)];
}

export function digestOf(results: Result[]): [n: number, w1: number, w2: number] {
  let [w1, w2] = [0, 0];
  for (const result of results) {
    const token = tokenOf(result);
    [w1, w2] = [(w1 + token[0]) % 2 ** 32, (w2 + token[1]) % 2 ** 32];
  }
  return [results.length, w1, w2];
}

/** Looks at, or answers in the place of, a request that passes: true if it has answered. */
export type Interfere = (request: IncomingMessage, response: ServerResponse) => boolean;

export type DigestService = {
  url: string;
  /** Method and address of every request that passed. */
  passed: string[];
  interfere: Interfere | null;
  /** The service behind; another one once a backup has come back, or null while it is away. */
  behind: string | null;
};

/**
 * Stands before the service and adds the digest as the contract has it, from a walk through everything: right while
 * nobody writes between a request and its answer.
 */
export async function digestService(behind: string, hasDigest = true): Promise<DigestService> {
  const self: DigestService = { url: '', passed: [], interfere: null, behind };
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      self.passed.push(`${request.method} ${request.url}`);
      if (self.interfere?.(request, response) === true) return;
      void pass(request, Buffer.concat(chunks).toString('utf8'), response).catch(() => request.socket.destroy());
    });
  });

  const headersOf = (request: IncomingMessage): Record<string, string> => {
    const {
      host: _host,
      connection: _connection,
      'accept-encoding': _encoding,
      'content-length': _length,
      ...rest
    } = request.headers as Record<string, string>;
    return rest;
  };

  const everything = async (request: IncomingMessage, filters: URLSearchParams): Promise<Result[]> => {
    const found: Result[] = [];
    const { 'if-none-match': _etag, ...headers } = headersOf(request);
    for (
      let path: string | null = `/api/v1/assessments?${filters.toString()}&status=completed&limit=500`;
      path !== null;
    ) {
      const page: Answer = await ask(self.behind!, 'GET', path, { headers });
      found.push(...page.body.data);
      const next: string | null = page.body.pagination.next;
      path = next === null ? null : new URL(next).pathname + new URL(next).search;
    }
    return found;
  };

  const pass = async (request: IncomingMessage, body: string, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url!, 'http://a.test');
    const filters = new URLSearchParams([...url.searchParams].filter(([name]) => known.has(name)));
    if (hasDigest && url.pathname === '/api/v1/assessments/digest') {
      const results = await everything(request, filters);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ data: digestReply(url.searchParams, results) }));
      return;
    }
    const answer = await ask(self.behind!, request.method!, request.url!, {
      headers: headersOf(request),
      ...(body === '' ? {} : { body }),
    });
    const headers = { ...answer.headers };
    delete headers['transfer-encoding'];
    delete headers.connection;
    delete headers['keep-alive'];
    const isWalk = url.pathname === '/api/v1/assessments' && !url.searchParams.has('sort');
    const has = [...url.searchParams.keys()].every((name) => known.has(name) || /^(since|cursor|limit)$/.test(name));
    const isWithoutSince = url.searchParams.has('group_id') && !url.searchParams.has('since');
    if (
      hasDigest &&
      isWalk &&
      has &&
      !isWithoutSince &&
      answer.status === 200 &&
      answer.body.pagination.next === null
    ) {
      const [n, w1, w2] = digestOf(await everything(request, filters));
      headers['x-sync-digest'] = `n=${n};w1=${w1};w2=${w2}`;
    }
    response.writeHead(answer.status, headers);
    response.end(answer.bytes);
  };

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  self.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  return self;
}

function digestReply(query: URLSearchParams, results: Result[]): object {
  const bits = Number(query.get('bits') ?? 16);
  const bucketOf = ({ assessment_id }: Result) => Number(BigInt(`0x${assessment_id.slice(-12)}`) % 2n ** BigInt(bits));
  const through =
    results
      .map(({ updated_at }) => updated_at)
      .sort()
      .at(-1) ?? null;
  const wanted = query.get('buckets');
  if (wanted !== null) {
    const buckets = new Set(wanted.split(',').map(Number));
    const assessments = results
      .filter((result) => buckets.has(bucketOf(result)))
      .map(({ assessment_id, updated_at }) => ({ assessment_id, updated_at }));
    return { bits, through, assessments };
  }
  const byBucket = Map.groupBy(results, bucketOf);
  const buckets = Array.from({ length: 2 ** bits }, (_, bucket) => digestOf(byBucket.get(bucket) ?? []));
  return { bits, through, buckets };
}
