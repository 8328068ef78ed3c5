import type { App } from './app.ts';
import { fillReviews, findUnfilledReviews } from './assessments/review-fill.ts';
import { processesWithoutDigest, processesWithoutReviews } from './db/shape.ts';
import type { Tx } from './db/database.ts';
import { statement } from './db/database.ts';
import { feedLane, inWork } from './db/work.ts';
import { fillSlice, findUnfilled } from './feed/digest.ts';
import { findRestamp, olderProcessServes } from './feed/restamp.ts';
import { limits } from './limits.ts';
import { errorFields } from './log.ts';
import { newRestamping, restampNext } from './restamp.ts';

/** What an upgrade does with what is stored, beside the other work, in slices, once no process serves that doesn't know of it. */
type Job = {
  name: string;
  /** An organisation that still needs it. */
  find(tx: Tx): Promise<number | null>;
  /** Whether a process that doesn't know of it serves. */
  waits(tx: Tx): Promise<boolean>;
  next(organisationId: number): Promise<unknown>;
};

const withoutReviews = statement('upgrade.without_reviews', processesWithoutReviews);
const withoutDigest = statement('upgrade.without_digest', processesWithoutDigest);

function jobsOf(app: App): Job[] {
  const restamping = newRestamping();
  return [
    { name: 'restamp', find: findRestamp, waits: olderProcessServes, next: () => restampNext(app, restamping) },
    {
      name: 'digest',
      find: findUnfilled,
      waits: async (tx) => (await tx.query(withoutDigest)).length > 0,
      next: (organisationId) =>
        inWork(app, feedLane(organisationId), (work) => fillSlice(work, organisationId, limits.digestFillRecords)),
    },
    {
      name: 'reviews',
      find: findUnfilledReviews,
      waits: async (tx) => (await tx.query(withoutReviews)).length > 0,
      next: (organisationId) =>
        inWork(app, feedLane(organisationId), (work) => fillReviews(work, organisationId, limits.digestFillRecords)),
    },
  ];
}

/** How long others are left alone after a slice. */
export function upgradePauseMs(tookMs: number): number {
  return Math.max(limits.upgradePauseMs, tookMs * limits.upgradePauseShare);
}

/** Does every job to its end, one after the other, and looks now and then whether there is one again. */
export function startUpgrade(app: App): { stop(): Promise<void> } {
  // An idle process must be seen too: this connection stays, with the name that tells what its process knows of.
  const presence = app.db.dedicated();
  void presence.listen('ars_presence', () => {});
  const jobs = jobsOf(app);
  const aloneSinceMs = new Map<Job, number>();
  let stopping = false;
  let timer: NodeJS.Timeout;

  /** @returns how long to wait for the next one */
  async function round(): Promise<number> {
    const startedMs = app.clock.monotonicMs();
    let waiting = false;
    for (const job of jobs) {
      const organisationId = await job.find(app.db);
      if (organisationId === null) continue;
      if (await job.waits(app.db)) aloneSinceMs.delete(job);
      else if (!aloneSinceMs.has(job)) aloneSinceMs.set(job, startedMs);
      if (startedMs - (aloneSinceMs.get(job) ?? startedMs) < limits.upgradeAloneMs) {
        waiting = true;
        continue;
      }
      await job.next(organisationId);
      if ((await job.find(app.db)) === null) app.log.info(`${job.name}.finished`, {});
      return upgradePauseMs(app.clock.monotonicMs() - startedMs);
    }
    return waiting ? limits.upgradeLookMs : limits.upgradeIdleMs;
  }
  let running = Promise.resolve();
  function next(afterMs: number): void {
    if (stopping) return;
    timer = setTimeout(() => {
      running = round().then(next, (error: unknown) => {
        app.log.error('upgrade.failed', errorFields(error));
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
