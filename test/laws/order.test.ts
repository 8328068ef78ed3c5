import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { readyRecord } from '../../src/records/import/record.ts';
import { importRecords } from '../../src/records/import/import.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import type { ManualClock } from '../platform/time/manual-clock.ts';
import { manualClock } from '../platform/time/manual-clock.ts';
import { recordResults, scenario } from '../support/scenario.ts';
import type { TestService } from '../support/service.ts';
import { waitForLocks } from '../support/postgres.ts';
import { withService } from '../support/service.ts';
import { Mirror, Shown } from './world/mirror.ts';
import { PositionWatch } from './world/watch.ts';

/** The interleavings that the laws are about, each brought about on purpose instead of by chance. */

/** A promise with its ends outside. */
function gate() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Resolves when a statement waits for a lock, or when `settled` does. */
async function blocked(db: Database, settled: Promise<unknown>): Promise<void> {
  let over = false;
  void settled.then(
    () => {
      over = true;
    },
    () => {
      over = true;
    },
  );
  while (!over && (await db.query(waitForLocks)).length === 0);
}

/** What happens after the next answer to a named statement, before its caller sees it. */
function afterNext(service: TestService, statement: RegExp, then: () => Promise<void>): void {
  const { db } = service.app;
  const { query } = db;
  db.query = async (sql, values) => {
    const rows = await query(sql, values);
    if (typeof sql !== 'string' && statement.test(sql.name)) {
      db.query = query;
      await then();
    }
    return rows as never[];
  };
}

const random = seededRandom('order');

suite('law 1: convergence', async () => {
  const service = await withService();

  test('law 1: what commits between a page and its reply is in the next poll', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana');
    await ana.completes();
    // Without tombstones: a walk that has a digest reads its last page again.
    const mirror = new Mirror([scene.org], random, new Shown(), {
      path: '/assessments',
      query: 'status=completed',
      limit: 100,
      manner: 'follow',
    });
    // Two changes, the second in a later millisecond than the first.
    afterNext(service, /^assessment\.page/, async () => {
      await ana.completes({ subject: 'english' });
      await ana.completes({ subject: 'digital' });
    });
    await mirror.poll();
    await mirror.assertConverged();
    assert.equal(mirror.held.size, 3);
  });

  test('law 1: a first page that stays the same does not hide a change behind it', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana');
    const first = await ana.completes();
    for (const subject of ['english', 'digital'] as const) await ana.completes({ subject });
    const page = await scene.org.get('/assessments?limit=1');
    assert.equal(page.body.data[0].assessment_id, first.id);
    const bo = await scene.learner('bo');
    await bo.completes();
    const again = await scene.org.get('/assessments?limit=1', { 'if-none-match': page.headers.etag! });
    assert.equal(again.status, 200, 'law 1: 304 hid a change on a later page');
    assert.deepEqual(again.body.data, page.body.data);
    assert.equal((await scene.org.get('/assessments?limit=1', { 'if-none-match': again.headers.etag! })).status, 304);
  });

  test('law 1: a poll that was repeated without news gets the next change', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana');
    const { etag } = (await scene.org.get('/assessments')).headers;
    for (let i = 0; i < 3; i++)
      assert.equal((await scene.org.get('/assessments', { 'if-none-match': etag! })).status, 304);
    await ana.completes();
    const next = await scene.org.get('/assessments', { 'if-none-match': etag! });
    assert.equal(next.status, 200, 'law 1: a repeated 304 hid a change');
    assert.equal(next.body.data.length, 1);
  });

  test('law 1: a change that commits before the page is read shows under an ETag that does not match afterwards', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana');
    await ana.completes();
    const before = await scene.org.get('/assessments');
    afterNext(service, /^assessment\.page/, async () => {
      await ana.completes({ subject: 'english' });
    });
    const page = await scene.org.get('/assessments', { 'if-none-match': '"another"' });
    assert.equal(page.headers.etag, before.headers.etag);
    assert.equal((await scene.org.get('/assessments', { 'if-none-match': page.headers.etag! })).body.data.length, 2);
  });
});

suite('law 1: clocks', async () => {
  /** Each reading is 20 ms after the one before, or 20 ms before it. */
  function steppingClock(): ManualClock {
    const clock = manualClock(Date.UTC(2026, 0, 31, 9));
    const steps = seededRandom('steps');
    let late = 0;
    return {
      ...clock,
      nowMs: () => {
        clock.advance(20 + late);
        late = steps.float() < 0.5 ? 40 : 0;
        clock.advance(-late);
        return clock.nowMs();
      },
    };
  }

  test('law 1: a clock that steps back loses no scope exit, and no learner who left', async () => {
    const service = await withService({
      own: 'Moves the clock.',
      clock: steppingClock(),
      settings: { ARS_RATE_LIMIT: '1000000' },
    });
    const scene = await scenario(service);
    const cohort = await scene.group('C1');
    const learners = await Promise.all(Array.from({ length: 16 }, (_, n) => scene.learner(`L-${n}`)));
    await service.withUnitOfWork((work) =>
      recordResults(
        work,
        scene.org.id,
        learners.map(({ ref }) => ({ ref })),
      ),
    );
    await cohort.adds(...learners);
    const mirror = new Mirror([scene.org], random, new Shown(), {
      path: '/assessments',
      limit: 100,
      manner: 'follow',
      query: `group_id=${cohort.id}`,
    });
    const everybody = new Mirror([scene.org], random, new Shown(), {
      path: '/learners',
      limit: 100,
      manner: 'follow',
      query: '',
    });
    await mirror.poll();
    await everybody.poll();
    assert.equal(mirror.held.size, 16);
    for (const learner of learners) await learner.leaves(cohort);
    await mirror.poll();
    assert.deepEqual([...mirror.held.keys()], [], 'law 1: a scope exit never reached the feed of its group');
    await everybody.assertConverged();
  });

  test('law 3: a clock that is set ahead and back again reorders nothing and hides nothing', async () => {
    const clock = manualClock(Date.UTC(2026, 0, 31, 9));
    const settings = { ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'http://results.test' };
    const service = await withService({ own: 'Moves the clock.', clock, settings });
    // Another process, whose clock is right.
    const steady = await service.sibling({ clock: manualClock(clock.nowMs()) });
    const scene = await scenario(service);
    const clients = [scene.org, steady.client(scene.org.key)];
    const cohort = await scene.group('C1');
    const [ana, bo] = [await scene.learner('ana'), await scene.learner('bo')];
    const maths = await ana.completes();
    await bo.completes();
    await cohort.adds(ana, bo);
    const watch = new PositionWatch(service.app.db, scene.org.id);
    const shown = new Shown();
    const mirrors = (['follow', 'linger', 'since only'] as const).flatMap((manner) =>
      [`group_id=${cohort.id}`, ''].map(
        (query) => new Mirror(clients, random, shown, { path: '/assessments', limit: 100, manner, query }),
      ),
    );
    const changes: (() => Promise<unknown>)[] = [
      () => maths.isAmended({ framework: 'A' }),
      () => ana.leaves(cohort),
      () => bo.completes({ subject: 'english' }),
      () => ana.joins(cohort),
      () => cohort.isRenamed('Renamed'),
      () => bo.leaves(cohort),
      () => ana.isCalled('Ana Silva'),
    ];
    for (const [n, change] of changes.entries()) {
      clock.advance([300_000, -300_000, -7_200_000, 40][n % 4]!);
      await change();
      await watch.look();
      for (const mirror of mirrors) await mirror.poll();
      const [ours, theirs] = await Promise.all(
        clients.map(async (one) => (await one.get('/assessments')).headers['x-sync-through']!),
      );
      assert.equal(ours, theirs);
    }
    for (const mirror of mirrors) await mirror.assertConverged();
  });
});

suite('law 2: everything shown is stamped', async () => {
  const service = await withService();

  test('law 2: what waited for the lock is stored with the groups of its learner as they are then', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana');
    const cohort = await scene.group('C1');
    const held = gate();
    const joined = gate();
    const joining = service.withUnitOfWork(async (work) => {
      const { addMembers } = await import('../../src/organisations/groups/members.ts');
      await addMembers(work, scene.org.id, cohort.id, ['ana']);
      joined.open();
      await held.opened;
    });
    await joined.opened;
    const recording = service.withUnitOfWork((work) => recordResults(work, scene.org.id, [{ ref: 'ana' }]));
    await blocked(service.app.db, recording);
    held.open();
    await joining;
    const [id] = await recording;
    const groups = (await scene.org.get(`/assessments/${id}`)).body.data.groups;
    assert.deepEqual(
      groups,
      (await ana.read()).groups,
      'law 2: the assessment does not show the groups of its learner',
    );
    assert.equal(groups.length, 1);
  });

  test('law 2: a group that is renamed while a page is read does not show its new name under the old updated_at', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana');
    const cohort = await scene.group('C1');
    await ana.joins(cohort);
    const maths = await ana.completes();
    const reads: [string, RegExp, (answer: any) => any][] = [
      ['/assessments', /^assessment\.page/, (answer) => answer.body.data[0]],
      ['/learners', /^learner\.page/, (answer) => answer.body.data[0]],
      [`/assessments/${maths.id}`, /^assessment\.live/, (answer) => answer.body.data],
    ];
    for (const [n, [path, statement, entryOf]] of reads.entries()) {
      const before = entryOf(await scene.org.get(path));
      // A name that no process has rendered yet, then one that comes while the page is read.
      await cohort.isRenamed(`Name ${n}`);
      afterNext(service, statement, async () => {
        await cohort.isRenamed(`Another name ${n}`);
      });
      const during = entryOf(await scene.org.get(path));
      const after = entryOf(await scene.org.get(path));
      assert.equal(after.groups[0].name, `Another name ${n}`);
      if (during.updated_at === after.updated_at) assert.deepEqual(during, after, path);
      else assert.equal(during.groups[0].name, `Name ${n}`, `law 2: ${path} shows two payloads under one updated_at`);
      assert.ok(during.updated_at > before.updated_at);
    }
  });

  test('law 2: an import that names a new learner twice shows the last name everywhere', async () => {
    const scene = await scenario(service);
    const line = (id: string, name: string, subject: string) =>
      readyRecord(
        {
          assessment_id: id,
          learner: { ref: 'zoe', full_name: name },
          assessed_at: '2026-01-10T09:00:00Z',
          subject,
          framework: 'F',
          rqf_level: 'Level 1',
          rqf_level_code: 2,
          below_level_1: false,
        },
        scene.org.publicId,
        service.app.clock.nowMs(),
      );
    const ids = [random.uuid(), random.uuid(), random.uuid()];
    await service.withUnitOfWork((work) =>
      importRecords(work, scene.org.id, [line(ids[0]!, 'Zoe Old', 'maths'), line(ids[1]!, 'Zoe New', 'english')], {
        events: false,
        actor: 'operator',
      }),
    );
    const names = async () => (await scene.org.get('/assessments')).body.data.map((one: any) => one.learner.full_name);
    assert.deepEqual(await names(), ['Zoe New', 'Zoe New']);
    await service.withUnitOfWork((work) =>
      importRecords(work, scene.org.id, [line(ids[2]!, 'Zoe Between', 'digital'), line(ids[0]!, 'Zoe Last', 'maths')], {
        events: false,
        actor: 'operator',
      }),
    );
    assert.deepEqual(await names(), ['Zoe Last', 'Zoe Last', 'Zoe Last']);
  });

  test('law 2: two changes within one millisecond give two values of updated_at', async () => {
    const clock = manualClock(Date.UTC(2026, 0, 31, 9));
    const still = await withService({ own: 'Moves the clock.', clock, settings: { ARS_RATE_LIMIT: '1000000' } });
    const scene = await scenario(still);
    const ana = await scene.learner('ana');
    const maths = await ana.completes();
    const cohort = await scene.group('C1');
    const seen = new Map<string, string>();
    const look = async () => {
      for (const entry of [(await maths.read()).body.data, await ana.read()]) {
        const key = `${entry.assessment_id ?? entry.ref} ${entry.updated_at}`;
        const text = JSON.stringify(entry);
        assert.equal(seen.get(key) ?? text, text, 'law 2: two payloads under one updated_at');
        seen.set(key, text);
      }
    };
    await look();
    for (const change of [
      () => maths.isAmended({ framework: 'A' }),
      () => maths.isAmended({ framework: 'B' }),
      () => ana.joins(cohort),
      () => cohort.isRenamed('Renamed'),
      () => cohort.isArchived(),
      () => cohort.isReactivated(),
      () => ana.leaves(cohort),
      () => ana.isCalled('Ana Silva'),
      () => maths.readReport(),
    ]) {
      await change();
      await look();
    }
    assert.equal(seen.size, 20);
  });

  test('law 2: what is repeated changes no updated_at and no ETag', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana', 'Ana Silva');
    const cohort = await scene.group('C1');
    const maths = await ana.completes();
    await ana.joins(cohort);
    await cohort.isRenamed('Renamed');
    await maths.isAmended({ framework: 'A' });
    await maths.readReport();
    const paths = [
      '/assessments',
      '/learners',
      '/groups',
      `/assessments/${maths.id}`,
      '/learners/ana',
      `/groups/${cohort.id}`,
      `/assessments?group_id=${cohort.id}`,
    ];
    const read = async () =>
      Promise.all(
        paths.map(async (path) => {
          const { headers, text } = await scene.org.get(path);
          return { path, etag: headers.etag, text };
        }),
      );
    const before = await read();
    const repeats: [string, () => Promise<unknown>][] = [
      ['adding a member', () => ana.joins(cohort)],
      ['provisioning', () => ana.isCalled('Ana Silva', [{ type: 'cohort', ref: 'C1', name: 'Yet another name' }])],
      ['creating a group', () => scene.group('C1')],
      ['renaming', () => cohort.isRenamed('Renamed')],
      ['reactivating', () => cohort.isReactivated()],
      ['amending', () => maths.isAmended({ framework: 'A' })],
      ['reading a report', () => maths.readReport()],
      [
        'removing who is no member',
        async () => {
          await scene.org.post(`/groups/${cohort.id}/members/remove`, { learner_refs: ['nobody'] });
        },
      ],
    ];
    for (const [what, repeat] of repeats) {
      await repeat();
      assert.deepEqual(await read(), before, `law 2: ${what} again changed something`);
    }
  });
});

suite('law 3: positions follow commits', async () => {
  const service = await withService();

  test('law 3: a writer that took its position first and commits last is not overtaken', async () => {
    const scene = await scenario(service);
    await scene.learner('ana');
    await scene.learner('bo');
    const watch = new PositionWatch(service.app.db, scene.org.id);
    await watch.look();
    const held = gate();
    const stamped = gate();
    const slow = service.withUnitOfWork(async (work) => {
      await recordResults(work, scene.org.id, [{ ref: 'ana' }]);
      stamped.open();
      await held.opened;
    });
    await stamped.opened;
    // Of another subject: nothing but the feed's lock keeps the two apart.
    const quick = service.withUnitOfWork((work) =>
      recordResults(work, scene.org.id, [{ ref: 'bo', subject: 'english' }]),
    );
    await blocked(service.app.db, quick);
    await watch.look();
    held.open();
    await Promise.all([slow, quick]);
    await watch.look();
  });

  test('law 3: what is rolled back leaves the feed, and every ETag, as it was', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana');
    await ana.completes();
    const before = await scene.org.get('/assessments');
    await assert.rejects(
      service.withUnitOfWork(async (work) => {
        await recordResults(work, scene.org.id, [{ ref: 'ana', subject: 'english' }]);
        throw new Error('nothing of this');
      }),
      /nothing of this/,
    );
    assert.equal((await scene.org.get('/assessments', { 'if-none-match': before.headers.etag! })).status, 304);
  });
});
