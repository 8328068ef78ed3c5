import type { App } from '../../platform/app.ts';
import type { Tx } from '../../platform/db/database.ts';
import { isOutage } from '../../platform/db/connection/unavailable.ts';
import { WriteQueueRefusal } from '../../platform/db/write-queue.ts';
import { feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { fillSlice, findUnfilled } from '../../feed/digest.ts';
import { findRestamp, olderProcessServes } from '../../feed/restamp.ts';
import { limits } from '../../platform/config/limits.ts';
import { errorFields } from '../../platform/observability/log.ts';
import { newRestamping, restampOf } from './restamp.ts';

/** What an upgrade does with what is stored, beside the other work, in slices, once no process serves that doesn't know of it. */
type Job = {
  name: string;
  /** An organisation that still needs it, other than these. */
  find(tx: Tx, others?: readonly number[]): Promise<number | null>;
  /** Whether a process that doesn't know of it serves. */
  waits(tx: Tx): Promise<boolean>;
  next(organisationId: number): Promise<unknown>;
};

function jobsOf(app: App): Job[] {
  const restamping = newRestamping();
  return [
    {
      name: 'restamp',
      find: findRestamp,
      waits: olderProcessServes,
      next: (organisationId) => restampOf(app, restamping, organisationId),
    },
    {
      name: 'digest',
      find: findUnfilled,
      waits: async () => false,
      next: (organisationId) =>
        withUnitOfWork(app, feedQueue(organisationId), (work) =>
          fillSlice(work, organisationId, limits.digestFillRecords),
        ),
    },
  ];
}

/** How long others are left alone after a slice. */
export function upgradePauseMs(tookMs: number): number {
  return Math.max(limits.upgradePauseMs, tookMs * limits.upgradePauseShare);
}

/** How long an organisation that was busy or failed is left alone: the others go on meanwhile. */
const setAsideMs = limits.upgradeIdleMs;

/** @returns a round: one slice of the first job that has something to do and may; it says how long to wait for the next one */
export function upgradeRounds(app: App): () => Promise<number> {
  const jobs = jobsOf(app).map((job) => ({
    ...job,
    aloneSinceMs: null as number | null,
    asideUntilMs: new Map<number, number>(),
  }));
  return async () => {
    const startedMs = app.clock.monotonicMs();
    let waiting = false;
    for (const job of jobs) {
      const { asideUntilMs } = job;
      for (const [id, untilMs] of asideUntilMs) if (untilMs <= startedMs) asideUntilMs.delete(id);
      waiting ||= asideUntilMs.size > 0;
      const organisationId = await job.find(app.db, [...asideUntilMs.keys()]);
      if (organisationId === null) continue;
      if (await job.waits(app.db)) job.aloneSinceMs = null;
      else job.aloneSinceMs ??= startedMs;
      if (startedMs - (job.aloneSinceMs ?? startedMs) < limits.upgradeAloneMs) {
        waiting = true;
        continue;
      }
      try {
        await job.next(organisationId);
      } catch (error) {
        if (isOutage(error) || (error instanceof WriteQueueRefusal && error.why === 'stopping')) throw error;
        asideUntilMs.set(organisationId, app.clock.monotonicMs() + setAsideMs);
        app.log.error('upgrade.failed', { job: job.name, organisation_id: organisationId, ...errorFields(error) });
      }
      if ((await job.find(app.db)) === null) app.log.info(`${job.name}.finished`, {});
      return upgradePauseMs(app.clock.monotonicMs() - startedMs);
    }
    return waiting ? limits.upgradeLookMs : limits.upgradeIdleMs;
  };
}

/** Does every job to its end, one after the other, and looks now and then whether there is one again. */
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
