import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { mkdtemp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { ars, program } from '../../support/ars.ts';
import { recordResults, scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

suite('ars evidence', async () => {
  const service = await withService();
  const scene = await scenario(service);
  const result = await (await scene.learner('ana', 'Ana Silva')).completes();
  const first = await result.readReport();
  const hash = first.headers['x-report-sha256']!;
  const folder = await mkdtemp(join(tmpdir(), 'ars-evidence-'));
  after(() => rm(folder, { recursive: true, force: true }));
  const env = { ...process.env, ...service.environment };
  /** Without any way to a database: what works with it works offline. */
  const offline = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', ARS_SECRET: undefined };
  const run = (words: string[], environment: Record<string, string | undefined> = service.environment) =>
    ars(['evidence', ...words], environment);
  const file = join(folder, 'evidence with a space.pdf');
  await writeFile(file, first.bytes);
  const changed = join(folder, 'changed.pdf');
  await writeFile(changed, Buffer.concat([first.bytes, Buffer.from('\n')]));
  const audited = async () =>
    (
      await service.app.db.query<{ action: string; resource: string }>(
        "select action, resource from audit where organisation_id = $1 and actor = 'operator' order by audit_id",
        [scene.org.id],
      )
    ).map((row) => `${row.action}: ${row.resource}`);

  test('verify: a current file, 0', async () => {
    const { code, json } = await run(['verify', file, '--json']);
    assert.equal(code, 0);
    const { made_at: madeAt, ...rest } = json;
    assert.match(madeAt, /^\d{4}-\d\d-\d\dT.*Z$/);
    assert.deepEqual(rest, {
      sha256: hash,
      verdict: 'current',
      edition: 1,
      withdrawn_at: null,
      organisation_id: scene.org.publicId,
      assessment_id: result.id,
      reproducible: true,
    });
    const { out } = await run(['verify', file]);
    assert.match(out, /^Genuine and current: edition 1 of result .* makes the same bytes again\.\n$/s);
    assert.ok(!out.includes('Ana'));
  });

  test('verify: a changed file, 1', async () => {
    const { code, json } = await run(['verify', changed, '--json']);
    assert.deepEqual([code, json.verdict, json.assessment_id], [1, 'unknown', null]);
    assert.match((await run(['verify', changed])).out, /^Not vouched for/);
  });

  test('verify offline against a hash: 0, 1', async () => {
    assert.deepEqual(await run(['verify', '--sha256', hash.toUpperCase(), file, '--json'], offline), {
      code: 0,
      out: `{"sha256":"${hash}","verdict":"matches"}\n`,
      said: '',
      lines: [{ sha256: hash, verdict: 'matches' }],
      json: { sha256: hash, verdict: 'matches' },
    });
    const { code, json } = await run(['verify', '--sha256', hash, changed, '--json'], offline);
    assert.deepEqual([code, json.verdict], [1, 'differs']);
  });

  test("what can't be read is 1, what is misused is 2, each in one sentence", async () => {
    await Promise.all(
      (
        [
          [['verify', join(folder, 'none.pdf')], 1],
          [['verify', folder], 1],
          [['verify', '--sha256', hash, join(folder, 'none.pdf')], 1],
          [['verify', '--sha256', 'abc', file], 2],
          [['verify'], 2],
          [['verify', file, file], 2],
          [['verify', '--colour', file], 2],
          [['export', '--organisation', scene.org.publicId, '--out', folder], 2],
          [['export', '--organisation', scene.org.publicId, '--since', 'yesterday', '--out', folder], 2],
          [
            [
              'export',
              '--organisation',
              '00000000-0000-4000-8000-000000000000',
              '--since',
              '2026-01-01',
              '--out',
              join(folder, 'x'),
            ],
            1,
          ],
          [['export', '--organisation', scene.org.publicId, '--since', '2026-01-01', '--out', file], 1],
          [['edition', '--organisation', scene.org.publicId, '--out', join(folder, 'x.pdf'), 'f'.repeat(64)], 1],
          [['edition', '--organisation', scene.org.publicId, '--out', join(folder, 'x.pdf'), 'abc'], 2],
        ] as const
      ).map(async ([words, expected]) => {
        const { code, out, said } = await run([...words]);
        assert.deepEqual([code, out], [expected, ''], `${words.join(' ')}: ${said}`);
        assert.match(said, /^ars: [^\n]+\n$/, words.join(' '));
      }),
    );
  });

  test('edition: after an amendment the older file is written by its hash', async () => {
    await result.isAmended({ framework: 'Amended' });
    await result.readReport();
    const { code, json } = await run(['verify', file, '--json']);
    assert.deepEqual([code, json.verdict, json.edition], [0, 'superseded', 1]);
    const out = join(folder, 'older.pdf');
    assert.deepEqual(
      (await run(['edition', '--organisation', scene.org.publicId, '--out', out, hash, '--json'])).json,
      { file: out, bytes: first.bytes.length },
    );
    assert.ok((await readFile(out)).equals(first.bytes));
    assert.deepEqual((await audited()).slice(-1), [`evidence edition: ${hash}`]);
    const other = await service.organisation();
    assert.equal(
      (await run(['edition', '--organisation', other.publicId, '--out', join(folder, 'no.pdf'), hash])).code,
      1,
    );
  });

  test('export: killed in the middle it continues, and the log names it', async () => {
    const count = 150;
    await service.withUnitOfWork((work) =>
      recordResults(
        work,
        scene.org.id,
        Array.from({ length: count }, () => ({ ref: 'ana', assessed_at: '2026-03-01T10:00:00Z' })),
      ),
    );
    const out = join(folder, 'out');
    await mkdir(out);
    const words = ['export', '--organisation', scene.org.publicId, '--since', '2026-03-01', '--out', out, '--json'];
    const child = spawn(process.execPath, [program, 'evidence', ...words], { env, stdio: 'ignore' });
    const pdfs = async () => (await readdir(out)).filter((name) => name.endsWith('.pdf'));
    const watcher = watch(out, () => {
      void pdfs().then((there) => {
        if (there.length >= 20) child.kill('SIGKILL');
      });
    });
    const [, signal] = await once(child, 'exit');
    watcher.close();
    assert.equal(signal, 'SIGKILL');
    const there = await pdfs();
    assert.ok(there.length >= 20 && there.length < count, `${there.length} files`);
    assert.ok(!(await readdir(out)).includes('manifest.json'));
    const { code, json } = await run(words);
    assert.deepEqual(
      [code, json],
      [0, { exported: count - there.length, unchanged: there.length, withdrawn: [], complete: true }],
    );
    assert.deepEqual(
      (await readdir(out)).filter((name) => name.endsWith('.part')),
      [],
    );
    const manifest = JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8'));
    assert.equal(manifest.length, count);
    for (const { file: name, sha256 } of manifest)
      assert.equal(
        createHash('sha256')
          .update(await readFile(join(out, name)))
          .digest('hex'),
        sha256,
      );
    assert.deepEqual(
      (await audited()).slice(-2),
      Array(2).fill('evidence export: results since 2026-03-01T00:00:00.000Z'),
    );
    const again = await run(words);
    assert.deepEqual(again.json, { exported: 0, unchanged: count, withdrawn: [], complete: true });
    assert.match(
      (await run(words.filter((word) => word !== '--json'))).out,
      new RegExp(`^0 reports written, ${count} were there already.\nManifest: .*manifest.csv and manifest.json\n$`),
    );
  });

  test('export: stopped by a signal it says so and ends with 1', async () => {
    // More than can be rendered before the signal arrives; all but a few are never made.
    await service.withUnitOfWork((work) =>
      recordResults(
        work,
        scene.org.id,
        Array.from({ length: 500 }, () => ({ ref: 'ana', assessed_at: '2026-04-01T10:00:00Z' })),
      ),
    );
    const out = join(folder, 'stopped');
    await mkdir(out);
    const child = spawn(
      process.execPath,
      [program, 'evidence', 'export', '--organisation', scene.org.publicId, '--since', '2026-04-01', '--out', out],
      { env, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const watcher = watch(out, (_kind, name) => {
      if (name?.endsWith('.pdf') === true && !child.killed) child.kill('SIGTERM');
    });
    let text = '';
    for await (const chunk of child.stdout) text += chunk;
    watcher.close();
    if (child.exitCode === null) await once(child, 'exit');
    assert.equal(child.exitCode, 1);
    assert.match(text, /Stopped before the end: run the same command again to continue\./);
  });
});
