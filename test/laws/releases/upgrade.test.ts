import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sync } from '../../../client/src/index.ts';
import { assertSame, clientOf, heldBy, memoryStore, truth } from '../../client/support/mirrors.ts';
import { client } from '../../contract/support/client.ts';
import { withService } from '../../support/service.ts';
import { startNextRelease } from './next-process.ts';
import { filled, people, settings } from './previous-release.ts';

test('law 1: a client that polls through an upgrade of this release to the next loses nothing', async () => {
  const old = await withService({ own: 'Is replaced by a later release.', settings });
  const { scene } = await filled(old);
  const port = Number(new URL(old.url).port);
  const ours = (patienceMs: number) => clientOf(old.url, scene.org.key, {}, patienceMs);
  const store = memoryStore();
  /** Results that the client holds after each poll, and how often one of them was gone afterwards. */
  let before = new Map<string, unknown>();
  const lost: string[] = [];
  let [polls, failures] = [0, 0];
  const stopping = new AbortController();
  const mirror = sync({
    signal: stopping.signal,
    client: ours(0),
    store,
    everyMs: 20,
    onReport(report) {
      if ('failed' in report) return void failures++;
      polls++;
      const now = heldBy(store);
      lost.push(...[...before.keys()].filter((id) => !now.has(id)));
      before = now;
    },
  });
  const pollsAgain = async (more = 3) => {
    const goal = polls + more;
    while (polls < goal) {
      mirror.wake();
      await delay(10);
    }
  };
  await pollsAgain();
  const wanted = await truth(ours(0));
  assertSame(heldBy(store), wanted, 'before the upgrade');
  assert.ok(wanted.size > people);

  // The next release takes the port of this one, as a service manager restarts it.
  await old.stop();
  mirror.wake();
  while (failures === 0) await delay(10);
  const next = await startNextRelease(old, port);
  try {
    const consumer = client(next.url, scene.org.key);
    const write = async (n: number) => {
      const learner = { ref: `L-${1 + (n % people)}`, full_name: `Name ${n}` };
      assert.equal((await consumer.post('/learners', learner)).status, 200);
    };
    const isUpgraded = async () =>
      [...(await truth(ours(10_000))).values()].every((one) => (one as { edition?: number }).edition === 2);
    for (let n = 0; !(await isUpgraded()); n++) await write(n);
    await pollsAgain();
    const report = await mirror.verify();
    assert.equal(report.isProven, true);
    const after = await truth(ours(0));
    assertSame(heldBy(store), after, 'after the upgrade');
    assert.deepEqual([...after.keys()].sort(), [...wanted.keys()].sort());
    for (const [id, one] of after) assert.ok(one.updated_at > wanted.get(id)!.updated_at);
    assert.deepEqual(lost, []);
    assert.equal(report.results, wanted.size);
  } finally {
    stopping.abort();
    await mirror.done;
    await next.stop();
  }
});
