import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { after, suite, test } from 'node:test';
import { credentials } from '../../contract/support/client.ts';
import { Scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';
import { rawRequest } from '../raw.ts';

/** No client can hold up a stop, and none that behaves is cut off by one. */

const sockets: Socket[] = [];
after(() => {
  for (const socket of sockets) socket.destroy();
});

async function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  sockets.push(socket);
  return socket;
}

const tlsHello = Buffer.from('160301020001000001fc0303', 'hex');

suite('a stop ends within the drain time', () => {
  const keyed = (line: string, more: string) => (keys: string) => `${line} HTTP/1.1\r\nHost: x\r\n${keys}${more}`;
  const post = 'Content-Type: application/json\r\nContent-Length: 26\r\n';
  const clients: Record<string, (keys: string) => string | Buffer> = {
    'that says nothing': () => '',
    'that sent half a head': () => 'GET /api/v1/health HTTP/1.1\r\nHost: x\r\n',
    'that sent half a line': () => 'GE',
    'that sent half a body': keyed('POST /api/v1/learners', `${post}\r\n{"full_`),
    'that sent half a body without credentials': () => `POST /api/v1/learners HTTP/1.1\r\nHost: x\r\n${post}\r\n{`,
    'that sent half a chunk': keyed(
      'POST /api/v1/learners',
      'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"f',
    ),
    'that waits for 100 Continue and sends nothing': keyed(
      'POST /api/v1/learners',
      `${post}Expect: 100-continue\r\n\r\n`,
    ),
    'that keeps its connection alive': keyed('GET /api/v1/health', '\r\n'),
    'of HTTP/1.0 that keeps it': (keys) => `GET /api/v1/health HTTP/1.0\r\nConnection: keep-alive\r\n${keys}\r\n`,
    'that pipelines, and ends with half a request': (keys) =>
      `${`GET /api/v1/health HTTP/1.1\r\nHost: x\r\n${keys}\r\n`.repeat(5)}GET /api`,
    'that sends what is no HTTP': () => 'garbage\r\n\r\n',
    'that sends no HTTP after a request': keyed('GET /api/v1/health', '\r\ngarbage\r\n\r\n'),
    'that speaks TLS': () => tlsHello,
    'that wants a tunnel': () => 'CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n',
    'that wants another protocol': keyed('GET /api/v1/health', 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n'),
    'that never reads': keyed('GET /api/v1/assessments?limit=500', '\r\n'),
  };

  test('whatever its clients do, two of each kind', async () => {
    const service = await withService({ own: 'Is stopped while it answers.', settings: { ARS_DRAIN_SECONDS: '1' } });
    const org = await service.organisation();
    const learner = await new Scenario(service, org).learner('R-1', 'A Learner');
    await learner.completes();
    const keys = Object.entries(credentials(org.key))
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
    for (const sent of [...Object.values(clients), ...Object.values(clients)]) {
      const socket = await open(service.url);
      socket.write(sent(keys));
    }
    // Enough unread replies to fill every buffer between the two.
    const unread = await open(service.url);
    unread.pause();
    const page = `GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(200);
    unread.write(page);
    await service.stop();
    await assert.rejects(fetch(`${service.url}/healthz`));
  });

  test('a connection that is refused ends by itself, however its client holds on to it', async () => {
    const service = await withService();
    const refused = ['garbage\r\n\r\n', tlsHello, 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n'];
    await Promise.all(
      refused.map(async (sent) => {
        const socket = await open(service.url);
        let got = '';
        socket.on('data', (part: Buffer) => {
          got += part.toString('latin1');
        });
        socket.write(sent);
        await once(socket, 'end');
        assert.match(got, /^HTTP\/1\.1 400 [^]*"bad_request"/);
        // The client never ends its own half, and goes on sending until it is told that nobody is there.
        const gone = new Promise((resolve) => {
          socket.once('close', resolve);
        });
        const noise = setInterval(() => socket.write('more\r\n\r\n'), 20);
        await gone;
        clearInterval(noise);
      }),
    );
  });
});

test('nonsense after a request: first its reply, then the refusal', async () => {
  const service = await withService();
  const answer = await rawRequest(service.url, 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\ngarbage\r\n\r\n');
  assert.match(answer.head, /^HTTP\/1\.1 200 /);
  assert.match(answer.body, /^\{"status":"ok"\}HTTP\/1\.1 400 /);
});

test('tight pollers that heed Connection: close see no connection reset when the service stops', async () => {
  const service = await withService({ own: 'Is stopped.' });
  const org = await service.organisation();
  const { hostname, port } = new URL(service.url);
  const agent = new Agent({ keepAlive: true, maxSockets: 24 });
  const seen: string[] = [];
  let answered = 0;
  const warm = Promise.withResolvers<void>();
  const poll = () =>
    new Promise<boolean>((resolve) => {
      request({ hostname, port, path: '/api/v1/health', agent, headers: credentials(org.key) }, (reply) => {
        reply.resume();
        reply.once('end', () => resolve(true));
      })
        .once('error', (error: NodeJS.ErrnoException) => {
          seen.push(error.code ?? error.message);
          resolve(false);
        })
        .end();
    });
  const pollers = Array.from({ length: 24 }, async () => {
    while (await poll()) if (++answered === 240) warm.resolve();
  });
  await warm.promise;
  await service.stop();
  await Promise.all(pollers);
  agent.destroy();
  assert.deepEqual([...new Set(seen)], ['ECONNREFUSED']);
});
