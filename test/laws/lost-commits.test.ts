import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../platform/time/manual-clock.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';

/**
 * A failover can lose commits that clients have seen already, and a backup can come back, while processes go on running.
 * Nothing that a process or a client remembers of what was lost may stand for what comes after it. The clock stands
 * still here, so positions are given out again exactly as they were.
 */

const replaced = ['feed', 'assessment', 'assessment_feed', 'learner_feed'];

/** Keeps an organisation's rows as they are. @returns what puts them back, as if nothing had happened since */
async function remember(db: Database, organisationId: number): Promise<() => Promise<void>> {
  const rows = async (table: string) =>
    (
      await db.query<{ rows: string }>(
        `select coalesce(jsonb_agg(to_jsonb(t)), '[]')::text as rows from ${table} t where organisation_id = $1`,
        [organisationId],
      )
    )[0]!.rows;
  const kept = new Map<string, string>();
  for (const table of [...replaced, 'learner_group']) kept.set(table, await rows(table));
  return () =>
    db.transaction(async (tx) => {
      for (const table of replaced) {
        await tx.query(`delete from ${table} where organisation_id = $1`, [organisationId]);
        await tx.query(`insert into ${table} select * from jsonb_populate_recordset(null::${table}, $1)`, [
          kept.get(table),
        ]);
      }
      await tx.query(
        `update learner_group g set name = k.name, position = k.position
           from jsonb_populate_recordset(null::learner_group, $1) k where g.group_id = k.group_id`,
        [kept.get('learner_group')],
      );
    });
}

suite('commits that were lost', async () => {
  const clock = manualClock(Date.UTC(2026, 0, 31, 9));
  const settings = { ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'http://results.test' };
  const service = await withService({ own: 'Moves the clock.', clock, settings });
  const sibling = await service.sibling();

  /** A learner in a cohort with two results, and every address that shows the cohort's name. */
  async function cohortOfOne() {
    const scene = await scenario(service);
    const cohort = await scene.group('C1');
    const ana = await scene.learner('ana');
    await ana.joins(cohort);
    const maths = await ana.completes();
    await ana.completes({ subject: 'english' });
    const paths = [
      '/assessments',
      '/assessments?limit=1',
      `/assessments?group_id=${cohort.id}&since=2020-01-01T00:00:00Z`,
      '/learners',
      '/groups',
      `/assessments/${maths.id}`,
      '/learners/ana',
      `/groups/${cohort.id}`,
    ];
    const clients = [scene.org, sibling.client(scene.org.key)];
    return { scene, cohort, ana, maths, paths, clients };
  }

  test('law 2: a name that was lost is shown no more, by processes that have shown it', async () => {
    const { scene, cohort, paths, clients } = await cohortOfOne();
    const back = await remember(service.app.db, scene.org.id);
    await cohort.isRenamed('A lost name');
    for (const client of clients)
      for (const path of paths) assert.match((await client.get(path)).text, /A lost name/, path);
    await back();
    for (const path of paths)
      assert.doesNotMatch(
        (await clients[1]!.get(path)).text,
        /A lost name/,
        `law 2: ${path} shows a name that was lost`,
      );
    await cohort.isRenamed('The name that stays');
    for (const client of clients)
      for (const path of paths)
        assert.match((await client.get(path)).text, /The name that stays/, `law 2: ${path} shows a name that was lost`);
  });

  test('law 1: an ETag of what was lost never gives 304', async () => {
    const { scene, cohort, maths, paths, clients } = await cohortOfOne();
    const back = await remember(service.app.db, scene.org.id);
    const change = async (name: string) => {
      await maths.isAmended({ framework: name });
      await cohort.isRenamed(name);
    };
    await change('Lost');
    const held = new Map<string, string>();
    for (const path of paths) {
      const { etag } = (await scene.org.get(path)).headers;
      held.set(path, etag!);
      // Twice, so that it is a repeated read.
      for (const client of clients)
        for (let n = 0; n < 2; n++) assert.equal((await client.get(path, { 'if-none-match': etag! })).status, 304);
    }
    const unmatched = async (when: string) => {
      for (const client of clients)
        for (const [path, etag] of held) {
          const { status } = await client.get(path, { 'if-none-match': etag });
          assert.equal(status, 200, `law 1: ${path} gave ${status} to the ETag of a lost state ${when}`);
        }
    };
    await back();
    await unmatched('before anything else was written');
    await change('Kept');
    await unmatched('at the position that was given out again');
  });

  test('law 1: a walk that began in what was lost is refused, not led past what comes now', async () => {
    const { scene, cohort, ana } = await cohortOfOne();
    const back = await remember(service.app.db, scene.org.id);
    await cohort.isRenamed('Lost');
    const { next } = (await scene.org.get('/assessments?limit=1')).body.pagination;
    await back();
    const followed = await scene.org.get(`/assessments${new URL(next).search}`);
    assert.equal(followed.status, 400);
    assert.equal(followed.body.error.code, 'invalid_cursor');
    // What the organisation shows itself is walked on as before.
    const again = await scene.org.get('/assessments?limit=1');
    await ana.isCalled('Ana Silva');
    assert.equal((await scene.org.get(`/assessments${new URL(again.body.pagination.next).search}`)).status, 200);
  });
});
