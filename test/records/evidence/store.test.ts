import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { buildDocument } from '../../../src/records/evidence/document.ts';
import { editionBytes, vouch } from '../../../src/records/evidence/verify.ts';
import { readReport } from '../../../src/records/evidence/store.ts';
import { updateOrganisation } from '../../../src/organisations/organisations.ts';
import { scenario } from '../../support/scenario.ts';
import type { Result, Scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

type Stored = { edition: number; sha256: string; renderer: string; input: string; bytes: number };

suite('stored reports', async () => {
  const service = await withService();
  const scene = await scenario(service);
  const ana = await scene.learner('ana', 'Ana Silva');

  const editionsOf = (result: Result, of: Scenario = scene) =>
    service.app.db.query<Stored>(
      'select edition, sha256, renderer, input, length(pdf) as bytes from evidence where organisation_id = $1 and assessment_id = $2 order by edition',
      [of.org.id, result.id],
    );
  const shown = async (result: Result) => (await result.read()).body.data;

  test('the first read stores the report and stamps result and learner; later reads change nothing', async () => {
    const result = await ana.completes();
    const before = await shown(result);
    const learnerBefore = await ana.read();
    assert.equal(before.report_sha256, null);
    const first = await result.readReport();
    const after = await shown(result);
    assert.equal(after.report_sha256, first.headers['x-report-sha256']);
    assert.ok(after.updated_at > before.updated_at);
    assert.ok((await ana.read()).updated_at > learnerBefore.updated_at);
    const etag = (await scene.org.get('/assessments')).headers.etag;
    assert.ok((await result.readReport()).bytes.equals(first.bytes));
    assert.deepEqual(await shown(result), after);
    assert.equal((await scene.org.get('/assessments')).headers.etag, etag);
    assert.deepEqual(
      (await editionsOf(result)).map(({ edition, sha256, bytes }) => [edition, sha256, bytes]),
      [[1, after.report_sha256, first.bytes.length]],
    );
  });

  test('a follower of the feed learns of the first report', async () => {
    const result = await ana.completes();
    const follower = scene.follow();
    await follower.poll();
    await result.readReport();
    assert.deepEqual(await follower.poll(), ['ana maths: completed']);
    await follower.assertConverged();
  });

  test('the stored bytes are served ever after: new name of the learner, of the organisation, another address, another renderer', async () => {
    const other = await scenario(service);
    const bea = await other.learner('bea', 'Bea Before');
    const result = await bea.completes();
    const first = await result.readReport();
    await bea.isCalled('Bea Afterwards');
    await service.withUnitOfWork((work) =>
      updateOrganisation(work, other.org.id, { name: 'College With Another Name' }),
    );
    await service.app.db.query("update evidence set renderer = 'of another time' where organisation_id = $1", [
      other.org.id,
    ]);
    const sibling = await service.sibling({ settings: { ARS_BASE_URL: 'https://elsewhere.example.org' } });
    for (const client of [other.org, sibling.client(other.org.key)]) {
      const again = await client.get(`/assessments/${result.id}/report.pdf`);
      assert.ok(again.bytes.equals(first.bytes));
      assert.equal(again.headers['x-report-sha256'], first.headers['x-report-sha256']);
    }
    assert.equal((await editionsOf(result, other)).length, 1);
    assert.equal((await shown(result)).learner.full_name, 'Bea Afterwards');
    await sibling.stop();
  });

  test('first readers at once, in two processes, make one edition and get the same bytes', async () => {
    const sibling = await service.sibling();
    const result = await ana.completes();
    const path = `/assessments/${result.id}/report.pdf`;
    const there = sibling.client(scene.org.key);
    const answers = await Promise.all(
      [scene.org, there, scene.org, there, scene.org, there].map((client) => client.get(path)),
    );
    for (const answer of answers) assert.ok(answer.status === 200 && answer.bytes.equals(answers[0]!.bytes));
    assert.equal((await editionsOf(result)).length, 1);
    assert.equal((await shown(result)).report_sha256, answers[0]!.headers['x-report-sha256']);
    await sibling.stop();
  });

  test('an amended result has no report until the next read makes a new edition; the auditor gets the older one by its hash', async () => {
    const result = await ana.completes();
    const first = await result.readReport();
    await result.isAmended({ framework: 'An amended framework' });
    assert.equal((await shown(result)).report_sha256, null);
    const second = await result.readReport();
    const [old, now] = [first.headers['x-report-sha256']!, second.headers['x-report-sha256']!];
    assert.notEqual(now, old);
    assert.equal((await shown(result)).report_sha256, now);
    assert.deepEqual(
      (await editionsOf(result)).map(({ edition, sha256 }) => [edition, sha256]),
      [
        [1, old],
        [2, now],
      ],
    );
    assert.ok((await editionBytes(service.app, scene.org.id, old))!.equals(first.bytes));
    assert.deepEqual(
      [(await vouch(service.app, old)).verdict, (await vouch(service.app, now)).verdict],
      ['superseded', 'current'],
    );
  });

  test('amended there and back again, it is a third edition and not the first', async () => {
    const result = await ana.completes();
    const { framework } = await shown(result);
    const first = await result.readReport();
    await result.isAmended({ framework: 'For a while' });
    await result.readReport();
    await result.isAmended({ framework });
    const third = await result.readReport();
    assert.ok(!third.bytes.equals(first.bytes), 'the number of the edition stands on the page');
    assert.deepEqual(
      (await editionsOf(result)).map(({ edition }) => edition),
      [1, 2, 3],
    );
  });

  /** The organisation's app, in which something happens just before the first transaction: while a report is made. */
  function interrupted(happens: () => Promise<unknown>) {
    let happened: Promise<unknown> | null = null;
    const { db } = service.app;
    return {
      ...service.app,
      db: {
        ...db,
        async transaction<T>(...given: Parameters<typeof db.transaction<T>>) {
          await (happened ??= happens());
          return db.transaction(...given);
        },
      },
    };
  }

  test('amended while it is made, the report is of the amended result', async () => {
    const result = await ana.completes();
    const app = interrupted(() => result.isAmended({ framework: 'Amended in between' }));
    const report = (await readReport(app, scene.org.id, result.id))!;
    const [only, ...others] = await editionsOf(result);
    assert.deepEqual(
      [only!.sha256, JSON.parse(only!.input).framework, others.length],
      [report.sha256, 'Amended in between', 0],
    );
  });

  test('amended there and back again while it is made, the report tells of both', async () => {
    const result = await ana.completes();
    const { framework } = await shown(result);
    const app = interrupted(async () => {
      await result.isAmended({ framework: 'For a moment' });
      await result.isAmended({ framework });
    });
    await readReport(app, scene.org.id, result.id);
    const [only, ...others] = await editionsOf(result);
    const told = JSON.parse(only!.input).amendments as { changes: { after: unknown }[] }[];
    assert.deepEqual(
      [told.map(({ changes }) => changes.map(({ after }) => after)), others.length],
      [[['For a moment'], [framework]], 0],
    );
  });

  test('an amended edition says when, why and what changed', async () => {
    const result = await ana.completes();
    await result.readReport();
    await result.isAmended({ framework: 'Framework of the amendment', needs_review: true });
    const second = await result.readReport();
    const [{ input }] = (await service.app.db.query<{ input: string }>('select input from evidence where sha256 = $1', [
      second.headers['x-report-sha256'],
    ])) as [{ input: string }];
    const table = buildDocument(JSON.parse(input)).blocks.find(
      (block) => block.kind === 'table' && block.caption.startsWith('What was changed'),
    );
    assert.ok(table?.kind === 'table');
    const [[when, why, what], ...others] = table.rows as [[string, string, string]];
    assert.equal(others.length, 0);
    assert.match(when, /^\d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d UTC$/);
    assert.equal(why, 'a scenario');
    assert.match(what, /^Framework: from .+ to Framework of the amendment; Needs review: from no to yes$/);
  });

  test('withdrawal empties every edition, and a process that had served it answers 404', async () => {
    const result = await ana.completes();
    const first = await result.readReport();
    await result.isAmended({ framework: 'Soon withdrawn' });
    await result.readReport();
    await result.isWithdrawn();
    await result.readReport(404);
    assert.deepEqual(
      (await editionsOf(result)).map((edition) => [edition.input, edition.bytes]),
      [
        [null, null],
        [null, null],
      ],
    );
    const old = first.headers['x-report-sha256']!;
    assert.equal(await editionBytes(service.app, scene.org.id, old), undefined);
    assert.equal((await vouch(service.app, old)).verdict, 'withdrawn');
  });

  test('withdrawn while it is made, nothing is stored', async () => {
    const result = await ana.completes();
    let withdrawn = false;
    const app = {
      ...service.app,
      db: {
        ...service.app.db,
        async transaction<T>(inside: Parameters<typeof service.app.db.transaction<T>>[0]) {
          if (!withdrawn) {
            withdrawn = true;
            await result.isWithdrawn();
          }
          return service.app.db.transaction(inside);
        },
      },
    };
    assert.equal(await readReport(app, scene.org.id, result.id), undefined);
    assert.deepEqual(await editionsOf(result), []);
  });

  test('another organisation has neither the report nor its editions', async () => {
    const result = await ana.completes();
    const { headers } = await result.readReport();
    const other = await scenario(service);
    assert.equal((await other.org.get(`/assessments/${result.id}/report.pdf`)).status, 404);
    assert.equal(await readReport(service.app, other.org.id, result.id), undefined);
    assert.equal(await editionBytes(service.app, other.org.id, headers['x-report-sha256']!), undefined);
  });

  test('the same result imported into two organisations of one name: each file stands for itself', async () => {
    const ids = ['8d3c1f6a-0b1e-4c57-9a55-2f1f3c6c7d10'];
    const twins = await Promise.all(
      [1, 2].map(async () => {
        const twin = await scenario(service);
        return (await twin.learner('zoe')).completes({ assessment_id: ids[0]! });
      }),
    );
    const [a, b] = await Promise.all(twins.map((twin) => twin.readReport()));
    assert.equal(a!.headers['x-report-sha256'], b!.headers['x-report-sha256']);
    await twins[0]!.isAmended({ framework: 'Amended in one' });
    assert.equal(
      (await vouch(service.app, a!.headers['x-report-sha256']!)).verdict,
      'current',
      'one of the two still stands',
    );
    await twins[1]!.isWithdrawn();
    assert.equal((await vouch(service.app, a!.headers['x-report-sha256']!)).verdict, 'superseded');
    await twins[1]!.readReport(404);
    await twins[0]!.readReport();
  });

  for (const deadly of ['feed.lock', 'assessment.set_report', 'evidence.insert', 'feed.move']) {
    test(`a process killed before ${deadly} leaves nothing, and the next read makes the first edition`, async () => {
      const result = await ana.completes();
      const before = await shown(result);
      const child = spawn(
        process.execPath,
        [fileURLToPath(new URL('./killed-reader.ts', import.meta.url)), String(scene.org.id), result.id, deadly],
        {
          env: { ...process.env, ...service.environment },
          stdio: ['ignore', 'inherit', 'inherit'],
        },
      );
      const [code, signal] = await once(child, 'exit');
      assert.deepEqual([code, signal], [null, 'SIGKILL']);
      assert.deepEqual(await editionsOf(result), []);
      assert.deepEqual(await shown(result), before);
      await result.readReport();
      assert.deepEqual(
        (await editionsOf(result)).map(({ edition }) => edition),
        [1],
      );
    });
  }
});
