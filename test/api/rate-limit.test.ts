import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { manualClock } from '../platform/time/manual-clock.ts';
import { assertRateHeaders, assertRefused } from '../contract/support/expect.ts';
import type { Client } from '../contract/support/client.ts';
import { withService } from '../support/service.ts';

const startMs = Date.UTC(2026, 0, 31, 9);
const clock = manualClock(startMs);
const service = await withService({ own: 'Moves the clock.', clock });
const windowMs = 60_000;

/** Asks n times at once and says how many were admitted. */
async function admitted(clients: Client[], n: number): Promise<number> {
  const answers = await Promise.all(Array.from({ length: n }, (_, i) => clients[i % clients.length]!.get('/health')));
  for (const answer of answers) if (answer.status !== 200) assertRefused(answer, 429, 'rate_limited');
  return answers.filter((answer) => answer.status === 200).length;
}

suite('300 requests per key in any 60 seconds', () => {
  test('exactly 300 of 330 at once, and again after the window', async () => {
    const org = await service.organisation();
    assert.equal(await admitted([org], 330), 300);
    clock.advance(windowMs);
    assert.equal(await admitted([org], 1), 0);
    clock.advance(1);
    assert.equal(await admitted([org], 330), 300);
  });

  test('over two services on one database', async () => {
    const sibling = await service.sibling();
    const org = await service.organisation();
    assert.equal(await admitted([org, sibling.client(org.key)], 340), 300);
  });

  test('the window slides: what came earlier is free earlier', async () => {
    const org = await service.organisation();
    assert.equal(await admitted([org], 100), 100);
    clock.advance(30_000);
    assert.equal(await admitted([org], 250), 200);
    clock.advance(30_001);
    assert.equal(await admitted([org], 250), 100);
    clock.advance(29_999);
    assert.equal(await admitted([org], 5), 0);
    clock.advance(1);
    assert.equal(await admitted([org], 250), 200);
  });

  test('the next request after Retry-After passes, and none before does', async () => {
    const org = await service.organisation();
    await admitted([org], 1);
    clock.advance(12_345);
    await admitted([org], 299);
    const refused = await org.get('/health');
    assertRefused(refused, 429, 'rate_limited');
    assertRateHeaders(refused);
    const seconds = Number(refused.headers['retry-after']);
    assert.ok(Number.isInteger(seconds) && seconds > 0);
    clock.advance((seconds - 1) * 1000);
    assert.equal((await org.get('/health')).status, 429);
    clock.advance(1000);
    assert.equal((await org.get('/health')).status, 200);
    assert.equal((await org.get('/health')).status, 429);
  });

  test('Retry-After is never more than the window', async () => {
    const org = await service.organisation();
    await admitted([org], 300);
    const { headers } = await org.get('/health');
    assert.equal(headers['retry-after'], '60');
    assert.equal(headers.ratelimit, '"default";r=0;t=60');
  });

  test('the headers count down', async () => {
    const org = await service.organisation();
    for (const left of [299, 298, 297]) {
      const { headers } = await org.get('/health');
      assert.equal(headers['ratelimit-policy'], '"default";q=300;w=60');
      assert.equal(headers.ratelimit, `"default";r=${left};t=60`);
    }
    clock.advance(20_000);
    assert.equal((await org.get('/health')).headers.ratelimit, '"default";r=296;t=41');
  });

  test('a 503 for want of a row in the audit log has them too: the request counted', async () => {
    const org = await service.organisation();
    await service.app.db.query('alter table audit rename to audit_away');
    const answer = await org
      .get('/groups')
      .finally(() => service.app.db.query('alter table audit_away rename to audit'));
    assertRefused(answer, 503, 'service_unavailable');
    assert.equal(answer.headers.ratelimit, '"default";r=299;t=60');
    assert.equal(answer.headers.etag, undefined);
  });

  test("a 304, a refusal and an unknown route count, a refused one doesn't", async () => {
    const org = await service.organisation();
    const { etag } = (await org.get('/groups')).headers;
    assert.equal((await org.get('/groups', { 'if-none-match': etag! })).status, 304);
    await org.get('/groups?foo=1');
    assert.match((await org.get('/nothing')).headers.ratelimit!, /r=296;/);
    assert.equal(await admitted([org], 400), 296);
    clock.advance(windowMs + 1);
    assert.equal(await admitted([org], 310), 300);
  });

  test('each key has its own, and keys of one organisation share nothing', async () => {
    const org = await service.organisation();
    const other = await org.another();
    assert.equal(await admitted([org], 301), 300);
    assert.equal(await admitted([other], 301), 300);
  });

  test('after 401 and before everything else', async () => {
    const org = await service.organisation();
    await admitted([org], 300);
    for (const [method, path, body] of [
      ['GET', '/nothing'],
      ['PUT', '/health'],
      ['GET', '/assessments?foo=1'],
      ['POST', '/learners', '{'],
    ] as const) {
      assertRefused(await org.api(method, path, { body }), 429, 'rate_limited');
    }
    assertRefused(
      await service.client({ ...org.key, secret_access_key: 'x' }).get('/health'),
      401,
      'invalid_credentials',
    );
  });

  test('a clock that goes back admits nobody twice', async () => {
    const org = await service.organisation();
    assert.equal(await admitted([org], 200), 200);
    clock.advance(-30_000);
    assert.equal(await admitted([org], 200), 100);
    clock.advance(30_000);
    assert.equal(await admitted([org], 10), 0);
    clock.advance(windowMs + 1);
    assert.equal(await admitted([org], 301), 300);
  });
});

suite('a clock that jumped ahead by minutes and back', () => {
  test('costs a key a minute, not the minutes of the jump, and admits no more than 300 in it', async () => {
    const org = await service.organisation();
    clock.advance(600_000);
    assert.equal(await admitted([org], 200), 200);
    clock.advance(-599_000);
    assert.equal(await admitted([org], 200), 100);
    clock.advance(windowMs);
    assert.equal(await admitted([org], 1), 0);
    clock.advance(1);
    assert.equal(await admitted([org], 330), 300);
  });
});

test('any sequence of requests and waits admits what a list of times would', async () => {
  const small = await withService({ own: 'Moves the clock.', clock, settings: { ARS_RATE_LIMIT: '5' } });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.integer({ min: 0, max: 40_000 }), fc.integer({ min: 1, max: 4 })), { maxLength: 12 }),
      async (steps) => {
        const org = await small.organisation();
        let times: number[] = [];
        for (const [waitMs, asked] of steps) {
          clock.advance(waitMs);
          times = times.filter((at) => clock.nowMs() - at <= windowMs);
          const expected = Math.min(asked, 5 - times.length);
          assert.equal(await admitted([org], asked), expected);
          times.push(...Array<number>(expected).fill(clock.nowMs()));
        }
      },
    ),
    { numRuns: 15 },
  );
});
