import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../platform/time/manual-clock.ts';
import { openMirror } from '../../client/src/index.ts';
import { recordResults, scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { clientOf, heldBy, memoryStore } from './support/mirrors.ts';

/** Both sides go by one clock, which only requests and waits move. */
test('a first walk takes as long as the rate limit allows, and at most a twentieth more', async () => {
  const perMinute = 30;
  const pages = 60;
  const clock = manualClock(1_800_000_000_000);
  const settings = { ARS_RATE_LIMIT: String(perMinute), ARS_BASE_URL: 'http://results.test' };
  const service = await withService({ own: 'Moves the clock.', settings, clock });
  const scene = await scenario(service);
  await scene.learner('ana-1');
  const results = Array.from({ length: 4 * pages }, () => ({ ref: 'ana-1' }));
  await service.withUnitOfWork((work) => recordResults(work, scene.org.id, results));
  // What the scene has asked for is no longer in the window.
  clock.advance(61_000);

  for (const requestMs of [90, 1500]) {
    const startedMs = clock.nowMs();
    let requests = 0;
    const patient = clientOf(
      service.url,
      scene.org.key,
      {
        nowMs: clock.nowMs,
        wait: async (ms) => clock.advance(ms),
        fetch: (address, init) => {
          requests++;
          clock.advance(requestMs);
          return fetch(address, init);
        },
      },
      120_000,
    );
    const store = memoryStore();
    await openMirror({ client: patient, store, pageSize: 4 }).poll();
    assert.equal(heldBy(store).size, 4 * pages);
    const tookMs = clock.nowMs() - startedMs;
    const allowedMs = ((1 + pages) * 60_000) / perMinute;
    assert.ok(tookMs <= 1.05 * allowedMs, `${requests} requests of ${requestMs} ms took ${tookMs} of ${allowedMs} ms`);
    clock.advance(61_000);
  }
});
