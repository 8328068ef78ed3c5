import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { Change } from '../../client/src/index.ts';
import { Client, openMirror, sync, SyncStopped, UnexpectedReplyError } from '../../client/src/index.ts';
import { Overtaken } from '../../client/src/sync/outcome.ts';
import type { TestStore } from './support/mirrors.ts';
import { heldBy, memoryStore } from './support/mirrors.ts';
import type { Answer } from './support/scripted.ts';
import { json, refusal, scripted } from './support/scripted.ts';

/** A service that says what it shouldn't: a mirror refuses it in words, keeps what it has, and goes on when that is over. */

const organisation = '20000000-0000-4000-8000-000000000000';
const idOf = (n: number) => `10000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const timeOf = (n: number) => new Date(1_780_000_000_000 + n * 1000).toISOString();
const recordOf = (n: number) => ({
  assessment_id: idOf(n),
  updated_at: timeOf(n),
  status: 'completed',
  framework: 'x',
});
const headers = { 'x-sync-through': timeOf(100), etag: 'W/"a"' };
const pageOf = (data: unknown, next: unknown = null, more: Record<string, string> = {}) =>
  json(200, { data, pagination: { limit: 500, has_more: next !== null, next } }, { ...headers, ...more });

/** Three results on two pages of an honest service. */
const honest: Answer = (request, response) => {
  const answer = request.url!.endsWith('/health')
    ? json(200, { status: 'ok', organisation_id: organisation, api_version: 'v1' })
    : request.url!.includes('since=')
      ? pageOf([recordOf(3)])
      : request.url!.includes('cursor=')
        ? pageOf([recordOf(2), recordOf(3)])
        : pageOf([recordOf(1)], 'http://127.0.0.1/api/v1/assessments?limit=500&cursor=b');
  answer(request, response);
};

/** A mirror of a service that is honest until `lie` stands in for it. */
async function scene(options: { lie?: Answer | null; isWhole?: boolean } = {}) {
  const told: Change[] = [];
  const self = { lie: options.lie ?? null };
  const service = await scripted(
    [
      (request: IncomingMessage, response: ServerResponse) =>
        (self.lie !== null && !request.url!.endsWith('/health') ? self.lie : honest)(request, response),
    ],
    { patienceMs: 0 },
  );
  const store = memoryStore();
  const onChange = (changes: Change[]) => void told.push(...changes);
  const open = (more: object = {}) => openMirror({ client: service.client, store, onChange, ...more });
  return { ...service, self, store, told, open, held: () => [...heldBy(store).keys()].sort() };
}

const all = [1, 2, 3].map(idOf);
const gzipped: Answer = (_request, response) => {
  response.writeHead(200, { ...headers, 'content-type': 'application/json', 'content-encoding': 'gzip' });
  response.end(gzipSync(Buffer.alloc(80 * 1024 * 1024, ' ')));
};

suite('a mirror whose service answers with', () => {
  const loop = ['b', 'c', 'd'];
  for (const [what, lie, says] of [
    [
      'a page of HTML',
      (_request, response) => response.end('<html>Sign in to this network</html>'),
      /not a JSON object/,
    ],
    ['half a text', (_request, response) => response.end('{"data":[{"assess'), /not a JSON object/],
    ['a list', json(200, [recordOf(9)], headers), /not a JSON object/],
    ['another object', json(200, { data: { hello: 'world' } }, headers), /not a page of a list/],
    ['no place of the next page', json(200, { data: [recordOf(9)] }, headers), /not a page of a list/],
    ['an entry that is null', pageOf([recordOf(9), null]), /not a page of a list/],
    ['an entry without an id', pageOf([{ ...recordOf(9), assessment_id: '../9' }]), /no ID or no updated_at/],
    ['a time of two lines', pageOf([{ ...recordOf(9), updated_at: `${timeOf(1)}\n${timeOf(2)}` }]), /no updated_at/],
    ['a time that is none', pageOf([{ ...recordOf(9), updated_at: 'soon' }]), /no updated_at/],
    ['a next page that is all pages', pageOf([recordOf(9)], 'http://127.0.0.1/api/v1/assessments'), /no cursor/],
    ['a next page that is a number', pageOf([recordOf(9)], 7), /no cursor/],
    ['one page for ever', pageOf([], 'http://127.0.0.1/?cursor=b'), /leads back/],
    [
      'pages in a circle',
      (request, response) => {
        const at = loop.indexOf(/cursor=(\w)/.exec(request.url!)?.[1] ?? '');
        pageOf([], `http://127.0.0.1/?cursor=${loop[(at + 1) % 3]}`)(request, response);
      },
      /leads back/,
    ],
    ['204', (_request, response) => response.writeHead(204).end(), /not a JSON object/],
    ['no X-Sync-Through', pageOf([recordOf(9)], null, { 'x-sync-through': '' }), /no X-Sync-Through/],
    ['300 bytes that become 80 million', gzipped, /longer than/],
    ['502 without words', (_request, response) => response.writeHead(502).end(), /502/],
    ['418', (_request, response) => response.writeHead(418).end(), /not from the service/],
  ] as [string, Answer, RegExp][]) {
    test(`${what}: keeps what it has, and goes on afterwards`, async () => {
      const { self, open, held, seen } = await scene();
      await open().poll();
      assert.deepEqual(held(), all);
      self.lie = lie;
      const asked = seen.length;
      await assert.rejects(open().poll(), says);
      assert.ok(seen.length - asked < 12, `${seen.length - asked} requests`);
      assert.deepEqual(held(), all);
      self.lie = null;
      assert.equal((await open().poll()).results, 3);
      assert.deepEqual(held(), all);
    });
  }

  test('what is not of the service, whatever its status: goes on by itself afterwards', async () => {
    const { self, client, store, held } = await scene();
    const page =
      (status: number, text: string): Answer =>
      (_request, response) =>
        response.writeHead(status, { 'content-type': 'text/html', location: 'https://portal.test/' }).end(text);
    const lies = [302, 400, 401, 403, 404, 418, 451, 500, 511].map((status) => page(status, '<html>Sign in</html>'));
    const refused = [403, 404].map((status) => page(status, '{"message":"Forbidden"}'));
    const stopping = new AbortController();
    const reports: string[] = [];
    const left = [...lies, ...refused];
    await sync({
      client,
      store,
      everyMs: 0,
      signal: stopping.signal,
      onReport: (report) => {
        reports.push('failed' in report ? (report.failed as Error).name : 'polled');
        self.lie = left.shift() ?? null;
        if (reports.length === 13) stopping.abort();
      },
    }).done;
    assert.deepEqual(reports, ['polled', ...Array.from({ length: 11 }, () => 'UnexpectedReplyError'), 'polled']);
    assert.deepEqual(held(), all);
    // The whole service, its health included, from the beginning.
    const { client: lost, waits } = await scripted([page(302, '')], { patienceMs: 0 });
    await assert.rejects(sync({ client: lost, store: memoryStore() }).done, /for a day: .*Check baseUrl/);
    assert.ok(waits.length > 200, `asked ${waits.length} times`);
  });

  test('Retry-After that is longer than a call is patient: asks no earlier, but every hour', async () => {
    const { self, client, store, waits } = await scene();
    const told = ['3600', '999999', '60'];
    const stopping = new AbortController();
    await sync({
      client,
      store,
      signal: stopping.signal,
      onReport: () => {
        if (waits.length === 4) stopping.abort();
        self.lie = refusal(told.length % 2 === 0 ? 503 : 429, 'service_unavailable', {
          'retry-after': told.shift() ?? '',
        });
      },
    }).done;
    // After the first poll, a minute; then longer by a little, so that a crowd doesn't come back at once.
    assert.deepEqual(waits, [60_000, 3_630_000, 3_630_000, 60_500]);
  });

  test('304 that nobody asked for: is no end of a walk', async () => {
    const { self, open, seen, held } = await scene();
    self.lie = (_request, response) => response.writeHead(304, { etag: 'W/"other"' }).end();
    await assert.rejects(open().poll(), /304/);
    assert.equal(seen.length, 2);
    self.lie = (request, response) =>
      request.url!.includes('cursor=') ? response.writeHead(304).end() : honest(request, response);
    await assert.rejects(open().poll(), /304/);
    self.lie = null;
    await open().poll();
    assert.deepEqual(held(), all);
    // Asked for, it counts whatever ETag it carries: the checkpoint stays the one that was stored.
    self.lie = (_request, response) => response.writeHead(304, { etag: 'W/"other"' }).end();
    assert.equal((await open().poll()).isUnchanged, true);
    await open().poll();
    assert.equal(seen.at(-1)!.headers['if-none-match'], 'W/"a"');
  });

  test('one result twice on a page: keeps the later one, and tells it once', async () => {
    const { self, open, told, store } = await scene();
    const later = { ...recordOf(1), updated_at: timeOf(5), framework: 'y' };
    self.lie = pageOf([recordOf(1), recordOf(2), later, { ...later, assessment_id: idOf(1).toUpperCase() }]);
    assert.equal((await open().poll()).results, 2);
    assert.deepEqual(told.map(({ id }) => id).sort(), [idOf(1), idOf(2)]);
    assert.equal(heldBy(store).get(idOf(1))!.framework, 'y');
  });

  test('401 in the middle of a walk: says what to do, and goes on where it was with another pair', async () => {
    const { self, open, held, seen } = await scene();
    self.lie = (request, response) =>
      (request.url!.includes('cursor=') ? refusal(401, 'invalid_credentials') : honest)(request, response);
    await assert.rejects(
      open().poll(),
      (error: unknown) => error instanceof SyncStopped && /access key/.test(error.message),
    );
    assert.deepEqual(held(), [idOf(1)]);
    self.lie = null;
    seen.length = 0;
    await open().poll();
    assert.match(seen[1]!.url, /cursor=b/);
    assert.deepEqual(held(), all);
  });

  test('a redirect to another host: gives it neither key nor trust', async () => {
    const elsewhere = await scripted([honest]);
    const { self, open, held } = await scene();
    for (const status of [301, 302, 303, 307, 308]) {
      self.lie = (request, response) =>
        response.writeHead(status, { location: `${elsewhere.origin}${request.url}` }).end();
      await assert.rejects(open().poll(), UnexpectedReplyError);
    }
    assert.equal(elsewhere.seen.length, 0);
    assert.deepEqual(held(), []);
  });

  test('a digest that is none: takes it for none', async () => {
    for (const digest of ['n=3', 'n=-3;w1=1;w2=1', 'n=3;w1=1;w2=1;w3=1', 'n=3;w1=99999999999;w2=0', '<b>', 'null']) {
      const { self, open, held } = await scene();
      await open().poll();
      self.lie = pageOf([recordOf(3)], null, { 'x-sync-digest': digest });
      assert.equal((await open().poll()).isProven, null, digest);
      assert.deepEqual(held(), all);
    }
  });

  test('buckets that are none, or results that were not asked for: stores nothing of it', async () => {
    const wrong = 'n=9;w1=1;w2=1';
    const buckets = Array.from({ length: 4 }, (_, i) => [i, 0, 0]);
    for (const [data, record] of [
      [{ bits: 2, buckets: buckets.slice(1) }, null],
      [{ bits: 2, buckets: [null, ...buckets.slice(1)] }, null],
      [{ bits: 2, buckets: [['1', '2', '3'], ...buckets.slice(1)] }, null],
      [undefined, null],
      [{ bits: 2, buckets, assessments: [{ assessment_id: 'x', updated_at: timeOf(1) }] }, null],
      [{ bits: 2, buckets, assessments: null }, null],
      [{ bits: 2, buckets, assessments: [{ assessment_id: idOf(1), updated_at: timeOf(7) }] }, recordOf(8)],
      [{ bits: 2, buckets, assessments: [{ assessment_id: idOf(1), updated_at: timeOf(7) }] }, undefined],
    ] as const) {
      const { self, open, held } = await scene();
      await open().poll();
      self.lie = (request, response) => {
        const { url = '' } = request;
        if (url.includes('/digest')) return json(200, { data })(request, response);
        if (/assessments\/\w/.test(url)) return json(200, { data: record })(request, response);
        return pageOf([recordOf(3)], null, { 'x-sync-digest': wrong })(request, response);
      };
      await assert.rejects(open().poll(), /digest|getAssessment/, JSON.stringify(data));
      assert.deepEqual(held(), all);
    }
  });

  test('no organisation: does not begin', async () => {
    const { client, store } = {
      ...(await scripted([json(200, { status: 'ok' })], { patienceMs: 0 })),
      store: memoryStore(),
    };
    await assert.rejects(openMirror({ client, store }).poll(), /names no organisation/);
    assert.deepEqual([...heldBy(store)], []);
  });
});

suite('a mirror is right in the end', () => {
  test('wherever it is aborted, and with the reason of whoever did', async () => {
    // At every request that is sent, every statement that is made, and every change that is told.
    for (let at = 1, ended = false; !ended; at++) {
      const { open, held, origin, store } = await scene();
      const stopping = new AbortController();
      let steps = 0;
      const step = () => {
        if (++steps === at) stopping.abort('enough');
      };
      const client = new Client({
        baseUrl: origin,
        accessKeyId: 'id',
        secretAccessKey: 'secret',
        surroundings: {
          fetch: async (address, init) => {
            step();
            const response = await fetch(address, init);
            step();
            return response;
          },
        },
      });
      const watched = {
        ...store,
        transaction: ((work) => {
          step();
          return store.transaction(work);
        }) as typeof store.transaction,
      };
      const poll = open({ client, store: watched, signal: stopping.signal, onChange: step }).poll();
      const error = await poll.then(
        () => null,
        (reason: unknown) => reason,
      );
      assert.ok(error === null || error === 'enough', String(error));
      await open().poll();
      assert.deepEqual(held(), all, `aborted at step ${at}`);
      ended = steps < at;
      assert.ok(at < 100);
    }
  });

  test('when other processes always change it first: says so, and does not end by it', async () => {
    const { open, client, store, held } = await scene();
    await open().poll();
    const contested: TestStore = {
      ...store,
      transaction: (work) =>
        store.transaction(async (transaction) => {
          const { serial, ...state } = JSON.parse((await transaction.readState())!);
          await transaction.writeState(JSON.stringify({ serial: serial + 1, ...state }));
          return work(transaction);
        }),
    };
    const says = { name: 'Overtaken', message: /^Other processes/ };
    await assert.rejects(open({ store: contested }).poll(), says);
    await assert.rejects(open({ store: contested }).verify(), says);
    await assert.rejects(open({ store: contested, filters: { subject: ['maths'] } }).poll(), says);
    const stopping = new AbortController();
    let failures = 0;
    await sync({
      client,
      store: {
        ...store,
        transaction: async () => {
          throw new Overtaken();
        },
      },
      signal: stopping.signal,
      onReport: (report) => {
        assert.ok('failed' in report && says.message.test(String((report.failed as Error).message)));
        if (++failures === 12) stopping.abort();
      },
    }).done;
    await open().poll();
    assert.deepEqual(held(), all);
  });

  test('whichever call of its store fails, for one engine and for two at once', async () => {
    for (const engines of [1, 2])
      for (let at = 0, ended = false; !ended; at++) {
        const { open, held, store } = await scene();
        store.left = at;
        const ends = await Promise.allSettled(Array.from({ length: engines }, () => open().poll()));
        ended = ends.every(({ status }) => status === 'fulfilled');
        store.left = Infinity;
        assert.equal((await open().poll()).results, 3);
        assert.deepEqual(held(), all, `${engines} engines, call ${at}`);
        assert.ok(at < 300);
      }
  });

  test('after its clock stood years ahead: what it noted then keeps nothing back', async () => {
    const { self, store, held, origin } = await scene();
    const clock = { ms: Date.parse('2046-01-01T00:00:00Z') };
    const client = new Client({
      baseUrl: origin,
      accessKeyId: 'id',
      secretAccessKey: 'secret',
      patienceMs: 0,
      surroundings: { nowMs: () => clock.ms },
    });
    const poll = () => openMirror({ client, store }).poll();
    await poll();
    clock.ms = Date.parse('2026-01-01T00:00:00Z');
    store.database.prepare('delete from ars_assessment where assessment_id = ?').run(idOf(1));
    self.lie = honest;
    assert.equal((await poll()).wholeWalks, 1);
    assert.deepEqual(held(), all);
    assert.equal((await poll()).wholeWalks, 0);
  });
});
