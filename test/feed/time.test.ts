import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { formatPosition, parseInstant, parseLowerBound } from '../../src/feed/time.ts';

const second = 1_000_000;

suite('parseInstant', () => {
  test('an instant is the same in every zone', () => {
    const us = Date.UTC(2026, 0, 31, 9) * 1000;
    for (const text of [
      '2026-01-31T09:00:00Z',
      '2026-01-31t09:00:00z',
      '2026-01-31T10:00:00+01:00',
      '2026-01-30T23:00:00-10:00',
      '2026-01-31T14:45:00+05:45',
      '2026-01-31T09:00:00-00:00',
      '2026-01-31T09:00:00.000Z',
    ]) {
      assert.equal(parseInstant(text), us, text);
    }
  });

  test('fractions are cut, not rounded', () => {
    const us = Date.UTC(2026, 0, 31, 9) * 1000;
    for (const [text, ms] of [
      ['.1', 100],
      ['.12', 120],
      ['.123', 123],
      ['.1239', 123],
      ['.9999999', 999],
      ['.0009', 0],
    ] as const) {
      assert.equal(parseInstant(`2026-01-31T09:00:00${text}Z`), us + ms * 1000, text);
    }
  });

  test('a lower bound is the first whole millisecond at or after it', () => {
    const us = Date.UTC(2026, 0, 31, 9) * 1000;
    for (const [text, ms] of [
      ['.123', 123],
      ['.1230', 123],
      ['.1230001', 124],
      ['.1239', 124],
      ['.9999', 1000],
    ] as const) {
      assert.equal(parseLowerBound(`2026-01-31T09:00:00${text}Z`), us + ms * 1000, text);
    }
  });

  test('leap seconds, leap days and the years at either end', () => {
    assert.equal(parseInstant('2016-12-31T23:59:60Z'), Date.UTC(2017, 0, 1) * 1000);
    assert.equal(parseInstant('1990-12-31T15:59:60.5-08:00'), Date.UTC(1991, 0, 1, 0, 0, 0, 500) * 1000);
    assert.equal(parseInstant('2015-07-01T05:29:60+05:30'), Date.UTC(2015, 6, 1) * 1000);
    assert.equal(parseInstant('2024-02-29T00:00:00Z'), Date.UTC(2024, 1, 29) * 1000);
    assert.equal(parseInstant('2000-02-29T00:00:00Z'), Date.UTC(2000, 1, 29) * 1000);
    assert.equal(parseInstant('1900-02-29T00:00:00Z'), null);
    assert.equal(parseInstant('9999-12-31T23:59:59Z'), 253_402_300_799 * second);
    assert.equal(parseInstant('0001-01-01T00:00:00Z'), -62_135_596_800 * second);
    assert.equal(parseInstant('0099-01-01T00:00:00Z'), -59_042_995_200 * second);
    assert.equal(parseInstant('1969-12-31T23:59:59.999Z'), -1000);
  });

  test('anything else is none', () => {
    for (const text of [
      '',
      '2026',
      '2026-01-31',
      '2026-01-31T09:00:00',
      '2026-01-31T09:00Z',
      '2026-01-31 09:00:00Z',
      '2026-1-31T09:00:00Z',
      '2026-01-31T09:00:00+1:00',
      '2026-01-31T09:00:00+0100',
      '2026-01-31T09:00:00+24:00',
      '2026-01-31T09:00:00+01:60',
      '2026-02-30T09:00:00Z',
      '2026-04-31T09:00:00Z',
      '2026-00-01T09:00:00Z',
      '2026-13-01T09:00:00Z',
      '2026-01-00T09:00:00Z',
      '2026-01-31T24:00:00Z',
      '2026-01-31T23:60:00Z',
      '2026-01-31T23:59:61Z',
      '2026-01-31T12:34:60Z',
      '2026-01-30T23:59:60Z',
      '2026-01-31T23:59:60+01:00',
      '2026-01-31T22:59:60Z',
      '2026-01-31T00:00:60Z',
      '2026-01-31T09:00:00.Z',
      '2026-01-31T09:00:00,5Z',
      '+2026-01-31T09:00:00Z',
      '-2026-01-31T09:00:00Z',
      '12026-01-31T09:00:00Z',
      ' 2026-01-31T09:00:00Z',
      '2026-01-31T09:00:00Z\n',
      '2026-W05-6T09:00:00Z',
      '２026-01-31T09:00:00Z',
    ]) {
      assert.equal(parseInstant(text), null, JSON.stringify(text));
    }
  });

  // Microseconds are exact as numbers up to 2^53.
  test('what is written is read back, for every millisecond from 1684 to 2255', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -9_007_199_254_739, max: 9_007_199_254_739 }),
        fc.integer({ min: 0, max: 999 }),
        (ms, us) => {
          const text = formatPosition(ms * 1000 + us);
          assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
          assert.equal(parseInstant(text), ms * 1000);
        },
      ),
    );
  });
  test('neighbours share what they share of their date, and nothing more', () => {
    const step = fc.oneof(...[0, 1, 999, 60_000, 3_600_000, 86_400_000].map((ms) => fc.integer({ min: -ms, max: ms })));
    fc.assert(
      fc.property(
        fc.integer({ min: -9_000_000_000_000, max: 9_000_000_000_000 }),
        fc.array(step, { maxLength: 50 }),
        (start, steps) => {
          let ms = start;
          for (const by of steps) {
            ms += by;
            assert.equal(formatPosition(ms * 1000), new Date(ms).toISOString());
          }
        },
      ),
    );
  });
});
