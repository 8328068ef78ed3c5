import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { amendAssessment, readAmendment } from '../../../src/records/results/amend.ts';
import { readyRecord } from '../../../src/records/import/record.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { withService } from '../../support/service.ts';

const service = await withService();
const id = '0f8a3c1e-5b7d-4a2f-9c3e-1d2b4a6f8e01';
const given = { 'Entry Level': 0.07, 'Level 1': 0.81, 'Level 2': 0.12 };

function record(extra: object = {}) {
  return {
    assessment_id: id,
    learner: { ref: 'ana', full_name: 'Ana Silva' },
    assessed_at: '2026-01-10T09:00:00Z',
    subject: 'maths',
    framework: 'F',
    rqf_level: 'Level 1',
    rqf_level_code: 2,
    below_level_1: false,
    ...extra,
  };
}

suite('level_probabilities', async () => {
  const org = await service.organisation();
  const imports = async (extra?: object) => {
    const [outcome] = await service.withUnitOfWork((work) =>
      importRecords(work, org.id, [readyRecord(record(extra), org.publicId, work.nowMs)], {
        events: false,
        actor: 'operator',
      }),
    );
    return outcome!.outcome;
  };
  const shown = async () => (await org.get(`/assessments/${id}`)).body.data.level_probabilities;

  test('null where a record says nothing of them, and saying null is no change', async () => {
    assert.equal(await imports(), 'imported');
    assert.equal(await shown(), null);
    assert.equal(await imports({ level_probabilities: null }), 'unchanged');
  });

  test('are imported, amended and taken away, each time with another updated_at', async () => {
    const stamps = [(await org.get(`/assessments/${id}`)).body.data.updated_at];
    assert.equal(await imports({ level_probabilities: given }), 'updated');
    assert.deepEqual(await shown(), given);
    stamps.push((await org.get('/assessments')).body.data[0].updated_at);
    const amendment = readAmendment({ level_probabilities: { 'Level 1': 1 } });
    await service.withUnitOfWork((work) =>
      amendAssessment(work, org.id, id, amendment, { actor: 'operator', reason: 'Reviewed' }),
    );
    assert.deepEqual((await org.get('/learners/ana')).body.data.assessments[0].level_probabilities, { 'Level 1': 1 });
    stamps.push((await org.get('/assessments')).body.data[0].updated_at);
    assert.equal(await imports(), 'unchanged', 'a record that says nothing of them leaves them');
    assert.equal(await imports({ level_probabilities: null }), 'updated');
    assert.equal(await shown(), null);
    assert.deepEqual(stamps, [...new Set(stamps)].sort());
  });

  const refused: [string, unknown][] = [
    ['a probability above 1', { 'Level 1': 1.2 }],
    ['text', { 'Level 1': '1' }],
    ['a sum below 1', { 'Level 1': 0.5 }],
    ['no level', {}],
    ['a National Insurance number as a level', { 'QQ 12 34 56 C': 1 }],
    ['a list', [1]],
    ['too many levels', Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`Level ${i}`, 0.05]))],
  ];
  for (const [what, level_probabilities] of refused) {
    test(`${what} is refused, in a record and in an amendment`, () => {
      assert.throws(() => readyRecord(record({ level_probabilities }), org.publicId, service.app.clock.nowMs()), {
        message: /level_probabilities/,
      });
      assert.throws(() => readAmendment({ level_probabilities }), /level_probabilities/);
    });
  }
});
