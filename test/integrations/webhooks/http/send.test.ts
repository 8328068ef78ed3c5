import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer, type Socket } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { systemClock } from '../../../../src/platform/time/clock.ts';
import { parseNetworks } from '../../../../src/platform/validation/networks.ts';
import { createResolver } from '../../../../src/integrations/webhooks/http/resolve.ts';
import { createSender, type Attempt } from '../../../../src/integrations/webhooks/http/send.ts';
import { deliveryHeaders } from '../../../../src/integrations/webhooks/http/signing.ts';
import { startNameServer, type NameServer, type Zone } from './name-server.ts';
import { verify } from '../receiving/verify.ts';
import {
  answer,
  caFile,
  dropConnection,
  endlessBody,
  hang,
  hangInBody,
  inTurn,
  redirect,
  startRawReceiver,
  startReceiver,
  trustTestAuthority,
  type Receiver,
} from '../receiver.ts';

trustTestAuthority();

const loopback = parseNetworks('127.0.0.0/8');
const body = '{"event":"assessment.completed"}';
const post = (url: string) => ({ url, headers: { 'Content-Type': 'application/json' }, body });
const outline = ({ outcome, status_code }: Attempt) => ({ outcome, status_code });

test('100 Continue that nobody asked for is passed over, however it is cut into pieces', async () => {
  const told = 'HTTP/1.1 100 Continue\r\n\r\n';
  const verbose = 'HTTP/1.1 100 Go on\r\nX-A: b\r\n\r\n';
  const processing = 'HTTP/1.1 102 Processing\r\n\r\n';
  const good = 'HTTP/1.1 204 No Content\r\n\r\n';
  const body = 'HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n';
  let pieces: string[] = [];
  const receiver = await startRawReceiver(async (socket) => {
    for (const piece of pieces) {
      await new Promise((written) => socket.write(piece, written));
      await turn();
    }
  });
  const sender = createSender({ clock: systemClock, allowNetworks: loopback });
  const impatient = createSender({ clock: systemClock, allowNetworks: loopback, timeoutMs: 300 });
  try {
    for (const [name, text, status] of [
      ['none', good, 204],
      ['one', told + good, 204],
      ['three', told + verbose + told + good, 204],
      ['among others', told + processing + told + body, 200],
      ['with a refusal', told + 'HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n', 500],
    ] as const) {
      for (pieces of [[text], [...text], text.split(/(?<=\r\n)/), [text.slice(0, 30), text.slice(30)]]) {
        const { status_code, outcome } = await sender.send(post(receiver.url));
        assert.deepEqual([status_code, outcome], [status, status === 500 ? 'http_error' : 'succeeded'], name);
      }
    }
    // Twenty answers: an attempt may find the connection of the one before not yet free.
    assert.ok(receiver.connections() <= 2, 'connections are kept');
    pieces = [told, 'nonsense\r\n\r\n'];
    assert.equal((await sender.send(post(receiver.url))).outcome, 'connection_error');
    pieces = [`HTTP/1.1 100 ${'a'.repeat(20_000)}`];
    assert.notEqual((await impatient.send(post(receiver.url))).outcome, 'succeeded');
  } finally {
    await Promise.all([sender.close(), impatient.close()]);
    await receiver.close();
  }
});

suite('a sender to an opened network', () => {
  let receiver: Receiver;
  const sender = createSender({ clock: systemClock, allowNetworks: loopback, maxResponseBytes: 10_000 });
  const impatient = createSender({ clock: systemClock, allowNetworks: loopback, timeoutMs: 300 });
  before(async () => {
    receiver = await startReceiver();
  });
  after(async () => {
    await sender.close();
    await impatient.close();
    await receiver.close();
  });

  test('delivers exactly the signed bytes', async () => {
    const secret = 'whsec_test';
    const text = '{"full_name":"Zoë Ōtani"}';
    const headers = deliveryHeaders({ deliveryId: 'd-1', secrets: [secret], body: text, nowMs: 1_700_000_000_000 });
    const attempt = await sender.send({ url: receiver.url, headers, body: text });
    assert.deepEqual(
      { ...attempt, duration_ms: 0 },
      { outcome: 'succeeded', status_code: 204, duration_ms: 0, error: null, retry_after_ms: null },
    );
    const [request] = receiver.received;
    assert.equal(request?.method, 'POST');
    assert.equal(request?.path, '/hook');
    assert.equal(request?.headers['x-svc-delivery-id'], 'd-1');
    verify({ secret, header: request?.headers['x-svc-signature-256'], body: request!.body, nowMs: 1_700_000_000_000 });
  });

  test('keeps connections for later deliveries', async () => {
    receiver.behave(answer(200, {}, 'thanks'));
    const before = receiver.connections();
    for (let n = 0; n < 10; n++) await sender.send(post(receiver.url));
    // undici frees a connection one turn of the event loop after its response, so a chain of deliveries may take turns on two.
    assert.ok(receiver.connections() - before <= 2);
  });

  test('sends the query of the URL', async () => {
    await sender.send(post(`https://127.0.0.1:${receiver.port}/a%20b?c=d&e`));
    assert.equal(receiver.received.at(-1)?.path, '/a%20b?c=d&e');
  });

  for (const [name, behaviour, expected] of [
    ['a server error', answer(500), { outcome: 'http_error', status_code: 500 }],
    ['a refusal for good', answer(410), { outcome: 'http_error', status_code: 410 }],
    ['an endpoint that hangs', hang, { outcome: 'timeout', status_code: null }],
    ['an endpoint that hangs within its body', hangInBody, { outcome: 'timeout', status_code: 200 }],
    ['a body without end', endlessBody, { outcome: 'response_too_large', status_code: 200 }],
    [
      'a body announced as too large',
      answer(200, { 'content-length': '10001' }, 'a'.repeat(10_001)),
      { outcome: 'response_too_large', status_code: 200 },
    ],
    [
      'headers that are too large',
      answer(200, { 'x-large': 'a'.repeat(20_000) }),
      { outcome: 'response_too_large', status_code: null },
    ],
    [
      'an endpoint that hangs after an early hint',
      (...[, response]) => response.writeEarlyHints({ link: '</a>; rel=preload' }),
      { outcome: 'timeout', status_code: null },
    ],
    ['a connection that breaks', dropConnection, { outcome: 'connection_error', status_code: null }],
    [
      'an early hint before the answer',
      (...[, response]) => {
        response.writeEarlyHints({ link: '</a>; rel=preload' });
        response.writeHead(201).end();
      },
      { outcome: 'succeeded', status_code: 201 },
    ],
  ] as [string, Parameters<Receiver['behave']>[0], ReturnType<typeof outline>][]) {
    test(`names the outcome of ${name}`, async () => {
      receiver.behave(behaviour);
      const attempt = await (expected.outcome === 'timeout' ? impatient : sender).send(post(receiver.url));
      assert.deepEqual(outline(attempt), expected);
      assert.equal(attempt.error === null, expected.outcome === 'succeeded');
    });
  }

  for (const [name, behaviour] of [
    ['its time is out', hang],
    ['the body is too large', endlessBody],
  ] as const) {
    test(`cuts the connection when ${name}`, async () => {
      const closed = new Promise<void>((resolve) => {
        receiver.behave((request, response, incoming) => {
          response.once('close', () => resolve());
          behaviour(request, response, incoming);
        });
      });
      await impatient.send(post(receiver.url));
      await closed;
    });
  }

  test('does not follow a redirect', async () => {
    const count = receiver.received.length;
    receiver.behave(redirect(receiver.url));
    assert.deepEqual(outline(await sender.send(post(receiver.url))), { outcome: 'redirect', status_code: 302 });
    assert.equal(receiver.received.length, count + 1);
  });

  test('reads Retry-After of 429 and 503 only', async () => {
    receiver.behave(
      inTurn(
        answer(429, { 'retry-after': '7' }),
        answer(503, { 'retry-after': '8' }),
        answer(500, { 'retry-after': '9' }),
      ),
    );
    const waits = [];
    for (let n = 0; n < 3; n++) waits.push((await sender.send(post(receiver.url))).retry_after_ms);
    assert.deepEqual(waits, [7_000, 8_000, null]);
    receiver.behave((...[, response]) => response.setHeader('retry-after', ['8', '9']).writeHead(503).end());
    const { outcome, retry_after_ms } = await sender.send(post(receiver.url));
    assert.deepEqual([outcome, retry_after_ms], ['http_error', 8_000], 'the header stands twice');
  });

  test('is not delayed by an endpoint that hangs', async () => {
    const hanging = await startReceiver({ behaviour: hang });
    receiver.behave(answer(200));
    const ended: string[] = [];
    const slow = impatient.send(post(hanging.url)).then(() => ended.push('hanging'));
    await hanging.arrived(1);
    await impatient.send(post(receiver.url)).then(() => ended.push('healthy'));
    await slow;
    assert.deepEqual(ended, ['healthy', 'hanging']);
    await hanging.close();
  });

  test('breaks off when told to', async () => {
    receiver.behave(hang);
    const stop = new AbortController();
    const sending = sender.send({ ...post(receiver.url), signal: stop.signal });
    await receiver.arrived(receiver.received.length + 1);
    stop.abort();
    assert.equal((await sending).outcome, 'aborted');
    assert.equal((await sender.send({ ...post(receiver.url), signal: stop.signal })).outcome, 'aborted');
  });

  test('closes without waiting for connections of attempts that were broken off', { timeout: 30_000 }, async () => {
    // Its handshake never ends.
    const silent = createServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const connected = new Promise<Socket>((resolve) => silent.once('connection', resolve));
    const waiting = createSender({ clock: systemClock, allowNetworks: loopback, timeoutMs: 3600_000 });
    const stop = new AbortController();
    const sending = waiting.send({
      ...post(`https://127.0.0.1:${(silent.address() as { port: number }).port}/`),
      signal: stop.signal,
    });
    const socket = await connected;
    stop.abort();
    assert.equal((await sending).outcome, 'aborted');
    await waiting.close();
    socket.destroy();
    silent.close();
  });

  test('survives a header that HTTP does not allow', async () => {
    const attempt = await sender.send({ ...post(receiver.url), headers: { 'X-Bad': 'a\r\nb: c' } });
    assert.equal(attempt.outcome, 'connection_error');
  });

  test('names a port where nobody listens', async () => {
    const closed = await startReceiver();
    await closed.close();
    assert.equal((await sender.send(post(closed.url))).outcome, 'connection_error');
  });
});

suite('certificates', () => {
  const sender = createSender({ clock: systemClock, allowNetworks: loopback, timeoutMs: 5_000 });
  after(() => sender.close());

  for (const certificate of ['expired', 'elsewhere'] as const) {
    test(`refuses one that is ${certificate}, even with NODE_TLS_REJECT_UNAUTHORIZED=0`, async () => {
      const receiver = await startReceiver({ certificate });
      process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
      try {
        assert.equal((await sender.send(post(receiver.url))).outcome, 'tls_error');
        assert.equal(receiver.received.length, 0);
      } finally {
        delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
        await receiver.close();
      }
    });
  }

  test('refuses an endpoint that speaks plain HTTP', async () => {
    const plain = createServer((socket) =>
      socket.on('error', () => {}).on('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\n')),
    );
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const { port } = plain.address() as { port: number };
    assert.equal((await sender.send(post(`https://127.0.0.1:${port}/`))).outcome, 'tls_error');
    await new Promise((resolve) => plain.close(resolve));
  });

  test('trusts a private authority only through NODE_EXTRA_CA_CERTS', async () => {
    const receiver = await startReceiver();
    const program = `
      import { systemClock } from './src/platform/time/clock.ts';
      import { parseNetworks } from './src/platform/validation/networks.ts';
      import { createSender } from './src/integrations/webhooks/http/send.ts';
      const sender = createSender({ clock: systemClock, allowNetworks: parseNetworks('127.0.0.1') });
      console.log((await sender.send({ url: '${receiver.url}', headers: {}, body: '{}' })).outcome);
      await sender.close();`;
    const run = async (extra: Record<string, string>): Promise<string> => {
      const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
      const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
        cwd: new URL('../../../..', import.meta.url),
        env: { ...env, ...extra },
      });
      return stdout.trim();
    };
    assert.deepEqual(await Promise.all([run({}), run({ NODE_EXTRA_CA_CERTS: caFile })]), ['tls_error', 'succeeded']);
    await receiver.close();
  });
});

suite('names', () => {
  const open: (() => Promise<void>)[] = [];
  after(async () => {
    for (const close of open.reverse()) await close();
  });

  const withZone = async (zone: Zone, allowNetworks = loopback, timeoutMs = 5_000) => {
    const nameServer: NameServer = await startNameServer(zone);
    const sender = createSender({
      clock: systemClock,
      allowNetworks,
      timeoutMs,
      resolve: createResolver({ servers: [nameServer.address] }),
    });
    open.push(nameServer.close, sender.close);
    return { nameServer, sender };
  };
  const started = async (options: Parameters<typeof startReceiver>[0] = {}): Promise<Receiver> => {
    const receiver = await startReceiver(options);
    open.push(receiver.close);
    return receiver;
  };

  test('connects to the address that was checked, with one question for each connection', async () => {
    const receiver = await started();
    const { nameServer, sender } = await withZone(() => ['127.0.0.1']);
    const url = `https://hooks.example.test:${receiver.port}/`;
    for (let n = 0; n < 10; n++) assert.equal((await sender.send(post(url))).outcome, 'succeeded');
    assert.deepEqual(new Set(nameServer.questions), new Set(['A hooks.example.test', 'AAAA hooks.example.test']));
    assert.equal(nameServer.questions.length, 2 * receiver.connections());
    assert.equal(receiver.received[0]?.headers['host'], `hooks.example.test:${receiver.port}`);
  });

  test('refuses a name that is rebound to a closed address, without connecting to it', async () => {
    const inside = await started({ host: '127.0.0.2' });
    const outside = await started({ port: inside.port, behaviour: answer(200, { connection: 'close' }) });
    let asked = 0;
    const { sender } = await withZone(
      (_name, type) => (type === 'A' ? [asked++ === 0 ? '127.0.0.1' : '127.0.0.2'] : []),
      parseNetworks('127.0.0.1/32'),
    );
    const url = `https://hooks.example.test:${inside.port}/`;
    assert.equal((await sender.send(post(url))).outcome, 'succeeded');
    assert.equal((await sender.send(post(url))).outcome, 'address_refused');
    assert.equal(outside.received.length, 1);
    assert.equal(inside.connections(), 0);
  });

  test('refuses a name if any one of its addresses is closed', async () => {
    const receiver = await started();
    for (const bad of ['127.0.0.2', '10.0.0.1', '169.254.169.254', '::1', 'fd00:ec2::254', '::ffff:10.0.0.1']) {
      const { sender } = await withZone(() => ['127.0.0.1', bad], parseNetworks('127.0.0.1/32'));
      assert.equal(
        (await sender.send(post(`https://hooks.example.test:${receiver.port}/`))).outcome,
        'address_refused',
        bad,
      );
    }
    assert.equal(receiver.connections(), 0);
  });

  test('says so if a name does not exist, or has no address', async () => {
    const { sender } = await withZone((name) => (name.startsWith('none') ? null : []));
    const missing = await sender.send(post('https://none.example.test/'));
    assert.deepEqual([missing.outcome, missing.error], ['dns_error', 'The host name does not exist.']);
    const empty = await sender.send(post('https://empty.example.test/'));
    assert.deepEqual([empty.outcome, empty.error], ['dns_error', 'The host name has no address.']);
  });

  test('never sends an attempt whose time ran out before its connection was made', async () => {
    const receiver = await started();
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const sender = createSender({
      clock: systemClock,
      allowNetworks: loopback,
      timeoutMs: 500,
      // A name server can't be made to answer after a given event; this waits until the attempt has ended.
      resolve: async () => {
        await held;
        return ['127.0.0.1'];
      },
    });
    const attempt = await sender.send(post(`https://hooks.example.test:${receiver.port}/`));
    assert.equal(attempt.outcome, 'timeout');
    release();
    await sender.send(post(`https://hooks.example.test:${receiver.port}/another`));
    await sender.close();
    assert.deepEqual(
      receiver.received.filter((request) => request.path !== '/another'),
      [],
    );
  });

  test('gives up on a silent name server at its own time limit', async () => {
    const { sender } = await withZone(() => 'silent', loopback, 100);
    assert.equal((await sender.send(post('https://hooks.example.test/'))).outcome, 'timeout');
  });
});
