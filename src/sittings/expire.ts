import type { App } from '../platform/app.ts';
import { eachInTurn } from '../platform/db/unit-of-work.ts';
import { endIdle } from './answer.ts';
import { finishSitting } from './finish.ts';
import { findIdleSittings } from './store.ts';
import { idleMs } from './working-time.ts';

const batch = 50;

/**
 * Closes sittings that nobody has touched for 48 hours. The question on the screen doesn't count; what was answered
 * before is scored like a sitting that ran out of time, without a declaration, or is void where it is too little.
 * @returns how many were closed
 */
export async function closeIdleSittings(app: App): Promise<number> {
  // A worker that wasn't told the public address leaves it to the web processes: evidence prints that address.
  if (app.settings.baseUrl === '') return 0;
  const before = new Date(app.clock.nowMs() - idleMs);
  let closed = 0;
  await eachInTurn(app, await findIdleSittings(app.db, before, batch), 'sitting.expiry_failed', async (key) => {
    await endIdle(app, key, before);
    if ((await finishSitting(app, key, before)) !== 'not_due') closed++;
  });
  return closed;
}
