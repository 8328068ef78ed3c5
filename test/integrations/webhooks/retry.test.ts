import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { seededRandom, type Random } from '../../../src/platform/crypto/random.ts';
import { parseRetryAfter } from '../../../src/integrations/webhooks/retry.ts';
import { nextAttempt, verdictOf } from '../../../src/integrations/webhooks/retry.ts';
import { parseSchedule } from '../../../src/platform/time/schedule.ts';

const decided = parseSchedule('5s,5m,30m,2h,5h,10h,14h,20h,24h');
const [second, minute, hour] = [1_000, 60_000, 3_600_000];
const drawing = (share: number): Random => ({ ...seededRandom('retry'), float: () => share });

suite('a retry schedule', () => {
  test('is read into milliseconds', () => {
    assert.deepEqual(decided, [
      5 * second,
      5 * minute,
      30 * minute,
      2 * hour,
      5 * hour,
      10 * hour,
      14 * hour,
      20 * hour,
      24 * hour,
    ]);
    assert.deepEqual(parseSchedule(' 0s , 1d'), [0, 24 * hour]);
  });

  for (const [text, message] of [
    ['', /Wait 1.*""/],
    ['5', /Wait 1.*"5"/],
    ['5s,', /Wait 2.*""/],
    ['5s,5x', /Wait 2.*"5x"/],
    ['5s;5m', /Wait 1/],
    ['-5s', /Wait 1/],
    ['1.5h', /Wait 1/],
    ['5 s', /Wait 1/],
    ['5S', /Wait 1/],
    ['31d', /longest is 30d/],
    [Array(51).fill('1s').join(), /at most 50/],
  ] as const) {
    test(`is refused: ${JSON.stringify(text.slice(0, 20))}`, () => assert.throws(() => parseSchedule(text), message));
  }
});

suite('the next attempt', () => {
  test('comes ten times in all with the decided schedule, each wait within 15 %', () => {
    const random = seededRandom('ten');
    for (let attempt = 1; attempt <= 9; attempt++) {
      for (let draw = 0; draw < 200; draw++) {
        const waitMs = nextAttempt({ attempt, schedule: decided, random });
        const baseMs = decided[attempt - 1]!;
        assert.ok(waitMs !== 'dead' && waitMs >= baseMs * 0.85 && waitMs <= baseMs * 1.15);
      }
    }
    assert.equal(nextAttempt({ attempt: 10, schedule: decided, random }), 'dead');
  });

  test('uses the whole of the jitter', () => {
    const waits = [0, 0.5, 1].map((share) => nextAttempt({ attempt: 2, schedule: decided, random: drawing(share) }));
    assert.deepEqual(waits, [255 * second, 300 * second, 345 * second]);
  });

  test('waits at least as long as Retry-After asks, and never less than the schedule', () => {
    const wait = (attempt: number, retryAfterMs: number) =>
      nextAttempt({ attempt, schedule: decided, random: drawing(0), retryAfterMs });
    assert.equal(wait(1, minute), minute);
    assert.equal(wait(2, second), 255 * second);
    assert.equal(wait(1, 1_000 * hour), 24 * hour);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.nat({ max: 24 * hour }),
        fc.string(),
        (attempt, retryAfterMs, seed) => {
          const waitMs = nextAttempt({ attempt, schedule: decided, random: seededRandom(seed), retryAfterMs });
          assert.ok(waitMs !== 'dead' && waitMs >= retryAfterMs && waitMs >= decided[attempt - 1]! * 0.85);
        },
      ),
    );
  });

  test('is not given a second life by Retry-After', () => {
    assert.equal(nextAttempt({ attempt: 10, schedule: decided, random: drawing(0), retryAfterMs: second }), 'dead');
  });

  test('needs attempts counted from 1', () => {
    for (const attempt of [0, -1, 1.5, NaN])
      assert.throws(() => nextAttempt({ attempt, schedule: decided, random: drawing(0) }), RangeError);
  });
});

suite('Retry-After', () => {
  const nowMs = Date.UTC(1994, 10, 6, 8, 49, 0);
  for (const [value, waitMs] of [
    ['0', 0],
    ['120', 120 * second],
    [' 7 ', 7 * second],
    ['86401', 24 * hour],
    ['999999999999', 24 * hour],
    ['9'.repeat(400), 24 * hour],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 37 * second],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 37 * second],
    ['Sun Nov  6 08:49:37 1994', 37 * second],
    ['Sun, 06 Nov 1994 08:48:00 GMT', 0],
    ['Fri, 01 Jan 2100 00:00:00 GMT', 24 * hour],
    ['Sunday, 01-Jan-45 00:00:00 GMT', 0],
    ['Friday, 01-Jan-10 00:00:00 GMT', 24 * hour],
    ['-1', null],
    ['1.5', null],
    ['+5', null],
    ['5s', null],
    ['', null],
    ['soon', null],
    ['1994-11-06T08:49:37Z', null],
    ['Sun, 06 Foo 1994 08:49:37 GMT', null],
    ['Sun, 06 Nov 1994 25:49:37 GMT', null],
    ['Sun, 06 Nov 1994 08:49:37 +0100', null],
    ['1e3', null],
  ] as const) {
    test(`${JSON.stringify(value)} is ${waitMs === null ? 'not understood' : `${waitMs} ms`}`, () =>
      assert.equal(parseRetryAfter(value, nowMs), waitMs));
  }

  test('may be absent', () => assert.equal(parseRetryAfter(undefined, nowMs), null));
});

suite('an attempt means', () => {
  for (const [outcome, status_code, verdict] of [
    ['succeeded', 204, 'delivered'],
    ['http_error', 500, 'retry'],
    ['http_error', 404, 'retry'],
    ['http_error', 410, 'gone'],
    ['redirect', 308, 'retry'],
    ['timeout', null, 'retry'],
    ['timeout', 200, 'retry'],
    ['dns_error', null, 'retry'],
    ['address_refused', null, 'retry'],
    ['tls_error', null, 'retry'],
    ['connection_error', null, 'retry'],
    ['response_too_large', 200, 'retry'],
    ['response_too_large', 410, 'gone'],
    ['aborted', null, 'unfinished'],
  ] as const) {
    test(`${verdict}: ${outcome} ${status_code ?? ''}`, () =>
      assert.equal(verdictOf({ outcome, status_code }), verdict));
  }
});
