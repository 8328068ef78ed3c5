import { createHash } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { after } from 'node:test';
import { ask } from '../../contract/support/client.ts';

type Result = { assessment_id: string; updated_at: string; status: string };

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

/** The service is restored from a backup once, when a walk asks for its second page. */
export function restoresWithinWalk(front: DigestService, restore: () => Promise<unknown>): void {
  front.before = async ({ url }) => {
    if (!url!.includes('cursor=')) return;
    front.before = null;
    await restore();
  };
}

/** Refuses the second page of every walk, as a service that is restored again and again. */
export const refusesCursors: Interfere = (request, response) => {
  if (!request.url!.includes('cursor=')) return false;
  response.writeHead(400, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { code: 'invalid_cursor', message: 'Start again without it.' } }));
  return true;
};

export function digestOf(results: Result[]): [n: number, w1: number, w2: number] {
  let [w1, w2] = [0, 0];
  for (const result of results) {
    const token = tokenOf(result);
    [w1, w2] = [(w1 + token[0]) % 2 ** 32, (w2 + token[1]) % 2 ** 32];
  }
  return [results.length, w1, w2];
}

/**
 * Looks at, or answers in the place of, a request that passes: true if it has answered. `lost`: the request is carried
 * out, and the connection ends instead of the answer; `cut`: it ends in the middle of the answer.
 */
export type Interfere = (request: IncomingMessage, response: ServerResponse) => boolean | 'lost' | 'cut';

export type DigestService = {
  url: string;
  /** Method and address of every request that passed. */
  passed: string[];
  interfere: Interfere | null;
  /** Waited for before a request is passed on. */
  before: ((request: IncomingMessage) => Promise<void>) | null;
  /** Changes the results that pass, in lists and alone, as a newer service shows them. */
  rewrite: ((result: any) => void) | null;
  /** The service behind; another one once a backup has come back, or null while it is away. */
  behind: string | null;
};

/** Stands before the service; without a digest, as a service from before there was one. */
export async function digestService(behind: string, digest: boolean | (() => boolean) = true): Promise<DigestService> {
  const lacksDigest = () => !(typeof digest === 'boolean' ? digest : digest());
  const self: DigestService = { url: '', passed: [], interfere: null, before: null, rewrite: null, behind };
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      self.passed.push(`${request.method} ${request.url}`);
      const interfered = self.interfere?.(request, response) ?? false;
      if (interfered === true) return;
      const answered = pass(request, Buffer.concat(chunks).toString('utf8'), response, interfered);
      void answered.catch(() => request.socket.destroy());
    });
  });

  const headersOf = (request: IncomingMessage): Record<string, string> => {
    const {
      host: _host,
      connection: _connection,
      upgrade: _upgrade,
      'http2-settings': _settings,
      'accept-encoding': _encoding,
      'content-length': _length,
      ...rest
    } = request.headers as Record<string, string>;
    return rest;
  };

  const pass = async (
    request: IncomingMessage,
    body: string,
    response: ServerResponse,
    broken: false | 'lost' | 'cut',
  ): Promise<void> => {
    if (lacksDigest() && request.url!.startsWith('/api/v1/assessments/digest')) {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { code: 'not_found', message: 'There is no such resource.' } }));
      return;
    }
    await self.before?.(request);
    const answer = await ask(self.behind!, request.method!, request.url!, {
      headers: headersOf(request),
      ...(body === '' ? {} : { body }),
    });
    const headers = { ...answer.headers };
    delete headers['transfer-encoding'];
    delete headers.connection;
    delete headers['keep-alive'];
    if (lacksDigest()) delete headers['x-sync-digest'];
    const { rewrite } = self;
    if (rewrite !== null && answer.status === 200 && request.url!.startsWith('/api/v1/assessments')) {
      [answer.body.data].flat().forEach(rewrite);
      answer.bytes = Buffer.from(JSON.stringify(answer.body));
      delete headers['content-length'];
    }
    if (broken === 'lost') return void request.socket.destroy();
    response.writeHead(answer.status, headers);
    if (broken === 'cut') response.write(answer.bytes.subarray(0, answer.bytes.length >> 1), () => response.destroy());
    else response.end(answer.bytes);
  };

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  self.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  return self;
}
