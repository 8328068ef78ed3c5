import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { pageStatement } from '../../../src/records/results/pages/page-statements.ts';
import { onCitus } from '../../support/postgres.ts';
import { recordResults, Result, scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

/** Texts of a page are found by where their results stood first. */

const service = await withService();
const { db } = service.app;
const scene = await scenario(service);
const { id } = scene.org;
const ana = await scene.learner('Ana');
const cohort = await scene.group('Cohort');
const results = 3000;
const record = (many: number, organisationId = id) =>
  service.withUnitOfWork((work) =>
    recordResults(
      work,
      organisationId,
      Array.from({ length: many }, () => ({ ref: ana.ref })),
    ),
  );
const ids = await record(results);

/** Every result as pages of this address show it. */
async function walk(address: string, org = scene.org): Promise<string[]> {
  const shown: string[] = [];
  for (let next: string | null = `/assessments?${address}`; next !== null;) {
    const { status, text, body } = await org.get(next);
    assert.equal(status, 200, text);
    shown.push(...body.data.map((one: unknown) => JSON.stringify(one)));
    next = body.pagination.next === null ? null : body.pagination.next.replace(/^.*\/api\/v1/, '');
  }
  return shown;
}

type Node = {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Actual Loops': number;
  'Actual Rows': number;
  Plans?: Node[];
};

/** How a page of 500 reads the texts: by which index, how often, and how many rows each time. */
async function readsOfTexts(organisationId: number, sort: 'updated_at' | '-updated_at') {
  const filter = {
    sinceUs: 0,
    learner: null,
    facets: null,
    assessedFromUs: null,
    assessedToUs: null,
    status: null,
    groupIds: null,
    sort,
  };
  const scope = { groupSets: null, hasExits: false, learnerIds: null };
  const page = pageStatement({ organisationId, filter, after: null, limit: 500 }, { by: 'position' }, scope);
  const scans: [string, number, number][] = [];
  const add = (node: Node): void => {
    if (node['Relation Name'] === 'assessment')
      scans.push([node['Index Name'] ?? node['Node Type'], node['Actual Loops'], node['Actual Rows']]);
    node.Plans?.forEach(add);
  };
  await db.transaction(async (tx) => {
    await tx.query('set local plan_cache_mode = force_generic_plan');
    await tx.query(`prepare page as ${page.text}`);
    const [row] = await tx.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
      `explain (analyze, format json) execute page (${page.values.map(String).join()})`,
    );
    await tx.query('deallocate page');
    add(row!['QUERY PLAN'][0].Plan);
  });
  return scans;
}

// Of a plan whose rows are on another node only a summary is seen.
suite('a page of every result', { skip: onCitus }, async () => {
  const other = await scenario(service);
  const { org } = other;
  const moved = await other.learner(ana.ref);
  await record(results, org.id);

  for (const hasMoved of [false, true])
    for (const sort of ['updated_at', '-updated_at'] as const)
      test(`looks each text up by where its result stood first: ${sort}, ${hasMoved ? 'moved' : 'not moved'}`, async () => {
        if (hasMoved && sort === 'updated_at') await moved.joins(await other.group('Cohort'));
        await db.query('analyze assessment, assessment_feed');
        assert.deepEqual(await readsOfTexts(org.id, sort), [['assessment_first_position', 500, 1]]);
      });
});

test('a page has the text of each result, moved or not, in either direction', async () => {
  const other = await scenario(service);
  const { org } = other;
  const [ann, ben] = [await other.learner('Ann'), await other.learner('Ben')];
  const recorded = await service.withUnitOfWork((work) =>
    recordResults(
      work,
      org.id,
      Array.from({ length: 40 }, (_, i) => ({ ref: i % 3 === 0 ? ben.ref : ann.ref })),
    ),
  );
  await ben.joins(await other.group('Cohort'));
  await new Result(other, recorded[1]!, ann, 'maths').isAmended();
  await new Result(other, recorded[2]!, ann, 'maths').isWithdrawn();
  const shown = await Promise.all(
    ['since=2026-01-01T00:00:00Z', 'sort=-updated_at'].map((one) => walk(`limit=7&${one}`, org)),
  );
  assert.deepEqual(shown[1]!.toReversed(), shown[0]);
  const byId = new Map(shown[0]!.map((one) => [JSON.parse(one).assessment_id as string, one]));
  for (const one of recorded) {
    const { status, body } = await org.get(`/assessments/${one}`);
    if (one === recorded[2]) assert.equal(JSON.parse(byId.get(one)!).status, 'deleted');
    else assert.deepEqual([status, JSON.stringify(body.data)], [200, byId.get(one)]);
  }
});

suite('pages of results', async () => {
  await new Result(scene, ids[4]!, ana, 'maths').isAmended();
  await new Result(scene, ids[5]!, ana, 'maths').isWithdrawn();
  await ana.joins(cohort);
  await ana.leaves(cohort);
  const addresses = [
    'limit=500',
    'limit=100&sort=-assessed_at',
    `limit=500&group_id=${cohort.id}&since=2026-01-01T00:00:00Z`,
  ];
  const before = await Promise.all(addresses.map((one) => walk(one)));
  // What was withdrawn before the learner joined was never seen in the cohort.
  test('are of everything', () =>
    assert.deepEqual(
      before.map((shown) => shown.length),
      [results, results, results - 1],
    ));

  test('no move changes where a result stood first', async () => {
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
