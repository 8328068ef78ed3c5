import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { repairDigest, scrubDigest, verifyDigest } from '../../../src/feed/digest-repair.ts';
import { readMetrics } from '../../../src/platform/observability/metrics.ts';
import { assertRefused } from '../../contract/support/expect.ts';
import { digestOf } from '../../laws/world/mirror.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

/** How a mirror compares itself with the service; that it is right under every kind of change the law tests prove. */

const service = await withService();
const since = 'since=2020-01-01T00:00:00Z';

async function world() {
  const scene = await scenario(service);
  const [one, other] = [await scene.group('one'), await scene.group('other')];
  const learners = [];
  for (const ref of ['ana', 'bo', 'cy', 'di']) learners.push(await scene.learner(ref));
  const [ana, bo, cy, di] = learners as [any, any, any, any];
  await one.adds(ana, bo);
  await other.adds(bo, cy);
  const results = [];
  for (const learner of [ana, bo, cy, di])
    for (const subject of ['maths', 'english', 'digital'] as const) results.push(await learner.completes({ subject }));
  return { scene, org: scene.org, one, other, ana, bo, cy, di, results };
}
type World = Awaited<ReturnType<typeof world>>;

/** What a walk gives, and what its last page says about it. */
async function walk(org: World['org'], query: string, limit = 500) {
  const held = new Map<string, string>();
  let page = await org.get(`/assessments?${query}&limit=${limit}`);
  for (;;) {
    for (const entry of page.body.data)
      if (entry.status === 'completed') held.set(entry.assessment_id, JSON.stringify(entry));
    const { next } = page.body.pagination;
    if (next === null) return { held, digest: page.headers['x-sync-digest'] };
    assert.equal(page.headers['x-sync-digest'], undefined, 'only on the last page');
    page = await org.get(next.slice(next.indexOf('/assessments')));
  }
}

const wordsOf = (digest: string) =>
  digest
    .match(/\d+/g)!
    .filter((_, i) => i !== 1 && i !== 3)
    .map(Number);

suite('X-Sync-Digest', () => {
  test('stands for what the filters let through, after every kind of change', async () => {
    const { scene, org, one, other, ana, bo, cy, di, results } = await world();
    const ask = async () => {
      for (const query of [
        '',
        since,
        'subject=maths',
        'subject=maths,english&below_level_1=true',
        'rqf_level_code=1,2',
        `group_id=${one.id}&${since}`,
        `group_id=${one.id},${other.id}&subject=english&${since}`,
      ]) {
        const { held, digest } = await walk(org, query, 5);
        assert.equal(digest, digestOf(held), query);
      }
    };
    const changes = [
      () => results[0]!.isAmended(),
      () => results[4]!.isWithdrawn(),
      () => di.isCalled('Another Name'),
      () => one.isRenamed('Renamed'),
      () => di.joins(one),
      () => ana.leaves(one),
      () => ana.joins(other),
      () => other.isArchived(),
      () => other.isReactivated(),
      () => results[1]!.readReport(),
      () => scene.learner('ed').then((ed) => ed.completes()),
    ];
    await ask();
    for (const change of changes) {
      await change();
      await ask();
    }
    assert.ok(bo && cy);
    assert.deepEqual(await verifyDigest(service.app, org.id), []);
  });

  test('is absent where a walk can’t be compared', async () => {
    const { org, one } = await world();
    for (const query of [
      'learner_ref=ana',
      'assessed_from=2020-01-01T00:00:00Z',
      'assessed_to=2040-01-01T00:00:00Z',
      'status=completed',
      'sort=-updated_at',
      'sort=assessed_at',
      `group_id=${one.id}`,
    ])
      assert.equal((await walk(org, query)).digest, undefined, query);
    const empty = await service.organisation();
    assert.equal((await empty.get('/assessments')).headers['x-sync-digest'], 'n=0;w1=0;w2=0');
  });
});

suite('GET /assessments/digest', () => {
  test('sums buckets by the trailing bits of ids, within the filters, and lists the results of some', async () => {
    const { org, one } = await world();
    for (const [filter, bits] of [
      ['', 0],
      ['', 4],
      ['', 16],
      ['subject=english', 3],
      [`group_id=${one.id}`, 9],
    ] as const) {
      const query = [filter, `bits=${bits}`].filter((part) => part !== '').join('&');
      const { held } = await walk(org, filter === '' ? since : `${filter}&${since}`);
      const { data } = (await org.get(`/assessments/digest?${query}`)).body;
      assert.deepEqual([data.bits, data.buckets.length], [bits, 2 ** bits]);
      const expected = new Map<number, Map<string, string>>();
      for (const [id, text] of held) {
        const bucket = Number.parseInt(id.slice(-4), 16) & (2 ** bits - 1);
        expected.set(bucket, (expected.get(bucket) ?? new Map()).set(id, text));
      }
      data.buckets.forEach((sums: number[], bucket: number) =>
        assert.deepEqual(sums, wordsOf(digestOf(expected.get(bucket) ?? new Map())), `${query} ${bucket}`),
      );
      assert.deepEqual([data.n, data.w1, data.w2], wordsOf(digestOf(held)));
      const some = [...expected.keys()].slice(0, 3);
      const members = (await org.get(`/assessments/digest?${query}&buckets=${some.join()}`)).body.data.assessments;
      assert.deepEqual(
        new Map(members.map((one: any) => [one.assessment_id, one.updated_at])),
        new Map(
          some.flatMap((bucket) =>
            [...expected.get(bucket)!].map(([id, text]) => [id, JSON.parse(text).updated_at] as const),
          ),
        ),
      );
    }
  });

  test('says what it expected', async () => {
    const { org } = await world();
    const faults: [string, string][] = [
      ['bits=17', 'invalid_bits'],
      ['bits=-1', 'invalid_bits'],
      ['bits=', 'invalid_bits'],
      ['bits=4,5', 'invalid_bits'],
      ['bits=4,4', 'invalid_bits'],
      ['bits=4&bits=4', 'invalid_bits'],
      ['bits=4&buckets=16', 'invalid_buckets'],
      ['buckets=x', 'invalid_buckets'],
      [`buckets=${Array.from({ length: 65 }, (_, i) => i).join()}`, 'invalid_buckets'],
      ['since=2020-01-01T00:00:00Z', 'unknown_parameter'],
      ['learner_ref=ana', 'unknown_parameter'],
      ['subject=art', 'invalid_subject'],
    ];
    for (const [query, code] of faults) assertRefused(await org.get(`/assessments/digest?${query}`), 400, code);
  });

  test('is answered once for all who ask the same while nothing changes, and anew when something has', async () => {
    const { org, results } = await world();
    const ask = async () => (await org.get('/assessments/digest?bits=0')).body.data;
    const [first, second] = await Promise.all([ask(), ask(), ask()]);
    assert.deepEqual(first, second);
    await results[0]!.isAmended();
    const third = await ask();
    assert.notDeepEqual(third.buckets, first.buckets);
    assert.ok(third.through > first.through);
  });
});

async function damage({ org }: World, sql: string): Promise<void> {
  await service.app.db.query(sql, [org.id]);
}

const alarmsRaised = () => readMetrics()['ars_digest_differences_total']?.['']?.[0] ?? 0;

suite('a recount', () => {
  for (const [what, sql] of [
    [
      'a cell',
      `update digest_cell set s1 = s1 + 1
        where organisation_id = $1 and facet = (select min(facet) from digest_cell where organisation_id = $1)`,
    ],
    ['that every cell is lost', 'delete from digest_cell where organisation_id = $1'],
    [
      'a set whose cells are lost, and the sum with them,',
      `with lost as (delete from digest_cell where organisation_id = $1 and group_set_id =
         (select group_set_id from digest_cell where organisation_id = $1 and n > 0 limit 1) returning *)
       update feed set digest_n = digest_n - l.n, digest_w1 = (digest_w1 - l.w1) & 4294967295, digest_w2 = (digest_w2 - l.w2) & 4294967295
         from (select sum(n)::int8 as n, sum(s1)::int8 as w1, sum(s2)::int8 as w2 from lost) l where organisation_id = $1`,
    ],
    [
      'a set that never was, and the sum with it,',
      `with made as (insert into digest_cell (organisation_id, group_set_id, facet, n, s1, s2)
         select $1, gen_random_uuid(), min(facet), 1, 1, 1 from digest_cell where organisation_id = $1 returning n)
       update feed set digest_n = digest_n + 1, digest_w1 = (digest_w1 + 1) & 4294967295, digest_w2 = (digest_w2 + 1) & 4294967295
        where organisation_id = $1`,
    ],
    ['the sum', 'update feed set digest_w2 = digest_w2 # 1 where organisation_id = $1'],
    ['a token', 'update assessment_feed set token = token # 1 where organisation_id = $1'],
  ] as const)
    test(`finds ${what.startsWith('that') ? what : `that ${what} is wrong`}, says so, and mends it`, async () => {
      const made = await world();
      assert.deepEqual(await verifyDigest(service.app, made.org.id), []);
      await damage(made, sql);
      assert.notDeepEqual(await verifyDigest(service.app, made.org.id), []);
      service.logged.length = 0;
      const alarms = alarmsRaised();
      const isTold = () =>
        service.logged.some(
          (line) => line.includes('digest.differs') && line.includes(`"organisation":"${made.org.publicId}"`),
        );
      // Where the scrub before ended is not known here: it goes round. The service's own may be at it at this moment.
      for (let slice = 0; slice < 500 && !isTold(); slice++) {
        await scrubDigest(service.app);
        if (!isTold()) await wait(10);
      }
      assert.ok(isTold());
      assert.ok(alarmsRaised() > alarms);
      await repairDigest(service.app, made.org.id);
      assert.deepEqual(await verifyDigest(service.app, made.org.id), []);
      const { held, digest } = await walk(made.org, since);
      assert.equal(digest, digestOf(held));
    });
});

test('who asks whether anything is new is never told 304 for a digest that was counted again', async () => {
  const { org } = await world();
  const page = await org.get(`/assessments?${since}`);
  const asked = (etag: string) => org.get(`/assessments?${since}`, { 'if-none-match': etag });
  const etag = page.headers.etag!;
  assert.equal((await asked(etag)).status, 304);
  await repairDigest(service.app, org.id);
  const again = await asked(etag);
  assert.deepEqual([again.status, again.headers['x-sync-digest']], [200, page.headers['x-sync-digest']]);
});
