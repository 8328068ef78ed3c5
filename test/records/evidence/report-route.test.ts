import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { ask } from '../../contract/support/client.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

/** Why a test is left out that looks through these programs, or false. */
function missing(...programs: string[]): string | false {
  for (const program of programs) {
    try {
      execFileSync('sh', ['-c', `command -v ${program}`]);
    } catch {
      return `${program} is not installed (Debian packages zbar-tools and poppler-utils)`;
    }
  }
  return false;
}

suite('the report over HTTP', async () => {
  const service = await withService();
  const scene = await scenario(service);
  const ana = await scene.learner('ana', 'Ana "quote"; filename=evil.exe \\ Ünïcode');
  const result = await ana.completes();
  const path = `/assessments/${result.id}/report.pdf`;
  const whole = await scene.org.get(path);
  const size = whole.bytes.length;
  const etag = whole.headers.etag!;

  test('every header of a whole file', () => {
    const sha256 = createHash('sha256').update(whole.bytes).digest('hex');
    assert.equal(whole.status, 200);
    assert.equal(whole.headers['content-type'], 'application/pdf');
    assert.equal(whole.headers['x-report-sha256'], sha256);
    assert.equal(etag, `"${sha256}"`, 'the ETag is strong: it stands for bytes');
    assert.equal(whole.headers['content-length'], String(size));
    assert.equal(whole.headers['accept-ranges'], 'bytes');
    assert.equal(whole.headers['cache-control'], 'private, no-cache');
  });

  test("the file name holds the result's id and nothing of the learner", () => {
    assert.equal(whole.headers['content-disposition'], `inline; filename="evidence-${result.id}.pdf"`);
  });

  test(
    'the code on the paper, the address under it and the link lead to the page that checks files',
    { skip: missing('zbarimg', 'pdftoppm', 'pdftotext') },
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'ars-paper-'));
      try {
        const [pdf, image] = [join(folder, 'report.pdf'), join(folder, 'page')];
        writeFileSync(pdf, whole.bytes);
        execFileSync('pdftoppm', ['-r', '150', '-f', '1', '-l', '1', '-singlefile', '-gray', pdf, image]);
        const address = `${service.app.settings.baseUrl}/verify`;
        assert.equal(
          execFileSync('zbarimg', ['--quiet', '--raw', `${image}.pgm`], {
            encoding: 'utf8',
            stdio: ['ignore', 'pipe', 'ignore'],
          }).trim(),
          address,
        );
        assert.ok(
          execFileSync('pdftotext', [pdf, '-'], { encoding: 'utf8' }).includes(address.replace(/^https?:\/\//, '')),
        );
        assert.equal((await ask(service.url, 'GET', new URL(address).pathname)).status, 200);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );

  test('If-None-Match: the ETag, its weak form, a list and * give 304 without a body; another gives the file', async () => {
    for (const held of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await scene.org.get(path, { 'if-none-match': held });
      assert.deepEqual(
        [answer.status, answer.bytes.length, answer.headers.etag, answer.headers['x-report-sha256']],
        [304, 0, etag, whole.headers['x-report-sha256']],
        held,
      );
      assert.ok(
        !('content-length' in answer.headers) || answer.headers['content-length'] === String(size),
        'a 304 never says that the file is empty',
      );
    }
    assert.equal((await scene.org.get(path, { 'if-none-match': '"other"' })).status, 200);
    assert.equal(
      (await scene.org.get(path, { 'if-none-match': etag, range: 'bytes=0-3' })).status,
      304,
      'the condition comes before the range',
    );
  });

  test('HEAD: the headers of GET without the body, whatever range is asked for', async () => {
    for (const headers of [{}, { range: 'bytes=0-3' }] as Record<string, string>[]) {
      const head = await scene.org.api('HEAD', path, { headers });
      assert.equal(head.status, 200);
      assert.equal(head.bytes.length, 0);
      for (const name of [
        'content-length',
        'content-type',
        'etag',
        'x-report-sha256',
        'content-disposition',
        'accept-ranges',
      ])
        assert.equal(head.headers[name], whole.headers[name], name);
    }
    assert.equal((await scene.org.api('HEAD', path, { headers: { 'if-none-match': etag } })).status, 304);
  });

  suite('one range', () => {
    for (const [name, range, from, to] of [
      ['the first bytes', 'bytes=0-3', 0, 4],
      ['one byte', 'bytes=0-0', 0, 1],
      ['the middle', 'bytes=1000-1999', 1000, 2000],
      ['from a place to the end', 'bytes=5-', 5, size],
      ['the last bytes', 'bytes=-7', size - 7, size],
      ['the last byte', `bytes=${size - 1}-`, size - 1, size],
      ['a suffix longer than the file', `bytes=-${size + 100}`, 0, size],
      ['an end beyond the end', `bytes=2-${size + 100}`, 2, size],
      ['an end beyond any number', `bytes=2-${'9'.repeat(400)}`, 2, size],
      ['the unit in capitals', 'BYTES=0-3', 0, 4],
    ] as const) {
      test(`206: ${name}`, async () => {
        const answer = await scene.org.get(path, { range });
        assert.equal(answer.status, 206);
        assert.ok(answer.bytes.equals(whole.bytes.subarray(from, to)));
        assert.equal(answer.headers['content-range'], `bytes ${from}-${to - 1}/${size}`);
        assert.equal(answer.headers['content-length'], String(to - from));
        assert.equal(answer.headers.etag, etag);
        assert.equal(
          answer.headers['x-report-sha256'],
          whole.headers['x-report-sha256'],
          'the hash is that of the whole file',
        );
      });
    }

    for (const [name, range] of [
      ['it begins beyond the end', `bytes=${size}-`],
      ['several', 'bytes=0-1,5-6'],
      ['backwards', 'bytes=5-3'],
      ['no bytes at the end', 'bytes=-0'],
      ['neither end', 'bytes=-'],
      ['another unit', 'lines=0-3'],
      ['no number', 'bytes=a-b'],
      ['not a range', 'everything'],
    ] as const) {
      test(`200 with the whole file: ${name}`, async () => {
        const answer = await scene.org.get(path, { range });
        assert.deepEqual(
          [answer.status, answer.headers['content-range'], answer.headers['content-length']],
          [200, undefined, String(size)],
        );
        assert.ok(answer.bytes.equals(whole.bytes));
      });
    }

    test('If-Range: the part while it is the same file, the whole of another one', async () => {
      assert.equal((await scene.org.get(path, { range: 'bytes=0-3', 'if-range': etag })).status, 206);
      for (const held of ['"other"', `W/${etag}`, 'Fri, 20 Nov 2026 10:00:00 GMT']) {
        assert.equal((await scene.org.get(path, { range: 'bytes=0-3', 'if-range': held })).status, 200, held);
      }
    });

    test('a download in parts is the file', async () => {
      const parts: Buffer[] = [];
      for (let from = 0; from < size; from += 4096)
        parts.push((await scene.org.get(path, { range: `bytes=${from}-${from + 4095}`, 'if-range': etag })).bytes);
      assert.ok(Buffer.concat(parts).equals(whole.bytes));
    });
  });

  test("404 alike for a result that never was, that was withdrawn, that is another organisation's, and for no id", async () => {
    const other = await scenario(service);
    const theirs = await (await other.learner('ana')).completes();
    await theirs.readReport();
    const withdrawn = await ana.completes();
    await withdrawn.readReport();
    await withdrawn.isWithdrawn();
    const texts = new Set<string>();
    for (const id of [theirs.id, withdrawn.id, '00000000-0000-4000-8000-000000000000', 'no-id', result.id.slice(1)]) {
      const answer = await scene.org.get(`/assessments/${id}/report.pdf`);
      assert.equal(answer.status, 404, id);
      assert.equal(answer.headers['x-report-sha256'], undefined);
      texts.add(answer.text);
    }
    assert.equal(texts.size, 1);
  });

  test('the id may be in capitals', async () => {
    assert.ok((await scene.org.get(path.replace(result.id, result.id.toUpperCase()))).bytes.equals(whole.bytes));
  });

  test("every read is in the audit log with the result's id", async () => {
    const [row] = await service.app.db.query<{ count: number }>(
      "select count(*) as count from audit where organisation_id = $1 and action = 'GET /assessments/{id}/report.pdf' and resource = $2 and status = 206",
      [scene.org.id, result.id],
    );
    assert.ok(row!.count > 10);
  });
});
