import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { readyRecord } from '../../../src/records/import/record.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { changeReference } from '../../../src/records/learners/reference.ts';
import { correctName, NameRefused } from '../../../src/records/learners/rename.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { personOf } from '../../web/console/visitor.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_RATE_LIMIT: '1000000' } });
const credits = async (id: number) =>
  (
    await service.app.db.query<{ credits: number }>('select credits from organisation where organisation_id = $1', [id])
  )[0]!.credits;

suite('provisioning', () => {
  test('an invitation ends after its time, and the next provisioning makes another and costs a credit', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 2 });
    const body = { ref: 'ana', full_name: 'Ana Silva' };
    const first = await org.post('/learners', body);
    assert.equal(Date.parse(first.body.data.expires_at) - Date.parse(first.body.data.created_at), limits.invitationMs);
    clock.advance(limits.invitationMs - 1);
    assert.equal((await org.post('/learners', body)).status, 200);
    assert.equal(await credits(org.id), 1);
    clock.advance(1);
    const second = await org.post('/learners', body);
    assert.equal(second.status, 201);
    assert.notEqual(second.body.data.assessment_url, first.body.data.assessment_url);
    assert.equal(await credits(org.id), 0);
    clock.advance(limits.invitationMs);
    assert.equal((await org.post('/learners', { ...body, full_name: 'Another Name' })).status, 402);
    assert.equal(
      (await org.get('/learners/ana')).body.data.full_name,
      'Ana Silva',
      'a refused provisioning changes nothing',
    );
  });

  test('the same reference at once makes one learner, one invitation, and costs one credit', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 10 });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        org.post('/learners', {
          ref: 'twin',
          full_name: 'The Twin',
          groups: [{ type: 'cohort', ref: 'C', name: 'C' }],
        }),
      ),
    );
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, 200, 200, 200, 200, 200, 200, 201]);
    assert.equal(new Set(answers.map((answer) => answer.body.data.invitation_id)).size, 1);
    assert.equal(await credits(org.id), 9);
    assert.equal((await org.get('/learners')).body.data.length, 1);
  });

  test('a refused one leaves nothing at all', async () => {
    const org = await service.organisation({ plan: 'standard', credits: 0 });
    const rows = async () =>
      service.app.db.query(
        `
      select (select count(*) from learner where organisation_id = $1) as learners, (select count(*) from learner_group where organisation_id = $1) as groups,
             (select count(*) from membership where organisation_id = $1) as members, (select count(*) from invitation where organisation_id = $1) as invitations,
             (select count(*) from event where organisation_id = $1) as events, (select position from feed where organisation_id = $1) as position`,
        [org.id],
      );
    const before = await rows();
    assert.equal(
      (
        await org.post('/learners', {
          ref: 'x',
          full_name: 'Ana Silva',
          groups: [{ type: 'cohort', ref: 'C', name: 'C' }],
        })
      ).status,
      402,
    );
    assert.deepEqual(await rows(), before);
  });

  test('a name that is the reference of now is refused, by whichever reference and way it comes', async () => {
    const org = await service.organisation();
    await org.post('/learners', { ref: 'old-1', full_name: 'Ana Silva' });
    const who = { ref: 'old-1' };
    const why = { actor: 'x', reason: null };
    await service.withUnitOfWork((work) => changeReference(work, org.id, who, 'bo.berg', why));
    const named = { ref: 'old-1', full_name: 'Bo Berg' };
    const { status, body } = await org.post('/learners', named);
    assert.deepEqual([status, body.error.code], [422, 'invalid_full_name']);
    const corrects = service.withUnitOfWork((work) => correctName(work, org.id, who, 'Bo Berg', why));
    await assert.rejects(corrects, NameRefused);
    const record = { learner: named, assessed_at: '2026-01-10T09:00:00Z', subject: 'maths', framework: 'F' };
    const level = { rqf_level: 'Level 1', rqf_level_code: 2, below_level_1: false };
    const [outcome] = await service.withUnitOfWork((work) =>
      importRecords(work, org.id, [readyRecord({ ...record, ...level }, org.publicId, work.nowMs)], {
        events: false,
        actor: 'x',
      }),
    );
    assert.equal(outcome!.outcome, 'rejected');
    const owner = await personOf(service, org.id, 'owner');
    const table = { rows: 'ref\tname\nold-1\tBo Berg', once: service.app.random.uuid() };
    const page = await owner.follow(await owner.post(`/console/${org.publicId}/invite`, table));
    assert.match(page.text, /a name that is not the reference/);
    assert.equal((await org.get('/learners/old-1')).body.data.full_name, 'Ana Silva');
    assert.equal((await org.post('/learners', { ...named, full_name: 'Ana Maria Silva' })).status, 200);
  });

  test("an event tells of new groups of a learner that existed, not of a new one's", async () => {
    const scene = await scenario(service);
    const events = async () =>
      (
        await service.app.db.query<{ payload: string }>(
          'select payload from event where organisation_id = $1 order by occurred_at, event_id',
          [scene.org.id],
        )
      ).map((row) => JSON.parse(row.payload));
    const group = (ref: string) => ({ type: 'cohort', ref, name: ref });
    await scene.org.post('/learners', { ref: 'new', full_name: 'The New', groups: [group('A')] });
    assert.deepEqual(await events(), []);
    const again = await scene.org.post('/learners', {
      ref: 'new',
      full_name: 'The New',
      groups: [group('A'), group('B')],
    });
    const b = again.body.data.groups.find((one: any) => one.ref === 'B').id;
    assert.deepEqual(
      (await events()).map(({ occurred_at, ...rest }) => rest),
      [{ event: 'learner.groups.updated', learner_ref: 'new', added: [b], removed: [] }],
    );
    await scene.org.post('/learners', { ref: 'new', full_name: 'The New', groups: [group('A'), group('B')] });
    assert.equal((await events()).length, 1);
  });
});
