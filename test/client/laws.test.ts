import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Filters } from '../../client/src/index.ts';
import { openMirror, sync } from '../../client/src/index.ts';
import { withService } from '../support/service.ts';
import type { TestStore } from './support/mirrors.ts';
import { assertSame, clientOf, heldBy, Killed, memoryStore, mirrorScene, truth } from './support/mirrors.ts';

/** Each statement of a mirror in turn is the last one of its process. What the next process makes of it is proved. */
suite('a mirror whose process ends', async () => {
  const service = await withService();

  test('law 1: at any statement of its first walk, or of one after changes, loses nothing', async () => {
    const { scene, ana, ben } = await mirrorScene(service, 6, false);
    const client = clientOf(service.url, scene.org.key);
    const [result, other] = [await ana.completes(), await ben.completes()];
    const polled = (store: TestStore, pageSize = 5) => openMirror({ client, store, pageSize }).poll();
    for (let at = 0, isOver = false; !isOver; at++) {
      const store = memoryStore();
      store.left = at;
      isOver = await endsBy(polled(store));
      store.left = Infinity;
      await polled(store);
      assertSame(heldBy(store), await truth(client), `law 1: killed at statement ${at} of the first walk`);
    }
    const store = memoryStore();
    await polled(store);
    for (let at = 0, isOver = false; !isOver; at++) {
      // Two pages of one result each.
      await result.isAmended({ framework: `Framework ${at}` });
      await other.isAmended({ framework: `Framework ${at}` });
      store.left = at;
      isOver = await endsBy(polled(store, 1));
      store.left = Infinity;
      await polled(store);
      assertSame(heldBy(store), await truth(client), `law 1: killed at statement ${at} of a walk after changes`);
    }
  });

  test('law 1: at any statement of a whole walk, keeps what it holds until that walk is in', async () => {
    const { scene, ana } = await mirrorScene(service, 5, false);
    const client = clientOf(service.url, scene.org.key);
    await ana.completes({ subject: 'english' });
    const [from, to]: Filters[] = [{}, { subject: ['maths'] }];
    for (let at = 0, isOver = false; !isOver; at++) {
      const store = memoryStore();
      await openMirror({ client, store, filters: from }).poll();
      store.left = at;
      isOver = await endsBy(openMirror({ client, store, filters: to, pageSize: 3 }).poll());
      const wanted = await truth(client, to);
      const held = heldBy(store);
      for (const id of wanted.keys()) assert.ok(held.has(id), `law 1: lost during a whole walk, at statement ${at}`);
      store.left = Infinity;
      await openMirror({ client, store, filters: to, pageSize: 3 }).poll();
      assertSame(heldBy(store), wanted, `law 1: killed at statement ${at} of a whole walk`);
    }
  });

  for (const [what, ms] of [
    ['years ahead', 2_000_000_000_000],
    ['years behind', 1_000_000_000_000],
  ] as const)
    test(`law 1: on a machine whose clock is ${what}, misses nothing`, async () => {
      const { scene, ana, ben, front } = await mirrorScene(service, 4, false);
      const client = clientOf(front.url, scene.org.key, { nowMs: () => ms });
      const store = memoryStore();
      const polled = () => openMirror({ client, store }).poll();
      await polled();
      const result = await ana.completes();
      await polled();
      await result.isAmended();
      await ben.completes();
      const report = await polled();
      assertSame(heldBy(store), await truth(client), `law 1: the mirror on a clock ${what}`);
      assert.deepEqual([report.added, report.changed, report.wholeWalks], [1, 1, 0]);
    });

  test('law 1: takes events for a reason to poll and never for data, be they late, repeated, out of order or forged', async () => {
    const { scene, ana, ben } = await mirrorScene(service, 2, false);
    const client = clientOf(service.url, scene.org.key);
    const store = memoryStore();
    const stopping = new AbortController();
    let arrived = () => {};
    const onReport = () => arrived();
    const next = () => new Promise<void>((resolve) => (arrived = resolve));
    let polled = next();
    const running = sync({ client, store, everyMs: null, signal: stopping.signal, onReport });
    await polled;
    const [result, gone] = [await ana.completes(), await ben.completes()];
    const [first, last] = [await client.assessments.get(result.id), await client.assessments.get(gone.id)];
    await result.isAmended();
    await gone.isWithdrawn();
    const forged = { ...first, assessment_id: '30000000-0000-4000-8000-000000000000' };
    try {
      for (const data of [first, first, last, { ...first, framework: 'nobody said so' }, forged]) {
        polled = next();
        // As whoever hands the function to a receiver of webhooks calls it.
        (running.wake as (event: unknown) => void)({ event: 'assessment.completed', occurred_at: 'now', data });
        await polled;
        assertSame(heldBy(store), await truth(client), 'law 1: after an event, the mirror');
      }
    } finally {
      stopping.abort();
      await running.done;
    }
  });
});

/** True if the poll came to its end, false if it was killed on the way. */
async function endsBy(poll: Promise<unknown>): Promise<boolean> {
  try {
    await poll;
    return true;
  } catch (error) {
    if (error instanceof Killed) return false;
    throw error;
  }
}
