import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ApiError, compare, openMirror, RestoredError, SyncStopped } from '../../../client/src/index.ts';
import { Backup } from '../../../src/sandbox/chaos/backup.ts';
import { withService } from '../../support/service.ts';
import { refusesCursors, restoresWithinWalk } from '../support/digest-service.ts';
import { mirrorScene, truth } from '../support/mirrors.ts';

/** What the client does when the service is restored from a backup: walks and comparisons start again. */

suite('when the service is restored', async () => {
  const service = await withService({
    own: 'Has a public address.',
    settings: { ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'http://results.test' },
  });
  const begun = async (results = 8, hasDigest = true) => {
    const scene = await mirrorScene(service, results, hasDigest);
    const backup = new Backup(service.app, scene.scene.org.id);
    return { ...scene, backup, [Symbol.asyncDispose]: () => backup.close() };
  };

  test('a walk starts again without since, and says so', async () => {
    await using scene = await begun();
    const { client, ana, backup, front } = scene;
    const first = client.assessments.list();
    await first.toArray();
    await backup.keep();
    const lost = await ana.completes();
    const held = new Map((await first.toArray()).map((entry) => [entry.assessment_id, entry]));
    const told: (string | null)[] = [];
    const options = {
      onRestored(restored: string | null) {
        told.push(restored);
        held.clear();
      },
    };
    const walked = async (since?: string, limit = 3) => {
      told.length = 0;
      const walk = client.assessments.list({ since, limit }, options);
      for await (const entry of walk) held.set(entry.assessment_id, entry);
      return walk.checkpoint!.since;
    };
    // In the middle of a walk its cursor is refused.
    restoresWithinWalk(front, () => backup.restore());
    const since = await walked();
    assert.deepEqual([told, held.has(lost.id)], [[null], false]);
    assert.deepEqual(new Set(held.keys()), new Set((await truth(client)).keys()));
    await walked(since);
    assert.deepEqual(told, [], 'once');
    // Before a walk its checkpoint is too old.
    await backup.restore();
    await walked(since);
    assert.deepEqual(told, [await client.restored()]);
    assert.deepEqual(new Set(held.keys()), new Set((await truth(client)).keys()));
    // A checkpoint above what the service shows is of a state that is lost, whatever the service says.
    const above = new Date(Date.parse(since) + 3_600_000).toISOString();
    await walked(above);
    assert.equal(told.length, 1);
  });

  test('a walk that cannot start again rejects with the refusal, and none starts again for ever', async () => {
    await using scene = await begun();
    const { client, front } = scene;
    front.interfere = refusesCursors;
    await assert.rejects(async () => {
      for await (const _entry of client.assessments.list({ limit: 3 }));
    }, ApiError);
    front.passed.length = 0;
    const endless = client.assessments.list({ limit: 3 }, { onRestored() {} });
    await assert.rejects(endless.toArray(), RestoredError);
    assert.equal(front.passed.length, 8);
    await assert.rejects(client.learners.list({ limit: 1 }).toArray(), RestoredError);
    const held = new Map([...(await truthOf(scene))].map(([id, one]) => [id, one.updated_at]));
    front.interfere = (request, response) => {
      request.url = request.url!.replace('limit=500', 'limit=3');
      return refusesCursors(request, response);
    };
    await assert.rejects(compare({ client, held, contents: new Map() }), /repeatedly/);
    await assert.rejects(openMirror({ ...scene.options, pageSize: 500 }).poll(), SyncStopped);
  });

  const truthOf = async ({ client, front }: Awaited<ReturnType<typeof begun>>) => {
    const { interfere } = front;
    front.interfere = null;
    const all = await truth(client);
    front.interfere = interfere;
    return all;
  };

  for (const hasDigest of [true, false]) {
    test(`a comparison is of one state, ${hasDigest ? 'by digest' : 'by a walk'}`, async () => {
      await using scene = await begun(8, hasDigest);
      const { client, ana, backup, front } = scene;
      await backup.keep();
      const lost = await ana.completes();
      const held = new Map([...(await truth(client))].map(([id, one]) => [id, one.updated_at]));
      held.delete([...held.keys()][0]!);
      front.interfere = (request) => {
        request.url = request.url!.replace('limit=500', 'limit=3');
        return false;
      };
      let isLater = false;
      front.before = async ({ url }) => {
        if (!url!.includes('buckets=') && !url!.includes('cursor=') && !url!.includes('since=')) return;
        front.before = null;
        isLater = await backup.restore();
      };
      const { differences, restored } = await compare({ client, held });
      assert.ok(isLater && restored !== null);
      const found = differences.find(({ id }) => id === lost.id);
      assert.deepEqual([found?.cause, found?.service], ['restored', null]);
      assert.equal(restored, await client.restored());
    });
  }

  test('an explanation looks through its walks again', async () => {
    await using scene = await begun();
    const { ana, backup, front, options } = scene;
    const gone = await ana.completes();
    await gone.isWithdrawn();
    for (let i = 0; i < 6; i++) await (await ana.completes()).isWithdrawn();
    const mirror = openMirror(options);
    await mirror.poll();
    await backup.keep();
    front.interfere = (request) => {
      request.url = request.url!.replace('limit=500', 'limit=3');
      return false;
    };
    restoresWithinWalk(front, () => backup.restore());
    assert.equal((await mirror.explain(gone.id)).reason, 'withdrawn');
    assert.equal(front.before, null);
  });
});
