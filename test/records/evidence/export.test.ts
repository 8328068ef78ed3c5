import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { exportEvidence } from '../../../src/records/evidence/export.ts';
import { parseLowerBound } from '../../../src/feed/time.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

suite('export', async () => {
  const service = await withService();
  const scene = await scenario(service);
  const ana = await scene.learner('ana', '../../Ana "Silva", née');
  const folders: string[] = [];
  const folder = async () => {
    const made = await mkdtemp(join(tmpdir(), 'ars-export-'));
    folders.push(made);
    return join(made, 'evidence');
  };
  after(() => Promise.all(folders.map((one) => rm(one, { recursive: true, force: true }))));
  const since = parseLowerBound('2026-01-10T00:00:00Z')!;
  const results = [];
  for (const day of ['09', '10', '11', '11', '12'])
    results.push(await ana.completes({ assessed_at: `2026-01-${day}T00:00:00.000Z` }));
  const ids = results.slice(1).map((result) => result.id);
  const run = (
    out: string,
    signal = new AbortController().signal,
    onProgress = (_done: number, _total: number) => {},
  ) => exportEvidence(service.app, scene.org.id, since, out, onProgress, signal);
  const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

  test('a file for each result, named by its id, and a manifest that fits', async () => {
    const out = await folder();
    const told: [number, number][] = [];
    assert.deepEqual(await run(out, undefined, (done, total) => told.push([done, total])), {
      exported: 4,
      unchanged: 0,
      withdrawn: [],
    });
    assert.deepEqual(told, [
      [1, 4],
      [2, 4],
      [3, 4],
      [4, 4],
    ]);
    assert.deepEqual(
      (await readdir(out)).sort(),
      [...ids.map((id) => `${id}.pdf`), 'manifest.csv', 'manifest.json'].sort(),
    );
    const manifest = JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8'));
    assert.deepEqual(manifest.map((entry: any) => entry.assessment_id).sort(), [...ids].sort());
    assert.deepEqual(
      manifest.map((entry: any) => entry.assessed_at),
      ['2026-01-10T00:00:00.000Z', '2026-01-11T00:00:00.000Z', '2026-01-11T00:00:00.000Z', '2026-01-12T00:00:00.000Z'],
    );
    for (const { assessment_id: id, file, sha256: hash, bytes } of manifest) {
      const there = await readFile(join(out, file));
      assert.deepEqual([file, sha256(there), there.length], [`${id}.pdf`, hash, bytes]);
      assert.equal((await scene.org.get(`/assessments/${id}`)).body.data.report_sha256, hash);
      assert.equal((await stat(join(out, file))).mode & 0o077, 0, 'nobody else may read it');
    }
    const [head, ...lines] = (await readFile(join(out, 'manifest.csv'), 'utf8')).trimEnd().split('\n');
    assert.equal(head, 'assessment_id,assessed_at,file,sha256,bytes');
    assert.deepEqual(
      lines,
      manifest.map((entry: any) => Object.values(entry).join(',')),
    );
    assert.ok(!JSON.stringify(manifest).includes('Ana'), 'no name outside the files');
  });

  test('run again it writes nothing; a damaged or missing file is written anew', async () => {
    const out = await folder();
    await run(out);
    const manifest = await readFile(join(out, 'manifest.json'), 'utf8');
    const [damaged, missing, kept] = ids.map((id) => join(out, `${id}.pdf`)) as [string, string, string];
    await utimes(kept, 1, 1);
    assert.deepEqual(await run(out), { exported: 0, unchanged: 4, withdrawn: [] });
    await writeFile(damaged, 'damaged');
    await rm(missing);
    assert.deepEqual(await run(out), { exported: 2, unchanged: 2, withdrawn: [] });
    assert.equal((await stat(kept)).mtimeMs, 1000);
    assert.equal(await readFile(join(out, 'manifest.json'), 'utf8'), manifest);
  });

  test('stopped in the middle it leaves whole files and no manifest, and continues', async () => {
    const out = await folder();
    const stopping = new AbortController();
    assert.deepEqual(
      await run(out, stopping.signal, (done) => {
        if (done === 2) stopping.abort();
      }),
      { exported: 2, unchanged: 0, withdrawn: [] },
    );
    assert.ok(!(await readdir(out)).includes('manifest.json'));
    assert.deepEqual(await run(out), { exported: 2, unchanged: 2, withdrawn: [] });
    assert.deepEqual(
      (await readdir(out)).filter((name) => name.endsWith('.part')),
      [],
    );
  });

  test('an amendment replaces the file; a withdrawal takes it off the manifest and is named', async () => {
    const other = await scenario(service);
    const bea = await other.learner('bea');
    const [amended, withdrawn] = [await bea.completes(), await bea.completes()];
    const out = await folder();
    const runOther = () => exportEvidence(service.app, other.org.id, 0, out, () => {}, new AbortController().signal);
    await runOther();
    const before = await readFile(join(out, `${amended.id}.pdf`));
    await amended.isAmended({ framework: 'Amended' });
    await withdrawn.isWithdrawn();
    assert.deepEqual(await runOther(), { exported: 1, unchanged: 0, withdrawn: [`${withdrawn.id}.pdf`] });
    assert.ok(!(await readFile(join(out, `${amended.id}.pdf`))).equals(before));
    assert.deepEqual(
      JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8')).map((entry: any) => entry.assessment_id),
      [amended.id],
    );
  });

  test('files of another organisation in the folder are left alone and not called withdrawn', async () => {
    const [first, second] = [await scenario(service), await scenario(service)];
    await (await (await first.learner('dee')).completes()).readReport();
    await (await second.learner('eve')).completes();
    const out = await folder();
    const runFor = (orgId: number) =>
      exportEvidence(service.app, orgId, 0, out, () => {}, new AbortController().signal);
    await runFor(first.org.id);
    assert.deepEqual(await runFor(second.org.id), { exported: 1, unchanged: 0, withdrawn: [] });
    assert.equal((await readdir(out)).filter((name) => name.endsWith('.pdf')).length, 2);
  });

  test('a manifest of an earlier export does not outlive the beginning of another one', async () => {
    const out = await folder();
    await run(out);
    const stopping = new AbortController();
    await run(out, stopping.signal, (done) => {
      if (done === 1) stopping.abort();
    });
    assert.deepEqual(
      (await readdir(out)).filter((name) => name.endsWith('.csv') || name.endsWith('.json')),
      [],
    );
    await run(out);
    assert.ok((await readdir(out)).includes('manifest.csv'));
  });

  test('a second export into the same folder at once is refused, and the first one is whole', async () => {
    const out = await folder();
    let second: Promise<unknown> | undefined;
    const first = await run(out, undefined, () => {
      second ??= run(out).then(
        () => 'ran',
        (error: Error) => error.message,
      );
    });
    assert.match(String(await second), /^another export is writing into /);
    assert.deepEqual(first, { exported: 4, unchanged: 0, withdrawn: [] });
    assert.deepEqual(
      (await readdir(out)).sort(),
      [...ids.map((id) => `${id}.pdf`), 'manifest.csv', 'manifest.json'].sort(),
    );
  });

  test('nothing to export is an empty manifest', async () => {
    const empty = await scenario(service);
    const out = await folder();
    assert.deepEqual(await exportEvidence(service.app, empty.org.id, 0, out, () => {}, new AbortController().signal), {
      exported: 0,
      unchanged: 0,
      withdrawn: [],
    });
    assert.deepEqual(JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8')), []);
    assert.equal(await readFile(join(out, 'manifest.csv'), 'utf8'), 'assessment_id,assessed_at,file,sha256,bytes\n');
  });

  test('more than a page of results, many at the same instant, each once', async () => {
    const crowd = await scenario(service);
    const cai = await crowd.learner('cai');
    const { recordResults } = await import('../../support/scenario.ts');
    const all = await service.withUnitOfWork((work) =>
      recordResults(
        work,
        crowd.org.id,
        Array.from({ length: 205 }, (_, i) => ({
          ref: cai.ref,
          assessed_at: i < 150 ? '2026-01-15T10:00:00Z' : '1969-01-15T10:00:00Z',
        })),
      ),
    );
    const out = await folder();
    assert.deepEqual(
      await exportEvidence(service.app, crowd.org.id, -(10 ** 16), out, () => {}, new AbortController().signal),
      { exported: 205, unchanged: 0, withdrawn: [] },
    );
    const listed = JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8')).map(
      (entry: any) => entry.assessment_id,
    );
    assert.deepEqual([...listed].sort(), [...all].sort());
  });
});
