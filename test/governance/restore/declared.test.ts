import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { verifyDigest } from '../../../src/feed/digest-repair.ts';
import { SettingsError } from '../../../src/platform/config/settings.ts';
import { placeHold } from '../../../src/governance/legal-holds/holds.ts';
import { mergeLearners } from '../../../src/governance/deduplication/merge.ts';
import { newRestamping, restampNext } from '../../../src/governance/upgrade/restamp.ts';
import { applyErasures } from '../../../src/governance/restore/erasures.ts';
import { countRestores } from './count-restores.ts';
import { takeUpRestore } from '../../../src/governance/restore/lineage.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

/** Restores that nothing shows, as of files that are put back, and the list of who was erased. */

const folder = await mkdtemp(join(tmpdir(), 'ars-restore-'));
after(() => rm(folder, { recursive: true, force: true }));
const list = join(folder, 'erasures');

suite('a restore that is declared', async () => {
  const service = await withService({ own: 'Keeps a list of erasures.', settings: { ARS_ERASURES_FILE: list } });
  const { app } = service;
  const scene = await scenario(service);
  const { org } = scene;

  async function restampAll() {
    const doing = newRestamping();
    while ((await restampNext(app, doing)) !== 'nothing left');
  }

  test('shows every live record anew to whoever asks by since, and takes no cursor and no ETag from before', async () => {
    const group = await scene.group('cohort-1');
    const [ana, bo] = [await scene.learner('ana'), await scene.learner('bo')];
    await group.adds(ana, bo);
    for (const one of [ana, ana, bo]) await one.completes();
    await (await bo.completes({ subject: 'english' })).isWithdrawn();
    const followers = [scene.follow(), scene.follow({}, { of: [group] }), scene.followLearners(), scene.followGroups()];
    for (const one of followers) await one.poll();
    const before = await org.get('/assessments?limit=1');
    const old = new URL(before.body.pagination.next);
    const positions = async () =>
      (await org.get('/assessments')).body.data.map((one: any) => one.updated_at as string) as string[];
    const given = (await positions()).at(-1)!;
    assert.equal(await takeUpRestore(app), null, 'nothing has happened yet');
    assert.equal(await takeUpRestore(app, 'operator'), 1);
    const refused = await org.get(old.pathname.slice('/api/v1'.length) + old.search);
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'invalid_cursor']);
    assert.equal((await org.get('/assessments?limit=1', { 'if-none-match': before.headers.etag! })).status, 200);
    const told = (await org.get('/assessments')).headers['x-sync-restored']!;
    assert.ok(told > before.headers['x-sync-through']! && before.headers['x-sync-restored'] === undefined);
    for (const path of ['/assessments?limit=1', '/learners', '/groups']) {
      const page = await org.get(path);
      const unchanged = await org.get(path, { 'if-none-match': page.headers.etag! });
      const through = page.headers['x-sync-through']!;
      assert.deepEqual([page.headers['x-sync-restored'], unchanged.headers['x-sync-restored']], [told, told], path);
      assert.deepEqual([unchanged.status, told <= through], [304, true], 'whoever walks now is told once');
    }
    assert.equal((await org.get('/assessments/digest?bits=0')).headers['x-sync-restored'], told);
    await restampAll();
    assert.deepEqual(
      (await followers[0]!.poll()).sort(),
      ['ana maths: completed', 'ana maths: completed', 'bo maths: completed'],
      'tombstones have long arrived',
    );
    assert.deepEqual((await followers[3]!.poll()).length, 1, 'a group may have had a newer name');
    for (const one of followers) await one.assertConverged();
    assert.ok((await positions()).filter((at) => at > given).length >= 3);
    assert.deepEqual(await verifyDigest(app, org.id), []);
    const cursor = new URL((await org.get('/assessments?limit=1')).body.pagination.next);
    assert.equal((await org.get(cursor.pathname.slice('/api/v1'.length) + cursor.search)).status, 200);
    assert.equal(await takeUpRestore(app), null, 'it is taken up once');
    const audited = await app.db.query<{ actor: string }>(
      `select actor from audit where organisation_id = $1 and action = 'restore declare'`,
      [org.id],
    );
    assert.deepEqual(audited, [{ actor: 'operator' }]);
  });

  test('goes on above what was shown, whatever the clock says, and again at the next one', async () => {
    const result = await (await scene.learner('cy')).completes();
    const { updated_at: first } = (await result.read()).body.data;
    await takeUpRestore(app, 'operator');
    await restampAll();
    const { updated_at: second } = (await result.read()).body.data;
    assert.ok(Date.parse(second) - Date.parse(first) >= 60_000, `${first} ${second}`);
    await takeUpRestore(app, 'operator');
    await restampAll();
    assert.ok((await result.read()).body.data.updated_at > second);
    assert.equal(await countRestores(app.db), 3);
  });

  test('that brings an older backup in the middle of the restamp of one before passes over nothing', async () => {
    const result = await (await scene.learner('dee')).completes();
    // A token has more digits than a number of JavaScript.
    const stored =
      'select learner_id, assessment_id, position, token::text from assessment_feed where organisation_id = $1';
    const backup = await app.db.query(stored, [org.id]);
    const cells = await app.db.query(
      'select group_set_id, facet, n, s1, s2 from digest_cell where organisation_id = $1',
      [org.id],
    );
    const [sums] = await app.db.query('select digest_n, digest_w1, digest_w2 from feed where organisation_id = $1', [
      org.id,
    ]);
    await takeUpRestore(app, 'operator');
    const doing = newRestamping();
    await restampNext(app, doing);
    const shown = (await result.read()).body.data.updated_at;
    for (const row of backup)
      await app.db.query(
        'update assessment_feed set position = $4, token = $5 where organisation_id = $1 and learner_id = $2 and assessment_id = $3',
        [org.id, ...Object.values(row)],
      );
    await app.db.query('delete from digest_cell where organisation_id = $1', [org.id]);
    for (const cell of cells)
      await app.db.query(
        'insert into digest_cell (organisation_id, group_set_id, facet, n, s1, s2) values ($1, $2, $3, $4, $5, $6)',
        [org.id, ...Object.values(cell)],
      );
    await app.db.query('update feed set digest_n = $2, digest_w1 = $3, digest_w2 = $4 where organisation_id = $1', [
      org.id,
      ...Object.values(sums!),
    ]);
    assert.deepEqual(await verifyDigest(app, org.id), []);
    await takeUpRestore(app, 'operator');
    while ((await restampNext(app, doing)) !== 'nothing left');
    assert.ok((await result.read()).body.data.updated_at > shown);
    assert.deepEqual(await verifyDigest(app, org.id), []);
    assert.equal(await countRestores(app.db), 5);
  });

  test('another identity is a restore, for one of those who look at once', async () => {
    await app.db.query(`update lineage set identity = '7 1 16384'`);
    const sibling = await service.sibling();
    assert.equal(await countRestores(app.db), 6, 'found at the start');
    await app.db.query(`update lineage set identity = '7 1 16384'`);
    const looks = await Promise.all([app, app, sibling.app, sibling.app].map((one) => takeUpRestore(one)));
    assert.deepEqual(looks.filter((one) => one !== null).length, 1);
    await app.db.query(`update lineage set identity = ''`);
    assert.equal(await takeUpRestore(app), null, 'a database that told nothing until now was not restored');
    await restampAll();
  });

  test('whom a restore brings back is erased before anything is served', async () => {
    const [di, ed] = [await scene.learner('di'), await scene.learner('ed')];
    await di.completes();
    await ed.completes();
    for (const ref of ['flo', 'gus']) await org.post('/learners', { ref, full_name: `Learner ${ref}` });
    const idOf = async (ref: string) => (await org.get(`/learners/${ref}`)).body.data.learner_id as string;
    const [diId, edId] = [await idOf('di'), await idOf('ed')];
    const follower = scene.follow();
    await follower.poll();
    await service.withUnitOfWork((work) => eraseLearner(work, org.id, diId, { actor: 'operator' }));
    const line = `${JSON.stringify({ organisation_id: org.publicId, learner_id: diId })}\n`;
    assert.equal(await readFile(list, 'utf8'), line);
    await assert.rejects(
      service.withUnitOfWork(async (work) => {
        await eraseLearner(work, org.id, edId, { actor: 'operator' });
        throw new Error('the end');
      }),
    );
    assert.equal(await readFile(list, 'utf8'), line, 'what is rolled back is not listed');
    // A restore to before the merge brings both back: the list knows both.
    const [flo, gus] = [await idOf('flo'), await idOf('gus')];
    await service.withUnitOfWork((work) =>
      mergeLearners(work, org.id, { from: flo, into: gus }, { actor: 'x', reason: null }),
    );
    await service.withUnitOfWork((work) => eraseLearner(work, org.id, gus, { actor: 'operator' }));
    const both = await readFile(list, 'utf8');
    for (const id of [flo, gus]) assert.ok(both.includes(id), 'whoever was merged into them, too');
    await writeFile(list, line);
    await applyErasures(app);
    const completed = await readFile(list, 'utf8');
    for (const id of [flo, gus]) assert.ok(completed.includes(id), 'and so does a list that is completed');
    await writeFile(list, line);
    const hold = {
      holdId: service.app.random.uuid(),
      learnerId: edId,
      reason: 'Complaint',
      actor: 'operator',
      endsAt: null,
    };
    await service.withUnitOfWork((work) => placeHold(work, org.id, hold));
    await app.db.query(`update legal_hold set placed_at = (select since from lineage) - interval '1 day'`);
    // As if the backup were from before, when a hold was on the learner: the list knows of an erasure that the database doesn't. Two lines were broken off, one of them left as zeros.
    const unknown = JSON.stringify({ organisation_id: service.app.random.uuid(), learner_id: edId });
    await writeFile(list, `${line}${line.replace(diId, edId)}${unknown}\n${'\0'.repeat(40)}\n{"organisation_id":"5f1a`);
    const again = await service.sibling({ settings: { ARS_ERASURES_FILE: list } });
    assert.ok(again.logged.some((one) => /"erasures\.applied".*"learners":1/.test(one)));
    assert.equal((await org.get('/learners/ed')).status, 404);
    assert.deepEqual((await follower.poll()).sort(), ['di maths: deleted', 'ed maths: deleted']);
    const lines = (await readFile(list, 'utf8')).split('\n');
    assert.deepEqual(lines.slice(-2), [line.replace(diId, edId).trim(), ''], 'a line that was broken off is ended');
    assert.equal(await applyErasures(app), 0);
  });

  test('without its list a restored database serves nothing, nor with one that can not be read', async () => {
    await rm(list);
    await assert.rejects(applyErasures(app), SettingsError);
    await writeFile(list, 'learner,erased\n');
    await assert.rejects(applyErasures(app), /Line 1 of ARS_ERASURES_FILE/);
    // As it comes from an editor on Windows.
    const unknown = { organisation_id: app.random.uuid(), deleted: 'whole' };
    await writeFile(list, `\uFEFF${JSON.stringify(unknown)}\r\n\r\n`);
    assert.equal(await applyErasures(app), 0);
    await writeFile(list, '');
    assert.equal(await applyErasures(app), 0);
    assert.equal(
      (await readFile(list, 'utf8')).trim().split('\n').length,
      4,
      'what the database knows is listed again',
    );
  });

  test('a list that nothing can be added to stops the start', async () => {
    await chmod(folder, 0o755);
    await chmod(list, 0o444);
    // Root may write everywhere.
    const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
    const ars = new URL('../../../cli/ars.ts', import.meta.url).pathname;
    const env = {
      ...process.env,
      DATABASE_URL: service.databaseUrl,
      ARS_SECRET: app.settings.secret!,
      ARS_PORT: '0',
      ARS_ERASURES_FILE: list,
    };
    const ran = spawnSync(process.execPath, [ars, 'serve'], { ...nobody, env, encoding: 'utf8', timeout: 60_000 });
    assert.equal(ran.status, 1, ran.stderr);
    assert.doesNotMatch(ran.stderr, /service\.started/);
    assert.match(ran.stderr, /ARS_ERASURES_FILE must name a file that can be written to \(EACCES\)/);
  });
});
