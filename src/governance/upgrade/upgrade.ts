import type { App } from '../../platform/app.ts';
import { publicIdOf } from '../../platform/db/public-ids.ts';
import { isOutage } from '../../platform/db/connection/unavailable.ts';
import { WriteQueueRefusal } from '../../platform/db/write-queue.ts';
import { findRestamp, olderProcessServes } from '../../feed/restamp.ts';
import { limits } from '../../platform/config/limits.ts';
import { errorFields } from '../../platform/observability/log.ts';
import { newRestamping, restampOf } from './restamp.ts';

/**
 * @returns a function that restamps some records of one organisation, if no process of an older version serves
 * requests. The function returns the milliseconds to wait before the next call.
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
      // A busy or failing organisation is skipped for a time.
      asideUntilMs.set(organisationId, app.clock.monotonicMs() + limits.upgradeIdleMs);
      const organisation_id = await publicIdOf(app, organisationId);
      app.log.error('upgrade.failed', { job: 'restamp', organisation_id, ...errorFields(error) });
    }
    if ((await findRestamp(app.db)) === null) app.log.info('restamp.finished', {});
    return Math.max(limits.upgradePauseMs, (app.clock.monotonicMs() - startedMs) * limits.upgradePauseShare);
  };
}

/** Restamps every record, and then checks regularly for new work. */
export function startUpgrade(app: App): { stop(): Promise<void> } {
  // The name of this idle connection shows other processes which version this process runs.
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
