import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Statement } from '../../../src/platform/db/database.ts';
import type { UnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { emptyLearnerCache } from '../../../src/records/import/learner-cache.ts';
import { readyRecord } from '../../../src/records/import/record.ts';
import { changeReference } from '../../../src/records/learners/reference.ts';
import { correctName } from '../../../src/records/learners/rename.ts';
import { withService } from '../../support/service.ts';

/** What an import knows of learners from its batches of before (decision 0024). */
suite('learners whom an import remembers', async () => {
  const service = await withService();
  const org = await service.organisation();
  const { app, withUnitOfWork } = service;
  const memory = emptyLearnerCache();
  const why = { actor: 'ana', reason: null };
  let day = 1;

  const record = (ref: string, full_name: string) =>
    readyRecord(
      {
        learner: { ref, full_name },
        assessed_at: `2026-01-${String(day++).padStart(2, '0')}T09:00:00.000Z`,
        subject: 'maths',
        framework: 'F',
        rqf_level: 'Level 1',
        rqf_level_code: 2,
        below_level_1: false,
      },
      org.publicId,
      app.clock.nowMs(),
    );
  /** Imports a batch, and says how many references were asked for, and what came of the records. */
  async function batch(
    records: ReturnType<typeof record>[],
    then: (work: UnitOfWork) => Promise<void> = async () => {},
  ) {
    let asked = 0;
    const outcomes = await withUnitOfWork(async (work) => {
      const query = (sql: Statement | string, values?: readonly unknown[]) => {
        if (typeof sql !== 'string' && sql.name === 'learner.by_refs') asked += (values![1] as string[]).length;
        return work.tx.query(sql, values);
      };
      const watched = { ...work, tx: { ...work.tx, query: query as UnitOfWork['tx']['query'] } };
      const done = await importRecords(watched, org.id, records, { events: false, actor: 'operator', memory });
      await then(work);
      return done;
    });
    return { asked, outcomes: outcomes.map((one) => one.outcome) };
  }
  const shown = async () => {
    const { body } = await org.get('/assessments?limit=100');
    return (body.data as { learner: { ref: string; full_name: string } }[]).map(
      ({ learner }) => `${learner.ref} ${learner.full_name}`,
    );
  };

  test('are not asked for again while nobody else writes', async () => {
    const first = await batch([record('K-1', 'Ana Silva'), record('K-2', 'Ben Hall')]);
    assert.deepEqual(first, { asked: 2, outcomes: ['imported', 'imported'] });
    const second = await batch([record('K-1', 'Ana Silva'), record('K-3', 'Chi Ito')]);
    assert.deepEqual(second, { asked: 1, outcomes: ['imported', 'imported'] });
    assert.deepEqual((await batch([record('K-1', 'Ana Costa')])).asked, 0);
    assert.deepEqual(await batch([record('K-1', 'Ana Costa')]), { asked: 0, outcomes: ['imported'] });
    assert.deepEqual((await shown()).sort(), [...Array(4).fill('K-1 Ana Costa'), 'K-2 Ben Hall', 'K-3 Chi Ito']);
  });

  test('are asked for again once somebody else has changed one', async () => {
    await withUnitOfWork((work) => correctName(work, org.id, { ref: 'K-2' }, 'Ben Hill', why));
    assert.equal((await batch([record('K-2', 'Ben Hall')])).asked, 1);
    await withUnitOfWork((work) => changeReference(work, org.id, { ref: 'K-3' }, 'K-4', why));
    assert.equal((await batch([record('K-3', 'Chi Ito')])).asked, 1);
    assert.equal((await batch([record('K-3', 'Chi Ito'), record('K-4', 'Chi Ito')])).asked, 1);
    const names = await shown();
    assert.equal(names.filter((one) => one === 'K-4 Chi Ito').length, 4);
    assert.equal(
      names.filter((one) => one.startsWith('K-2')).every((one) => one === 'K-2 Ben Hill'),
      true,
    );
  });

  test('are those of what was committed: a batch that is undone leaves nothing', async () => {
    assert.equal((await batch([record('K-1', 'Ana Costa')])).asked, 1);
    const undone = batch([record('K-5', 'Dev Rao'), record('K-1', 'Ana Sousa')], () =>
      Promise.reject(new Error('undone')),
    );
    await assert.rejects(undone, /undone/);
    const again = await batch([record('K-5', 'Dev Rao'), record('K-1', 'Ana Costa')]);
    assert.deepEqual(again, { asked: 1, outcomes: ['imported', 'imported'] });
    assert.deepEqual(
      (await shown()).filter((one) => one.startsWith('K-1') && one !== 'K-1 Ana Costa'),
      [],
    );
  });

  test('a result that comes twice in a batch makes it forget', async () => {
    const twice = record('K-1', 'Ana Costa');
    assert.deepEqual((await batch([twice, twice])).outcomes, ['imported', 'unchanged']);
    assert.equal((await batch([record('K-1', 'Ana Costa')])).asked, 1);
  });
});
