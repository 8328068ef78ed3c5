import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { suite, test } from 'node:test';
import type { ImportCounts, ImportOptions } from '../../../src/records/import/file.ts';
import { importFile } from '../../../src/records/import/file.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import type { TestOrganisation } from '../../support/service.ts';
import { withService } from '../../support/service.ts';

const ars = new URL('../../../cli/ars.ts', import.meta.url).pathname;

type Result = { learner: { ref: string | null; full_name: string }; [field: string]: unknown };

const result = (n: number, more: object = {}): Result => ({
  assessment_id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  learner: { ref: n % 5 === 0 ? null : `L-${n % 700}`, full_name: `Learner ${n % 700}` },
  assessed_at: '2026-01-15T10:00:00Z',
  subject: 'maths',
  framework: 'F',
  rqf_level: 'Level 1',
  rqf_level_code: 2,
  below_level_1: false,
  ...more,
});
const results = (count: number) => Array.from({ length: count }, (_, n) => result(n));
const ndjson = (lines: unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

suite('files of results', async () => {
  const service = await withService({ own: 'Counts the rows of the whole database.' });

  const importing = (org: TestOrganisation, text: string, options: Partial<ImportOptions> = {}) =>
    importFile(service.app, Readable.from([Buffer.from(text)]), {
      organisationId: org.id,
      organisationPublicId: org.publicId,
      events: false,
      actor: 'test',
      format: 'ndjson',
      onRejected: () => {},
      onProgress: () => {},
      ...options,
    });

  /** Everything that is stored, counted by table, and the feed's place. */
  async function stored(): Promise<unknown> {
    const tables = await service.app.db.query<{ name: string }>(
      `select table_name as name from information_schema.columns where column_name = 'organisation_id' order by 1`,
    );
    const counts = tables.map(({ name }) => `select '${name}' as name, count(*) as rows from "${name}"`);
    return [await service.app.db.query(counts.join(' union all ')), await service.app.db.query('select * from feed')];
  }

  async function heldBy(org: TestOrganisation): Promise<{ results: number; learners: number; fed: number }> {
    const [row] = await service.app.db.query<{ results: number; learners: number; fed: number }>(
      `select (select count(*) from assessment where organisation_id = $1) as results,
              (select count(*) from learner where organisation_id = $1) as learners,
              (select count(distinct position) from assessment_feed where organisation_id = $1) as fed`,
      [org.id],
    );
    return row!;
  }

  test('a dry run tells what a real one does, across batches, and writes nothing', async () => {
    const org = await service.organisation();
    const group = (n: number) => ({ type: 'cohort', ref: `G-${n}`, name: `Group ${n}` });
    const perRecord = limits.groupsPerProvisioning;
    const groups = (from: number) => Array.from({ length: perRecord }, (_, n) => group(from + n));
    const nearlyAll = Array.from({ length: limits.groupsPerOrganisation / perRecord - 1 }, (_, n) =>
      result(9001 + n, { learner: { ref: 'full', full_name: 'Max Roe' }, groups: groups(n * perRecord) }),
    );
    await importing(org, ndjson([...results(40), ...nearlyAll]));
    const lines = [
      'no JSON',
      ...results(limits.importBatch),
      // Again in a later batch: unchanged, amended, another learner's, and moved in time.
      result(3),
      result(1, { framework: 'G' }),
      result(2, { learner: { ref: 'L-1', full_name: 'Learner 1' } }),
      result(4, { assessed_at: '2026-01-16T10:00:00Z' }),
      result(6, { learner: { ref: 'L-6', full_name: 'Another Name' } }),
      ...Array.from({ length: perRecord + 3 }, (_, n) =>
        result(10_000 + n, { learner: { ref: `M-${n}`, full_name: 'Max Roe' }, groups: [group(1000 + n)] }),
      ),
      result(1, { framework: 'G' }),
    ];
    const told: string[][] = [[], []];
    const runs: ImportCounts[] = [];
    const before = await stored();
    for (const [i, dryRun] of [true, false].entries()) {
      const onRejected: ImportOptions['onRejected'] = ({ again }) => void told[i]!.push(again.toString());
      runs.push(await importing(org, ndjson(lines), { dryRun, onRejected, events: true }));
      if (dryRun) assert.deepEqual(await stored(), before);
    }
    assert.deepEqual(runs[0], runs[1]);
    assert.deepEqual(told[0], told[1]);
    const total = runs[0]!.imported + runs[0]!.updated + runs[0]!.unchanged + runs[0]!.rejected;
    assert.deepEqual([total, runs[0]!.rejected, runs[0]!.updated], [lines.length, 6, 2]);
  });

  test('a dry run keeps nobody waiting, and is of the moment at which it began', async () => {
    const org = await service.organisation();
    const group = { type: 'cohort', ref: 'G', name: 'A Group' };
    await importing(org, ndjson([result(1, { groups: [group] }), result(2), result(3)]));
    const first = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const lines = results(limits.importBatch + 10);
    async function* file() {
      yield Buffer.from(ndjson(lines.slice(0, -5)));
      await goOn.promise;
      yield Buffer.from(ndjson([...lines.slice(-5), result(1, { framework: 'G' }), result(1)]));
    }
    const rehearsing = importFile(service.app, Readable.from(file()), {
      organisationId: org.id,
      organisationPublicId: org.publicId,
      events: false,
      actor: 'test',
      format: 'ndjson',
      dryRun: true,
      onRejected: () => {},
      onProgress: () => first.resolve(),
    });
    await Promise.race([first.promise, rehearsing]);
    // The same learners and results, while the rehearsal has them changed already.
    assert.equal((await org.post('/learners', { ref: 'L-1', full_name: 'Another Name' })).status, 201);
    const [{ id }] = (await org.get('/groups')).body.data;
    assert.equal((await org.post(`/groups/${id}/members`, { learner_refs: ['L-2', 'L-3'] })).status, 200);
    assert.deepEqual(await importing(org, ndjson(lines.slice(0, 9))), {
      ...{ imported: 6, updated: 0, unchanged: 3, rejected: 0 },
    });
    goOn.resolve();
    const counts = await rehearsing;
    assert.deepEqual(counts, { imported: lines.length - 3, updated: 2, unchanged: 3, rejected: 0 });
    assert.equal((await heldBy(org)).results, 9);
  });

  test('two imports of one file at once: every result once, each counted as imported by one of them', async () => {
    const org = await service.organisation();
    const text = ndjson(results(2 * limits.importBatch + 100));
    const runs = await Promise.all([importing(org, text), importing(org, text)]);
    const count = 2 * limits.importBatch + 100;
    assert.equal(runs[0].imported + runs[1].imported, count);
    assert.equal(runs[0].unchanged + runs[1].unchanged, count);
    const held = await heldBy(org);
    assert.deepEqual([held.results, held.fed], [count, count]);
    assert.equal((await importing(org, text)).unchanged, count);
  });

  test('killed in the middle and run again: nothing twice, nothing lost', async () => {
    const org = await service.organisation();
    const lines = results(3 * limits.importBatch);
    const child = spawn(process.execPath, [ars, 'results', 'import', '--organisation', org.publicId, '-'], {
      env: { ...process.env, DATABASE_URL: service.databaseUrl, ARS_SECRET: service.app.settings.secret },
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    const ended = once(child, 'exit');
    child.stdin.on('error', () => {});
    // The third batch never fills, so that it can't end by itself.
    child.stdin.write(ndjson(lines.slice(0, -1)));
    while ((await heldBy(org)).results < limits.importBatch);
    child.kill('SIGKILL');
    assert.deepEqual(await ended, [null, 'SIGKILL']);
    const runs = [await importing(org, ndjson(lines)), await importing(org, ndjson(lines))];
    assert.ok(runs[0]!.unchanged >= limits.importBatch);
    assert.equal(runs[0]!.unchanged + runs[0]!.imported, lines.length);
    assert.equal(runs[1]!.unchanged, lines.length);
    const held = await heldBy(org);
    assert.deepEqual([held.results, held.fed], [lines.length, lines.length]);
    assert.equal(held.learners, new Set(lines.map(({ learner }, n) => learner.ref ?? n)).size);
  });
});
