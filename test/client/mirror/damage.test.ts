import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Change, Filters } from '../../../client/src/index.ts';
import { openMirror } from '../../../client/src/index.ts';
import { bucketOf, checkOf } from '../../../client/src/sync/digest.ts';
import { grouped } from '../../../client/src/sync/repair.ts';
import type { Random } from '../../../src/platform/crypto/random.ts';
import { pick, seededRandom } from '../../../src/platform/crypto/random.ts';
import { recordResults } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';
import type { TestStore } from '../support/mirrors.ts';
import { clientOf, heldBy, mirrorScene } from '../support/mirrors.ts';

const seed = process.env.LAW_SEED ?? String(process.hrtime.bigint());
const weekMs = 8 * 86_400_000;

/** What was done to a mirror: the ids that differ by it, and those of them whose id or time does, as buckets show. */
type Damage = { ids: Set<string>; differing: Set<string> };

/** Ways in which a row is damaged by hand. Each gives the ids that it touches, and whether their ids or times differ. */
const ways: ((store: TestStore, id: string, other: string, random: Random) => { ids: string[]; differ: boolean })[] = [
  (store, id) => {
    store.database.prepare('delete from ars_assessment where assessment_id = ?').run(id);
    return { ids: [id], differ: true };
  },
  (store, id) => {
    const sql = "update ars_assessment set updated_at = '2020-01-01T00:00:00.000Z' where assessment_id = ?";
    store.database.prepare(sql).run(id);
    return { ids: [id], differ: true };
  },
  (store, id) => {
    const sql = "update ars_assessment set record = json_set(record, '$.framework', 'x') where assessment_id = ?";
    store.database.prepare(sql).run(id);
    return { ids: [id], differ: false };
  },
  (store, id) => {
    store.database.prepare("update ars_assessment set record = 'x' where assessment_id = ?").run(id);
    return { ids: [id], differ: false };
  },
  (store, id, _other, random) => {
    const moved = random.uuid();
    store.database.prepare('update ars_assessment set assessment_id = ? where assessment_id = ?').run(moved, id);
    return { ids: [id, moved], differ: true };
  },
  (store, id, _other, random) => {
    const own = random.uuid();
    const sql = `insert into ars_assessment select ?, updated_at, generation, checksum, json_set(record, '$.assessment_id', ?)
      from ars_assessment where assessment_id = ?`;
    store.database.prepare(sql).run(own, own, id);
    return { ids: [own], differ: true };
  },
  // An older state with everything that belongs to it, as a restored copy of the mirror has it.
  (store, id) => {
    const updated_at = '2021-01-01T00:00:00.000Z';
    const read = store.database.prepare('select record from ars_assessment where assessment_id = ?');
    const record = { ...JSON.parse(read.get(id)!.record as string), updated_at, framework: 'older' };
    const sql = 'update ars_assessment set updated_at = ?, checksum = ?, record = ? where assessment_id = ?';
    store.database.prepare(sql).run(updated_at, checkOf(record), JSON.stringify(record), id);
    return { ids: [id], differ: true };
  },
  (store, id, other) => {
    swap(store, id, other, 'updated_at');
    return { ids: [id, other], differ: true };
  },
  (store, id, other) => {
    swap(store, id, other, 'record');
    return { ids: [id, other], differ: false };
  },
];

function swap(store: TestStore, one: string, other: string, column: 'updated_at' | 'record'): void {
  const read = store.database.prepare(`select ${column} as it from ars_assessment where assessment_id = ?`);
  const write = store.database.prepare(`update ars_assessment set ${column} = ? where assessment_id = ?`);
  const [mine, theirs] = [read.get(one)!.it as string, read.get(other)!.it as string];
  write.run(theirs, one);
  write.run(mine, other);
}

function damage(store: TestStore, random: Random, rows: number): Damage {
  const left = [...heldBy(store).keys()].sort();
  const found: Damage = { ids: new Set(), differing: new Set() };
  const take = () => left.splice(Math.floor(random.float() * left.length), 1)[0]!;
  while (rows-- > 0 && left.length > 1) {
    const { ids, differ } = pick(random, ways)(store, take(), take(), random);
    for (const id of ids) {
      found.ids.add(id);
      if (differ) found.differing.add(id);
    }
  }
  return found;
}

/** The requests that a mirror may take to find and mend this, the poll that finds it among them. */
function maxRequests({ ids, differing }: Damage): number {
  const buckets = new Set([...differing].map((id) => bucketOf(id, 16)));
  return 2 + Math.ceil(buckets.size / 64) + ids.size;
}

suite('a mirror that was damaged', async () => {
  const service = await withService({
    own: 'Has a public address.',
    settings: { ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'http://results.test' },
  });

  for (const [what, sql] of [
    ['has lost a row', 'delete from ars_assessment where assessment_id = ?'],
    [
      'has a row with another content',
      "update ars_assessment set record = json_set(record, '$.framework', 'x') where assessment_id = ?",
    ],
    ['has a row that is no JSON', "update ars_assessment set record = 'x' where assessment_id = ?"],
    ['has a row under another id', "update ars_assessment set assessment_id = 'x' where assessment_id = ?"],
    ['has an id in capitals', 'update ars_assessment set assessment_id = upper(assessment_id) where assessment_id = ?'],
    [
      'has a row of its own beside',
      "insert into ars_assessment select '10000000-0000-4000-8000-000000000000', updated_at, generation, checksum, record from ars_assessment where assessment_id = ?",
    ],
    ['has every time wrong', "update ars_assessment set updated_at = 'never' where ? is not null"],
    ['has lost everything', 'delete from ars_assessment where ? is not null'],
  ] as const) {
    for (const hasDigest of [true, false]) {
      test(`${what}, is mended by ${hasDigest ? 'id at the next recount' : 'the next whole walk'}`, async () => {
        const { store, polled, inStep, clock } = await mirrorScene(service, 8, hasDigest);
        await polled();
        // From here on the feed repeats nothing.
        await polled();
        const [id] = heldBy(store).keys();
        store.database.prepare(sql).run(id!);
        clock.ms += weekMs;
        const report = await polled();
        await inStep(what);
        const rows = store.database.prepare('select count(*) as n from ars_assessment where updated_at like ?');
        assert.equal(rows.get('2%')!.n, 8);
        if (!hasDigest) return assert.equal(report.wholeWalks, 1);
        assert.deepEqual([report.isProven, report.wholeWalks], [true, 0]);
        const byBucket = report.requests.filter((one) => one.includes('buckets=')).length;
        // The poll, the buckets, the ids in those that differ, and the damaged ones.
        assert.ok(byBucket <= 1 && report.repaired >= 1, String(report.repaired));
        assert.ok(report.requests.length <= 2 + byBucket + report.repaired, report.requests.join('\n'));
      });
    }
  }

  test('is mended by 2 requests, one for 64 buckets that differ, and one for each damaged result, whatever was done to it', async (context) => {
    context.diagnostic(`LAW_SEED=${seed}`);
    const { scene, ana, store, changes, polled, inStep, clock, front } = await mirrorScene(service, 60);
    const cohort = await scene.group('C-1');
    await ana.joins(cohort);
    await service.withUnitOfWork((work) =>
      recordResults(
        work,
        scene.org.id,
        Array.from({ length: 20 }, (_, i) => ({
          ref: i % 2 === 0 ? 'ana-1' : 'ben-1',
          subject: 'english' as const,
          // Two in each bucket.
          assessment_id: `2000000${i % 2}-0000-4000-8000-${String(i >> 1).padStart(12, '0')}`,
        })),
      ),
    );
    const bounded = await scene.org.another({ groupIds: [cohort.id], subjects: ['maths', 'english'] });
    const random = seededRandom(seed);
    for (const [name, more, filters] of [
      ['all', {}, {}],
      ['a subject', {}, { subject: ['english'] }],
      ['a group', {}, { group_id: [cohort.id] }],
      ['a bounded key', { client: clientOf(front.url, bounded.key, { nowMs: () => clock.ms }) }, {}],
    ] as [string, object, Filters][]) {
      const given = { ...more, filters };
      await polled(given);
      await polled(given);
      await polled(given);
      const inTruth = () => inStep(name, name === 'a bounded key' ? { group_id: [cohort.id] } : filters);
      await inTruth();
      for (const rows of [1, 4, pick(random, [20, 60, 1000])]) {
        const done = damage(store, random, rows);
        clock.ms += weekMs;
        const report = await polled(given);
        const said = `${name}, ${rows} rows: ${report.requests.length} requests\n${report.requests.join('\n')}`;
        assert.ok(report.requests.length <= maxRequests(done), `${said}\nat most ${maxRequests(done)}`);
        assert.equal(report.isProven, true, said);
        await inTruth();
        const touched = changes.filter(({ id }) => !done.ids.has(id));
        assert.deepEqual(touched, [], `${name}: what was not damaged is left alone`);
        await polled(given);
        assert.deepEqual(changes, [], `${name}: what was mended is mended`);
      }
    }
  });

  test('in two rows of one bucket that have changed places is mended: a bucket does not cancel out', async () => {
    const { scene, store, polled, inStep, clock } = await mirrorScene(service, 0);
    const ids = [1, 2].map((n) => `${n}0000000-0000-4000-8000-00000000beef`);
    await service.withUnitOfWork((work) =>
      recordResults(
        work,
        scene.org.id,
        ids.map((assessment_id) => ({ ref: 'ana-1', assessment_id })),
      ),
    );
    await service.withUnitOfWork((work) =>
      recordResults(work, scene.org.id, [{ ref: 'ben-1', assessment_id: ids[0]!.replace('1', '3') }]),
    );
    for (const column of ['updated_at', 'record'] as const) {
      await polled();
      await polled();
      swap(store, ids[0]!, ids[0]!.replace('1', '3'), column);
      clock.ms += weekMs;
      const { repaired, requests, isProven } = await polled();
      assert.deepEqual([repaired, isProven], [2, true], column);
      assert.ok(requests.length <= 2 + 1 + 2, requests.join('\n'));
      await inStep(column);
    }
  });

  for (const filters of [{ learner_ref: 'ana-1' }, { assessed_from: '2025-01-01T00:00:00.000Z' }] as Filters[]) {
    test(`and has no digest, with ${Object.keys(filters)[0]}, is mended by the next whole walk`, async () => {
      const { store, polled, inStep, clock } = await mirrorScene(service, 20);
      assert.equal((await polled({ filters })).isProven, null);
      for (const way of ways) {
        const [id, other] = heldBy(store).keys();
        way(store, id!, other!, seededRandom(seed));
        clock.ms += weekMs;
        const report = await polled({ filters });
        assert.deepEqual([report.wholeWalks, report.isProven], [1, null]);
        await inStep(way.toString(), filters);
      }
    });
  }

  test('during a walk is mended by the recount that follows', async () => {
    const { store, polled, inStep, clock, ana } = await mirrorScene(service, 12);
    const random = seededRandom(seed);
    for (const whole of [true, false]) {
      if (!whole) for (let i = 0; i < 9; i++) await ana.completes();
      store.left = 30;
      await assert.rejects(polled(), /killed/);
      store.left = Infinity;
      assert.ok(heldBy(store).size > 4);
      damage(store, random, 2);
      await polled();
      clock.ms += weekMs;
      assert.equal((await polled()).isProven, true);
      await inStep(whole ? 'during the first walk' : 'during a later one');
    }
  });

  test('in more places than a walk has pages, is walked instead', async () => {
    const { store, polled, inStep, clock } = await mirrorScene(service, 80);
    await polled({ pageSize: 100 });
    await polled({ pageSize: 100 });
    store.database.exec('delete from ars_assessment');
    clock.ms += weekMs;
    const report = await polled({ pageSize: 100 });
    assert.deepEqual([report.isProven, report.wholeWalks, report.added], [true, 1, 80]);
    assert.equal(report.requests.length, 3);
    await inStep('after the walk');
  });

  for (const [what, sql] of [
    ['has lost its state', 'delete from ars_assessment_sync'],
    ['has a state of somebody else', "update ars_assessment_sync set state = '{}'"],
    ['has a state that is no JSON', "update ars_assessment_sync set state = 'x'"],
  ] as const) {
    test(`${what} begins anew, with the rows that it has`, async () => {
      const { store, polled, inStep, changes, options, ana } = await mirrorScene(service, 8);
      await polled();
      const running = openMirror(options);
      await running.poll();
      const one = await ana.completes();
      store.database.exec(sql);
      // A row that the service does not have: only the end of the whole walk takes it out.
      const own = `insert into ars_assessment select '10000000-0000-4000-8000-000000000000', updated_at, generation, checksum, record from ars_assessment limit 1`;
      store.database.exec(own);
      changes.length = 0;
      const report = await running.poll();
      assert.deepEqual([report.wholeWalks, report.results, report.isProven], [1, 9, true]);
      assert.deepEqual(changes.map(({ kind }) => kind).sort(), ['added', 'removed']);
      assert.ok(changes.some(({ id }) => id === one.id));
      await inStep(what);
    });
  }

  test('in any part of its state is right after the next recount, and goes on', async () => {
    const { store, polled, inStep, clock, ana, ben } = await mirrorScene(service, 4);
    await polled();
    const read = store.database.prepare('select state from ars_assessment_sync');
    const walks = ['delta', 'whole', 'clearing'].map((kind) => ({
      kind,
      position: 1,
      shown: 'x',
      after: 1,
      sum: null,
    }));
    const future = '2099-01-01T00:00:00.000Z';
    for (const altered of [
      { version: -1 },
      { serial: 'x' },
      { filters: 'subject=maths' },
      { generation: null },
      { generation: 2 ** 60 },
      { checkpoint: undefined },
      { checkpoint: { since: 'x', etag: '' } },
      { checkpoint: { since: future, etag: 'W/"x"' } },
      ...walks.map((walk) => ({ walk })),
      { walk: { kind: 'delta', position: { next: 'https://elsewhere.test/?cursor=x', since: future, etag: '' } } },
      { digest: null },
      { digest: { n: 1, w1: 1, w2: 1 }, served: { n: 1, w1: 1, w2: 1 } },
      { served: { n: 'x' } },
      { sweptAtMs: null },
      { recountedAtMs: 1e300, quietUntilMs: 1e300 },
    ]) {
      const gone = await ben.completes();
      await polled();
      await gone.isWithdrawn();
      await ana.completes();
      const state = { ...(JSON.parse(read.get()!.state as string) as object), ...altered };
      store.database.prepare('update ars_assessment_sync set state = ?').run(JSON.stringify(state));
      await polled();
      clock.ms += weekMs;
      await polled();
      await inStep(JSON.stringify(altered));
    }
  });

  for (const [what, sql] of [
    ['no JSON', "update ars_assessment set record = 'x' where assessment_id = ?"],
    ['an empty record', "update ars_assessment set record = '{}' where assessment_id = ?"],
    ['a part less', "update ars_assessment set record = json_remove(record, '$.learner') where assessment_id = ?"],
  ] as const)
    test(`and holds ${what} where a result changes or goes, tells nothing of it to onChange`, async () => {
      const { ana, polled, inStep, store } = await mirrorScene(service, 2);
      const result = await ana.completes();
      await polled();
      const told: unknown[] = [];
      const onChange = (changes: Change[]) => {
        for (const change of changes) {
          const before = change.kind === 'added' ? undefined : change.previously;
          told.push([change.kind, change.id, before && before.learner.ref]);
        }
      };
      store.database.prepare(sql).run(result.id);
      await result.isAmended();
      await polled({ onChange });
      await result.isAmended({ framework: 'Another' });
      await polled({ onChange });
      store.database.prepare(sql).run(result.id);
      await result.isWithdrawn();
      await polled({ onChange });
      assert.deepEqual(told, [
        ['added', result.id, undefined],
        ['changed', result.id, 'ana-1'],
        ['removed', result.id, null],
      ]);
      await inStep(what);
    });

  for (const [what, sql] of [
    ['a lost row', 'delete from ars_assessment where assessment_id = ?'],
    ['another content', "update ars_assessment set record = '{}' where assessment_id = ?"],
  ] as const)
    test(`by ${what}, while the service counts its digest again or is cut off, is mended once that is over`, async () => {
      const { store, polled, inStep, clock, front } = await mirrorScene(service, 4);
      await polled();
      await polled();
      const [id] = heldBy(store).keys();
      store.database.prepare(sql).run(id!);
      clock.ms += weekMs;
      const isDigest = (request: { url?: string }) => request.url!.includes('/digest');
      front.interfere = (request, response) => {
        if (!isDigest(request)) return false;
        response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '60' });
        response.end('{"error":{"code":"service_unavailable","message":"It is being counted."}}');
        return true;
      };
      const counted = await polled();
      assert.deepEqual([counted.isProven, counted.wholeWalks, counted.repaired], [false, 0, 0]);
      front.interfere = (request) => isDigest(request) && 'lost';
      await assert.rejects(polled(), { name: 'ConnectionError' });
      front.interfere = null;
      const { isProven, wholeWalks, repaired } = await polled();
      assert.deepEqual([isProven, wholeWalks, repaired], [true, 0, 1]);
      await inStep(what);
      assert.equal((await polled()).requests.length, 1);
    });

  test('in more rows than a walk has pages, but in none that the digest sees, is walked instead', async () => {
    const { store, polled, inStep, clock } = await mirrorScene(service, 80);
    await polled({ pageSize: 100 });
    await polled({ pageSize: 100 });
    store.database.exec("update ars_assessment set record = '{}'");
    clock.ms += weekMs;
    const report = await polled({ pageSize: 100 });
    assert.deepEqual([report.isProven, report.wholeWalks, report.added], [true, 1, 80]);
    await inStep('after the walk');
  });

  test('in many buckets of a large mirror is compared by parts: what is held in memory has a bound', () => {
    const buckets = Array.from({ length: 20_000 }, (_, i) => i);
    const membersOf = (bucket: number) => (bucket === 640 ? 5_000_000 : 300);
    const groups = grouped(buckets, membersOf);
    assert.deepEqual(groups.flat(), buckets);
    for (const group of groups) {
      const members = group.reduce((sum, bucket) => sum + membersOf(bucket), 0);
      assert.ok(members <= 100_000 || group.length <= 64, `${members} of ${group.length} buckets`);
      assert.ok(group.length % 64 === 0 || group === groups.at(-1), 'one request for 64 buckets');
    }
    assert.ok(groups.length < 66, `${groups.length} times through the mirror`);
    assert.deepEqual(grouped([], membersOf), []);
  });

  test('is mended when somebody asks for it', async () => {
    const { options, store, inStep } = await mirrorScene(service, 8);
    await openMirror(options).poll();
    await openMirror(options).poll();
    const some = 'select assessment_id from ars_assessment limit 2';
    store.database.exec(`delete from ars_assessment where assessment_id in (${some})`);
    const report = await openMirror(options).verify();
    assert.deepEqual([report.isProven, report.repaired], [true, 2]);
    await inStep('after the verification');
  });
});
