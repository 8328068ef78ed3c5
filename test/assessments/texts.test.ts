import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { positionPlan } from '../../src/assessments/plans.ts';
import { onCitus } from '../postgres.ts';
import { recordResults, Result, scenario } from '../scenario.ts';
import { withService } from '../service.ts';

/** Texts of a page are found by where their results stood first, which those of before, and of a version that still serves, lack. */

const service = await withService();
const { db } = service.app;
const scene = await scenario(service);
const { id } = scene.org;
const ana = await scene.learner('Ana');
const cohort = await scene.group('Cohort');
const results = 3000;
const record = (many: number) =>
  service.inWork((work) =>
    recordResults(
      work,
      id,
      Array.from({ length: many }, () => ({ ref: ana.ref })),
    ),
  );
const ids = await record(results);

/** Every result as pages of this address show it. */
async function walk(address: string): Promise<string[]> {
  const shown: string[] = [];
  for (let next: string | null = `/assessments?${address}`; next !== null;) {
    const { status, text, body } = await scene.org.get(next);
    assert.equal(status, 200, text);
    shown.push(...body.data.map((one: unknown) => JSON.stringify(one)));
    next = body.pagination.next === null ? null : body.pagination.next.replace(/^.*\/api\/v1/, '');
  }
  return shown;
}

// Of a plan whose rows are on another node only a summary is seen.
test('a page looks its texts up, in their order, and reads no others', { skip: onCitus }, async () => {
  await db.query('analyze assessment, assessment_feed');
  const filter = { sinceUs: null, learner: null, facets: null, assessedFromUs: null, assessedToUs: null, status: null };
  const page = positionPlan(
    {
      organisationId: id,
      filter: { ...filter, groupIds: null, sort: 'updated_at' },
      after: null,
      to: null,
      limit: 500,
    },
    { by: 'position' },
    null,
  );
  type Node = {
    'Node Type': string;
    'Relation Name'?: string;
    'Index Name'?: string;
    'Actual Loops': number;
    Plans?: Node[];
  };
  const scans: Node[] = [];
  const add = (node: Node): void => {
    if (node['Relation Name'] === 'assessment') scans.push(node);
    node.Plans?.forEach(add);
  };
  await db.transaction(async (tx) => {
    await tx.query('set local plan_cache_mode = force_generic_plan');
    await tx.query(`prepare page as ${page.sql}`);
    const [row] = await tx.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
      `explain (analyze, format json) execute page (${page.values.map(String).join()})`,
    );
    await tx.query('deallocate page');
    add(row!['QUERY PLAN'][0].Plan);
  });
  assert.deepEqual(
    scans.map((node) => [node['Node Type'], node['Index Name'], node['Actual Loops']]),
    [
      ['Index Scan', 'assessment_first_position', 500],
      ['Index Scan', 'assessment_pkey', 0],
    ],
  );
});

suite('pages of results with and without a first position', async () => {
  await new Result(scene, ids[4]!, ana, 'maths').isAmended();
  await new Result(scene, ids[5]!, ana, 'maths').isWithdrawn();
  await ana.joins(cohort);
  await ana.leaves(cohort);
  const addresses = [
    'limit=500',
    'limit=100&sort=-assessed_at',
    `limit=500&group_id=${cohort.id}&since=2026-01-01T00:00:00Z`,
  ];
  const before = await Promise.all(addresses.map(walk));
  // What was withdrawn before the learner joined was never seen in the cohort.
  test('are of everything', () =>
    assert.deepEqual(
      before.map((shown) => shown.length),
      [results, results, results - 1],
    ));
  const without = (which: string) =>
    db.transaction(async (tx) => {
      for (const table of ['assessment', 'assessment_feed'])
        await tx.query(
          `update ${table} set first_position = null where organisation_id = $1 and get_byte(uuid_send(assessment_id), 15) ${which}`,
          [id],
        );
    });

  for (const [name, which] of [
    ['a half of them without', '< 128'],
    ['all without', '>= 0'],
  ] as const)
    test(`${name}: the same bytes`, async () => {
      await without(which);
      const [{ left } = { left: 0 }] = await db.query<{ left: number }>(
        'select count(*) as left from assessment_feed where organisation_id = $1 and first_position is not null',
        [id],
      );
      assert.equal(left > 0, which === '< 128');
      assert.deepEqual(await Promise.all(addresses.map(walk)), before);
    });

  test('what is recorded after that has one, which no move changes', async () => {
    const [newest] = await record(1);
    await ana.joins(cohort);
    const [row] = await db.query<{ same: boolean; moved: boolean }>(
      `select a.first_position = f.first_position as same, f.position > f.first_position as moved
         from assessment a join assessment_feed f using (organisation_id, assessment_id)
        where a.organisation_id = $1 and a.assessment_id = $2`,
      [id, newest],
    );
    assert.deepEqual(row, { same: true, moved: true });
  });
});
