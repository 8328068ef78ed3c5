import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readyRecord } from '../../../src/records/import/record.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { correctName } from '../../../src/records/learners/rename.ts';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { ars } from '../../support/ars.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

const clock = manualClock(Date.UTC(2026, 5, 1, 9));
const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_RATE_LIMIT: '1000000' } });
const random = seededRandom('rename');
const why = { actor: 'operator', reason: 'Misspelt' };

suite("correcting a learner's name", () => {
  test('law 2: shows in the learner and every result, once, without invitation or credit', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana', 'Anna Silva');
    const results = [await ana.completes(), await ana.completes({ subject: 'english' })];
    const invitations = () => service.app.db.query('select from invitation where organisation_id = $1', [scene.org.id]);
    const before = await ana.read();
    const count = (await invitations()).length;
    const correct = () =>
      service.withUnitOfWork((work) => correctName(work, scene.org.id, { ref: 'ana' }, 'Ana Silva', why));
    assert.equal((await correct()).changed, true);
    const after = await ana.read();
    assert.equal(after.full_name, 'Ana Silva');
    assert.ok(after.updated_at > before.updated_at);
    for (const result of results) {
      const { data } = (await result.read()).body;
      assert.equal(data.learner.full_name, 'Ana Silva');
      assert.ok(data.updated_at > before.updated_at);
    }
    clock.advance(1000);
    assert.equal((await correct()).changed, false);
    assert.deepEqual(await ana.read(), after, 'law 2: the same name again changed something');
    assert.equal((await invitations()).length, count);
    const kept = await service.app.db.query('select actor, reason from learner_change where organisation_id = $1', [
      scene.org.id,
    ]);
    assert.deepEqual(kept, [why, why]);
  });

  test('an older record does not put the old name back, a newer one gives a new name', async () => {
    const org = await service.organisation();
    const line = (day: string, name: string, subject = 'maths', ref: string | null = 'bo', id = random.uuid()) =>
      readyRecord(
        {
          assessment_id: id,
          learner: { ref, full_name: name },
          assessed_at: `${day}T09:00:00Z`,
          subject,
          framework: 'F',
          rqf_level: 'Level 1',
          rqf_level_code: 2,
          below_level_1: false,
        },
        org.publicId,
        clock.nowMs(),
      );
    const imports = (...records: ReturnType<typeof line>[]) =>
      service.withUnitOfWork((work) => importRecords(work, org.id, records, { events: false, actor: 'operator' }));
    const name = async () => (await org.get('/learners/bo')).body.data.full_name;
    const shown = async () =>
      new Set((await org.get('/assessments?learner_ref=bo')).body.data.map((one: any) => one.learner.full_name));

    const first = line('2026-03-01', 'Bo First');
    await imports(first, line('2026-02-01', 'Bo Older', 'english'));
    assert.equal(await name(), 'Bo First', 'within one file the newest record names the learner');
    await imports(line('2026-01-01', 'Bo Oldest', 'digital'));
    assert.deepEqual([await name(), await shown()], ['Bo First', new Set(['Bo First'])]);
    const corrected = await imports({
      ...first,
      fullName: 'Bo Corrected',
      learnerJson: '{"ref":"bo","full_name":"Bo Corrected"}',
    });
    assert.deepEqual([corrected[0]!.outcome, await name()], ['updated', 'Bo Corrected']);
    await service.withUnitOfWork((work) => correctName(work, org.id, { ref: 'bo' }, 'Bo By Hand', why));
    assert.equal((await imports(first))[0]!.outcome, 'unchanged');
    await imports(line('2026-05-31', 'Bo Of May'));
    assert.deepEqual([await name(), await shown()], ['Bo By Hand', new Set(['Bo By Hand'])]);
    clock.advance(48 * 3600_000);
    await imports(line('2026-06-02', 'Bo Of June'));
    assert.deepEqual([await name(), await shown()], ['Bo Of June', new Set(['Bo Of June'])]);
    await org.post('/learners', { ref: 'bo', full_name: 'Bo Provisioned' });
    await imports(line('2026-06-01', 'Bo Late'));
    assert.equal(await name(), 'Bo Provisioned');

    const nameless = line('2026-03-01', 'No Reference', 'maths', null);
    await imports(nameless);
    const { learner_id } = (await org.get(`/assessments/${nameless.assessmentId}`)).body.data.learner;
    await service.withUnitOfWork((work) => correctName(work, org.id, { learnerId: learner_id }, 'Still None', why));
    assert.equal((await imports(nameless))[0]!.outcome, 'unchanged');
    assert.equal((await org.get(`/assessments/${nameless.assessmentId}`)).body.data.learner.full_name, 'Still None');
  });

  test('on the command line: by reference, audited, and refused in one sentence without the name', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana', 'Anna Silva');
    const { learner_id } = await ana.read();
    const run = (...words: string[]) =>
      ars(['learner', 'rename', '--json', '--organisation', scene.org.publicId, ...words], service.environment);
    const [done, number, nobody, both] = await Promise.all([
      run('ana', '--name', 'Ana Silva', '--reason', 'Misspelt'),
      run('ana', '--name', 'Ana QQ123456C'),
      run('--learner-id', random.uuid(), '--name', 'Ana Silva'),
      run('ana', '--learner-id', learner_id, '--name', 'Ana Silva'),
    ]);
    assert.deepEqual(done.json, { learner_id, ref: 'ana', changed: true });
    assert.equal((await ana.read()).full_name, 'Ana Silva');
    assert.deepEqual([number.code, nobody.code, both.code], [2, 1, 2]);
    for (const { said } of [number, nobody, both]) assert.doesNotMatch(said, /Silva|QQ/);
    const audit = await service.app.db.query(
      `select actor, resource from audit where organisation_id = $1 and action = 'learner rename'`,
      [scene.org.id],
    );
    assert.deepEqual(audit, [{ actor: 'operator', resource: learner_id }]);
  });
});
