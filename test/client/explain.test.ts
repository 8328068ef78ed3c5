import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { openMirror } from '../../client/src/index.ts';
import { withService } from '../service.ts';
import { mirrorScene } from './mirrors.ts';

suite('a mirror explains a result', async () => {
  const service = await withService({ settings: { ARS_RATE_LIMIT: '1000000' } });

  test('by the reason that is right in each case', async () => {
    const { scene, ana, ben, options, store } = await mirrorScene(service, 0);
    const cohort = await scene.group('C-1');
    await ana.joins(cohort);
    const explaining = async (filters: object, id: string) => {
      const { reason, sentence } = await openMirror({ ...options, filters }).explain(id);
      assert.ok(sentence.length > 20);
      return reason;
    };
    const all = {};
    const held = await ana.completes();
    const gone = await ana.completes();
    const lost = await ana.completes();
    const old = await ana.completes();
    const altered = await ana.completes();
    const kept = await ana.completes();
    await openMirror(options).poll();
    await gone.isWithdrawn();
    await kept.isWithdrawn();
    await old.isAmended();
    const [before] = store.database.prepare('select * from ars_assessment where assessment_id = ?').all(old.id);
    const [keptRow] = store.database.prepare('select * from ars_assessment where assessment_id = ?').all(kept.id);
    assert.equal(await explaining(all, gone.id), 'coming');
    assert.equal(await explaining(all, old.id), 'coming');
    // Something that comes after them, so that they stand before the checkpoint.
    const fresh = await ben.completes();
    assert.equal(await explaining(all, fresh.id), 'coming');
    await openMirror(options).poll();
    const insert = store.database.prepare('insert or replace into ars_assessment values (?, ?, ?, ?, ?)');
    for (const row of [before!, keptRow!]) insert.run(...(Object.values(row) as string[]));
    const own = '10000000-0000-4000-8000-000000000000';
    insert.run(own, '2026-01-01T00:00:00.000Z', 1, '', '{}');
    store.database.prepare('delete from ars_assessment where assessment_id = ?').run(lost.id);
    store.database
      .prepare("update ars_assessment set record = json_set(record, '$.framework', 'x') where assessment_id = ?")
      .run(altered.id);
    for (const [id, reason] of [
      [held.id, 'in_step'],
      [fresh.id, 'in_step'],
      [gone.id, 'withdrawn'],
      [lost.id, 'missing'],
      [old.id, 'outdated'],
      [altered.id, 'altered'],
      [kept.id, 'kept'],
      [own, 'not_of_the_service'],
      ['20000000-0000-4000-8000-000000000000', 'unknown'],
    ] as const)
      assert.equal(await explaining(all, id), reason, reason);
  });

  test('that filters leave out, or a learner took along', async () => {
    const { scene, ana, ben, options } = await mirrorScene(service, 0);
    const cohort = await scene.group('C-1');
    await ana.joins(cohort);
    const [inside, outside] = [await ana.completes(), await ben.completes()];
    const english = await ana.completes({ subject: 'english' });
    const filters = { group_id: [cohort.id], subject: ['maths' as const] };
    await openMirror({ ...options, filters }).poll();
    const reason = async (id: string) => (await openMirror({ ...options, filters }).explain(id)).reason;
    assert.equal(await reason(inside.id), 'in_step');
    assert.equal(await reason(outside.id), 'outside_filters');
    assert.equal(await reason(english.id), 'outside_filters');
    await ana.leaves(cohort);
    assert.equal(await reason(inside.id), 'coming');
    await openMirror({ ...options, filters }).poll();
    assert.equal(await reason(inside.id), 'outside_filters');
  });
});
