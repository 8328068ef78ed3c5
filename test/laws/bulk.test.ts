import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { levels } from '../../src/records/results/facet.ts';
import { readyRecord } from '../../src/records/import/record.ts';
import { importRecords } from '../../src/records/import/import.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import type { MirrorOptions } from './world/mirror.ts';
import { Mirror, Shown } from './world/mirror.ts';
import { subjects } from '../../src/engine/scoring/levels.ts';

/** Changes that move hundreds of records at once. */

const service = await withService();
const random = seededRandom('bulk');

/** A cohort whose learners have results, and as many learners without any. */
async function largeCohort(learners: number) {
  const scene = await scenario(service);
  const cohort = await scene.group('C1');
  const refs = Array.from({ length: learners }, (_, n) => `L-${n}`);
  const groups = [{ type: 'cohort', ref: 'C1', name: 'The cohort' }];
  await service.withUnitOfWork((work) =>
    importRecords(
      work,
      scene.org.id,
      refs.flatMap((ref, n) =>
        [0, 1].map((m) =>
          readyRecord(
            {
              learner: { ref, full_name: `Learner ${n}` },
              subject: subjects[m],
              framework: 'F',
              assessed_at: '2026-01-10T09:00:00Z',
              ...levels[3],
              groups,
            },
            scene.org.publicId,
            work.nowMs,
          ),
        ),
      ),
      { events: false, actor: 'operator' },
    ),
  );
  // Without results, so that nothing of theirs can leave a scope.
  const empty = Array.from({ length: 30 }, (_, n) => `E-${n}`);
  for (const ref of empty) await scene.learner(ref);
  const change = async (path: string, learnerRefs: string[]) => {
    const answer = await scene.org.post(`/groups/${cohort.id}${path}`, { learner_refs: learnerRefs });
    assert.equal(answer.status, 200, `the change was refused: ${answer.status} ${answer.text}`);
  };
  await change('/members', empty);
  const follow = (options: Omit<MirrorOptions, 'path'> & { path?: MirrorOptions['path'] }) =>
    new Mirror([scene.org], random, new Shown(), { path: '/assessments', ...options });
  return { scene, cohort, refs, empty, change, follow };
}

suite('bulk changes', () => {
  test('law 1: a client that knows nothing but since gets through a change of a thousand records', async () => {
    const { cohort, scene, follow } = await largeCohort(300);
    const mirrors = [
      follow({ limit: 100, manner: 'since only' }),
      follow({ limit: 100, manner: 'since only', query: `group_id=${cohort.id}` }),
      follow({ limit: 100, manner: 'since only', path: '/learners' }),
      follow({ limit: 100, manner: 'since only', query: 'subject=english' }),
    ];
    for (const mirror of mirrors) await mirror.poll();
    const answer = await scene.org.patch(`/groups/${cohort.id}`, { name: 'Renamed' });
    assert.equal(answer.status, 200, `the change was refused: ${answer.status} ${answer.text}`);
    for (const mirror of mirrors) await mirror.assertConverged();
    assert.equal(mirrors[0]!.held.size, 600);
    for (const text of mirrors[0]!.held.values()) assert.match(text, /"Renamed"/);
  });

  test('law 1: a client that knows nothing but since gets through a removal of many learners', async () => {
    const { cohort, refs, change, follow } = await largeCohort(150);
    const mirrors = [60, 100].map((limit) => follow({ limit, manner: 'since only', query: `group_id=${cohort.id}` }));
    for (const mirror of mirrors) await mirror.poll();
    await change('/members/remove', refs.slice(0, 140));
    for (const mirror of mirrors) await mirror.assertConverged();
    assert.equal(mirrors[0]!.held.size, 20);
  });

  test('law 1: learners that move between two requested groups hide no exits of others', async () => {
    const { scene, cohort, refs, change, follow } = await largeCohort(40);
    const other = await scene.group('C2');
    const mirrors = [1, 7, 100].map((limit) =>
      follow({ limit, manner: 'follow', query: `group_id=${cohort.id},${other.id}` }),
    );
    for (const mirror of mirrors) await mirror.poll();
    await change('/members/remove', refs.slice(0, 20));
    await change('/members/remove', refs.slice(20, 25));
    await other.adds(...(await Promise.all(refs.slice(0, 20).map((ref) => scene.learner(ref)))));
    for (const mirror of mirrors) await mirror.assertConverged();
    assert.equal(mirrors[0]!.held.size, 70);
  });

  test('law 2: a result that was withdrawn while its learner was away has one tombstone', async () => {
    const scene = await scenario(service);
    const [cohort, ana] = [await scene.group('C1'), await scene.learner('ana')];
    const maths = await ana.completes();
    await cohort.adds(ana);
    const shown = new Shown();
    const mirrors = ['', `group_id=${cohort.id}`].map(
      (query) => new Mirror([scene.org], random, shown, { path: '/assessments', limit: 100, manner: 'linger', query }),
    );
    const changes = [
      () => ana.leaves(cohort),
      () => ana.isCalled('Ana Silva'),
      () => maths.isWithdrawn(),
      () => cohort.adds(ana),
      () => ana.leaves(cohort),
    ];
    for (const mirror of mirrors) await mirror.poll();
    for (const change of changes) {
      await change();
      for (const mirror of mirrors) await mirror.poll();
      const whole = await scene.org.get(`/assessments?group_id=${cohort.id}&since=2020-01-01T00:00:00Z`);
      for (const entry of whole.body.data) shown.note('/assessments', entry);
    }
    for (const mirror of mirrors) await mirror.assertConverged();
  });

  test('law 1: exits of many learners, most of them without results, reach pages of every size', async () => {
    const { cohort, refs, empty, change, follow } = await largeCohort(40);
    const mirrors = [1, 7, 100, 500].map((limit) =>
      follow({ limit, manner: 'follow', query: `group_id=${cohort.id}` }),
    );
    for (const mirror of mirrors) await mirror.poll();
    for (const mirror of mirrors) assert.equal(mirror.held.size, 80);
    await change('/members/remove', empty);
    await change('/members/remove', refs.slice(0, 25));
    await change('/members', refs.slice(0, 5));
    for (const mirror of mirrors) await mirror.assertConverged();
    assert.equal(mirrors[0]!.held.size, 40);
  });
});
