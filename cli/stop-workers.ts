import { once } from 'node:events';
import { setImmediate as turnOfTheLoop, setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../src/clock.ts';
import { calmMs, idleTurnMs } from '../src/http/connections.ts';
import type { Settings } from '../src/settings.ts';
import type { Workers } from './workers.ts';

/** Tells all to stop, and waits until they have. `listens`: whether they have a port. */
export async function stopWorkers(workers: Workers, settings: Settings, listens: boolean): Promise<void> {
  const gone = Promise.all(workers.all().map((worker) => (worker.isDead() ? null : once(worker, 'exit'))));
  for (const worker of workers.all()) worker.process.kill('SIGTERM');
  if (listens && workers.serving().length > 0) await Promise.race([gone, endListening(workers, settings)]);
  await gone;
}

/**
 * Ends the listener that all share, which this process has. Connections wait in three places: the kernel's queue, the
 * one here, and the channels to the others; the end of the listener resets what is in the first two, and who has ended
 * its part of it takes nothing more from the third. So until the delay of the stop is over all go on, and then all end
 * in one tick, behind a moment in which none has taken anything: what was sent to one before comes to it before its end
 * (docs/decisions/0029).
 */
async function endListening(workers: Workers, { drainMs, drainDelayMs }: Settings): Promise<void> {
  const delayMs = Math.min(drainDelayMs, drainMs / 2);
  await delay(delayMs, undefined, { ref: false });
  // One that has not come to listen yet would wait for its part of the listener for ever.
  await workers.settled();
  const lateMs = systemClock.monotonicMs() + Math.min(calmMs, (drainMs - delayMs) / 10);
  let before: number | null = null;
  for (let calm = false; !calm;) {
    const taken = await takenByAll(workers);
    // The rest of this turn looks for nothing new: only the next one does.
    await turnOfTheLoop();
    const beganMs = systemClock.monotonicMs();
    await turnOfTheLoop();
    const nowMs = systemClock.monotonicMs();
    calm = nowMs > lateMs || (taken !== null && taken === before && nowMs - beganMs < idleTurnMs);
    before = taken;
  }
  for (const worker of workers.serving()) if (worker.isConnected()) worker.disconnect();
}

/** Null: one of them has not told. */
async function takenByAll(workers: Workers): Promise<number | null> {
  const told = await Promise.all(workers.serving().map((worker) => workers.ask(worker, 'taken')));
  return told.reduce((sum, one) => (sum === null || one === null ? null : sum + one), 0);
}
