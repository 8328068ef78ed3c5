import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
  among,
  groupIds,
  instant,
  learnerRef,
  readLimit,
  readQuery,
  some,
  splitQuery,
  wholeNumber,
} from '../../../src/api/http/query.ts';

const table = [
  instant('since', '', 'upper'),
  learnerRef,
  some('subject', '', among(['digital', 'english', 'maths'])),
  instant('assessed_from', '', 'lower'),
  groupIds,
];
const read = (raw: string) => readQuery(raw, table, { paged: true });

const zone = fc.oneof(
  fc.constant('Z'),
  fc
    .tuple(fc.constantFrom('+', '-'), fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
    .map(([sign, hours, minutes]) => `${sign}${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`),
);
const dateTime = fc
  .tuple(
    fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }),
    fc.stringMatching(/^(\.[0-9]{1,7})?$/),
    zone,
  )
  .map(([ms, fraction, z]) => `${new Date(ms).toISOString().slice(0, 19)}${fraction}${z}`);

suite('readQuery', () => {
  test('the canonical form of any query is read as the same query', () => {
    fc.assert(
      fc.property(
        fc.record(
          {
            since: dateTime,
            assessed_from: dateTime,
            subject: fc.array(fc.constantFrom('digital', 'english', 'maths'), { minLength: 1 }),
            group_id: fc.array(fc.uuid(), { minLength: 1, maxLength: 20 }),
            learner_ref: fc.stringMatching(/^[A-Za-z][A-Za-z/:.-]{0,99}$/),
          },
          { requiredKeys: [] },
        ),
        (given) => {
          const raw = Object.entries(given)
            .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
            .join('&');
          const parsed = read(raw);
          const again = read(parsed.canonical);
          assert.equal(again.canonical, parsed.canonical);
          assert.deepEqual(again.values, parsed.values);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('anything at all is read or refused with a code of its own', () => {
    fc.assert(
      fc.property(fc.webQueryParameters(), (raw) => {
        try {
          read(raw);
        } catch (error) {
          assert.equal((error as { status?: number }).status, 400);
        }
      }),
    );
  });
});

suite('a list of whole numbers', () => {
  test('a number is one however it is written, and there are as many as may be', () => {
    const { parse } = some('buckets', '', wholeNumber(0, 9), { max: 2 });
    assert.deepEqual(parse(['5,05', '1']).value, [1, 5]);
    for (const [values, message] of [
      [['1,2,3'], /^buckets has too many values\. Send at most/],
      [['10'], /^buckets has a value that is not allowed\. Send at most/],
      [['-1'], /^buckets is malformed\. Send at most/],
      [['1.0'], /^buckets is malformed\. Send at most/],
      [['1,'], /^buckets\[1\] has no value\. Send a whole number/],
      [['1', '10'], /^buckets\[1\] has a value that is not allowed\. Send a whole number/],
    ] as const)
      assert.throws(() => parse([...values]), { code: 'invalid_buckets', message });
  });
});

suite('splitQuery', () => {
  test('decodes once, gathers repeated keys, and takes + for a space', () => {
    assert.deepEqual(
      [...splitQuery('a=1&b=%252C&a=2+3&&c&d=')],
      [
        ['a', ['1', '2 3']],
        ['b', ['%2C']],
        ['c', ['']],
        ['d', ['']],
      ],
    );
  });
});

suite('readLimit', () => {
  test("clamps, and takes the default for anything that isn't one integer", () => {
    for (const [given, limit] of [
      [undefined, 100],
      [['7'], 7],
      [['0'], 1],
      [['-9'], 1],
      [['501'], 500],
      [['007'], 7],
      [['1e3'], 100],
      [['999999999999999'], 500],
      [['9'.repeat(400)], 500],
      [[`-${'9'.repeat(400)}`], 1],
      [['1', '2'], 100],
      [[' 1'], 100],
    ] as const) {
      assert.equal(readLimit(given as string[] | undefined), limit, String(given));
    }
  });
});
