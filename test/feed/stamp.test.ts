import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Statement } from '../../src/platform/db/database.ts';
import { lockFeed } from '../../src/feed/position.ts';
import { stampRegrouped } from '../../src/feed/stamp.ts';
import { onCitus } from '../support/postgres.ts';
import { recordResults, scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';

/** What a change of few learners reads while it holds the feed's lock must not grow with the organisation. */

const service = await withService();
const { db } = service.app;
const scene = await scenario(service);
const { id } = scene.org;
const ana = await scene.learner('Ana');
const cohort = await scene.group('Cohort');
await service.withUnitOfWork((work) => recordResults(work, id, [{ ref: ana.ref }]));

/** Learners that have nothing to do with the change, with a result each. */
async function addLearners(count: number): Promise<void> {
  await db.query(
    `insert into learner (organisation_id, learner_id, full_name, created_at)
     select $1, md5(n::text)::uuid, '', now() from generate_series(1, $2::int4) n`,
    [id, count],
  );
  await db.query(
    `insert into learner_feed (organisation_id, learner_id, position, group_set_id)
     select $1, md5(n::text)::uuid, n, md5('{}')::uuid from generate_series(1, $2::int4) n`,
    [id, count],
  );
  await db.query(
    `insert into assessment_feed (organisation_id, learner_id, assessment_id, position, first_position, group_set_id, facet, assessed_at, assessed_day, token)
     select $1, learner_id, learner_id, position, position, group_set_id, 0, 0, 0, 0
       from learner_feed where organisation_id = $1 and position <= $2::int4`,
    [id, count],
  );
  await db.query('analyze learner, learner_feed, assessment_feed');
}

type Node = { 'Node Type': string; 'Relation Name'?: string; Plans?: Node[] };

// Of a plan whose rows are on another node only a summary is seen.
test('who joins or leaves is found by their keys, and so are their results', { skip: onCitus }, async () => {
  await addLearners(5000);
  const [{ learner_id }] = (await db.query<{ learner_id: string }>(
    'select learner_id from learner where organisation_id = $1 and ref = $2',
    [id, ana.ref],
  )) as [{ learner_id: string }];
  const asked = new Map<string, string>();
  for (const left of [null, cohort.id])
    await service.withUnitOfWork(async (work) => {
      const feed = await lockFeed(work, id);
      const tx: typeof work.tx = {
        ...work.tx,
        query: (sql, values) => {
          asked.set((sql as Statement).name, (sql as Statement).text);
          return work.tx.query(sql, values);
        },
      };
      await stampRegrouped({ ...work, tx }, feed, [learner_id], left);
    });
  const scans: Record<string, string[]> = {};
  await db.transaction(async (tx) => {
    await tx.query('set local plan_cache_mode = force_generic_plan');
    for (const [name, text] of asked) {
      const values = Math.max(...[...text.matchAll(/\$(\d)/g)].map((found) => Number(found[1])));
      await tx.query(`prepare asked as ${text}`);
      const [row] = await tx.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
        `explain (format json) execute asked (${Array.from({ length: values }, () => 'null').join()})`,
      );
      await tx.query('deallocate asked');
      const add = (node: Node): void => {
        if (node['Node Type'].endsWith(' Scan') && /^(?:assessment|learner)_feed$/.test(node['Relation Name'] ?? ''))
          (scans[name] ??= []).push(`${node['Relation Name']}: ${node['Node Type']}`);
        node.Plans?.forEach(add);
      };
      add(row!['QUERY PLAN'][0].Plan);
    }
  });
  const results = ['assessment_feed: Index Scan', 'assessment_feed: Index Scan', 'learner_feed: Index Scan'];
  for (const found of Object.values(scans)) found.sort();
  assert.deepEqual(scans, {
    'group_set.regroup': ['learner_feed: Index Scan'],
    'feed.stamp_assessments_these': results,
    'feed.stamp_assessments_leaving': results,
  });
});

test('results of a learner keep their order above all that was shown', async () => {
  const bo = await scene.learner('Bo');
  await service.withUnitOfWork((work) => recordResults(work, id, [{ ref: bo.ref }, { ref: bo.ref }]));
  const [{ learner_id }] = (await db.query<{ learner_id: string }>(
    'select learner_id from learner where organisation_id = $1 and ref = $2',
    [id, bo.ref],
  )) as [{ learner_id: string }];
  const order = `select assessment_id, position from assessment_feed where organisation_id = $1 and learner_id = $2 order by position`;
  const before = await db.query<{ assessment_id: string; position: number }>(order, [id, learner_id]);
  await service.withUnitOfWork(async (work) => stampRegrouped(work, await lockFeed(work, id), [learner_id], null));
  const after = await db.query<{ assessment_id: string; position: number }>(order, [id, learner_id]);
  assert.deepEqual(
    after.map((row) => row.assessment_id),
    before.map((row) => row.assessment_id),
  );
  assert.ok(after[0]!.position > before.at(-1)!.position);
});
