import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { changeGroup } from '../../../src/organisations/groups/change.ts';
import { createGroup } from '../../../src/organisations/groups/create.ts';
import { addMembers, removeMembers } from '../../../src/organisations/groups/members.ts';
import type { Scenario } from '../../support/scenario.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

const service = await withService();

type Shown = Map<string, any>;

/** Every payload of the organisation, under a name. */
async function shown(scene: Scenario): Promise<Shown> {
  const all: Shown = new Map();
  for (const entry of (await scene.org.get('/assessments?limit=500')).body.data)
    all.set(scene.names.get(entry.assessment_id)!, entry);
  for (const entry of (await scene.org.get('/learners?limit=500')).body.data) all.set(`learner ${entry.ref}`, entry);
  for (const entry of (await scene.org.get('/groups?limit=500')).body.data) all.set(`group ${entry.ref}`, entry);
  for (const [name, entry] of [...all]) {
    if (name.startsWith('learner '))
      all.set(`history of ${entry.ref}`, (await scene.org.get(`/learners/${entry.ref}`)).body.data);
  }
  return all;
}

/**
 * Law 2, everything shown is stamped: what differs after the act has a later updated_at.
 * @returns names of everything that has a new updated_at
 */
async function stampedBy(scene: Scenario, act: () => Promise<unknown>): Promise<string[]> {
  const before = await shown(scene);
  const etag = (await scene.org.get('/assessments')).headers.etag;
  await act();
  const after = await shown(scene);
  const stamped: string[] = [];
  for (const [name, entry] of after) {
    const old = before.get(name);
    if (old === undefined || entry.updated_at > old.updated_at) stamped.push(name);
    else assert.deepEqual(entry, old, `${name} has changed and isn't stamped`);
  }
  assert.equal(
    (await scene.org.get('/assessments')).headers.etag !== etag,
    stamped.length > 0,
    'the ETag follows the stamps',
  );
  return stamped.sort();
}

/** Ana has maths and digital, bo has english, cy nothing; ana and bo are in the cohort, bo in the course. */
async function college() {
  const scene = await scenario(service);
  const [cohort, course] = [await scene.group('cohort'), await scene.group('course', 'course')];
  const [ana, bo, cy] = [
    await scene.learner('ana', 'Ana Silva'),
    await scene.learner('bo', 'Bo Li'),
    await scene.learner('cy', 'Cy Roe'),
  ];
  const maths = await ana.completes({ subject: 'maths', assessed_at: '2026-01-10T09:00:00Z' });
  const digital = await ana.completes({ subject: 'digital', assessed_at: '2026-01-11T09:00:00Z' });
  const english = await bo.completes({ subject: 'english' });
  await cohort.adds(ana, bo);
  await course.adds(bo);
  return { scene, cohort, course, ana, bo, cy, maths, digital, english };
}

const ofAna = ['ana digital', 'ana maths', 'history of ana', 'learner ana'];
const ofBo = ['bo english', 'history of bo', 'learner bo'];

suite('law 2: everything shown is stamped', () => {
  test('a rename of a group: the group, its members and all their results', async () => {
    const { scene, cohort, course } = await college();
    assert.deepEqual(await stampedBy(scene, () => course.isRenamed('Renamed')), [...ofBo, 'group course'].sort());
    assert.deepEqual(
      await stampedBy(scene, () => cohort.isRenamed('Renamed')),
      [...ofAna, ...ofBo, 'group cohort'].sort(),
    );
    assert.equal((await scene.org.get('/learners/ana')).body.data.assessments[0].groups[0].name, 'Renamed');
  });

  test('archive and reactivation: the group leaves the payloads and comes back, the filter goes on', async () => {
    const { scene, cohort, ana, maths, digital, english } = await college();
    const followed = scene.follow({}, { of: [cohort] });
    await followed.poll();
    assert.deepEqual(await stampedBy(scene, () => cohort.isArchived()), [...ofAna, ...ofBo, 'group cohort'].sort());
    assert.deepEqual((await ana.read()).groups, []);
    assert.deepEqual(await followed.poll(), [
      'ana maths: completed',
      'ana digital: completed',
      'bo english: completed',
    ]);
    assert.deepEqual([...followed.held.keys()].sort(), [maths.id, digital.id, english.id].sort());
    assert.deepEqual(await stampedBy(scene, () => cohort.isReactivated()), [...ofAna, ...ofBo, 'group cohort'].sort());
    assert.equal((await ana.read()).groups[0].ref, 'cohort');
    await followed.assertConverged();
  });

  test('a rename of an archived group: the group alone', async () => {
    const { scene, cohort } = await college();
    await cohort.isArchived();
    assert.deepEqual(await stampedBy(scene, () => cohort.isRenamed('Unseen')), ['group cohort']);
  });

  test('an archived group keeps members, takes and gives up members, and its followers are told', async () => {
    const { scene, cohort, ana, cy } = await college();
    await cohort.isArchived();
    const followed = scene.follow({}, { of: [cohort] });
    await followed.poll();
    await ana.leaves(cohort);
    await cy.joins(cohort);
    assert.deepEqual((await followed.poll()).sort(), ['ana digital: left', 'ana maths: left']);
    const result = await cy.completes({ subject: 'maths' });
    assert.deepEqual(await followed.poll(), ['cy maths: completed']);
    assert.deepEqual((await result.read()).body.data.groups, []);
    await followed.assertConverged();
  });

  test("a change of a learner's name: the learner and all its results", async () => {
    const { scene, ana } = await college();
    assert.deepEqual(await stampedBy(scene, () => ana.isCalled('Ana Souza')), ofAna);
    const { full_name, assessments } = await ana.read();
    assert.deepEqual(
      [full_name, ...assessments.map((one: any) => one.learner.full_name)],
      ['Ana Souza', 'Ana Souza', 'Ana Souza'],
    );
  });

  test('membership: the learner and all its results', async () => {
    const { scene, cohort, course, ana, cy } = await college();
    assert.deepEqual(await stampedBy(scene, () => ana.joins(course)), ofAna);
    assert.deepEqual(await stampedBy(scene, () => ana.leaves(cohort)), ofAna);
    assert.deepEqual(await stampedBy(scene, () => cy.joins(cohort)), ['history of cy', 'learner cy']);
    assert.deepEqual(
      (await ana.read()).assessments.map((one: any) => one.groups.map((group: any) => group.ref)),
      [['course'], ['course']],
    );
  });

  test('membership through provisioning, with a group that is made there', async () => {
    const { scene, ana } = await college();
    const groups = [
      { type: 'campus', ref: 'north', name: 'North' },
      { type: 'cohort', ref: 'cohort', name: 'ignored' },
    ];
    assert.deepEqual(await stampedBy(scene, () => ana.isCalled('Ana Silva', groups)), [...ofAna, 'group north'].sort());
    assert.deepEqual(
      (await ana.read()).groups.map((group: any) => [group.type, group.ref, group.name]),
      [
        ['campus', 'north', 'North'],
        ['cohort', 'cohort', 'The cohort cohort'],
      ],
    );
  });

  test('a result: itself and its learner', async () => {
    const { scene, ana } = await college();
    assert.deepEqual(await stampedBy(scene, () => ana.completes({ subject: 'english' })), [
      'ana english',
      'history of ana',
      'learner ana',
    ]);
  });

  test('an amendment: the result and its learner, no other result', async () => {
    const { scene, maths } = await college();
    assert.deepEqual(await stampedBy(scene, () => maths.isAmended({ working_level: 'Entry Level 3' })), [
      'ana maths',
      'history of ana',
      'learner ana',
    ]);
    assert.equal((await maths.read()).body.data.working_level, 'Entry Level 3');
  });

  test('a withdrawal: the tombstone and the learner, whose newest result is the one before', async () => {
    const { scene, ana, digital } = await college();
    const earlier = await ana.completes({ subject: 'digital', assessed_at: '2026-01-01T09:00:00Z' });
    assert.equal((await ana.read()).last_assessed[0].assessment_id, digital.id);
    scene.names.set(earlier.id, 'ana digital before');
    assert.deepEqual(await stampedBy(scene, () => digital.isWithdrawn()), [
      'ana digital',
      'history of ana',
      'learner ana',
    ]);
    const learner = await ana.read();
    assert.equal(learner.last_assessed[0].assessment_id, earlier.id);
    assert.equal(learner.last_assessed_at, '2026-01-10T09:00:00.000Z');
    assert.equal((await digital.read()).status, 404);
    await digital.readReport(404);
    assert.deepEqual(await stampedBy(scene, () => digital.isWithdrawn().catch(() => null)), [], 'deleted is final');
    assert.deepEqual(await stampedBy(scene, () => digital.isAmended().catch(() => null)), [], 'deleted is final');
  });

  test('the first report of an imported result: the result and its learner; the second: nothing', async () => {
    const { scene, english } = await college();
    assert.deepEqual(await stampedBy(scene, () => english.readReport()), ofBo);
    assert.deepEqual(await stampedBy(scene, () => english.readReport()), []);
  });

  test('a change of the name or an amendment makes a new report, and the older hash is not shown with newer content', async () => {
    const { scene, english, bo } = await college();
    const first = (await english.readReport()).headers['x-report-sha256'];
    await english.isAmended({ framework: 'Amended framework' });
    assert.equal((await english.read()).body.data.report_sha256, null);
    const second = (await english.readReport()).headers['x-report-sha256'];
    assert.notEqual(second, first);
    assert.equal((await english.read()).body.data.report_sha256, second);
    assert.deepEqual(await stampedBy(scene, () => bo.isCalled('Bo Lee')), ofBo);
  });

  test("a team: its own verbs stamp as any group's do", async () => {
    const { scene, ana, cy } = await college();
    const { row } = await service.withUnitOfWork((work) =>
      createGroup(work, scene.org.id, { type: 'team', ref: 'T', name: 'Team' }),
    );
    const team = { managingTeams: true };
    assert.deepEqual(
      await stampedBy(scene, () =>
        service.withUnitOfWork((work) => addMembers(work, scene.org.id, row.group_id, ['ana'], team)),
      ),
      ofAna,
    );
    assert.equal((await ana.read()).groups.find((group: any) => group.type === 'team').name, 'Team');
    assert.deepEqual(
      await stampedBy(scene, () =>
        service.withUnitOfWork((work) => changeGroup(work, scene.org.id, row.group_id, { name: 'Renamed' }, team)),
      ),
      [...ofAna, 'group T'].sort(),
    );
    assert.deepEqual(
      await stampedBy(scene, () =>
        service.withUnitOfWork((work) => removeMembers(work, scene.org.id, row.group_id, ['ana', 'cy'], team)),
      ),
      ofAna,
    );
    assert.deepEqual((await cy.read()).groups, []);
  });
});

suite('an idempotent repeat changes nothing, not even an ETag', () => {
  test('whatever is repeated', async () => {
    const { scene, cohort, course, ana, bo, cy, maths } = await college();
    const repeats: Record<string, () => Promise<unknown>> = {
      'joining a group twice': () => cohort.adds(ana, bo),
      'leaving a group twice': () => course.removes(ana, cy),
      'the same name': () => ana.isCalled('Ana Silva'),
      'the same name and groups': () => ana.isCalled('Ana Silva', [{ type: 'cohort', ref: 'cohort', name: 'Other' }]),
      'another e-mail address, which shows nowhere': () =>
        scene.org.post('/learners', { ref: 'ana', full_name: 'Ana Silva', email: 'ana@example.org' }),
      'the same group': () => scene.group('cohort'),
      'the same name of a group': () => cohort.isRenamed('The cohort cohort'),
      'reactivating an active group': () => cohort.isReactivated(),
      'an amendment to what already is': () =>
        maths.isAmended({ framework: 'Functional Skills subject content', is_borderline: false }),
      'a refused change': () => scene.org.patch(`/groups/${cohort.id}`, { active: 'no' }),
      'a refused provisioning': () =>
        scene.org.post('/learners', { ref: 'dan', full_name: 'Dan', groups: [{ type: 'team', ref: 'T', name: 'T' }] }),
      'an unknown member': () => scene.org.post(`/groups/${cohort.id}/members`, { learner_refs: ['nobody'] }),
      'a webhook': () => scene.org.post('/webhooks', { url: 'https://portfolio.example.org/' }),
    };
    for (const [what, repeat] of Object.entries(repeats)) assert.deepEqual(await stampedBy(scene, repeat), [], what);
    await cohort.isArchived();
    assert.deepEqual(await stampedBy(scene, () => cohort.isArchived()), [], 'archiving twice');
  });
});

suite('after a rename', () => {
  test('what names nothing is still answered, and empty pages too', async () => {
    const { scene, cohort } = await college();
    await cohort.isRenamed('Another name');
    const id = '00000000-0000-4000-8000-000000000000';
    assert.equal((await scene.org.get(`/assessments/${id}`)).status, 404);
    assert.equal((await scene.org.get('/learners/nobody')).status, 404);
    for (const path of [
      '/assessments?learner_ref=nobody',
      '/learners?since=2999-01-01T00:00:00Z',
      '/groups?since=2999-01-01T00:00:00Z',
    ]) {
      const reply = await scene.org.get(path);
      assert.deepEqual([reply.status, reply.body.data], [200, []], path);
      assert.match(reply.headers['x-sync-through']!, /^2\d{3}-/);
    }
  });
});

suite('followers of learners and groups', () => {
  test('converge through every kind of change', async () => {
    const { scene, cohort, course, ana, bo, cy, digital } = await college();
    const [learners, groups, whole, courses, active] = [
      scene.followLearners({ limit: 2 }),
      scene.followGroups({}, { limit: 1 }),
      scene.follow({}, { limit: 2 }),
      scene.follow({}, { of: [course], limit: 1 }),
      scene.followGroups({ type: 'cohort' }),
    ];
    for (const follower of [learners, groups, whole, courses, active]) await follower.poll();
    await ana.joins(course);
    assert.deepEqual(await learners.poll(), ['ana: active']);
    await course.isRenamed('New name');
    assert.deepEqual(await groups.poll(), ['course: here']);
    await digital.isWithdrawn();
    await bo.leaves(course);
    await cohort.isArchived();
    await cy.completes({ subject: 'maths' });
    await cy.isCalled('Cy Young', [{ type: 'course', ref: 'course', name: 'x' }]);
    await ana.leaves(course);
    for (const follower of [learners, groups, whole, courses, active]) await follower.assertConverged();
  });
});
