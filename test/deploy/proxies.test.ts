// Tier: full. Starts nginx, HAProxy and Caddy.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:http';
import { after, suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { consoleRoutes } from '../../src/web/console/routes.ts';
import { addressOf } from '../../src/web/console/kit/route.ts';
import { personOf } from '../web/console/visitor.ts';
import { credentials } from '../contract/support/client.ts';
import { Scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import type { ServedProcess } from './processes.ts';
import { serveOn } from './processes.ts';
import { freePorts } from '../support/ports.ts';
import type { Asked } from './proxies.ts';
import { accessLines, call, hostName, installed, proxies, send } from './proxies.ts';

/** The examples of deploy/ as they are, but for names, ports and certificate, before two real processes. */

for (const { name, program } of proxies)
  if (!installed.some((one) => one.program === program)) test(name, (t) => t.skip(`${program} is not installed`));

if (installed.length > 0)
  suite('two processes behind', async () => {
    const service = await withService();
    const org = await service.organisation();
    const learner = await new Scenario(service, org).learner('R/1', 'A Learner');
    for (let i = 0; i < 5; i++) await learner.completes();
    const owner = await personOf(service, org.id, 'owner');
    const settings = {
      DATABASE_URL: service.databaseUrl,
      ARS_SECRET: 'a secret of the tests, longer than 32 characters',
      ARS_TRUSTED_PROXIES: '127.0.0.1/32',
      ARS_BASE_URL: 'https://results.example.org',
      ARS_SECURITY_CONTACT: 'mailto:security@results.example.org',
      ARS_RATE_LIMIT: '1000000',
      ARS_DRAIN_DELAY_SECONDS: '1',
    };
    const ports = await freePorts(2);
    const backends = (await Promise.all(ports.map((port) => serveOn(port, settings)))) as [
      ServedProcess,
      ServedProcess,
    ];

    for (const proxy of installed)
      suite(proxy.name, async () => {
        const { origin, plain } = await proxy.start(ports);
        const keyed = credentials(org.key);

        test('a tag that was sent once gets 304, and the path stays as it was written', async () => {
          const { headers, status } = await call(origin, '/api/v1/assessments?limit=1', { headers: keyed });
          assert.equal(status, 200);
          for (let i = 0; i < 3; i++) {
            const again = await call(origin, '/api/v1/assessments?limit=1', {
              headers: { ...keyed, 'if-none-match': headers.etag! },
            });
            assert.deepEqual([again.status, again.headers.etag, again.body.length], [304, headers.etag, 0]);
          }
          assert.equal((await call(origin, '/api/v1/learners/R%2F1', { headers: keyed })).status, 200);
        });

        test("the client's address is its own, whatever it says", async () => {
          const bound = await org.another({ networks: ['127.0.0.2/32'] });
          const headers = credentials(bound.key);
          const statusOf = async (asked: Asked) => (await call(origin, '/api/v1/health', asked)).status;
          assert.equal(await statusOf({ headers, from: '127.0.0.2' }), 200);
          assert.equal(await statusOf({ headers, from: '127.0.0.3' }), 401);
          assert.equal(
            await statusOf({ headers: { ...headers, 'x-forwarded-for': '127.0.0.2' }, from: '127.0.0.3' }),
            401,
          );
        });

        test('another host is refused, and never redirected to', async () => {
          const others = ['evil.example', 'evil.example:443', '127.0.0.1', `${hostName}.evil.example`];
          for (const host of others) {
            for (const at of plain === null ? [origin] : [origin, plain]) {
              const reply = await call(at, '/docs/', { headers: { host } });
              assert.deepEqual([reply.status, reply.headers.location], [421, undefined], `${at} ${host}`);
              assert.equal((reply.json() as { error: { code: string } }).error.code, 'bad_request');
              assert.ok(!String(reply.body).includes('evil'));
            }
            const socket = connect({
              port: Number(new URL(origin).port),
              servername: isIP(host) === 0 ? host.split(':')[0] : undefined,
              rejectUnauthorized: false,
            });
            const taken = await once(socket, 'secureConnect').catch(() => null);
            socket.destroy();
            assert.equal(taken, null, host);
          }
          for (const host of [hostName, `${hostName}:8443`, hostName.toUpperCase()])
            assert.equal((await call(origin, '/docs/', { headers: { host } })).status, 200, host);
          if (plain === null) return;
          const { status, headers } = await call(plain, '/docs/?a=b');
          assert.deepEqual([status, headers.location], [301, `https://${hostName}/docs/?a=b`]);
          const refused = await call(plain, '/api/v1/groups');
          assert.deepEqual([refused.status, refused.headers.location], [400, undefined]);
          assert.match(String(refused.body), /"code":"bad_request","message":"The API answers over HTTPS only\./);
        });

        test('no browser guesses the type of any response', async () => {
          const large = { 'content-length': '20000000', connection: 'close' };
          const asked: [string, string, Asked?][] = [
            [origin, '/docs/'],
            [origin, '/livez'],
            [origin, '/nothing'],
            [origin, '/api/v1/groups', { headers: keyed }],
            [origin, '/api/v1/groups', { method: 'POST', headers: large }],
            [origin, '/', { headers: { host: 'evil.example' } }],
          ];
          if (plain !== null) asked.push([plain, '/'], [plain, '/', { headers: { host: 'evil.example' } }]);
          for (const [at, path, options] of asked)
            assert.equal((await call(at, path, options)).headers['x-content-type-options'], 'nosniff', `${at} ${path}`);
        });

        test('events come when they happen', async () => {
          const asked = send(origin, '/api/v1/events?event_types=assessment.completed', { headers: keyed });
          const [reply] = (await once(asked, 'response')) as [IncomingMessage];
          assert.equal(reply.statusCode, 200);
          const result = await learner.completes();
          let got = '';
          for await (const chunk of reply) {
            got += String(chunk);
            if (got.includes(result.id)) break;
          }
          asked.destroy();
        });

        test('pages come compressed once, and their tag still holds', async () => {
          const headers = { ...keyed, 'accept-encoding': 'gzip' };
          const reply = await call(origin, '/api/v1/assessments', { headers });
          assert.deepEqual([reply.status, reply.headers['content-encoding']], [200, 'gzip']);
          assert.ok(gunzipSync(reply.body).length > reply.body.length);
          const held = { ...headers, 'if-none-match': reply.headers.etag! };
          assert.equal((await call(origin, '/api/v1/assessments', { headers: held })).status, 304);
        });

        test('what is too large is refused in the one error shape', async () => {
          const body = Buffer.alloc(1024 * 1024 + 1, ' ');
          const asked = { method: 'POST', headers: { ...keyed, 'content-type': 'application/json' }, body };
          const reply = await call(origin, '/api/v1/learners', asked);
          assert.equal(reply.status, 413);
          assert.match(reply.headers['content-type']!, /^application\/json/);
          assert.deepEqual(reply.json(), {
            error: {
              code: 'payload_too_large',
              message: 'The body has more than 1048576 bytes. Send several smaller requests.',
            },
          });
          const max = await call(origin, '/api/v1/learners', { ...asked, body: body.subarray(0, -1) });
          assert.equal(max.status, 400, String(max.body));
          assert.equal((max.json() as { error: { code: string } }).error.code, 'invalid_json');
          // Nothing of it is waited for, or kept.
          const headers = { 'content-length': String(16 * 1024 * 1024 + 1), connection: 'close' };
          const sent = await call(origin, '/console/sign-in', { method: 'POST', headers, body: Buffer.alloc(0) });
          assert.equal(sent.status, 413);
          assert.match((sent.json() as { error: { message: string } }).error.message, /more than 16777216 bytes/);
        });

        test('the console takes what its forms may have, and tells of more by a page', async () => {
          const cookie = owner.cookie!.replace(/^session-\d+/, '__Host-session');
          for (const route of consoleRoutes.filter(({ upload }) => upload !== undefined)) {
            const path = addressOf(route)
              .replace('{organisation}', org.publicId)
              .replace(/\{\w+\}/g, service.app.random.uuid());
            const sent = (bytes: number) => {
              const head = '--x\r\nContent-Disposition: form-data; name="text"\r\n\r\n';
              const body = `${head}${'\n'.repeat(bytes - head.length - 9)}\r\n--x--\r\n`;
              const type = 'multipart/form-data; boundary=x';
              const headers = { cookie, 'sec-fetch-site': 'same-origin', 'content-type': type, connection: 'close' };
              return call(origin, path, { method: 'POST', headers, body });
            };
            // Nothing stands in them, or what they are for isn't there.
            assert.equal((await sent(route.upload!)).status, route.path.includes('{') ? 404 : 422, path);
            const { status, body } = await sent(route.upload! + 1);
            assert.equal(status, 413, path);
            assert.match(String(body), new RegExp(`may have at most ${route.upload! / 1024 / 1024} MB`));
          }
        });

        test('what is no HTTP is refused in the one error shape', { skip: proxy.name !== 'nginx' }, async () => {
          const port = Number(new URL(origin).port);
          for (const [line, header] of [
            ['GET /api/v1/groups', `x: ${'x'.repeat(80_000)}`],
            [`GET /${'x'.repeat(80_000)}`, 'x: x'],
            ['GET /api/v1/groups', 'host: a b'],
          ]) {
            const socket = connect({ port, host: '127.0.0.1', servername: hostName, rejectUnauthorized: false });
            socket.on('error', () => {});
            socket.write(`${line} HTTP/1.1\r\nhost: results.example.org\r\n${header}\r\n\r\n`);
            const [head] = (await once(socket, 'data')) as [Buffer];
            socket.destroy();
            assert.match(
              String(head),
              /^HTTP\/1\.1 400 [^]*content-type: application\/json[^]*\{"error":\{"code":"bad_request"/i,
            );
          }
        });

        test('long addresses arrive', async () => {
          const reply = await call(origin, `/api/v1/learners/${'x'.repeat(15_000)}`, { headers: keyed });
          assert.equal(reply.status, 404);
          assert.equal((reply.json() as { error: { code: string } }).error.code, 'not_found');
        });

        test('says whom to tell of a vulnerability', async () => {
          const reply = await call(origin, '/.well-known/security.txt');
          assert.equal(reply.status, 200);
          assert.match(String(reply.body), /^Contact: mailto:security@results\.example\.org\n/);
          assert.equal(reply.headers['content-type'], 'text/plain; charset=utf-8');
          assert.equal(reply.headers['strict-transport-security'], 'max-age=31536000');
        });

        test('probes are not for the world', async () => {
          for (const path of ['/livez', '/readyz', '/%6Civez', '/readyz?'])
            assert.equal((await call(origin, path)).status, 404, path);
        });

        test('processes are replaced one after the other, and no request fails', async () => {
          const counts = { reads: 0, writes: 0 };
          const failed: string[] = [];
          let over = false;
          const poll = async () => {
            const first = await call(origin, '/api/v1/groups', { headers: keyed });
            const headers = { ...keyed, 'if-none-match': first.headers.etag! };
            while (!over) {
              const { status } = await call(origin, '/api/v1/groups', { headers });
              counts.reads++;
              if (status !== 304 && status !== 200) failed.push(`read ${status}`);
            }
          };
          const write = async (lane: number) => {
            for (let i = 0; !over; i++) {
              const reply = await call(origin, '/api/v1/learners', {
                method: 'POST',
                headers: { ...keyed, 'content-type': 'application/json' },
                body: JSON.stringify({ full_name: 'A Learner', ref: `${proxy.name}-${lane}-${i}` }),
              });
              counts.writes++;
              // Whose reply it is, the proxy's or the service's, stands in its text.
              if (reply.status !== 201) failed.push(`write ${reply.status} ${String(reply.body)}`);
            }
          };
          const caught = (one: Promise<void>) => one.catch((error: Error) => void failed.push(error.message));
          const load = [...Array.from({ length: 6 }, poll), ...Array.from({ length: 2 }, (_, lane) => write(lane))];
          const ends = load.map(caught);
          for (const backend of backends) {
            await backend.restart();
            // The next one goes when this one has its share again.
            while (backend.answered() < 20) await setTimeout(20);
          }
          over = true;
          await Promise.all(ends);
          assert.deepEqual([failed.length, failed[0]], [0, undefined]);
          assert.ok(counts.writes > 10);
        });
      });
  });

/** Takes a request, and breaks off in the middle of its reply, or before it. */
async function startBreakingOff(): Promise<{ port: number; end(): Promise<unknown> }> {
  const server = createServer((asked, reply) => {
    if (asked.url === '/readyz') return void reply.end();
    if (asked.url === '/hangs-up') return void asked.socket.destroy();
    reply.writeHead(200, { 'content-length': 1000 });
    reply.write('x', () => setImmediate(() => reply.destroy()));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    port,
    end: () => {
      server.closeAllConnections();
      return new Promise((closed) => server.close(closed));
    },
  };
}

suite(
  'before processes of which none is ready for a while',
  { skip: installed.length === 0, concurrency: true },
  () => {
    for (const proxy of installed)
      test(`${proxy.name} has everybody answered`, async () => {
        let ready = true;
        const backends = [0, 1].map(() =>
          createServer((asked, reply) => reply.writeHead(asked.url === '/readyz' && !ready ? 503 : 200).end()).listen(
            0,
            '127.0.0.1',
          ),
        );
        await Promise.all(backends.map((one) => once(one, 'listening')));
        after(() => {
          for (const one of backends) one.close().closeAllConnections();
        });
        const { origin } = await proxy.start(backends.map((one) => (one.address() as { port: number }).port));
        while ((await call(origin, '/api/v1/groups')).status !== 200) await setTimeout(20);
        ready = false;
        // Until every check has found it so.
        await setTimeout(1500);
        const asks = Array.from({ length: 20 }, async (_, i) => {
          await setTimeout(100 * i);
          return (await call(origin, '/api/v1/groups')).status;
        });
        await setTimeout(4500);
        ready = true;
        assert.deepEqual(new Set(await Promise.all(asks)), new Set([200]));
      });
  },
);

suite('before processes that fail', { skip: installed.length === 0 }, () => {
  for (const proxy of installed)
    test(`${proxy.name} logs neither references, links, queries nor keys, and answers in the one error shape`, async () => {
      const [gone] = await freePorts(1);
      const breaking = await startBreakingOff();
      const { origin, logged } = await proxy.start([breaking.port, gone!]);
      const ask = (path: string) =>
        call(origin, path, { headers: { 'x-secret-access-key': 'SECRETKEY' } }).then(
          ({ status }) => status,
          () => 'broken off',
        );
      let brokenOff = 0;
      for (let i = 0; i < 100 && brokenOff < 3; i++) {
        if ((await ask('/api/v1/learners/SECRETREF')) === 'broken off') brokenOff++;
        await setTimeout(20);
      }
      assert.equal(brokenOff, 3);
      const unanswered = async (path: string) => {
        const reply = await call(origin, path);
        assert.deepEqual([reply.status, reply.headers['retry-after']], [503, '1'], path);
        assert.equal(reply.headers['x-content-type-options'], 'nosniff');
        assert.equal((reply.json() as { error: { code: string } }).error.code, 'service_unavailable');
      };
      await unanswered('/hangs-up');
      await breaking.end();
      await unanswered('/invitations/SECRETLINK');
      const links = ['console/invitation', 'console/sso/invitation', 'a%2Fb', 'keys', 'a'].map(
        (at) => `/${at}/SECRETLINK`,
      );
      for (const path of [
        ...links,
        '/api/v1/learners/SECRETREF/groups',
        '/%53ECRET',
        '/SECRET',
        '//SECRET',
        '/x?SECRET',
      ])
        await call(origin, path, { method: 'POST' });
      await call(origin, '/api/v1/assessments?learner_ref=SECRETREF', {
        headers: { 'user-agent': 'SECRET', referer: 'SECRET' },
      });
      await setTimeout(200);
      const lines = accessLines(logged());
      const paths = new Set(lines.map(({ path }) => path));
      for (const path of ['/api/v1/learners', '/api/v1/assessments', '/invitations', '/console/invitation', '/keys'])
        assert.ok(paths.has(path), `${path} ${logged()}`);
      const [last] = lines.slice(-1);
      assert.deepEqual(
        [last!.address, last!.method, last!.path, last!.status],
        ['127.0.0.1', 'GET', '/api/v1/assessments', '503'],
      );
      for (const part of ['SECRET', '?', '%53', '%2F', 'redirected']) assert.ok(!logged().includes(part), logged());
    });
});
