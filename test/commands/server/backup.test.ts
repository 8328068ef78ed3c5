// Tier: full. Restores backups.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../../../src/platform/app.ts';
import { auditInside } from '../../../src/platform/audit/audit.ts';
import { makeAuditMonths } from '../../../src/platform/audit/months.ts';
import { verifyAudit } from '../../../src/platform/audit/verify.ts';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { monthsAfter } from '../../../src/platform/time/clock.ts';
import { feedQueue, withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { verifyDigest } from '../../../src/feed/digest-repair.ts';
import { emitGroupsUpdated } from '../../../src/feed/events/emit.ts';
import { lockFeed } from '../../../src/feed/position.ts';
import { deleteOrganisation } from '../../../src/governance/offboarding/delete.ts';
import { suspendOrganisation } from '../../../src/governance/offboarding/suspend.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { createOrganisation, findOrganisation, listOrganisations } from '../../../src/organisations/organisations.ts';
import { countRestores } from '../../governance/restore/count-restores.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import { makeEventMonths } from '../../../src/integrations/webhooks/retention.ts';
import { registerEndpoint } from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import { ars, program } from '../../support/ars.ts';

suite('ars backup and ars restore', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ars-backup-'));
  await chmod(folder, 0o755);
  after(() => rm(folder, { recursive: true, force: true }));
  const [data, out, other] = [join(folder, 'data'), join(folder, 'out'), join(folder, 'other')];

  const run = (dataDir: string, ...words: string[]) =>
    ars([...words, '--json'], { DATABASE_URL: '', ARS_DATA_DIR: dataDir });
  const list = join(folder, 'erasures');
  /** How long a whole restore took. */
  let restoreMs = 0;
  const open = (dataDir: string) =>
    openApp({
      ...readSettings({ ARS_DATA_DIR: dataDir, ARS_ERASURES_FILE: list }),
      log: 'none',
      baseUrl: 'http://127.0.0.1',
    });

  /** Events with their deliveries, and rows of the log, by the month in which they stand. */
  const byMonth = (app: App) =>
    app.db.query<{ part: string; n: number }>(
      `select part, n from (
         select tableoid::regclass::text as part, count(*) as n from event group by 1
         union all select tableoid::regclass::text, count(*) from delivery group by 1
         union all select tableoid::regclass::text, count(*) from audit where action = 'in a month' group by 1) p order by 1`,
    );

  /** An organisation with an event, a delivery and a row of the log in each of some months from now. */
  async function inMonths(app: App, organisationId: number, months: readonly number[]): Promise<void> {
    const begun = app.clock.nowMs();
    await withUnitOfWork(app, null, (work) =>
      registerEndpoint(work, organisationId, {
        url: 'https://platform.example/hook',
        eventTypes: ['learner.groups.updated'],
        groupIds: null,
      }),
    );
    for (const n of months) {
      const then = { ...app, clock: manualClock(monthsAfter(begun, n).getTime()) };
      await makeEventMonths(then);
      await makeAuditMonths(then);
      await withUnitOfWork(then, null, async (work) => {
        await lockFeed(work, organisationId);
        await emitGroupsUpdated(work, organisationId, [
          { learner_ref: `month-${n}`, added: [work.uuid()], removed: [] },
        ]);
        const by = { requestId: work.uuid(), actor: 'operator', action: 'in a month', resource: null, status: null };
        await auditInside(work.tx, { organisationId, atMs: work.nowMs, ...by });
      });
    }
  }

  test('a database is copied while it is written to, and opens elsewhere with all that was committed before', async () => {
    const { app, close } = await open(data);
    const make = (name: string) =>
      withUnitOfWork(app, null, (work) =>
        createOrganisation(work, { name, plan: 'unlimited', credits: 0, groupAutocreate: true }),
      );
    let names: string[] = [];
    const during: string[] = [];
    let [standing, left] = [[] as unknown[], ''];
    try {
      const leaving = await make('Leaving');
      left = leaving.public_id;
      await inMonths(app, leaving.organisation_id, [0, 1, 2, 5]);
      standing = await byMonth(app);
      assert.equal(standing.length, 12, 'three tables in four months');
      for (let i = 0; i < 3; i++) names.push((await make(`Before ${i}`)).name);
      let writing = true;
      const writer = (async () => {
        for (let i = 0; writing; i++, await delay(5)) during.push((await make(`During ${i}`)).name);
      })();
      const backup = await run(data, 'backup', '--out', out);
      writing = false;
      await writer;
      assert.equal(backup.code, 0, backup.said);
      assert.ok(backup.json.files > 500 && backup.json.bytes > 10_000_000);
      assert.deepEqual((await readdir(out)).sort(), ['cluster', 'manifest.json', 'own']);
      // It is deleted after the backup, which doesn't know.
      await withUnitOfWork(app, feedQueue(leaving.organisation_id), (work) =>
        suspendOrganisation(work, leaving.organisation_id, 'The end'),
      );
      const by = { actor: 'operator', requestId: app.random.uuid(), withoutExport: true };
      const deleted = await deleteOrganisation(app, leaving, by, () => {}, new AbortController().signal);
      assert.notEqual(typeof deleted, 'string');
      const twice = await run(data, 'backup', '--out', out);
      assert.match(twice.said, /--out must name a folder that is empty/);
      const link = join(folder, 'link');
      await symlink(join(data, 'postgres'), link);
      for (const inside of [join(data, 'postgres', 'cluster', 'backup'), join(link, 'cluster', 'new', 'backup')])
        assert.match(
          (await run(data, 'backup', '--out', inside)).said,
          /--out must name a folder outside that of the database/,
        );
      for (const [unusable, why] of [
        ['/proc/backup', 'no folder can be made there (ENOENT)'],
        [join(out, 'manifest.json', 'backup'), 'a part of it is a file (ENOTDIR)'],
      ] as const)
        assert.match(
          (await run(data, 'backup', '--out', unusable)).said,
          new RegExp(RegExp.escape(`The folder ${unusable} can't be used, because ${why}: give another one by --out.`)),
        );
      const nowhere = join(folder, 'nowhere');
      await symlink(join(folder, 'disk-that-is-away'), nowhere);
      assert.match(
        (await run(nowhere, 'restore', '--from', out)).said,
        /The data folder \S+nowhere can't be used, because no folder can be made there \(ENOENT\): set ARS_DATA_DIR\./,
      );
      const onto = await run(data, 'restore', '--from', out);
      assert.match(onto.said, /ARS_DATA_DIR must be empty/);
    } finally {
      await close();
    }
    const begunMs = performance.now();
    const restored = await run(other, 'restore', '--from', out);
    restoreMs = performance.now() - begunMs;
    assert.equal(restored.code, 0, restored.said);
    const noted = await readFile(list, 'utf8');
    assert.equal(noted, `${JSON.stringify({ organisation_id: left, deleted: 'whole' })}\n`);
    // Without the list, everything is there as it stood, month by month, and what is kept of it is sound.
    const whole = await openApp({ ...readSettings({ ARS_DATA_DIR: other }), log: 'none', baseUrl: 'http://127.0.0.1' });
    try {
      assert.deepEqual(await byMonth(whole.app), standing);
      const checked = await run(other, 'check', 'personal-data');
      assert.equal(checked.code, 0, checked.said);
      await inMonths(whole.app, (await findOrganisation(whole.app.db, left))!.organisation_id, [9]);
      assert.equal((await byMonth(whole.app)).length, standing.length + 3, 'months are made as before');
    } finally {
      await whole.close();
    }
    const there = await open(other);
    try {
      assert.equal(await findOrganisation(there.app.db, left), undefined, 'deleted again before anything is served');
      const [deletion] = await there.app.db.query<{ certificate: string }>(
        'select certificate from organisation_deletion where public_id = $1 and ended_at is not null',
        [left],
      );
      assert.equal(JSON.parse(deletion!.certificate).deleted_by, 'service');
      assert.equal(await readFile(list, 'utf8'), noted + noted);
      const found = (await listOrganisations(there.app.db)).map((one) => one.name);
      names = names.filter((name) => !found.includes(name));
      assert.deepEqual(names, [], 'what was committed before is there');
      const copied = found.filter((name) => name.startsWith('During'));
      assert.deepEqual(
        copied.toSorted(),
        during.slice(0, copied.length).toSorted(),
        'and what came meanwhile up to a moment',
      );
      for (const one of await listOrganisations(there.app.db)) {
        assert.deepEqual(await verifyDigest(there.app, one.organisation_id), []);
        assert.deepEqual((await verifyAudit(there.app, one.organisation_id)).faults, []);
      }
      assert.equal(await countRestores(there.app.db), 1, 'the feeds began again, once');
      assert.equal(await readFile(join(other, 'secret'), 'utf8'), await readFile(join(data, 'secret'), 'utf8'));
    } finally {
      await there.close();
    }
  });

  test('a restore that is killed leaves all of it, or what nothing begins anew in', async () => {
    const killedAt = async (dataDir: string, part: number) => {
      const restoring = spawn(process.execPath, [program, 'restore', '--from', out], {
        env: { ...process.env, DATABASE_URL: '', ARS_DATA_DIR: dataDir },
        stdio: 'ignore',
      });
      const ended = once(restoring, 'exit');
      while (!existsSync(join(dataDir, 'postgres')) && restoring.exitCode === null) await delay(1);
      await Promise.race([delay(restoreMs * part), ended]);
      restoring.kill('SIGKILL');
      await ended;
    };
    const seen = new Set<string>();
    for (const part of [0, 0.2, 0.4, 0.7]) {
      const half = join(folder, `half-${part}`);
      await killedAt(half, part);
      const listed = await run(half, 'organisation', 'list');
      seen.add(listed.code === 0 ? 'whole' : 'half');
      if (listed.code === 0) assert.match(JSON.stringify(listed.json), /"Before 0"/);
      else
        for (const { said } of [
          listed,
          await run(half, 'restore', '--from', out),
          await run(half, 'backup', '--out', join(folder, 'empty')),
        ])
          assert.match(said, /A backup is being put into .*, or that was broken off/, String(part));
      await rm(half, { recursive: true });
    }
    assert.ok(seen.has('half'));
  });

  test('a backup that is damaged or not whole is refused, and leaves nothing behind', async () => {
    const empty = join(folder, 'empty');
    const path = join(out, 'cluster', 'PG_VERSION');
    await writeFile(path, '17\n');
    const damaged = await run(empty, 'restore', '--from', out);
    assert.equal(damaged.code, 1);
    assert.match(damaged.said, /^ars: cluster\/PG_VERSION of the backup is missing or damaged\n$/);
    assert.deepEqual(await readdir(empty), []);
    const manifest = join(out, 'manifest.json');
    const text = await readFile(manifest, 'utf8');
    for (const [changed, why] of [
      [text.slice(0, 1000), /manifest\.json of the backup is damaged/],
      ['null', /^ars: manifest\.json of the backup is damaged\n$/],
      ['{"format":1,"postgres":"18","folders":[],"files":[null]}', /^ars: manifest\.json of the backup is damaged\n$/],
      [text.replace('"cluster/base"', '"cluster/../base"'), /manifest\.json of the backup is damaged/],
      [text.replace(/"postgres":"\d+"/, '"postgres":"17"'), /the backup is of PostgreSQL 17/],
    ] as const) {
      await writeFile(manifest, changed);
      assert.match((await run(empty, 'restore', '--from', out)).said, why);
      assert.deepEqual(await readdir(empty), []);
    }
    await writeFile(manifest, text);
    await rm(manifest);
    assert.match((await run(empty, 'restore', '--from', out)).said, /there is no manifest\.json/);
    assert.match((await run(empty, 'restore')).said, /give --from DIR, or --declare/);
    assert.match((await run(empty, 'backup')).said, /--out is required/);
  });
});
