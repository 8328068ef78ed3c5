import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { readyRecord } from '../../../src/records/import/record.ts';
import { openDryRun } from '../../../src/records/import/dry-run.ts';
import { changeReference } from '../../../src/records/learners/reference.ts';
import type { NamedLearner } from '../../../src/records/learners/rename.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { ars } from '../../support/ars.ts';
import { Mirror, Shown } from '../../laws/world/mirror.ts';
import { scenario } from '../../support/scenario.ts';
import type { TestOrganisation } from '../../support/service.ts';
import { withService } from '../../support/service.ts';

const clock = manualClock(Date.UTC(2026, 5, 1, 9));
const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_RATE_LIMIT: '1000000' } });
const { app } = service;
const why = { actor: 'operator', reason: 'New numbers' };

const gives = (org: TestOrganisation, who: NamedLearner, ref: string) =>
  service.withUnitOfWork((work) => changeReference(work, org.id, who, ref, why));

/** A line of a file without ids, as a register exports it. */
const line = (ref: string | null, name: string, day = '2026-01-10', subject = 'maths') => ({
  learner: { ref, full_name: name },
  assessed_at: `${day}T09:00:00Z`,
  subject,
  framework: 'F',
  rqf_level: 'Level 1',
  rqf_level_code: 2,
  below_level_1: false,
});
const ready = (org: TestOrganisation, ...lines: object[]) =>
  lines.map((one) => readyRecord(one, org.publicId, clock.nowMs()));
const imports = (org: TestOrganisation, ...lines: object[]) =>
  service.withUnitOfWork(async (work) =>
    (await importRecords(work, org.id, ready(org, ...lines), { events: false, actor: 'operator' })).map(
      (one) => one.outcome,
    ),
  );

const idOf = async (org: TestOrganisation, ref: string): Promise<string> =>
  (await org.get(`/learners/${ref}`)).body.data?.learner_id;

suite('a reference that is given or changed', () => {
  test('law 1 and 2: shows in everything, and feeds by either one hold the same', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('old-1', 'Ana Silva');
    const result = await ana.completes();
    await ana.completes({ subject: 'english' });
    const shown = new Shown();
    const mirrors = ['old-1', 'new-1', 'newer-1'].map(
      (ref) =>
        new Mirror([scene.org], seededRandom(ref), shown, {
          path: '/assessments',
          query: `learner_ref=${ref}`,
          limit: 1,
          manner: 'linger',
        }),
    );
    const all = new Mirror([scene.org], seededRandom('all'), shown, {
      path: '/assessments',
      limit: 7,
      manner: 'follow',
    });
    for (const mirror of [...mirrors, all]) await mirror.poll();
    const before = (await result.read()).body.data;
    for (const [from, to] of [
      ['old-1', 'new-1'],
      ['old-1', 'newer-1'],
    ] as const) {
      assert.deepEqual(await gives(scene.org, { ref: from }, to), {
        learner_id: before.learner.learner_id,
        ref: to,
        full_name: 'Ana Silva',
        changed: true,
      });
      const now = (await result.read()).body.data;
      assert.equal(now.learner.ref, to);
      assert.ok(now.updated_at > before.updated_at);
      for (const mirror of [...mirrors, all]) await mirror.assertConverged();
    }
    for (const mirror of mirrors) assert.equal(mirror.held.size, 2);
    const paths = await Promise.all(['old-1', 'new-1', 'newer-1'].map((ref) => scene.org.get(`/learners/${ref}`)));
    for (const { body } of paths) assert.deepEqual([body.data.ref, body.data.assessments.length], ['newer-1', 2]);
    clock.advance(1000);
    assert.equal((await gives(scene.org, { ref: 'new-1' }, 'newer-1')).changed, false);
    const still = await scene.org.get('/learners/old-1');
    assert.deepEqual(still.body, paths[0]!.body, 'law 2: the same reference again changed something');
    // Back to one from before: what was the current one is an alias now.
    await gives(scene.org, { ref: 'newer-1' }, 'old-1');
    for (const mirror of [...mirrors, all]) await mirror.assertConverged();
    assert.equal((await scene.org.get('/learners/newer-1')).body.data.ref, 'old-1');
  });

  test('provisioning, members and imports by an alias reach the learner, and show the reference of now', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 5 });
    const group = (await org.post('/groups', { type: 'cohort', ref: 'C', name: 'C' })).body.data.id;
    const first = (await org.post('/learners', { ref: 'old-2', full_name: 'Bo Berg' })).body.data;
    await gives(org, { ref: 'old-2' }, 'new-2');
    const again = await org.post('/learners', {
      ref: 'old-2',
      full_name: 'Bo Bergman',
      groups: [{ type: 'class', ref: 'K', name: 'K' }],
    });
    assert.equal(again.status, 200, 'the open invitation is given again');
    const { learner_id, ref, invitation_id } = again.body.data;
    assert.deepEqual([learner_id, ref, invitation_id], [first.learner_id, 'new-2', first.invitation_id]);
    const members = `/groups/${group}/members`;
    const added = await org.post(members, { learner_refs: ['old-2', 'new-2', 'nobody-2'] });
    assert.deepEqual(added.body, { added: ['old-2', 'new-2'], already_members: [], not_found: ['nobody-2'] });
    assert.deepEqual((await org.post(members, { learner_refs: ['old-2'] })).body.already_members, ['old-2']);
    const removed = await org.post(`${members}/remove`, { learner_refs: ['new-2', 'old-2'] });
    assert.deepEqual(removed.body, { removed: ['new-2', 'old-2'], not_members: [] });
    const told = await app.db.query<{ ref: string; n: number }>(
      `select payload::json ->> 'learner_ref' as ref, count(*) as n from event
        where organisation_id = $1 and type = 'learner.groups.updated' group by 1`,
      [org.id],
    );
    assert.deepEqual(told, [{ ref: 'new-2', n: 3 }], 'one event for each change of the learner, under one reference');
    assert.deepEqual(await imports(org, line('old-2', 'Bo Bergman')), ['imported']);
    const [result] = (await org.get('/assessments?learner_ref=old-2')).body.data;
    assert.deepEqual(
      [result.learner.learner_id, result.learner.ref, result.learner.full_name],
      [first.learner_id, 'new-2', 'Bo Bergman'],
    );
    assert.equal((await org.get('/learners?limit=500')).body.data.length, 1);
  });

  test('a file that was imported before finds its results, under whichever reference it names them', async () => {
    const org = await service.organisation();
    const file = [line('old-3', 'Cy Cole'), line('old-3', 'Cy Cole', '2026-02-10'), line(null, 'Di Dane')];
    assert.deepEqual(await imports(org, ...file), ['imported', 'imported', 'imported']);
    const nameless = (await org.get('/learners?limit=500')).body.data.find((one: any) => one.ref === null);
    await gives(org, { ref: 'old-3' }, 'new-3');
    await gives(org, { learnerId: nameless.learner_id }, 'given-3');
    const unchanged = ['unchanged', 'unchanged', 'unchanged'];
    const renewed = [line('new-3', 'Cy Cole'), line('new-3', 'Cy Cole', '2026-02-10'), line('given-3', 'Di Dane')];
    const rehearsed = await service.withUnitOfWork(async (work) => {
      const rehearsal = await openDryRun(work, org.id);
      const records = ready(org, ...file);
      await rehearsal.copyFor(records);
      return (await importRecords(work, org.id, records, { events: false, actor: 'operator' })).map(
        (one) => one.outcome,
      );
    });
    assert.deepEqual(rehearsed, unchanged, 'the rehearsal says what the import does');
    assert.deepEqual(await imports(org, ...file), unchanged);
    assert.deepEqual(await imports(org, ...renewed), unchanged);
    // New ones, named both ways in one file, are one.
    const twice = [line('old-3', 'Cy Cole', '2026-03-10'), line('new-3', 'Cy Cole', '2026-03-10')];
    assert.deepEqual(await imports(org, ...twice), ['imported', 'unchanged']);
    assert.equal((await org.get('/assessments?limit=500')).body.data.length, 4);
    for (const one of (await org.get('/assessments?learner_ref=old-3')).body.data)
      assert.equal(one.learner.ref, 'new-3');
  });

  test('somebody else’s is refused, of now or before, and so is what is no reference', async () => {
    const org = await service.organisation();
    for (const ref of ['mine-4', 'theirs-4']) await org.post('/learners', { ref, full_name: `Somebody ${ref}` });
    await gives(org, { ref: 'theirs-4' }, 'theirs-now-4');
    const before = (await org.get('/learners?limit=500')).body;
    for (const [ref, says] of [
      ['theirs-now-4', /belongs to another learner/],
      ['theirs-4', /previous reference of another learner/],
      ['QQ-12-34-56-C', /without personal data/],
      ['ana@college.example', /opaque reference/],
      ['', /opaque reference/],
      ['x'.repeat(101), /opaque reference/],
      ['Somebody-mine', /opaque|name/],
    ] as const)
      if (ref === 'Somebody-mine') {
        await org.post('/learners', { ref: 'mine-4', full_name: 'Somebody Mine' });
        await assert.rejects(gives(org, { ref: 'mine-4' }, ref), says);
        await org.post('/learners', { ref: 'mine-4', full_name: 'Somebody mine-4' });
      } else await assert.rejects(gives(org, { ref: 'mine-4' }, ref), says);
    const after = (await org.get('/learners?limit=500')).body;
    const shown = (body: any) => body.data.map(({ updated_at: _, ...one }: any) => one);
    assert.deepEqual(new Set(shown(after).map(JSON.stringify)), new Set(shown(before).map(JSON.stringify)));
    await assert.rejects(gives(org, { ref: 'nobody-4' }, 'new-4'), { code: 'not_found' });
    // Another organisation's are no obstacle.
    const other = await service.organisation();
    await other.post('/learners', { ref: 'x', full_name: 'Other Person' });
    assert.equal((await gives(other, { ref: 'x' }, 'theirs-4')).changed, true);
  });

  test('of two at once who ask for one reference, one gets it', async () => {
    const org = await service.organisation();
    for (const n of [0, 1, 2, 3]) await org.post('/learners', { ref: `race-${n}`, full_name: `Racer ${n}` });
    const done = await Promise.allSettled([0, 1, 2, 3].map((n) => gives(org, { ref: `race-${n}` }, 'wanted')));
    assert.equal(done.filter((one) => one.status === 'fulfilled').length, 1);
    for (const n of [0, 1, 2, 3]) assert.notEqual(await idOf(org, `race-${n}`), undefined);
  });

  test('an erasure leaves no alias, and feeds by one still bring the tombstones', async () => {
    const org = await service.organisation();
    await imports(org, line('gone-5', 'Edda Erased'));
    const mirrors = ['gone-5', 'gone-now-5'].map(
      (ref) =>
        new Mirror([org], seededRandom(ref), new Shown(), {
          path: '/assessments',
          query: `learner_ref=${ref}`,
          limit: 1,
          manner: 'follow',
        }),
    );
    await org.post('/groups', { type: 'cohort', ref: 'C', name: 'C' });
    const group = (await org.get('/groups')).body.data[0].id;
    await org.post(`/groups/${group}/members`, { learner_refs: ['gone-5'] });
    await gives(org, { ref: 'gone-5' }, 'gone-now-5');
    for (const mirror of mirrors) {
      await mirror.poll();
      assert.equal(mirror.held.size, 1);
    }
    const id = await idOf(org, 'gone-5');
    await service.withUnitOfWork((work) => eraseLearner(work, org.id, id, { actor: 'operator' }));
    for (const mirror of mirrors) {
      await mirror.assertConverged();
      assert.equal(mirror.held.size, 0);
    }
    const left = await app.db.query(
      `select ref from learner_alias where organisation_id = $1 and ref is not null
       union all select payload from event where organisation_id = $1 and payload <> ''`,
      [org.id],
    );
    assert.deepEqual(left, []);
    for (const ref of ['gone-5', 'gone-now-5']) assert.equal((await org.get(`/learners/${ref}`)).status, 404);
    // Whoever has it next is somebody else.
    await org.post('/learners', { ref: 'gone-5', full_name: 'Next Holder' });
    assert.notEqual(await idOf(org, 'gone-5'), id);
    await mirrors[0]!.assertConverged();
  });

  test('on the command line: given, audited, refused in one sentence', async () => {
    const org = await service.organisation();
    await imports(org, line(null, 'Fay Field'));
    await org.post('/learners', { ref: 'taken-6', full_name: 'Somebody Else' });
    const { learner_id } = (await org.get('/learners?limit=500')).body.data.find((one: any) => one.ref === null);
    const run = (...words: string[]) =>
      ars(['learner', 'reference', '--json', '--organisation', org.publicId, ...words], service.environment);
    const given = await run('--learner-id', learner_id, '--to', 'fay-6', '--reason', 'Enrolled');
    assert.deepEqual(given.json, { learner_id, ref: 'fay-6', changed: true });
    assert.equal(await idOf(org, 'fay-6'), learner_id);
    const [taken, number, nobody] = await Promise.all([
      run('fay-6', '--to', 'taken-6'),
      run('fay-6', '--to', 'QQ123456C'),
      run('nobody-6', '--to', 'other-6'),
    ]);
    assert.deepEqual([taken.code, number.code, nobody.code], [1, 2, 1]);
    assert.match(taken.said, /^ars: the reference belongs to another learner; [^\n]+\n$/);
    for (const { said } of [taken, number, nobody]) assert.doesNotMatch(said, /Field|QQ/);
    const kept = await app.db.query(
      `select c.kind, c.actor, c.reason, a.action from learner_change c
         join audit a on a.organisation_id = c.organisation_id and a.resource = c.learner_id::text and a.action = 'learner reference'
        where c.organisation_id = $1`,
      [org.id],
    );
    assert.deepEqual(kept, [
      { kind: 'referenced', actor: 'operator', reason: 'Enrolled', action: 'learner reference' },
    ]);
  });
});
