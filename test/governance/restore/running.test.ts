// Tier: full. Restores databases under processes that run.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { placeHold } from '../../../src/governance/legal-holds/holds.ts';
import { deleteOrganisationAgain } from '../../../src/governance/offboarding/delete.ts';
import type { Readiness } from '../../../src/server/probes.ts';
import { findOrganisation } from '../../../src/organisations/organisations.ts';
import { applyErasures, followRestores } from '../../../src/governance/restore/erasures.ts';
import { countRestores } from './count-restores.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { scenario } from '../../support/scenario.ts';
import type { TestService } from '../../support/service.ts';
import { withService } from '../../support/service.ts';

/** Restores under processes that run on. What each does every ten seconds is done here when its turn comes. */

const folder = await mkdtemp(join(tmpdir(), 'ars-running-'));
after(() => rm(folder, { recursive: true, force: true }));
const list = join(folder, 'erasures');
const away = join(folder, 'away');

/** Lines are written once in a turn. */
async function refusals(service: TestService): Promise<string[]> {
  await setImmediate();
  return service.logged
    .join('')
    .split('\n')
    .filter((line) => line.includes('"erasures.not_applied"'));
}

async function readiness(service: TestService) {
  const reply = await fetch(`${service.url}/readyz`);
  return [reply.status, ((await reply.json()) as Readiness).checks.restore];
}

suite('a restore under processes that run on', async () => {
  const settings = { ARS_ERASURES_FILE: list };
  const one = await withService({ own: 'Keeps a list of erasures.', settings });
  const scene = await scenario(one);
  const { org } = scene;
  const other = await one.sibling({ settings });
  const without = await one.sibling({ settings: {} });
  const all = [one, other, without];
  const { db } = one.app;

  const isBack = () => db.query(`update lineage set identity = '7 1 16384'`);
  const asked = async (service: TestService, path = '/learners/ed') => {
    const reply = await service.client(org.key).get(path);
    return reply.status;
  };
  const lineOf = (learnerId: string, organisation = org.publicId) =>
    `${JSON.stringify({ organisation_id: organisation, learner_id: learnerId })}\n`;
  const erasedTimes = async (learnerId: string) =>
    (await db.query(`select from learner_change where learner_id = $1 and kind = 'erased'`, [learnerId])).length;
  const through = async () =>
    (
      await db.query<{ restores: number; erased_through: number | null }>(
        'select restores, erased_through from lineage',
      )
    )[0];
  async function learner(ref: string) {
    const made = await scene.learner(ref);
    await made.completes();
    return (await made.read()).learner_id as string;
  }

  test('nothing is served before the list is applied, by whichever process', async () => {
    const [ed, fi] = [await learner('ed'), await learner('fi')];
    const follower = scene.follow();
    await follower.poll();
    // As if the backup were from before the erasure.
    await writeFile(list, lineOf(ed));
    await rename(list, away);
    await isBack();
    await followRestores(one.app);
    for (const service of all) assert.deepEqual(await readiness(service), [503, 'pending']);
    for (const service of all) {
      const reply = await service.client(org.key).get('/learners/ed');
      assert.deepEqual(
        [reply.status, reply.body.error.code, reply.headers['retry-after']],
        [503, 'service_unavailable', '1'],
      );
      assert.equal((await fetch(`${service.url}/console/sign-in`)).status, 503);
      assert.equal((await fetch(`${service.url}/livez`)).status, 200);
    }
    for (const service of all) await followRestores(service.app);
    assert.match((await refusals(one))[0]!, /The file of ARS_ERASURES_FILE is missing/);
    assert.match((await refusals(without))[0]!, /until a process with ARS_ERASURES_FILE/);
    assert.deepEqual(await through(), { restores: 1, erased_through: 0 });

    await rename(away, list);
    await followRestores(other.app);
    assert.deepEqual(await through(), { restores: 1, erased_through: 1 });
    // Each applies its own list: that of another machine may lack something.
    assert.deepEqual(await readiness(one), [503, 'pending']);
    for (const service of [other, without]) {
      assert.deepEqual(await readiness(service), [200, undefined]);
      assert.equal(await asked(service), 404);
    }
    await other.withUnitOfWork((work) => eraseLearner(work, org.id, fi, { actor: 'operator' }));
    await followRestores(one.app);
    assert.deepEqual(await readiness(one), [200, undefined]);
    for (const service of all)
      assert.deepEqual([await asked(service), await asked(service, '/learners/fi')], [404, 404]);
    assert.deepEqual([await erasedTimes(ed), await erasedTimes(fi)], [1, 1]);
    assert.deepEqual((await follower.poll()).sort(), ['ed maths: deleted', 'fi maths: deleted']);
    const before = (await refusals(one)).length;
    await followRestores(one.app);
    assert.equal((await refusals(one)).length, before);
  });

  test('a list that failed in the middle is applied to its end by the next round', async () => {
    const gil = await learner('gil');
    const far = await one.organisation({ name: 'Far College' });
    await far.post('/learners', { ref: 'hal', full_name: 'Hal Lee' });
    const hal = (await far.get('/learners/hal')).body.data.learner_id as string;
    await writeFile(list, lineOf(gil) + lineOf(hal, far.publicId));
    await db.query(`alter table learner add constraint refuse check (learner_id <> '${hal}') not valid`);
    await isBack();
    await followRestores(one.app);
    const state = async () => [await erasedTimes(gil), await erasedTimes(hal), ...Object.values((await through())!)];
    assert.deepEqual(await state(), [1, 0, 2, 1]);
    assert.match((await refusals(one)).at(-1)!, /"23514"/);
    assert.equal((await far.get('/learners/hal')).status, 503);
    await db.query('alter table learner drop constraint refuse');
    await followRestores(one.app);
    assert.deepEqual(await state(), [1, 1, 2, 2]);
    assert.equal((await far.get('/learners/hal')).status, 404);
    await followRestores(other.app);
    assert.deepEqual(await state(), [1, 1, 2, 2]);
  });

  test('the same backup again is another restore, though it bears the same number', async () => {
    const ida = await learner('ida');
    await writeFile(list, lineOf(ida));
    await db.query(`update lineage set restores = 1, erased_through = 1, since = '2020-01-01', identity = '7 1 16384'`);
    // Another process has found it, and was killed before it applied the list.
    await db.query(`update lineage set restores = 2, since = date_trunc('milliseconds', now()), identity = $1`, [
      await identity(),
    ]);
    assert.deepEqual(await readiness(one), [503, 'pending']);
    await followRestores(one.app);
    assert.deepEqual(await through(), { restores: 2, erased_through: 2 });
    assert.equal(await erasedTimes(ida), 1);
    assert.deepEqual(await readiness(one), [200, undefined]);
    assert.match(await readFile(list, 'utf8'), new RegExp(ida));
  });

  test('a server from before a restore that serves again is found by whoever ran on', async () => {
    const restored = async () => (await one.client(org.key).get('/assessments')).headers['x-sync-restored']!;
    const found = async (service: TestService) => {
      await setImmediate();
      return service.logged.join('').split('"database.restored"').length;
    };
    for (const service of all) await followRestores(service.app);
    const [replaced] = await db.query<{ restores: number; since: Date; identity: string }>(
      'select restores, since, identity from lineage',
    );
    await isBack();
    for (const service of all) await followRestores(service.app);
    const [promoted, before] = [await restored(), await Promise.all(all.map(found))];
    const { restores, since, identity: name } = replaced!;
    await db.query('update lineage set restores = $1, since = $2, identity = $3', [restores, since, name]);
    for (const service of all) await followRestores(service.app);
    assert.equal((await through())!.restores, restores + 1);
    assert.ok((await restored()) > promoted, `${await restored()} after ${promoted}`);
    // By one of them, and once.
    for (const service of all) await followRestores(service.app);
    assert.deepEqual(await Promise.all(all.map(found)), [before[0]! + 1, before[1], before[2]]);
  });

  test('an erasure that failed after it was listed passes over no hold that was placed since', async () => {
    const jan = await learner('jan');
    const held = async () =>
      one.withUnitOfWork((work) =>
        placeHold(work, org.id, {
          holdId: one.app.random.uuid(),
          learnerId: jan,
          reason: 'Complaint',
          actor: 'operator',
          endsAt: null,
        }),
      );
    await db.query(`update lineage set since = '2026-01-01'`);
    await held();
    await writeFile(list, lineOf(jan));
    assert.equal(await applyErasures(one.app), 0);
    assert.equal(await asked(one, '/learners/jan'), 200);
    await setImmediate();
    assert.match(one.logged.join(''), new RegExp(`"erasures.held".*${jan}`));
    // With a restore after it the hold is one that came back with the learner.
    await isBack();
    await followRestores(one.app);
    assert.equal(await asked(one, '/learners/jan'), 404);
  });

  test('an organisation that several processes delete again at once is deleted, and none fails', async () => {
    const gone = await one.organisation({ name: 'Gone College' });
    await gone.post('/learners', { ref: 'kim', full_name: 'Kim Lee' });
    const organisation = (await findOrganisation(db, gone.publicId))!;
    await Promise.all(all.map(({ app }) => deleteOrganisationAgain(app, organisation, null)));
    await deleteOrganisationAgain(one.app, organisation, null);
    assert.equal(await findOrganisation(db, gone.publicId), undefined);
  });

  test('a deletion on the list passes over no hold that was placed since the restore, nor over one on a single learner', async () => {
    const kept = await one.organisation({ name: 'Kept College' });
    await kept.post('/learners', { ref: 'lea', full_name: 'Lea Lee' });
    const lea = (await kept.get('/learners/lea')).body.data.learner_id as string;
    await db.query(`update lineage set since = '2026-01-01'`);
    const hold = { holdId: one.app.random.uuid(), reason: 'Complaint', actor: 'operator', endsAt: null };
    await one.withUnitOfWork((work) => placeHold(work, kept.id, { ...hold, learnerId: lea }));
    await writeFile(list, `${JSON.stringify({ organisation_id: kept.publicId, deleted: 'whole' })}\n`);
    await applyErasures(one.app);
    assert.equal((await kept.get('/learners/lea')).status, 200, 'it is open as it was');
    await setImmediate();
    assert.match(one.logged.join(''), new RegExp(`"erasures.held".*${kept.publicId}.*null`));
    await isBack();
    await followRestores(one.app);
    assert.equal(await findOrganisation(db, kept.publicId), undefined);
  });

  async function identity() {
    await isBack();
    await followRestores(without.app);
    return (await db.query<{ identity: string }>('select identity from lineage'))[0]!.identity;
  }
});

test('a database from before this version is not served until it is migrated and the list is applied', async () => {
  const mine = join(folder, 'mine');
  const service = await withService({ own: 'Keeps a list of erasures.', settings: { ARS_ERASURES_FILE: mine } });
  const org = await service.organisation();
  const { db } = service.app;
  await org.post('/learners', { ref: 'jo', full_name: 'Jo Lee' });
  const jo = (await org.get('/learners/jo')).body.data.learner_id as string;
  const state = async () => {
    const reply = await fetch(`${service.url}/readyz`);
    const { migrations } = ((await reply.json()) as Readiness).checks;
    return [reply.status, migrations, (await org.get('/learners/jo')).status];
  };
  await writeFile(mine, `${JSON.stringify({ organisation_id: org.publicId, learner_id: jo })}\n`);
  // As if a migration made the column.
  await db.query('alter table lineage drop column erased_through');
  await db.query('update migration set number = 0 where number = 1');
  await db.query(`update lineage set identity = '7 1 16384'`);
  await followRestores(service.app);
  assert.deepEqual(await state(), [503, 'missing', 503]);
  await setImmediate();
  assert.match(service.logged.join(''), /"database\.older".*Run ars migrate/);
  await db.query('alter table lineage add column erased_through int4');
  await db.query('update migration set number = 1 where number = 0');
  assert.deepEqual(await state(), [503, 'ok', 503], 'whoever was erased is back until the list is applied');
  await followRestores(service.app);
  assert.deepEqual(await state(), [200, 'ok', 404]);
  // While a backup is put into it, a database has no tables at all.
  await db.query('alter table migration rename to migration_away');
  await followRestores(service.app);
  assert.deepEqual(await state(), [503, 'missing', 503]);
  await db.query('alter table migration_away rename to migration');
  await followRestores(service.app);
  assert.deepEqual(await state(), [200, 'ok', 404]);
});

test('a database that was never used with a list is served after a restore as it is', async () => {
  const service = await withService({ own: 'Changes the lineage of the database.' });
  await service.app.db.query(`update lineage set identity = '7 1 16384'`);
  await followRestores(service.app);
  assert.equal(await countRestores(service.app.db), 1);
  assert.deepEqual(await readiness(service), [200, undefined]);
  assert.deepEqual(await refusals(service), []);
});
