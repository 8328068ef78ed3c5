import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  ApiError,
  ArsError,
  Client,
  ConnectionError,
  TimeoutError,
  UnexpectedReplyError,
} from '../../client/src/index.ts';
import { cut, json, ok, refusal, reset, scripted, silence } from './support/scripted.ts';

suite('a call is repeated while the fault may pass', () => {
  for (const [what, answer] of [
    ['a connection that ends', reset],
    ['a reply that is cut off', cut],
    ['500', refusal(500, 'internal_error')],
    ['503', refusal(503, 'service_unavailable')],
    [
      "a proxy's 502 in HTML",
      (_request: unknown, response: any) => response.writeHead(502).end('<h1>Bad gateway</h1>'),
    ],
    ['a 200 that holds half a text', (_request: unknown, response: any) => response.writeHead(200).end('{"status"')],
  ] as const) {
    test(what, async () => {
      const { client, seen, waits } = await scripted([answer, answer, ok]);
      assert.equal((await client.health()).status, 'ok');
      assert.equal(seen.length, 3);
      assert.deepEqual(waits, [375, 750], 'waits grow, and are shortened at random');
    });
  }

  test('after as long as Retry-After says, in seconds or as a date, and never earlier', async () => {
    const { client, waits } = await scripted([
      refusal(429, 'rate_limited', { 'retry-after': '7' }),
      // By the clock of whoever says it, which need not be this machine's.
      refusal(503, 'service_unavailable', {
        date: 'Sun, 22 Nov 2026 10:00:00 GMT',
        'retry-after': 'Sun, 22 Nov 2026 10:00:12 GMT',
      }),
      ok,
    ]);
    await client.health();
    assert.deepEqual(waits, [7250, 12_250]);
  });

  test('while the first request under a key is running, which Retry-After says, and not once its reply is lost', async () => {
    const running = refusal(409, 'idempotency_conflict', { 'retry-after': '1' });
    const lost = await scripted([running, refusal(409, 'idempotency_conflict'), ok]);
    await assert.rejects(lost.client.health(), { code: 'idempotency_conflict', isTransient: false });
    assert.deepEqual([lost.seen.length, lost.waits], [2, [1250]]);
  });

  test('in a distance of its own where Retry-After is none, or past', async () => {
    const told = ['0', '-5', '1.5', 'soon', '99999999999', '', 'Sun, 06 Nov 1994 08:49:37 GMT'];
    const answers = told.map((text) => refusal(503, 'service_unavailable', { 'retry-after': text }));
    const { client, waits } = await scripted([...answers, ok]);
    await client.health();
    assert.deepEqual(waits, [375, 750, 1500, 3000, 6000, 12_000, 15_000]);
  });

  test('as long as the caller is patient, with waits of at most twenty seconds', async () => {
    const { client, waits } = await scripted([refusal(503, 'service_unavailable')]);
    await assert.rejects(client.health(), (error: unknown) => error instanceof ApiError && error.status === 503);
    const total = waits.reduce((sum, wait) => sum + wait, 0);
    assert.ok(total > 90_000 && total <= 120_000, String(total));
    assert.ok(waits.every((wait) => wait <= 20_000));
  });

  test('as long as the caller is patient, wherever somebody sets the clock meanwhile', async () => {
    for (const hours of [-2, 2]) {
      let nowMs = 1_800_000_000_000;
      const { client, waits } = await scripted([refusal(503, 'service_unavailable')], {
        surroundings: { nowMs: () => (nowMs += hours * 3_600_000) },
      });
      await assert.rejects(client.health(), ApiError);
      const total = waits.reduce((sum, wait) => sum + wait, 0);
      assert.ok(total > 90_000 && total <= 120_000, `${total} with a clock that was set by ${hours} hours`);
    }
  });

  test('not at all where Retry-After is longer than the patience', async () => {
    const { client, seen } = await scripted([refusal(429, 'rate_limited', { 'retry-after': '3600' })]);
    await assert.rejects(client.health(), (error: unknown) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.code, error.retryAfterMs, error.isTransient], ['rate_limited', 3_600_000, true]);
      return true;
    });
    assert.equal(seen.length, 1);
  });

  test('a POST always under one idempotency key, the next one under another, and one of the caller as it is', async () => {
    const group = json(201, { data: { id: 'g' } });
    const { client, seen } = await scripted([reset, refusal(500, 'internal_error'), group]);
    const input = { type: 'cohort', ref: 'C', name: 'C' } as const;
    await client.groups.create(input);
    await client.groups.create(input);
    await client.groups.create(input, { idempotencyKey: 'mine' });
    const keys = seen.map((one) => one.headers['idempotency-key']);
    assert.equal(new Set(keys.slice(0, 3)).size, 1);
    assert.match(String(keys[0]), /^[0-9a-f-]{36}$/);
    assert.notEqual(keys[3], keys[0]);
    assert.equal(keys[4], 'mine');
    assert.deepEqual(JSON.parse(seen[0]!.body), input);
  });

  test('a removal whose reply was lost is done: the 404 of its repetition says so', async () => {
    const { client } = await scripted([reset, refusal(404, 'not_found')]);
    await client.webhooks.remove('w');
    const { client: other } = await scripted([refusal(404, 'not_found')]);
    await assert.rejects(other.webhooks.remove('w'), { code: 'not_found' });
  });
});

suite('a call is not repeated', () => {
  for (const [status, code] of [
    [400, 'unknown_parameter'],
    [401, 'invalid_credentials'],
    [402, 'insufficient_credits'],
    [404, 'not_found'],
    [409, 'group_limit_exceeded'],
    [422, 'team_group_managed'],
    [418, 'a_code_of_tomorrow'],
  ] as const) {
    test(`after ${status} ${code}`, async () => {
      const { client, seen } = await scripted([refusal(status, code), ok]);
      await assert.rejects(client.health(), (error: unknown) => {
        assert.ok(error instanceof ApiError && error instanceof ArsError && error instanceof Error);
        assert.deepEqual(
          [error.status, error.code, error.requestId, error.operation, error.isTransient],
          [status, code, 'a-request', 'health', false],
        );
        return true;
      });
      assert.equal(seen.length, 1);
    });
  }

  test('after a redirect, which the key pair does not follow', async () => {
    const elsewhere = await scripted([ok]);
    const { client } = await scripted([
      (_request, response) => response.writeHead(307, { location: `${elsewhere.origin}/api/v1/health` }).end(),
    ]);
    await assert.rejects(client.health(), UnexpectedReplyError);
    assert.equal(elsewhere.seen.length, 0);
  });

  test("after another service's 404", async () => {
    const { client, seen } = await scripted([(_request, response) => response.writeHead(404).end('<h1>404</h1>'), ok]);
    await assert.rejects(client.health(), UnexpectedReplyError);
    assert.equal(seen.length, 1);
  });
});

suite('a call ends', () => {
  test('when an attempt takes too long and patience is over', async () => {
    const { client } = await scripted([silence], { timeoutMs: 20, patienceMs: 0 });
    await assert.rejects(client.health(), TimeoutError);
  });

  test('with the reason of the signal that is aborted, before, during and between attempts', async () => {
    const { client, seen } = await scripted([silence]);
    await assert.rejects(client.health({ signal: AbortSignal.abort('no') }), (error: unknown) => error === 'no');
    assert.equal(seen.length, 0);

    const during = new AbortController();
    const { client: asking } = await scripted([() => during.abort('enough')]);
    await assert.rejects(asking.health({ signal: during.signal }), (error: unknown) => error === 'enough');

    const between = new AbortController();
    const { client: waiting, seen: once } = await scripted([reset], {
      surroundings: {
        wait: async (_ms, signal) => {
          between.abort('later');
          signal?.throwIfAborted();
        },
      },
    });
    await assert.rejects(waiting.health({ signal: between.signal }), (error: unknown) => error === 'later');
    assert.equal(once.length, 1);
  });

  test('with a ConnectionError where nobody answers', async () => {
    const client = new Client({ baseUrl: 'http://127.0.0.1:1', accessKeyId: 'a', secretAccessKey: 'b', patienceMs: 0 });
    await assert.rejects(client.health(), ConnectionError);
  });
});

suite('what a client is made with', () => {
  const keys = { accessKeyId: 'a', secretAccessKey: 'b' };

  test('is judged without repeating a secret', () => {
    for (const secretAccessKey of ['ars_secret\n', '', 'ars secret', undefined as never])
      assert.throws(
        () => new Client({ ...keys, baseUrl: 'http://a.test', secretAccessKey }),
        (error: Error) => error instanceof TypeError && !error.message.includes('ars'),
      );
    for (const baseUrl of ['results.example.org', 'ftp://a.test', 'https://me:pw@a.test', 'https://a.test/?key=1'])
      assert.throws(() => new Client({ ...keys, baseUrl }), TypeError);
  });

  test('may name the origin, or the address of the API', async () => {
    const { origin, seen } = await scripted([ok]);
    for (const path of ['', '/', '/api/v1', '/api/v1/', '/behind/a/proxy/api/v1'])
      await new Client({ ...keys, baseUrl: `${origin}${path}` }).health();
    assert.deepEqual(
      seen.map(({ url }) => url),
      [...Array.from({ length: 4 }, () => '/api/v1/health'), '/behind/a/proxy/api/v1/health'],
    );
  });

  test('makes addresses that name one thing: no empty and no dotted segments', async () => {
    const { client, seen } = await scripted([json(200, { data: {} })]);
    await client.learners.get('a/b:c d');
    assert.equal(seen[0]!.url, '/api/v1/learners/a%2Fb%3Ac%20d');
    for (const id of ['', '.', '..', undefined as never]) await assert.rejects(client.assessments.get(id), TypeError);
    assert.equal(seen.length, 1);
  });
});
