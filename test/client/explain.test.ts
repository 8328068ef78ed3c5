import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ServerResponse } from 'node:http';
import { ArsError, Client, openMirror, sync } from '../../client/src/index.ts';
import { levels } from '../../src/records/results/facet.ts';
import { Backup } from '../../src/sandbox/chaos/backup.ts';
import { mergeLearners } from '../../src/governance/deduplication/merge.ts';
import { Result } from '../support/scenario.ts';
import { importRecords } from '../../src/records/import/import.ts';
import { readyRecord } from '../../src/records/import/record.ts';
import { withService } from '../support/service.ts';
import type { Interfere } from './support/digest-service.ts';
import type { TestStore } from './support/mirrors.ts';
import { memoryStore, mirrorScene } from './support/mirrors.ts';

suite('a mirror explains a result', async () => {
  const service = await withService();

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
    assert.equal(await explaining(all, gone.id), 'pending');
    assert.equal(await explaining(all, old.id), 'pending');
    // Something that comes after them, so that they stand before the checkpoint.
    const fresh = await ben.completes();
    assert.equal(await explaining(all, fresh.id), 'pending');
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
      [old.id, 'out_of_date'],
      [altered.id, 'altered'],
      [kept.id, 'extra'],
      [own, 'not_of_the_service'],
      ['20000000-0000-4000-8000-000000000000', 'unknown'],
    ] as const)
      assert.equal(await explaining(all, id), reason, reason);
  });

  test('however its id is written, and whatever else is asked for', async () => {
    const { ana, options, store } = await mirrorScene(service, 0);
    const held = await ana.completes();
    // As PostgreSQL does, which has a type for ids.
    const strict: TestStore = {
      ...store,
      transaction: (work) =>
        store.transaction((transaction) =>
          work({
            ...transaction,
            find: async (ids) => {
              if (!ids.every((id) => /^[0-9a-f-]{36}$/.test(id))) throw new Error('invalid input syntax for type uuid');
              return transaction.find(ids);
            },
          }),
        ),
    };
    for (const given of [store, strict]) {
      const mirror = openMirror({ ...options, store: given });
      await mirror.poll();
      assert.equal((await mirror.explain(held.id.toUpperCase())).reason, 'in_step');
      for (const odd of ['', '.', '..', '../health', 'digest', '%', held.id.slice(1)])
        assert.equal((await mirror.explain(odd)).reason, 'unknown', odd);
    }
    store.database.prepare("insert into ars_assessment values ('mine', '2026', 1, '', '{}')").run();
    assert.equal((await openMirror(options).explain('mine')).reason, 'not_of_the_service');
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
    assert.equal(await reason(inside.id), 'pending');
    await openMirror({ ...options, filters }).poll();
    assert.equal(await reason(inside.id), 'outside_filters');
  });

  /** Each makes a change, lets something go wrong around it, and says what is to be explained by which reason. */
  const refuse = (status: number, headers: object) => (_request: unknown, response: ServerResponse) => {
    const code = status === 429 ? 'rate_limited' : 'service_unavailable';
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ error: { code, message: 'Later.' } }));
    return true;
  };
  const faults: [string, Interfere][] = [
    ['429 with Retry-After', refuse(429, { 'retry-after': '7' })],
    ['503', refuse(503, {})],
    ['replies that are cut', () => 'cut'],
    ['replies that are lost', () => 'lost'],
    ['replies that never come', () => true],
  ];
  for (const [what, fault] of faults)
    test(`rightly under ${what}, and not at all while nobody answers`, async () => {
      const { scene, ana, ben, front, options, clock } = await mirrorScene(service, 2);
      // Each of these takes a second of the test's own time.
      const isSilent = what.endsWith('never come');
      const times = { nowMs: () => clock.ms, wait: async (ms: number) => void (clock.ms += ms) };
      const patient = new Client({
        baseUrl: front.url,
        accessKeyId: scene.org.key.access_key_id,
        secretAccessKey: scene.org.key.secret_access_key,
        timeoutMs: isSilent ? 1000 : 30_000,
        surroundings: { ...times, random: () => 0.5 },
      });
      const mirror = openMirror({ ...options, client: patient });
      await mirror.poll();
      const [fresh, gone] = [await ana.completes(), await ben.completes()];
      await mirror.poll();
      await fresh.isAmended();
      await gone.isWithdrawn();
      const another = await ana.completes();
      const faulty = isSilent ? 1 : 2;
      let passing = 0;
      const explained = async (id: string) => {
        passing = faulty;
        front.interfere = (request, response) => passing-- > 0 && fault(request, response);
        return (await mirror.explain(id)).reason;
      };
      assert.equal(await explained(fresh.id), 'pending');
      passing = faulty;
      await mirror.poll();
      assert.equal(await explained(gone.id), 'withdrawn');
      if (isSilent) return;
      assert.deepEqual([await explained(fresh.id), await explained(another.id)], ['in_step', 'in_step']);
      front.interfere = fault;
      const thrown = await mirror.explain(fresh.id).catch((error: unknown) => error);
      assert.ok(thrown instanceof ArsError && thrown.isTransient, String(thrown));
    });

  test('rightly when events come late, twice and out of order', async () => {
    const { ana, ben, options } = await mirrorScene(service, 2);
    const stopping = new AbortController();
    let told = () => {};
    const polled = () => new Promise<void>((resolve) => (told = resolve));
    let next = polled();
    const mirror = sync({ ...options, everyMs: null, signal: stopping.signal, onReport: () => told() });
    try {
      await next;
      const [result, gone] = [await ana.completes(), await ben.completes()];
      const reasons = async () => [(await mirror.explain(result.id)).reason, (await mirror.explain(gone.id)).reason];
      assert.deepEqual(await reasons(), ['pending', 'pending']);
      await gone.isWithdrawn();
      await result.isAmended();
      // The event of the withdrawn one's completion comes last, and twice.
      for (let event = 0; event < 3; event++) {
        next = polled();
        mirror.wake();
        await next;
        assert.deepEqual(await reasons(), ['in_step', 'withdrawn']);
      }
    } finally {
      stopping.abort();
      await mirror.done;
    }
  });

  test('rightly with values and fields of tomorrow, with a renamed learner, and without references', async () => {
    const { scene, ana, ben, front, options } = await mirrorScene(service, 2);
    const mirror = openMirror(options);
    const reason = async (id: string) => (await mirror.explain(id)).reason;
    await mirror.poll();
    const result = await ana.completes();
    const [held] = [await ben.completes()];
    front.rewrite = (one) => Object.assign(one, { news: { more: 1 }, rqf_level: one.rqf_level && 'Level of tomorrow' });
    assert.equal(await reason(result.id), 'pending');
    await mirror.poll();
    assert.equal(await reason(result.id), 'in_step');
    front.rewrite = (one) => {
      if (one.assessment_id === held.id) one.status = 'on hold';
    };
    assert.equal(await reason(held.id), 'pending');
    front.rewrite = null;

    await ana.isCalled('Another Name');
    assert.equal(await reason(result.id), 'pending');
    await mirror.poll();
    assert.equal(await reason(result.id), 'in_step');

    const line = {
      learner: { ref: null, full_name: 'Nobody Known' },
      assessed_at: '2026-01-10T10:00:00.000Z',
      subject: 'maths',
      framework: 'Functional Skills subject content',
      ...levels[3]!,
    };
    const assessment_id = '40000000-0000-4000-8000-000000000000';
    await service.withUnitOfWork(async (work) => {
      const record = readyRecord({ ...line, assessment_id }, scene.org.publicId, work.nowMs);
      await importRecords(work, scene.org.id, [record], { events: false, actor: 'operator' });
    });
    assert.equal(await reason(assessment_id), 'pending');
    await mirror.poll();
    assert.equal(await reason(assessment_id), 'in_step');
    const anas = openMirror({ ...options, store: memoryStore(), filters: { learner_ref: 'ana-1' } });
    await anas.poll();
    assert.equal((await anas.explain(assessment_id)).reason, 'outside_filters');
  });

  test('rightly when two things come together: a backup and names, groups or withdrawals', async () => {
    const { scene, ana, ben, options } = await mirrorScene(service, 0);
    const cohort = await scene.group('C-1');
    const [named, kept, gone] = [await ana.completes(), await ben.completes(), await ben.completes()];
    await openMirror(options).poll();
    const backup = new Backup(service.app, scene.org.id);
    await backup.keep();
    await ana.isCalled('Another Name');
    await ana.joins(cohort);
    const [lost, both] = [await ana.completes(), await ben.completes()];
    await both.isWithdrawn();
    await gone.isWithdrawn();
    await ben.completes();
    const ofCohort = { ...options, store: memoryStore(), filters: { group_id: [cohort.id] } };
    for (const mirror of [options, ofCohort]) await openMirror(mirror).poll();
    const reason = async (id: string, of: typeof options = options) => (await openMirror(of).explain(id)).reason;
    assert.equal(await reason(both.id), 'withdrawn');
    await backup.restore();
    await backup.close();
    assert.equal(await reason(named.id), 'ahead');
    assert.equal(await reason(named.id, ofCohort), 'ahead');
    assert.equal(await reason(kept.id), 'in_step');
    assert.equal(await reason(gone.id), 'missing');
    assert.equal(await reason(lost.id), 'not_of_the_service');
    assert.equal(await reason(both.id), 'unknown');
    await ana.isCalled('A Third Name');
    assert.equal(await reason(named.id), 'pending');
    for (const mirror of [options, ofCohort]) await openMirror(mirror).poll();
    assert.deepEqual(
      [await reason(named.id), await reason(gone.id), await reason(lost.id)],
      ['in_step', 'in_step', 'unknown'],
    );
    assert.equal(await reason(named.id, ofCohort), 'outside_filters');
  });

  test('rightly when a late event meets a merge, and a withdrawal nobody’s reference', async () => {
    const { scene, ana, ben, options } = await mirrorScene(service, 0);
    const [of, moved] = [await ben.completes(), await ana.completes()];
    const id = '50000000-0000-4000-8000-000000000000';
    await service.withUnitOfWork(async (work) => {
      const line = { learner: { ref: null, full_name: 'Nobody Known' }, assessed_at: '2026-01-10T10:00:00.000Z' };
      const of = { subject: 'maths', framework: 'Functional Skills subject content', ...levels[3]! };
      const record = readyRecord({ ...line, ...of, assessment_id: id }, scene.org.publicId, work.nowMs);
      await importRecords(work, scene.org.id, [record], { events: false, actor: 'operator' });
    });
    const anas = { ...options, store: memoryStore(), filters: { learner_ref: 'ana-1' } };
    const polls = async () => {
      for (const mirror of [options, anas]) await openMirror(mirror).poll();
    };
    const reasons = async (of: string) => [
      (await openMirror(options).explain(of)).reason,
      (await openMirror(anas).explain(of)).reason,
    ];
    await polls();
    const idOf = async (ref: string) => (await scene.org.get(`/learners/${ref}`)).body.data.learner_id as string;
    const pair = { from: await idOf('ana-1'), into: await idOf('ben-1') };
    await service.withUnitOfWork((work) =>
      mergeLearners(work, scene.org.id, pair, { actor: 'operator', reason: 'One person' }),
    );
    assert.equal((await reasons(moved.id))[0], 'pending');
    await polls();
    // The event of a completion before the merge comes now: it starts a walk in which nothing is new.
    await polls();
    // The old reference leads to both learners' results.
    for (const one of [moved, of]) assert.deepEqual(await reasons(one.id), ['in_step', 'in_step']);

    await new Result(scene, id, ana, 'maths').isWithdrawn();
    assert.equal((await reasons(id))[0], 'pending');
    await polls();
    assert.deepEqual(await reasons(id), ['withdrawn', 'withdrawn']);
    assert.match((await openMirror(anas).explain(id)).sentence, /is not in the mirror/);
  });
});
