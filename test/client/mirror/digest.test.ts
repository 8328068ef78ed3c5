import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { bucketOf, checkOf, emptyDigest, plus, readDigest, sameDigest } from '../../../client/src/sync/digest.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { digestOf } from '../support/digest-service.ts';

const random = seededRandom('digest');
const results = Array.from({ length: 200 }, (_, i) => ({
  assessment_id: random.uuid(),
  updated_at: new Date(Math.floor(random.float() * 4e12) * (i === 0 ? 0 : 1)).toISOString(),
  status: 'completed',
}));
const rows = results.map(({ assessment_id, updated_at }) => ({ id: assessment_id, updated_at }));

suite('the digest', () => {
  test('is the sum of the first words of SHA-256, whatever the order', () => {
    for (const [i, row] of rows.entries()) {
      const [n, w1, w2] = digestOf([results[i]!]);
      assert.deepEqual(plus(emptyDigest, row, 1), { n, w1, w2 });
    }
    const [n, w1, w2] = digestOf(results);
    const sum = rows.toReversed().reduce((digest, row) => plus(digest, row, 1), emptyDigest);
    assert.deepEqual(sum, { n, w1, w2 });
    assert.deepEqual(
      rows.reduce((digest, row) => plus(digest, row, -1), sum),
      emptyDigest,
    );
  });

  test('takes rows that were damaged in and out again', () => {
    const broken = { id: 'nothing', updated_at: 'never' };
    assert.ok(sameDigest(plus(plus(emptyDigest, broken, 1), broken, -1), emptyDigest));
    assert.ok(Number.isInteger(bucketOf('nothing', 16)));
  });

  test('is read from its header, and nothing else is', () => {
    assert.deepEqual(readDigest('n=3;w1=4294967295;w2=0'), { n: 3, w1: 4_294_967_295, w2: 0 });
    for (const text of [null, '', 'n=3', 'n=-1;w1=1;w2=2', 'n=3;w1=1;w2=2;w3=3', 'w1=1;n=1;w2=2'])
      assert.equal(readDigest(text), null);
  });

  test('has buckets by the trailing bits of the id', () => {
    const id = '00112233-4455-6677-8899-aabbccddeeff';
    assert.equal(bucketOf(id, 16), 0xeeff);
    assert.equal(bucketOf(id, 4), 0xf);
    assert.equal(bucketOf(id, 20), 0xdeeff);
  });
});

test('the sum of a content is that of its fields in any order, and of nothing else', () => {
  const one = { a: 1, b: [{ c: null, d: 'é😀' }, 0.069], e: undefined };
  assert.equal(checkOf(one), checkOf({ b: [{ d: 'é😀', c: null }, 0.069], a: 1 }));
  for (const other of [{ ...one, a: 2 }, { ...one, b: [] }, { ...one, f: 1 }, { a: '1', b: one.b }, null, [one]])
    assert.notEqual(checkOf(one), checkOf(other));
});
