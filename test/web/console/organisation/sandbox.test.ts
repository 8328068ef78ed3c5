import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../../../src/platform/db/database.ts';
import { DatabaseUnavailable } from '../../../../src/platform/db/connection/unavailable.ts';
import { createKey } from '../../../../src/integrations/access-keys/keys.ts';
import { systemRandom } from '../../../../src/platform/crypto/random.ts';
import { grantSandbox, resetOwnSandbox } from '../../../../src/sandbox/own.ts';
import { findOrganisation, readOrganisation } from '../../../../src/organisations/organisations.ts';
import { endSessions } from '../../../../src/organisations/users/sessions.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

const service = await withService({
  own: 'Makes sandboxes.',
  settings: { ARS_SANDBOXES: 'at_once', ARS_RATE_LIMIT: '1000000' },
});
const patient = await service.sibling({ settings: { ARS_SANDBOXES: 'ask' } });
const ticked = (text: string) => (text.match(/class="tick"/g) ?? []).length;

suite('getting started', () => {
  test('ticks itself: key, request, 304; what was seen stays', async () => {
    const org = await service.organisation();
    const developer = await personOf(service, org.id, 'developer');
    const page = async () => (await developer.get(`/console/${org.publicId}`)).text;
    assert.equal(ticked(await page()), 1, 'the key of the test');
    const first = await org.get('/assessments');
    await org.get('/assessments', { 'if-none-match': first.headers.etag! });
    // Uses of keys are written soon after the reply.
    for (let i = 0; i < 100 && ticked(await page()) < 2; i++);
    const before = ticked(await page());
    assert.ok(before >= 3, 'key, request and 304');
    await service.app.db.query('delete from audit where organisation_id = $1', [org.id]);
    assert.equal(ticked(await page()), before);
    // Who reads results has no such list.
    const auditor = await personOf(service, org.id, 'auditor');
    assert.equal(ticked((await auditor.get(`/console/${org.publicId}`)).text), 0);
  });

  test('an owner has a list of what to set up, which disappears when everything is done', async () => {
    const org = await service.organisation();
    const owner = await personOf(service, org.id, 'owner');
    const base = `/console/${org.publicId}`;
    const list = async () => /<h2>Getting started[^]*?<\/ol>/.exec((await owner.get(base)).text)?.[0] ?? '';
    const before = await list();
    const links = [...before.matchAll(/href="([^"]+)"/g)].map(([, to]) => to!);
    assert.ok(links.length >= 5);
    for (const to of links) assert.equal((await owner.get(to)).status, 200, to);
    const done = ticked(before);
    const steps: (() => Promise<unknown>)[] = [
      () => personOf(service, org.id, 'tutor'),
      () => owner.post(`${base}/teams/create`, { ref: 'T1', group_name: 'Team 1' }),
      () => owner.fill(`${base}/settings`, { contact: '020 7946 0000', subjects: 'maths' }),
      () => owner.fill(`${base}/data-protection/retention`, {}),
      () => org.post('/learners', { ref: 'L-1', full_name: 'Ana Silva' }),
    ];
    for (const [i, step] of steps.entries()) {
      await step();
      assert.equal(ticked(await list()), i === steps.length - 1 ? 0 : done + i + 1, `step ${i}`);
    }
    assert.equal(await list(), '');
    const tutor = await personOf(service, org.id, 'tutor');
    assert.doesNotMatch((await tutor.get(base)).text, /Getting started/);
  });
});

suite('a sandbox', () => {
  test('is asked for, granted by the operator, and used by the same people in their roles', async () => {
    const org = await patient.organisation({ name: 'Asking College' });
    const base = `/console/${org.publicId}`;
    const owner = await personOf(patient, org.id, 'owner');
    const developer = await personOf(patient, org.id, 'developer');
    const tutor = await personOf(patient, org.id, 'tutor');
    const asked = await owner.follow(await owner.post(`${base}/sandbox`));
    assert.match(asked.text, /Requested on/);
    const by = { actor: 'operator', action: 'sandbox grant', requestId: systemRandom.uuid() };
    const organisation = await readOrganisation(patient.app.db, org.id);
    const ids = await Promise.all([1, 2].map(() => grantSandbox(patient.app, organisation, by)));
    assert.equal(ids[0], ids[1], 'one, however often it is granted');
    const sandbox = `/console/${ids[0]!}`;
    assert.match((await owner.get(base)).text, new RegExp(sandbox));
    for (const [person, status] of [
      [owner, 200],
      [developer, 200],
      [tutor, 404],
    ] as const)
      assert.equal((await person.get(sandbox)).status, status);
    // Its people are those of the organisation: nobody is invited into it, and whoever is removed there is gone here.
    assert.equal((await owner.get(`${sandbox}/people`)).status, 404);
    await owner.post(`${base}/people/${developer.userId}/remove`);
    assert.equal((await developer.get(sandbox)).status, 303);
    const stranger = await personOf(patient, (await patient.organisation()).id, 'owner');
    assert.equal((await stranger.get(sandbox)).status, 404);
  });

  test('a test learner’s result happens: in the feed, at the endpoint, and the list ticks', async () => {
    const org = await service.organisation({ name: 'Quick College' });
    const base = `/console/${org.publicId}`;
    const owner = await personOf(service, org.id, 'owner');
    assert.equal((await owner.post(`${base}/test-result`, { subject: 'maths' })).headers.location, base, 'not here');
    const to = (await owner.post(`${base}/sandbox`)).headers.location!;
    const page = (await owner.get(`${to}/test-result`)).text;
    const learner = /<option value="([\w-]{36})">/.exec(page)![1]!;
    const [{ organisation_id: id }] = (await service.app.db.query<{ organisation_id: number }>(
      'select organisation_id from organisation where sandbox_of = $1',
      [org.id],
    )) as [{ organisation_id: number }];
    const key = await service.withUnitOfWork((work) => createKey(work, id, { label: null, kind: 'test' }));
    const platform = service.client(key);
    const all = async (): Promise<any[]> => (await platform.get('/assessments?limit=500')).body.data;
    const held = new Set((await all()).map((one) => one.assessment_id));
    const refused: Record<string, string>[] = [
      {},
      { learner, subject: 'cookery' },
      { learner: org.publicId, subject: 'maths' },
    ];
    for (const fields of refused) assert.equal((await owner.post(`${to}/test-result`, fields)).status, 422);
    assert.equal(
      (await owner.post(`${to}/test-result`, { learner, subject: 'maths' })).headers.location,
      `${to}?did=made`,
    );
    assert.doesNotMatch((await owner.get(to)).text, /✓<\/span> A platform has received a test result/);
    const fresh = (await all()).filter((one) => !held.has(one.assessment_id));
    assert.equal(fresh.length, 1);
    assert.equal(fresh[0].subject, 'maths');
    assert.equal(fresh[0].learner.learner_id, learner);
    assert.match((await owner.get(to)).text, /✓<\/span> A platform has received a test result/);
    // Anew: other data, other keys, the organisation itself as it was.
    const again = (await owner.post(`${base}/sandbox/reset`)).headers.location!;
    assert.notEqual(again, `${to}?did=reset`);
    assert.equal((await owner.get(to)).status, 404);
    assert.equal((await platform.get('/health')).status, 401);
    assert.equal((await owner.follow({ ...(await owner.get(again)) })).status, 200);
  });

  test('begun anew by two at once, or by a process that dies in between, is still there', async () => {
    const org = await service.organisation({ name: 'Hasty College' });
    const organisation = await readOrganisation(service.app.db, org.id);
    const by = { actor: 'operator', action: 'sandbox reset', requestId: systemRandom.uuid() };
    const first = await grantSandbox(service.app, organisation, by);
    const ids = await Promise.all([service.app, patient.app].map((app) => resetOwnSandbox(app, organisation, by)));
    const of = () =>
      service.app.db.query<{ public_id: string }>('select public_id from organisation where sandbox_of = $1', [org.id]);
    const left = (await of()).map((row) => row.public_id);
    assert.equal(left.length, 1);
    assert.ok(ids.includes(left[0]!) && left[0] !== first);
    // Whatever fails after the old one was deleted, it is there with its learners; its keys have ended, which the log says.
    const { organisation_id: id } = (await findOrganisation(service.app.db, left[0]!))!;
    const key = await service.withUnitOfWork((work) => createKey(work, id, { label: null, kind: 'test' }));
    const learners = async () =>
      (await service.app.db.query('select from learner where organisation_id = $1', [id])).length;
    const there = await learners();
    const random = {
      ...service.app.random,
      uuid: () => {
        throw new Error('the process dies');
      },
    };
    const failing = { ...service.app, random };
    await assert.rejects(resetOwnSandbox(failing, organisation, by), { message: 'the process dies' });
    assert.deepEqual([await of(), await learners()], [[{ public_id: left[0] }], there]);
    assert.equal((await service.client(key).get('/health')).status, 401);
    const log = await service.app.db.query<{ resource: string }>(
      'select resource from audit where organisation_id = $1 and action = $2 order by audit_id desc limit 1',
      [org.id, by.action],
    );
    assert.deepEqual(log, [{ resource: `${left[0]!} keys end` }]);
  });

  test('begun anew keeps no call of another organisation waiting, however long its deletion takes', async () => {
    const org = await service.organisation({ name: 'Polling College' });
    const other = await service.organisation({ name: 'Unconcerned College' });
    const { db } = service.app;
    const organisation = await readOrganisation(db, org.id);
    const by = { actor: 'operator', action: 'sandbox reset', requestId: systemRandom.uuid() };
    const publicId = await grantSandbox(service.app, organisation, by);
    const { organisation_id: id } = (await findOrganisation(db, publicId))!;
    const key = await service.withUnitOfWork((work) => createKey(work, id, { label: null, kind: 'test' }));
    const poller = service.client(key);
    assert.equal((await poller.get('/health')).status, 200);
    const own = openDatabase(service.databaseUrl, service.app.log, 2);
    const [held, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // What the deletion comes to late: it has deleted the sandbox's keys by then, and isn't committed.
    const holding = own.transaction(async (tx) => {
      await tx.query('select from organisation where organisation_id = $1 for key share', [id]);
      held.resolve();
      await over.promise;
    });
    await held.promise;
    const resetting = resetOwnSandbox(service.app, organisation, by);
    try {
      const waits = `select from pg_locks where not granted and pid in (
        select pid from pg_stat_activity where datname = current_database() and query like 'with gone as (delete from "organisation"%')`;
      while ((await own.query(waits)).length === 0) await delay(5);
      const polls = Array.from({ length: 4 }, () => poller.get('/health'));
      assert.equal((await other.get('/health')).status, 200);
      for (const poll of polls) assert.equal((await poll).status, 401);
    } finally {
      over.resolve();
      await holding;
      await own.close();
    }
    assert.notEqual(await resetting, publicId);
  });

  test('whoever is signed out meanwhile makes none and begins none anew; what fails after it was made says so', async () => {
    const org = await service.organisation({ name: 'Leaving College' });
    const base = `/console/${org.publicId}`;
    const { db } = service.app;
    const { transaction } = db;
    const of = () =>
      db.query<{ public_id: string }>('select public_id from organisation where sandbox_of = $1', [org.id]);
    /** Their use of the organisation is noted already, so that the next transaction is the sandbox's. */
    const seenOwner = async () => {
      const owner = await personOf(service, org.id, 'owner');
      assert.equal((await owner.get(base)).status, 200);
      return owner;
    };
    const leaves = async (path: string) => {
      const owner = await seenOwner();
      db.transaction = async (inside, turn) => {
        db.transaction = transaction;
        await service.withUnitOfWork((work) => endSessions(work, owner.userId));
        return transaction(inside, turn);
      };
      return (await owner.post(`${base}${path}`)).status;
    };
    assert.deepEqual([await leaves('/sandbox'), await of()], [404, []]);
    const stays = await seenOwner();
    let begun = 0;
    db.transaction = (inside, turn) =>
      begun++ === 0 ? transaction(inside, turn) : Promise.reject(new DatabaseUnavailable(null));
    const failed = await stays.post(`${base}/sandbox`);
    db.transaction = transaction;
    assert.equal(failed.status, 503);
    assert.match(failed.text, /The sandbox is incomplete/);
    assert.doesNotMatch(failed.text, /Nothing was changed/);
    const there = await of();
    assert.equal(there.length, 1);
    assert.deepEqual([await leaves('/sandbox/reset'), await of()], [404, there]);
    assert.match((await stays.post(`${base}/sandbox/reset`)).headers.location!, /did=reset/);
  });
});
