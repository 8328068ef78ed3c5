import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { chooseCoding } from '../../src/api/http/coding.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { assertList, assertPrivate } from './support/expect.ts';
import { contractTarget, freshRef } from './support/target.ts';

const target = await contractTarget();
const read = { zstd: zstdDecompressSync, br: brotliDecompressSync, gzip: gunzipSync };

suite('Accept-Encoding', () => {
  for (const [coding, decompress] of Object.entries(read)) {
    test(`${coding}: the same page, the same ETag, fewer bytes; HEAD tells the same headers`, async () => {
      const plain = await target.get('/assessments?limit=5');
      assertList(plain, 5);
      assert.equal(plain.headers['content-encoding'], undefined);
      assert.ok(plain.bytes.length > limits.compressFromBytes);
      const small = await target.get('/assessments?limit=5', { 'accept-encoding': coding });
      assert.equal(small.status, 200);
      assert.equal(small.headers['content-encoding'], coding);
      assert.equal(decompress(small.bytes).toString(), plain.text);
      assert.ok(small.bytes.length < plain.bytes.length / 2);
      assert.equal(small.headers['content-length'], String(small.bytes.length));
      assertPrivate(small);
      for (const name of ['content-type', 'etag', 'link', 'x-sync-through'])
        assert.equal(small.headers[name], plain.headers[name], name);
      const head = await target.api('HEAD', '/assessments?limit=5', { headers: { 'accept-encoding': coding } });
      assert.equal(head.text, '');
      for (const name of ['content-encoding', 'content-length', 'content-type', 'etag', 'vary'])
        assert.equal(head.headers[name], small.headers[name], name);
    });
  }

  test('the digest is compressed, too', async () => {
    const [plain, small] = await Promise.all([
      target.get('/assessments/digest?bits=10'),
      target.get('/assessments/digest?bits=10', { 'accept-encoding': 'gzip' }),
    ]);
    assert.equal(small.headers['content-encoding'], 'gzip');
    assert.equal(gunzipSync(small.bytes).toString(), plain.text);
  });

  test('304: the ETag of any coding matches in any other', async () => {
    const { etag } = (await target.get('/assessments?limit=5', { 'accept-encoding': 'gzip' })).headers;
    for (const coding of ['identity', 'zstd', 'gzip']) {
      const headers = { 'accept-encoding': coding, 'if-none-match': etag! };
      for (let i = 0; i < 2; i++) {
        const answer = await target.get('/assessments?limit=5', headers);
        assert.equal(answer.status, 304);
        assert.equal(answer.headers['content-encoding'], undefined);
        assertPrivate(answer);
      }
    }
  });

  test('not a PDF, not a small reply, not a refusal, and not what holds a secret', async () => {
    const all = { 'accept-encoding': 'zstd, br, gzip' };
    const [{ assessment_id: id }] = (await target.get('/assessments?status=completed&limit=1')).body.data;
    const hook = {
      url: `https://portfolio.example.org/${freshRef('compressed').padEnd(limits.compressFromBytes, 'x')}`,
    };
    const registered = await target.post('/webhooks', hook, all);
    assert.equal(registered.status, 201, registered.text);
    await target.delete(`/webhooks/${registered.body.data.id}`);
    for (const answer of [
      registered,
      await target.get('/health', all),
      await target.get('/assessments?limit=501&foo=1', all),
      await target.get(`/assessments/${id}/report.pdf`, all),
      await target.get(`/assessments?assessed_to=1990-01-01T00:00:00Z`, all),
    ])
      assert.equal(answer.headers['content-encoding'], undefined);
  });

  test('what is liked best is chosen, of equals the cheapest, and none that is refused or unknown', () => {
    const cases: [header: string | undefined, coding: string | null][] = [
      [undefined, null],
      ['', null],
      ['*', null],
      ['identity', null],
      ['deflate', null],
      ['gzip, deflate, br, zstd', 'zstd'],
      ['gzip, deflate, br', 'br'],
      ['GZIP', 'gzip'],
      ['x-gzip', 'gzip'],
      ['gzip;q=1.0, br;q=0.5', 'gzip'],
      ['zstd;q=0, br;q=0.000, gzip;q=0.001', 'gzip'],
      ['gzip;q=0', null],
      ['gzip;q=nonsense', null],
      ['gzip;q=0.5, identity;q=0.8', null],
      ['gzip;q=0.5, identity;q=0.5', 'gzip'],
      ['gzip, identity', 'gzip'],
      ['gzip; q=0.5 , br ;q=0.7', 'br'],
    ];
    for (const [header, coding] of cases) assert.equal(chooseCoding(header), coding, String(header));
  });
});
