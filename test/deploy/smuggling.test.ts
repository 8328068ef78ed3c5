// Tier: full. Starts nginx, HAProxy and Caddy.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { connect } from 'node:tls';
import { credentials } from '../contract/support/client.ts';
import { freePorts } from '../support/ports.ts';
import { withService } from '../support/service.ts';
import { serveOn } from './processes.ts';
import { call, hostName, installed, proxies } from './proxies.ts';

/**
 * Request smuggling (RFC 9112, 11.2): a request whose end proxy and service could judge differently, with a second
 * request in its body. If the service runs the second one, the sender must get its response: otherwise another client
 * would get it. Proxies are configured as shipped.
 */

for (const { name, program } of proxies)
  if (!installed.some((one) => one.program === program)) test(name, (t) => t.skip(`${program} is not installed`));

/** Headers and body around the smuggled request. */
const variants: Record<string, (inner: string) => string> = {
  'length and chunks': (inner) =>
    `Content-Length: ${5 + inner.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
  'chunks and length': (inner) =>
    `Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`,
  'two lengths': (inner) => `Content-Length: 0\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
  'two lengths, the longer first': (inner) => `Content-Length: ${inner.length}\r\nContent-Length: 0\r\n\r\n${inner}`,
  'a list of lengths': (inner) => `Content-Length: 0, ${inner.length}\r\n\r\n${inner}`,
  'a length in a continued line': (inner) => `Content-Length:\r\n ${inner.length}\r\n\r\n${inner}`,
  'trailing text after the chunks': (inner) => `Transfer-Encoding: chunked\r\n\r\n0\r\nX: ${inner}`,
  'a chunk size that overflows': (inner) =>
    `Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n0\r\n\r\n${inner}`,
  'a chunk size with 0x': (inner) => `Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n${inner}`,
  'a line feed in a chunk extension': (inner) => `Transfer-Encoding: chunked\r\n\r\n0;a=\nb\r\n\r\n${inner}`,
  'a chunk that ends without its line end': (inner) => `Transfer-Encoding: chunked\r\n\r\n3\r\nabcXX0\r\n\r\n${inner}`,
  'chunks that end with line feeds': (inner) => `Transfer-Encoding: chunked\n\n0\n\n${inner}`,
  'a length behind a bare return': (inner) => `X: a\rContent-Length: ${inner.length}\r\n\r\n${inner}`,
  'a length behind a null byte': (inner) => `X: a\0b\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
  'Expect and a length': (inner) => `Expect: 100-continue\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
  ...Object.fromEntries(
    ['+', '-', '0', '0x', ' ', '\t', '1_', '"'].map((sign) => [
      `a length with ${JSON.stringify(sign)}`,
      (inner: string) => `Content-Length: ${sign}${inner.length}\r\n\r\n${inner}`,
    ]),
  ),
  ...Object.fromEntries(
    [
      'Transfer-Encoding : chunked',
      'Transfer-Encoding:\tchunked',
      'Transfer-Encoding: xchunked',
      'Transfer-Encoding: chunked, identity',
      'Transfer-Encoding: identity, chunked',
      'Transfer-Encoding: "chunked"',
      'Transfer-Encoding: chunked\r\nTransfer-Encoding: x',
      'Transfer-Encoding: x\r\nTransfer-Encoding: chunked',
      'Transfer-Encoding:\r\n chunked',
      'Transfer_Encoding: chunked',
      'transfer-encoding: CHUNKED',
      'X: y\nTransfer-Encoding: chunked',
      'Transfer-Encoding: \u000bchunked',
      'Transfer-Encoding: chunked;a=b',
    ].map((line) => [
      JSON.stringify(line),
      (inner: string) => `${line}\r\nContent-Length: ${5 + inner.length}\r\n\r\n0\r\n\r\n${inner}`,
    ]),
  ),
};

/** Sends bytes over TLS. `statuses`: of all responses until now. */
async function sendBytes(origin: string, bytes: string) {
  const socket = connect({ port: Number(new URL(origin).port), servername: hostName, rejectUnauthorized: false });
  let text = '';
  socket.on('data', (part: Buffer) => (text += part.toString('latin1')));
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  socket.write(Buffer.from(bytes, 'latin1'));
  const statuses = () =>
    [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status)).filter((one) => one !== 100);
  return { socket, statuses };
}

if (installed.length > 0)
  suite('request smuggling', async () => {
    const service = await withService();
    const org = await service.organisation();
    const ports = await freePorts(2);
    const settings = {
      DATABASE_URL: service.databaseUrl,
      ARS_SECRET: 'a secret of the tests, longer than 32 characters',
      ARS_TRUSTED_PROXIES: '127.0.0.1/32',
      ARS_BASE_URL: 'https://results.example.org',
      ARS_RATE_LIMIT: '1000000',
    };
    await Promise.all(ports.map((port) => serveOn(port, settings)));
    const keys = credentials(org.key);
    const head = (line: string) =>
      `${line} HTTP/1.1\r\nHost: ${hostName}\r\n${Object.entries(keys)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}Content-Type: application/json\r\n`;

    /** A full request that creates a group. */
    const creates = (ref: string) => {
      const body = JSON.stringify({ type: 'cohort', ref, name: 'Smuggled' });
      return `${head('POST /api/v1/groups')}Content-Length: ${body.length}\r\n\r\n${body}`;
    };
    const exists = async (ref: string) =>
      (await org.get('/groups?limit=500')).body.data.some((one: { ref: string }) => one.ref === ref);

    for (const proxy of installed)
      suite(proxy.name, async () => {
        const { origin } = await proxy.start(ports);
        /** Clients that use the proxy's connections next: each gets the response to its own request. */
        const othersAreServed = async () => {
          const replies = await Promise.all(
            Array.from({ length: 6 }, () => call(origin, '/api/v1/health', { headers: keys })),
          );
          for (const reply of replies)
            assert.deepEqual([reply.status, (reply.json() as { status: string }).status], [200, 'ok']);
        };

        let number = 0;
        for (const method of ['POST', 'GET'])
          for (const [name, around] of Object.entries(variants))
            test(`${method} with ${name}`, async () => {
              const ref = `${proxy.name}-${++number}`;
              const target = method === 'GET' ? '/api/v1/health' : '/api/v1/groups';
              const { socket, statuses } = await sendBytes(origin, head(`${method} ${target}`) + around(creates(ref)));
              await Promise.race([once(socket, 'close'), setTimeout(500)]);
              await othersAreServed();
              const ran = await exists(ref);
              for (let i = 0; ran && i < 50 && !statuses().includes(201); i++) await setTimeout(100);
              socket.destroy();
              // Who sends two requests gets two responses.
              assert.equal(ran, statuses().includes(201), `${name}: ${statuses().join()}`);
              assert.ok(!statuses().includes(500), statuses().join());
            });

        test('HTTP/2 with a length that its body does not have', async (t) => {
          const session = connectHttp2(origin, { servername: hostName, rejectUnauthorized: false });
          session.on('error', () => {});
          const isHttp2 = await Promise.race([
            once(session, 'connect').then(
              () => session.alpnProtocol === 'h2',
              () => false,
            ),
            once(session, 'close').then(() => false),
          ]);
          if (!isHttp2) {
            session.destroy();
            return t.skip('The proxy speaks HTTP/1.1 only.');
          }
          for (const length of ['0', '1', '99999']) {
            const ref = `${proxy.name}-h2-${length}`;
            const stream = session.request({
              ':method': 'POST',
              ':path': '/api/v1/groups',
              ':authority': hostName,
              'content-type': 'application/json',
              'content-length': length,
              ...keys,
            });
            stream.on('error', () => {});
            stream.end(creates(ref));
            await Promise.race([once(stream, 'close').catch(() => {}), setTimeout(1000)]);
            await othersAreServed();
            assert.equal(await exists(ref), false, length);
          }
          session.destroy();
        });
      });
  });
