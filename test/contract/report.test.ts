import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite, test } from 'node:test';
import { assertPrivate, assertRateHeaders, assertRefused } from './support/expect.ts';
import { contractTarget } from './support/target.ts';

const target = await contractTarget();
const {
  data: [listed],
} = (await target.get('/assessments?status=completed&sort=assessed_at&limit=1')).body;
const path = `/assessments/${listed.assessment_id}/report.pdf`;

suite('GET /assessments/{id}/report.pdf', () => {
  test('200: a PDF whose hash is told by the header and by the assessment', async () => {
    const answer = await target.get(path);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers['content-type'], 'application/pdf');
    assert.equal(answer.bytes.toString('latin1', 0, 5), '%PDF-');
    const sha256 = createHash('sha256').update(answer.bytes).digest('hex');
    assert.equal(answer.headers['x-report-sha256'], sha256);
    assert.equal((await target.get(`/assessments/${listed.assessment_id}`)).body.data.report_sha256, sha256);
    assertPrivate(answer);
    assertRateHeaders(answer);
  });

  test('200: the same bytes each time, also at once', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, () => target.get(path)));
    for (const answer of all) assert.ok(answer.bytes.equals(all[0]!.bytes));
  });

  test('200: the address that the assessment names', async () => {
    assert.ok(new URL(listed.evidence_pack_url).pathname.endsWith(`/api/v1${path}`));
  });

  test('200: HEAD', async () => {
    const [head, get] = [await target.api('HEAD', path), await target.get(path)];
    assert.equal(head.status, 200);
    assert.equal(head.bytes.length, 0);
    assert.equal(head.headers['content-length'], String(get.bytes.length));
    assert.equal(head.headers['x-report-sha256'], get.headers['x-report-sha256']);
  });

  test('206: a range', async () => {
    const whole = (await target.get(path)).bytes;
    for (const [range, from, to] of [
      ['bytes=0-3', 0, 3],
      ['bytes=5-', 5, whole.length - 1],
      ['bytes=-7', whole.length - 7, whole.length - 1],
      [`bytes=2-${whole.length + 9}`, 2, whole.length - 1],
    ] as const) {
      const answer = await target.get(path, { range });
      assert.equal(answer.status, 206, range);
      assert.ok(answer.bytes.equals(whole.subarray(from, to + 1)), range);
      assert.equal(answer.headers['content-range'], `bytes ${from}-${to}/${whole.length}`);
    }
  });

  test('304: unchanged', async () => {
    const { etag } = (await target.get(path)).headers;
    const answer = await target.get(path, { 'if-none-match': etag! });
    assert.equal(answer.status, 304);
    assert.equal(answer.bytes.length, 0);
  });

  test('400: unknown parameter', async () =>
    assertRefused(await target.get(`${path}?download=1`), 400, 'unknown_parameter'));

  test('404: unknown', async () =>
    assertRefused(await target.get('/assessments/00000000-0000-4000-8000-000000000000/report.pdf'), 404, 'not_found'));

  test(
    "the first read of an imported result's report is a change, the second isn't",
    { skip: target.local === null && 'needs a result of its own' },
    async () => {
      const result = await target.local!.learners[1]!.completes({
        assessment_id: '6512bd43-d9ca-46e0-a5f4-1a2b3c4d5e6f',
      });
      const before = (await result.read()).body.data;
      const learnerBefore = await target.local!.learners[1]!.read();
      assert.equal(before.report_sha256, null);
      const feed = (await target.get('/assessments')).headers.etag;
      await result.readReport();
      const after = (await result.read()).body.data;
      assert.match(after.report_sha256, /^[0-9a-f]{64}$/);
      assert.ok(after.updated_at > before.updated_at);
      assert.ok((await target.local!.learners[1]!.read()).updated_at > learnerBefore.updated_at);
      const changed = (await target.get('/assessments')).headers.etag;
      assert.notEqual(changed, feed);
      await result.readReport();
      assert.deepEqual((await result.read()).body.data, after);
      assert.equal((await target.get('/assessments')).headers.etag, changed);
    },
  );
});
