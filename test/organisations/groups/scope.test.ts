import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

const service = await withService();

/** A cohort of two learners with a result each, and a follower of the cohort that knows both. */
async function cohortOfTwo() {
  const scene = await scenario(service);
  const cohort = await scene.group('C1');
  const ana = await scene.learner('ana');
  const bo = await scene.learner('bo');
  const maths = await ana.completes({ subject: 'maths' });
  const digital = await bo.completes({ subject: 'digital' });
  await cohort.adds(ana, bo);
  const feed = scene.follow({}, { of: [cohort], limit: 2 });
  assert.deepEqual(await feed.poll(), ['ana maths: completed', 'bo digital: completed']);
  return { scene, cohort, ana, bo, maths, digital, feed };
}

suite('scope of a group feed', () => {
  test("a learner that leaves takes its results out of the group's feed, and stays in the whole one", async () => {
    const { scene, cohort, ana, feed } = await cohortOfTwo();
    const whole = scene.follow();
    await whole.poll();
    await ana.leaves(cohort);
    assert.deepEqual(await feed.poll(), ['ana maths: left']);
    assert.deepEqual(await whole.poll(), ['ana maths: completed']);
    await feed.assertConverged();
  });

  test('an exit repeats while polls overlap it, and only then', async () => {
    const { scene, cohort, ana, maths } = await cohortOfTwo();
    const before = (await scene.org.get('/assessments?limit=1')).headers['x-sync-through']!;
    await ana.leaves(cohort);
    const poll = (since: string) => scene.org.get(`/assessments?group_id=${cohort.id}&since=${since}`);
    const first = await poll(before);
    const exit = first.body.data.find((entry: any) => entry.assessment_id === maths.id);
    assert.deepEqual(exit, {
      assessment_id: maths.id,
      updated_at: exit.updated_at,
      removed: { reason: 'left_scope', scope: 'group_id' },
    });
    assert.deepEqual((await poll(before)).body.data, first.body.data);
    // Any later change moves the sync position on, past the exit.
    await new Promise((done) => setImmediate(done));
    await ana.isCalled('Ana Silva');
    const through = (await scene.org.get('/assessments?limit=1')).headers['x-sync-through']!;
    const later = (await poll(through)).body.data;
    assert.ok(later.every((entry: any) => entry.assessment_id !== maths.id || entry.updated_at >= through));
  });

  test('a learner that rejoins comes back whole', async () => {
    const { cohort, ana, feed } = await cohortOfTwo();
    await ana.leaves(cohort);
    await ana.joins(cohort);
    assert.deepEqual(await feed.poll(), ['ana maths: completed']);
    await ana.leaves(cohort);
    assert.deepEqual(await feed.poll(), ['ana maths: left']);
    await ana.joins(cohort);
    assert.deepEqual(await feed.poll(), ['ana maths: completed']);
    await feed.assertConverged();
  });

  test('a learner that moves between two requested groups never leaves the scope', async () => {
    const { scene, cohort, ana } = await cohortOfTwo();
    const other = await scene.group('C2');
    const feed = scene.follow({}, { of: [cohort, other] });
    await feed.poll();
    await ana.joins(other);
    await ana.leaves(cohort);
    assert.deepEqual(await feed.poll(), ['ana maths: completed']);
    await feed.assertConverged();
  });

  test('a deletion wins over an exit, in either order', async () => {
    const { cohort, ana, bo, maths, digital, feed } = await cohortOfTwo();
    await ana.leaves(cohort);
    await maths.isWithdrawn();
    await digital.isWithdrawn();
    await bo.leaves(cohort);
    assert.deepEqual((await feed.poll()).sort(), ['ana maths: deleted', 'bo digital: deleted']);
    await feed.assertConverged();
  });

  test('a result that was deleted while its learner was away is told after the learner is back', async () => {
    const { cohort, ana, maths, feed } = await cohortOfTwo();
    await ana.leaves(cohort);
    await maths.isWithdrawn();
    await ana.joins(cohort);
    assert.deepEqual(await feed.poll(), ['ana maths: deleted']);
    await feed.assertConverged();
  });

  test('a result that was deleted between two stays away is told', async () => {
    const { cohort, ana, maths, feed } = await cohortOfTwo();
    await ana.leaves(cohort);
    await maths.isWithdrawn();
    await ana.joins(cohort);
    await ana.leaves(cohort);
    assert.deepEqual(await feed.poll(), ['ana maths: deleted']);
    await feed.assertConverged();
  });

  test('exits keep to the other filters', async () => {
    const { scene, cohort, ana, bo } = await cohortOfTwo();
    const digital = scene.follow({ subject: 'digital' }, { of: [cohort] });
    await digital.poll();
    await ana.leaves(cohort);
    assert.deepEqual(await digital.poll(), []);
    await bo.leaves(cohort);
    assert.deepEqual(await digital.poll(), ['bo digital: left']);
  });

  test('exits need group_id and since both', async () => {
    const { scene, cohort, ana } = await cohortOfTwo();
    await ana.leaves(cohort);
    const kinds = async (query: string) =>
      (await scene.org.get(`/assessments?${query}`)).body.data.map(
        (entry: any) => entry.removed?.reason ?? entry.status,
      );
    assert.deepEqual(await kinds(`group_id=${cohort.id}`), ['completed']);
    assert.deepEqual((await kinds('since=2020-01-01T00:00:00Z')).sort(), ['completed', 'completed']);
    assert.deepEqual((await kinds(`group_id=${cohort.id}&since=2020-01-01T00:00:00Z`)).sort(), [
      'completed',
      'left_scope',
    ]);
  });

  test('exits are merged into one order, over any page size', async () => {
    const { scene, cohort } = await cohortOfTwo();
    const learners = await Promise.all(Array.from({ length: 9 }, (_, i) => scene.learner(`p${i}`)));
    for (const learner of learners) await learner.completes();
    await cohort.adds(...learners);
    const feeds = [1, 2, 3, 5, 500].map((limit) => scene.follow({}, { of: [cohort], limit }));
    for (const feed of feeds) await feed.poll();
    for (const learner of learners.filter((_, i) => i % 2 === 0)) await learner.leaves(cohort);
    await learners[1]!.isCalled('Somebody Else');
    const told = await Promise.all(feeds.map((feed) => feed.poll()));
    for (const news of told) assert.deepEqual(news, told[0]);
    assert.equal(told[0]!.length, 6);
    for (const feed of feeds) await feed.assertConverged();
  });

  test('what moved between two requested groups is passed over in bounded pages, and without cursors in full ones', async () => {
    const scene = await scenario(service);
    const [from, to] = [await scene.group('C1'), await scene.group('C2')];
    const learners = await Promise.all(Array.from({ length: 6 }, (_, i) => scene.learner(`m${i}`)));
    const [leaver, ...movers] = learners;
    for (const learner of learners) for (let n = 0; n < (learner === leaver ? 5 : 6); n++) await learner.completes();
    await from.adds(...learners);
    const feed = scene.follow({}, { of: [from, to], limit: 2 });
    await feed.poll();
    const since = (await scene.org.get('/assessments?limit=1')).headers['x-sync-through']!;
    await leaver!.leaves(from);
    for (const mover of movers) await mover.leaves(from);
    for (const mover of movers) await mover.joins(to);

    const sizes: number[] = [];
    const walked: string[] = [];
    const start = `/assessments?group_id=${from.id},${to.id}&since=${since}&limit=2`;
    for (let next: string | null = start; next !== null;) {
      const page: { body: any } = await scene.org.get(next.replace(/^.*\/api\/v1/, ''));
      const { data, pagination } = page.body;
      assert.equal(pagination.has_more, pagination.next !== null);
      sizes.push(data.length);
      walked.push(...data.map((entry: any) => entry.assessment_id));
      next = pagination.next;
    }
    assert.equal(new Set(walked).size, 35);
    assert.equal(walked.length, 35);
    assert.ok(sizes.slice(0, -1).some((size) => size < 2));
    await feed.poll();
    await feed.assertConverged();
    // Who takes the newest updated_at for the next since could never get past a short page.
    const whole = await scene.org.get(start.replace('limit=2', 'limit=8'));
    assert.equal(whole.body.data.length, 8);
  });
});
