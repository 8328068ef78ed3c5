import type { App } from '../../platform/app.ts';
import { isOutage } from '../../platform/db/connection/unavailable.ts';
import { WriteQueueRefusal } from '../../platform/db/write-queue.ts';
import { findRestamp, olderProcessServes } from '../../feed/restamp.ts';
import { limits } from '../../platform/config/limits.ts';
import { errorFields } from '../../platform/observability/log.ts';
import { newRestamping, restampOf } from './restamp.ts';

/** How long others are left alone after a slice. */
export function upgradePauseMs(tookMs: number): number {
  return Math.max(limits.upgradePauseMs, tookMs * limits.upgradePauseShare);
}

/** How long an organisation that was busy or failed is left alone: the others go on meanwhile. */
const setAsideMs = limits.upgradeIdleMs;

/**
 * @returns a round: one slice of one organisation that still shows an older version, once no process serves that knows
 * only that. It says how long to wait for the next round.
 */
export function upgradeRounds(app: App): () => Promise<number> {
  const restamping = newRestamping();
  let aloneSinceMs: number | null = null;
  const asideUntilMs = new Map<number, number>();
  return async () => {
    const startedMs = app.clock.monotonicMs();
    for (const [id, untilMs] of asideUntilMs) if (untilMs <= startedMs) asideUntilMs.delete(id);
    const organisationId = await findRestamp(app.db, [...asideUntilMs.keys()]);
    if (organisationId === null) return asideUntilMs.size > 0 ? limits.upgradeLookMs : limits.upgradeIdleMs;
    if (await olderProcessServes(app.db)) aloneSinceMs = null;
    else aloneSinceMs ??= startedMs;
    if (startedMs - (aloneSinceMs ?? startedMs) < limits.upgradeAloneMs) return limits.upgradeLookMs;
    try {
      await restampOf(app, restamping, organisationId);
    } catch (error) {
      if (isOutage(error) || (error instanceof WriteQueueRefusal && error.why === 'stopping')) throw error;
      asideUntilMs.set(organisationId, app.clock.monotonicMs() + setAsideMs);
      app.log.error('upgrade.failed', { job: 'restamp', organisation_id: organisationId, ...errorFields(error) });
    }
    if ((await findRestamp(app.db)) === null) app.log.info('restamp.finished', {});
    return upgradePauseMs(app.clock.monotonicMs() - startedMs);
  };
}

/** Restamps to the end, and looks now and then whether there is more to restamp. */
export function startUpgrade(app: App): { stop(): Promise<void> } {
  // An idle process must be seen too: this connection stays, with the name that tells what its process knows of.
  const presence = app.db.dedicated();
  void presence.listen('ars_presence', () => {});
  const round = upgradeRounds(app);
  let stopping = false;
  let timer: NodeJS.Timeout;
  let running = Promise.resolve();
  function next(afterMs: number): void {
    if (stopping) return;
    timer = setTimeout(() => {
      running = round().then(next, (error: unknown) => {
        if (!stopping) app.log.error(isOutage(error) ? 'database.unavailable' : 'upgrade.failed', errorFields(error));
        next(limits.upgradeLookMs);
      });
    }, afterMs);
    timer.unref();
  }
  next(0);
  return {
    async stop() {
      stopping = true;
      clearTimeout(timer);
      await running;
      await presence.close();
    },
  };
}
