import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { readyRecord } from '../../../src/records/import/record.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { amendAssessment } from '../../../src/records/results/amend.ts';
import { lockFeed } from '../../../src/feed/position.ts';
import { ars } from '../../support/ars.ts';
import { waitForLocks } from '../../support/postgres.ts';
import { withService } from '../../support/service.ts';

suite('ars results review, confirm, place and withdraw', async () => {
  const service = await withService();
  const org = await service.organisation();
  const run = (...words: string[]) =>
    ars(['results', ...words, '--json', '--organisation', org.publicId], service.environment);
  const ids = ['1', '2', '3'].map((n) => `${n.repeat(8)}-1111-4111-8111-111111111111`);
  const records = ids.map((assessment_id, n) => ({
    assessment_id,
    learner: { ref: `L-${n}`, full_name: `Learner ${n}` },
    assessed_at: '2026-01-15T10:00:00Z',
    subject: 'maths',
    framework: 'F',
    rqf_level: 'Level 1',
    rqf_level_code: 2,
    below_level_1: false,
    working_level: 'Level 1',
    needs_review: true,
  }));
  await service.withUnitOfWork((work) =>
    importRecords(
      work,
      org.id,
      records.map((one) => readyRecord(one, org.publicId, work.nowMs)),
      { events: false, actor: 'operator' },
    ),
  );
  const waiting = async () =>
    (await run('review')).json.data.map((one: { assessment_id: string }) => one.assessment_id).toSorted();

  test('what waits is listed without names, and each decision ends it', async () => {
    const { json } = await run('review');
    assert.deepEqual(json.data.map((one: { assessment_id: string }) => one.assessment_id).toSorted(), ids);
    assert.ok(!JSON.stringify(json).includes('Learner 1'));
    assert.deepEqual((await run('review', '--why', 'borderline')).json.data, []);
    assert.equal((await run('confirm', ids[0]!, '--note', 'Looked at')).code, 0);
    assert.deepEqual(await waiting(), [ids[1], ids[2]]);
    const placed = await run('place', ids[1]!, '--level', 'Level 2', '--reason', 'Shows more');
    assert.equal(placed.json.replaces, ids[1]);
    assert.equal((await org.get(`/assessments/${placed.json.assessment_id}`)).body.data.rqf_level, 'Level 2');
    assert.equal((await run('withdraw', ids[2]!, '--reason', 'A mistake')).json.status, 'deleted');
    assert.deepEqual(await waiting(), []);
    const shown = await run('review', placed.json.assessment_id);
    assert.deepEqual(
      shown.json.data.map((one: { outcome: string }) => one.outcome),
      ['changed'],
    );
  });

  test('what can’t be decided is said in one sentence, and nothing is done', async () => {
    for (const [words, code, says] of [
      [['confirm', ids[0]!], 1, /This result needs no review/],
      [['confirm', ids[2]!], 1, /withdrawn already/],
      [['place', ids[0]!, '--level', 'Level 1', '--reason', 'x'], 1, /already/],
      [['place', ids[0]!, '--level', 'Level 9', '--reason', 'x'], 2, /must be one of/],
      [['review', '--why', 'x'], 2, /must be one of/],
    ] as const) {
      const done = await run(...words);
      assert.equal(done.code, code, words.join(' '));
      assert.match(done.said, says);
      assert.match(done.said, /^ars: [^\n]+\n$/);
    }
  });

  test('a result that changes while its level is set is made ready again, and the log tells of what was done only', async () => {
    const [held, waits] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const amended = service.withUnitOfWork(async (work) => {
      await lockFeed(work, org.id);
      held.resolve();
      await waits.promise;
      const why = { actor: 'operator', reason: 'Meanwhile' };
      await amendAssessment(work, org.id, ids[0]!, { framework: 'Another' }, why);
    });
    await held.promise;
    const running = run('place', ids[0]!, '--level', 'Level 2', '--reason', 'Shows more');
    while ((await service.app.db.query(waitForLocks)).length === 0) await delay(20);
    waits.resolve();
    await amended;
    const { assessment_id: id } = (await running).json;
    assert.equal((await org.get(`/assessments/${id}`)).body.data.framework, 'Another');
    const rows = await service.app.db.query<{ resource: string }>(
      "select resource from audit where organisation_id = $1 and action = 'results place' order by at",
      [org.id],
    );
    assert.deepEqual([rows.at(-1)!.resource, rows.length], [id, 2]);
  });
});
