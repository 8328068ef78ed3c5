import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import type { UnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { importRuns, keepImport, pruneImports, dryRunImport } from '../../../src/records/import/run.ts';
import { suspendOrganisation } from '../../../src/governance/offboarding/suspend.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { personOf } from '../../web/console/visitor.ts';
import { withService } from '../../support/service.ts';

/** Imports that somebody looks at before they are made, as the console has them. */

const service = await withService({ own: 'Runs the imports of all organisations.' });
const { app } = service;
const { db } = app;
const org = await service.organisation();
const owner = await personOf(service, org.id, 'owner');
const base = `/console/${org.publicId}/results/import`;
const head = 'learner_ref,learner_full_name,assessed_at,subject,framework,rqf_level,rqf_level_code,below_level_1';
const line = (ref: string, name: string, date = '31/01/2026 09:30', code = '2') =>
  `${ref},${name},${date},maths,F,Level 1,${code},false`;

async function tried(rows: string, more: Record<string, string> = {}): Promise<{ runId: string; text: string }> {
  const answer = await owner.post(base, { rows, dates: 'uk', once: app.random.uuid(), ...more });
  assert.equal(answer.status, 303, answer.text.slice(0, 500));
  const path = answer.headers.location!;
  return { runId: path.split('/').at(-1)!, text: (await owner.get(path)).text };
}

const counted = (text: string) =>
  Object.fromEntries([...text.matchAll(/<dt>([^<]+)<\/dt><dd>([\d,]+)<\/dd>/g)].map((match) => [match[1], match[2]]));
const resultsOf = async (ref: string) => (await org.get(`/assessments?learner_ref=${ref}`)).body.data.length;

async function imported(runId: string) {
  assert.equal((await owner.post(`${base}/${runId}/start`)).status, 303);
  await importRuns.run(app);
  return (await importRuns.find(db, org.id, runId))!;
}

suite('an import in the console', () => {
  test('few files are tried at once, so that other pages have connections; the others are told to come again', async () => {
    const rows = [head, ...Array.from({ length: 500 }, (_, i) => line(`t-${i}`, 'Tea Lee'))].join('\n');
    const post = () => owner.post(base, { rows, dates: 'uk', once: app.random.uuid() });
    const answers = await Promise.all(Array.from({ length: 8 }, post));
    const busy = answers.filter((answer) => /Too many files are being checked/.test(answer.text));
    assert.ok(busy.length > 0 && busy.length <= 6, `${busy.length} of 8`);
    assert.ok(busy.every((answer) => answer.status === 429));
    for (const answer of answers) assert.ok(answer.status === 303 || busy.includes(answer), answer.text);
    assert.equal((await post()).status, 303);
    await db.query('delete from background_job where organisation_id = $1', [org.id]);
  });

  test('every fault by line and column, in numbers, before anything is written', async () => {
    const secret = 'AB 12 34 56 C';
    const { runId, text } = await tried(
      [
        head,
        line('a-1', 'Ana Silva'),
        line('b-1', `Ben ${secret}`),
        line('c-1', 'Chi', '2026-13-41'),
        line('d-1', 'Dan', '31/01/2026', '9'),
      ].join('\n'),
    );
    assert.deepEqual(counted(text), {
      'New results': '1',
      'Results that change': '0',
      'Unchanged results, skipped': '0',
      'Lines with faults, skipped': '3',
    });
    for (const [at, column] of [
      [3, 'learner_full_name'],
      [4, 'assessed_at'],
      [5, 'rqf_level_code'],
    ])
      assert.match(text, new RegExp(`data-head="Line"><span>${at}</span></th><td data-head="Column"><span>${column}<`));
    assert.ok(!text.includes(secret));
    assert.equal(await resultsOf('a-1'), 0);
    const kept = await db.query<{ record: string; faults: string }>(
      `select r.record, i.progress::text as faults from background_job i join import_run_row r on r.organisation_id = i.organisation_id and r.run_id = i.job_id`,
    );
    assert.equal(kept.length, 1, 'what was refused is kept nowhere');
    const run = await imported(runId);
    assert.deepEqual([run.status, run.imported, run.rejected, run.faulty], ['finished', 1, 0, 3]);
    assert.equal(await resultsOf('a-1'), 1);
    assert.deepEqual(await db.query('select from import_run_row'), []);
    const again = await tried([head, line('a-1', 'Ana Silva')].join('\r\n'));
    assert.equal(counted(again.text)['Unchanged results, skipped'], '1');
    const acts = await db.query<{ action: string }>(
      'select action from audit where actor = $1 and resource = $2 order by audit_id',
      [owner.userId, runId],
    );
    assert.deepEqual(
      acts.map((row) => row.action),
      ['POST /console/results/import', 'POST /console/results/import/{import_id}/start'],
    );
  });

  test('what is no table says so, and nothing at all asks for something', async () => {
    for (const [rows, said] of [
      ['', /Choose a file, or paste/],
      ['name;age\nAna;17', /The? ?.*first line must name columns/],
      [head, /The file has no row to import/],
    ] as const) {
      const { status, text } = await owner.post(base, { rows, once: app.random.uuid() });
      assert.equal(status, 422);
      assert.match(text, said);
    }
  });

  test('pressed twice, it is one import; a cancelled one writes nothing more', async () => {
    const once = app.random.uuid();
    const rows = [head, line('e-1', 'Eve')].join('\n');
    const { runId } = await tried(rows, { once });
    assert.equal((await tried(rows, { once })).runId, runId);
    assert.equal((await owner.post(`${base}/${runId}/cancel`)).status, 303);
    const run = await imported(runId);
    assert.deepEqual([run.status, run.imported, await resultsOf('e-1')], ['cancelled', 0, 0]);
  });

  test('another file from the same form, which Back shows again, is another import', async () => {
    const once = app.random.uuid();
    const first = await tried([head, line('o-1', 'Ola')].join('\n'), { once });
    const second = await tried([head, line('o-2', 'Pia'), line('o-3', 'Quin')].join('\n'), { once });
    assert.equal(counted(second.text)['New results'], '2');
    await imported(second.runId);
    assert.deepEqual([await resultsOf('o-1'), await resultsOf('o-2')], [0, 1]);
    assert.equal((await importRuns.find(db, org.id, first.runId))!.status, 'draft');
  });

  test('whoever is erased is gone from what waits to be written, and a day later nothing waits any more', async () => {
    await imported((await tried([head, line('f-1', 'Fay Forgotten')].join('\n'))).runId);
    const { runId } = await tried(
      [
        head,
        line('f-1', 'Fay Forgotten', '01/02/2026'),
        line('', 'FAY Forgotten', '02/02/2026'),
        line('g-1', 'Gus'),
        line('g-2', 'Fay Forgotten'),
      ].join('\n'),
    );
    const [learner] = await db.query<{ learner_id: string }>("select learner_id from learner where ref = 'f-1'");
    await service.withUnitOfWork((work) => eraseLearner(work, org.id, learner!.learner_id, { actor: 'test' }));
    const left = await db.query<{ record: string }>('select record from import_run_row where run_id = $1', [runId]);
    assert.deepEqual(
      left.map(({ record }) => JSON.parse(record).learner.ref).sort(),
      ['g-1', 'g-2'],
      'somebody else of the same name stays',
    );
    const dayAgo = new Date(app.clock.nowMs() - 25 * 3_600_000);
    await db.query('update background_job set created_at = $2 where job_id = $1', [runId, dayAgo]);
    // Begun between being looked for and being ended.
    const old = await tried([head, line('h-1', 'Hal')].join('\n'));
    await db.query('update background_job set created_at = $2 where job_id = $1', [old.runId, dayAgo]);
    const begins: typeof db = {
      ...db,
      async transaction(inside, turn) {
        await db.query("update background_job set status = 'running' where job_id = $1", [old.runId]);
        return db.transaction(inside, turn);
      },
    };
    await pruneImports({ ...app, db: begins });
    assert.equal((await importRuns.find(db, org.id, old.runId))!.status, 'running');
    await importRuns.run(app);
    assert.deepEqual([(await importRuns.find(db, org.id, old.runId))!.status, await resultsOf('h-1')], ['finished', 1]);
    assert.deepEqual(await db.query('select from import_run_row where run_id = $1', [runId]), []);
    assert.equal((await importRuns.find(db, org.id, runId))!.status, 'cancelled');
  });

  test('what was begun and cannot be finished is kept for 30 days, suspended or not', async () => {
    const closed = await service.organisation();
    const person = await personOf(service, closed.id, 'owner');
    const { headers } = await person.post(`/console/${closed.publicId}/results/import`, {
      rows: [head, line('m-1', 'Mia')].join('\n'),
      dates: 'uk',
      once: app.random.uuid(),
    });
    const runId = headers.location!.split('/').at(-1)!;
    await db.query("update background_job set status = 'running' where job_id = $1", [runId]);
    await service.withUnitOfWork((work) => suspendOrganisation(work, closed.id, 'The contract ends'));
    const prunesAfter = async (ms: number) => {
      await pruneImports({ ...app, clock: { ...app.clock, nowMs: () => app.clock.nowMs() + ms } });
      await importRuns.run(app);
      return (await importRuns.find(db, closed.id, runId))!.status;
    };
    assert.equal(await prunesAfter(limits.importRunMs - 60_000), 'running');
    assert.equal(await prunesAfter(limits.importRunMs), 'cancelled');
    assert.deepEqual(await db.query('select from import_run_row where run_id = $1', [runId]), []);
    const acts = await db.query("select actor, resource from audit where action = 'results import overdue'");
    assert.deepEqual(acts, [{ actor: 'service', resource: `${runId}: cancelled after 0 lines` }]);
  });

  test('an import that ended says what of it was not written, and why where nobody here ended it', async () => {
    const page = async (runId: string) => (await owner.get(`${base}/${runId}`)).text;
    const rows = [head, line('p-1', 'Pam'), line('p-2', 'Pip'), line('p-3', 'Pat', '2026-13-41')].join('\n');
    const dropped = await tried(rows);
    await owner.post(`${base}/${dropped.runId}/cancel`);
    const overdue = await tried(rows);
    await db.query("update background_job set status = 'running', created_at = $2 where job_id = $1", [
      overdue.runId,
      new Date(app.clock.nowMs() - limits.importRunMs - 1),
    ]);
    await pruneImports(app);
    const restored = await tried(rows);
    await service.withUnitOfWork((work) => importRuns.cancelRestored(work, org.id, new Date(app.clock.nowMs() + 1)));
    for (const [{ runId }, why] of [
      [dropped, null],
      [overdue, '30 days after the check of the file, because lines contain names and results'],
      [restored, 'after a restore, because a line may contain a learner who was erased since the backup'],
    ] as const) {
      const text = await page(runId);
      const { Imported, 'Lines with faults, skipped': left, 'Not imported': not } = counted(text);
      assert.deepEqual([Imported, left, not], ['0', '1', '2']);
      assert.match(text, /the other lines are deleted/);
      assert.equal(/The service cancelled it (.*?)\./.exec(text)?.[1] ?? null, why);
    }
    await imported((await tried([head, line('q-1', 'Quy Gone')].join('\n'))).runId);
    const { runId } = await tried([head, line('q-1', 'Quy Gone', '01/02/2026'), line('q-2', 'Quo')].join('\n'));
    const [learner] = await db.query<{ learner_id: string }>("select learner_id from learner where ref = 'q-1'");
    await service.withUnitOfWork((work) => eraseLearner(work, org.id, learner!.learner_id, { actor: 'test' }));
    await imported(runId);
    const { Imported, 'Not imported, because the learner was erased': erased } = counted(await page(runId));
    assert.deepEqual([Imported, erased], ['1', '1']);
  });

  test('of very many faults the first are told, and the page says how many lines there are', async () => {
    const { runId } = await tried(
      [head, ...Array.from({ length: 3 }, (_, i) => line(`r-${i}`, `Rae ${i}`))].join('\n'),
    );
    const fault = { line: 1, field: 'the line', expected: 'one of those that are told', example: '' };
    const nearlyAll = Array.from({ length: limits.importFaultsShown - 1 }, () => fault);
    await db.query(
      `update background_job set progress = progress || jsonb_build_object('faulty', 5000, 'faults', $2::jsonb) where job_id = $1`,
      [runId, JSON.stringify(nearlyAll)],
    );
    await db.query(
      `update import_run_row set record = jsonb_set(record::jsonb, '{subject}', '"no subject"')::text where run_id = $1`,
      [runId],
    );
    const run = await imported(runId);
    assert.deepEqual([run.rejected, run.faults.length], [3, limits.importFaultsShown]);
    assert.match((await owner.get(`${base}/${runId}`)).text, /5,003 lines are skipped/);
  });

  test('whoever is erased while their lines are tried is not in what is kept of them, the others are', async () => {
    await imported((await tried([head, line('k-1', 'Kit Gone')].join('\n'))).runId);
    await imported((await tried([head, line('k-2', 'Kim Before')].join('\n'))).runId);
    const erase = async (ref: string) => {
      const [learner] = await db.query<{ learner_id: string }>('select learner_id from learner where ref = $1', [ref]);
      await service.withUnitOfWork((work) => eraseLearner(work, org.id, learner!.learner_id, { actor: 'test' }));
    };
    await erase('k-2');
    const lines = ['k-1', 'k-2', 'k-3'].map((ref) => line(ref, `Kay ${ref}`, '01/02/2026'));
    // Without references, who is meant is told by the name alone.
    lines.push(line('', 'KIT Gone', '02/02/2026'), line('', 'Kim Before', '02/02/2026'), line('k-4', 'Kit Gone'));
    const bytes = Buffer.from(lines.join('\n'));
    const trial = await dryRunImport(
      app,
      { organisationId: org.id, publicId: org.publicId },
      Buffer.concat([Buffer.from(`${head}\n`), bytes]),
      'uk',
    );
    assert.equal(trial.rows.length, 6);
    await erase('k-1');
    const runId = app.random.uuid();
    await service.withUnitOfWork((work) =>
      keepImport(work, org.id, { runId, by: 'operator', dates: 'uk', events: false, trial }),
    );
    const left = await db.query<{ record: string }>('select record from import_run_row where run_id = $1', [runId]);
    assert.deepEqual(
      left
        .map(({ record }) => JSON.parse(record).learner)
        .map(({ ref, full_name: name }) => ref ?? name)
        .sort(),
      ['Kim Before', 'k-2', 'k-3', 'k-4'],
      'who was erased before the file came is in it again, as in any file that comes later',
    );
  });

  test('another process that writes to the feed does not wait while the lines are stored, and keeps them from being stored only once', async () => {
    const bytes = Buffer.from([head, line('n-1', 'Nia')].join('\n'));
    const trial = await dryRunImport(app, { organisationId: org.id, publicId: org.publicId }, bytes, 'uk');
    const given = { runId: app.random.uuid(), by: 'operator', dates: 'uk', events: false, trial } as const;
    const steps: string[] = [];
    const noting = (again: boolean) => (work: UnitOfWork) => {
      steps.length = 0;
      const noted: typeof work.tx = {
        ...work.tx,
        query: (sql, values) => {
          steps.push(typeof sql === 'string' ? sql : sql.name);
          return work.tx.query(sql, values);
        },
      };
      return keepImport({ ...work, tx: noted, again }, org.id, given);
    };
    await service.withUnitOfWork(noting(false));
    assert.ok(steps.indexOf('import_run.insert_rows') < steps.indexOf('feed.lock'), steps.join());
    await db.query('delete from background_job where job_id = $1', [given.runId]);
    await service.withUnitOfWork(noting(true));
    assert.ok(steps.indexOf('feed.lock') < steps.indexOf('import_run.insert_rows'), steps.join());
    await db.query('delete from background_job where job_id = $1', [given.runId]);
  });

  for (const dieAt of ['5', 'commit', 'reply'])
    test(`killed in its second batch (${dieAt}), it goes on from there: each result once, and the numbers add up`, async () => {
      const many = 1100;
      const rows = Array.from({ length: many }, (_, i) => line(`${dieAt}-${i}`, `Learner ${i}`));
      const { runId } = await tried([head, ...rows].join('\n'));
      await db.query(`update background_job set status = 'running' where job_id = $1`, [runId]);
      const child = spawn(process.execPath, [fileURLToPath(new URL('die.ts', import.meta.url)), dieAt], {
        env: { ...process.env, DATABASE_URL: service.databaseUrl, ARS_SECRET: app.settings.secret },
        stdio: 'ignore',
      });
      assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL']);
      const broken = (await importRuns.find(db, org.id, runId))!;
      assert.deepEqual([broken.status, broken.imported], ['running', dieAt === 'reply' ? 1000 : 500]);
      await importRuns.run(app);
      const run = (await importRuns.find(db, org.id, runId))!;
      assert.deepEqual(
        [run.status, run.imported, run.updated, run.unchanged, run.rejected],
        ['finished', many, 0, 0, 0],
      );
      const [stored] = await db.query(
        'select count(*) as n from assessment a join learner l using (organisation_id, learner_id) where l.ref like $1',
        [`${dieAt}-%`],
      );
      assert.equal(stored!.n, many);
    });
});
