import type { App } from '../platform/app.ts';
import { eachInTurn } from '../platform/db/unit-of-work.ts';
import { endIdle } from './answer.ts';
import { finishSitting } from './finish.ts';
import { findIdleSittings } from './store.ts';
import { idleMs } from './working-time.ts';

const batch = 50;

/**
 * Closes sittings that were not touched for 48 hours. The answers are scored without the learner's declaration, and the
 * question on the screen doesn't count. A sitting with too few answers is void.
 * @returns how many sittings were closed
 */
export async function closeIdleSittings(app: App): Promise<number> {
  // Evidence contains the public URL. A worker without that setting leaves the work to the web processes.
  if (app.settings.baseUrl === '') return 0;
  const before = new Date(app.clock.nowMs() - idleMs);
  let closed = 0;
  await eachInTurn(app, await findIdleSittings(app.db, before, batch), 'sitting.expiry_failed', async (key) => {
    await endIdle(app, key, before);
    if ((await finishSitting(app, key, before)) !== 'not_due') closed++;
  });
  return closed;
}
