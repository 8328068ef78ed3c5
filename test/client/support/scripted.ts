import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { after } from 'node:test';
import { Client } from '../../../client/src/index.ts';
import type { Surroundings } from '../../../client/src/index.ts';

/** One answer of a scripted service. */
export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers });
    response.end(JSON.stringify(body));
  };

export const refusal = (status: number, code: string, headers: Record<string, string> = {}): Answer =>
  json(status, { error: { code, message: 'What was expected.' } }, { 'x-request-id': 'a-request', ...headers });

/** The connection ends before, or in the middle of, the answer. */
export const reset: Answer = (request) => request.socket.destroy();
export const cut: Answer = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"data":', () => response.destroy());
};
export const silence: Answer = () => {};

export const ok = json(200, { status: 'ok', organisation_id: 'o', api_version: 'v1' });

export type Seen = { method: string; url: string; headers: IncomingMessage['headers']; body: string };

/** A service that gives the answers in order, the last one for ever, and a client whose waits are noted and not waited. */
export async function scripted(
  answers: Answer[],
  options: { timeoutMs?: number; patienceMs?: number; surroundings?: Partial<Surroundings> } = {},
) {
  const seen: Seen[] = [];
  const waits: number[] = [];
  let at = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => {
      body += part.toString('utf8');
    });
    request.on('end', () => {
      seen.push({ method: request.method!, url: request.url!, headers: request.headers, body });
      answers[Math.min(at++, answers.length - 1)]!(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  let nowMs = 1_800_000_000_000;
  const client = new Client({
    baseUrl: origin,
    accessKeyId: 'id',
    secretAccessKey: 'secret',
    timeoutMs: options.timeoutMs,
    patienceMs: options.patienceMs,
    surroundings: {
      nowMs: () => nowMs,
      random: () => 0.5,
      wait: async (ms, signal) => {
        signal?.throwIfAborted();
        waits.push(ms);
        nowMs += ms;
      },
      ...options.surroundings,
    },
  });
  return { client, seen, waits, origin };
}
