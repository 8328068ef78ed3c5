import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Write } from '../../client/src/index.ts';
import { replayWrites } from '../../client/src/index.ts';
import { Backup } from '../../src/sandbox/chaos/backup.ts';
import { withService } from '../support/service.ts';
import { restoresWithinWalk } from './support/digest-service.ts';
import { heldBy, memoryStore, mirrorScene } from './support/mirrors.ts';

/** What an application can do about its own writes when the service is restored from a backup. */

suite('own writes', async () => {
  const service = await withService({
    own: 'Has a public address.',
    settings: { ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'http://results.test' },
  });
  const begun = async (results = 8, hasDigest = true) => {
    const scene = await mirrorScene(service, results, hasDigest);
    const backup = new Backup(service.app, scene.scene.org.id);
    return { ...scene, backup, [Symbol.asyncDispose]: () => backup.close() };
  };

  for (const hasDigest of [true, false]) {
    test(`a mirror tells it before it takes anything, ${hasDigest ? 'with' : 'without'} a digest`, async () => {
      await using scene = await begun(8, hasDigest);
      const { backup, ana, polled, inStep, store, client, front } = scene;
      const told: [string, number][] = [];
      let fails = 0;
      const onRestored = (restored: string) => {
        told.push([restored, heldBy(store).size]);
        if (fails-- > 0) throw new Error('the application is away');
      };
      await backup.keep();
      await polled({ onRestored });
      await ana.completes();
      await polled({ onRestored });
      await backup.restore();
      fails = 1;
      await assert.rejects(polled({ onRestored }), /onRestored has failed: the application is away/);
      await polled({ onRestored });
      await polled({ onRestored });
      const at = await client.restored();
      assert.deepEqual(told, [
        [at, 9],
        [at, 9],
      ]);
      await inStep('after it was told');

      // Within its very first walk, too, and not for a restore that was before it.
      told.length = 0;
      const another = memoryStore();
      restoresWithinWalk(front, () => backup.restore());
      await polled({ onRestored, store: another });
      assert.deepEqual(told, [[await client.restored(), 8]]);
      await polled({ onRestored, store: another });
      assert.equal(told.length, 1);
    });
  }

  test('a request is carried out again under its Idempotency-Key, whose response was lost as well', async () => {
    await using scene = await begun(0);
    const { client, backup } = scene;
    await backup.keep();
    const provision = () =>
      client.learners.provision({ ref: 'again-1', full_name: 'A B' }, { idempotencyKey: 'again-1' });
    const first = await provision();
    await backup.restore();
    assert.notEqual((await provision()).learner_id, first.learner_id);
    assert.equal((await client.learners.get('again-1')).ref, 'again-1');
  });

  test('own writes are sent again, as far as they are lost, and each once', async () => {
    await using scene = await begun(0);
    const { client, backup, ana } = scene;
    const cohort = { type: 'cohort', ref: 'C-1', name: 'January' } as const;
    const course = { type: 'course', ref: 'K-1', name: 'Maths' } as const;
    const old = { type: 'class', ref: 'O-1', name: 'Old' } as const;
    const url = 'https://portfolio.example.org/hooks/ä';
    const learner = (ref: string, ...groups: (typeof cohort | typeof course)[]) => ({ ref, full_name: 'A B', groups });
    const before: Write[] = [
      { operation: 'createGroup', group: old },
      { operation: 'provisionLearner', learner: learner('kept-1') },
      { operation: 'addMembers', group: old, learnerRefs: ['kept-1', ana.ref] },
    ];
    const after: Write[] = [
      { operation: 'createGroup', group: cohort },
      { operation: 'provisionLearner', learner: learner('kept-1', cohort) },
      { operation: 'provisionLearner', learner: learner('new-1', cohort, course) },
      { operation: 'addMembers', group: cohort, learnerRefs: [ana.ref, 'new-1'] },
      { operation: 'removeMembers', group: old, learnerRefs: [ana.ref] },
      { operation: 'addMembers', group: course, learnerRefs: ['kept-1'] },
      { operation: 'removeMembers', group: course, learnerRefs: ['kept-1'] },
      { operation: 'changeGroup', group: old, change: { name: 'Older', active: false } },
      { operation: 'registerWebhook', endpoint: { url, groups: [cohort] } },
      { operation: 'removeWebhook', url },
      { operation: 'registerWebhook', endpoint: { url, event_types: ['learner.groups.updated'], groups: [cohort] } },
    ];
    /** What a platform sees of its writes; ids, links and times may be others. */
    const seen = async () => ({
      groups: (await client.groups.list().toArray())
        .map(({ type, ref, name, active }) => [type, ref, name, active])
        .sort(),
      members: await Promise.all(
        ['kept-1', 'new-1', ana.ref].map(async (ref) =>
          (await client.learners.get(ref)).groups.map((group) => group.ref).sort(),
        ),
      ),
      webhooks: (await client.webhooks.list()).map((one) => [one.url, one.event_types, one.group_ids?.length]),
    });
    assert.equal(await replayWrites(client, before), 3);
    await backup.keep();
    await replayWrites(client, after);
    const wanted = await seen();
    assert.deepEqual(wanted.members, [['C-1'], ['C-1', 'K-1'], ['C-1']]);
    assert.deepEqual(wanted.groups.at(0), ['class', 'O-1', 'Older', false]);
    await backup.restore();
    for (const { id } of await client.webhooks.list()) await client.webhooks.remove(id);
    assert.notDeepEqual(await seen().catch(() => null), wanted);

    const resent: string[] = [];
    const count = await replayWrites(client, [...before, ...after], {
      onResent({ write, learner, endpoint, notFound }) {
        resent.push(write.operation);
        if (write.operation === 'provisionLearner' && write.learner.ref === 'new-1')
          assert.match(learner!.assessment_url, /^http/);
        if (write.operation === 'registerWebhook') assert.match(endpoint!.secret, /^whsec_/);
        assert.deepEqual(notFound, []);
      },
    });
    assert.deepEqual(await seen(), wanted);
    assert.equal(count, resent.length);
    assert.deepEqual(
      resent.filter((one) => one === 'registerWebhook'),
      ['registerWebhook'],
    );
    assert.ok(!resent.includes('removeWebhook'));
    const etag = async () => (await client.call('listLearners')).etag;
    const unchanged = await etag();
    assert.equal(await replayWrites(client, [...before, ...after]), 0, 'what is there is left alone');
    assert.equal(await etag(), unchanged);

    await assert.rejects(
      replayWrites(client, [{ operation: 'addMembers', group: { type: 'team', ref: 'x' }, learnerRefs: ['a'] }]),
      /^TypeError: writes\[0\] names a missing group/,
    );
    const unknown: string[][] = [];
    await replayWrites(client, [{ operation: 'addMembers', group: cohort, learnerRefs: ['nobody', 'new-1'] }], {
      onResent: ({ notFound }) => void unknown.push(notFound),
    });
    assert.deepEqual(unknown, [['nobody']]);
  });
});
