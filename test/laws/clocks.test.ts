import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { createKey } from '../../src/integrations/access-keys/keys.ts';
import { client } from '../contract/support/client.ts';
import { scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { Mirror, Shown } from './world/mirror.ts';
import { changedProcess } from './world/processes.ts';

const settings = { ARS_RATE_LIMIT: '1000000' };
const hourMs = 3600_000;

/** A process on a machine whose clock is wrong by this. */
async function wrongBy(ms: number, environment: Record<string, string>) {
  const shift = `data:text/javascript,const clock = Date; const { now } = clock; clock.now = () => now() %2B (${ms});`;
  return changedProcess(shift, { ...environment, ...settings });
}

suite('processes whose system clocks are wrong', async () => {
  const right = await withService({ own: 'Has a public address.', settings });
  for (const [name, ms] of [
    ['three hours ahead', 3 * hourMs],
    ['three hours behind', -3 * hourMs],
  ] as const)
    test(`laws 1 to 3: beside one that is right, one that is ${name} simply works`, async () => {
      const scene = await scenario(right);
      const wrong = await wrongBy(ms, right.environment);
      try {
        const other = client(wrong.url, scene.org.key);
        const shown = new Shown();
        const mirrors = (['follow', 'since only'] as const).map(
          (manner) =>
            new Mirror([scene.org, other], seededRandom(name), shown, { path: '/learners', limit: 7, manner }),
        );
        const stamps: string[] = [];
        for (let i = 0; i < 20; i++) {
          const { status } = await (i % 2 === 0 ? other : scene.org).post('/learners', {
            ref: `L-${i % 8}`,
            full_name: `Name ${i}`,
          });
          assert.ok(status === 200 || status === 201);
          stamps.push((await scene.org.get(`/learners/L-${i % 8}`)).body.data.updated_at);
          for (const mirror of mirrors) await mirror.poll();
        }
        for (const mirror of mirrors) await mirror.assertConverged();
        assert.deepEqual(stamps, stamps.toSorted(), 'law 3: positions follow commits');
        for (const one of stamps) assert.ok(Math.abs(Date.parse(one) - right.app.clock.nowMs()) < 60_000, one);
        // A key that ends in an hour is as good in either process.
        const expiresAt = new Date(right.app.clock.nowMs() + hourMs);
        const key = await right.withUnitOfWork((work) =>
          createKey(work, scene.org.id, { label: null, kind: 'test', expiresAt }),
        );
        for (const { url } of [right, wrong]) assert.equal((await client(url, key).get('/health')).status, 200);
      } finally {
        await wrong.stop();
      }
    });
});
