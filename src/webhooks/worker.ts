import type { App } from '../app.ts';
import { DatabaseUnavailable } from '../db/unavailable.ts';
import { deliveryChannel } from '../events/emit.ts';
import { errorFields } from '../log.ts';
import { nextDueMs } from './claim.ts';
import { createDelivering } from './deliver.ts';
import { createHolding } from './holding.ts';
import { createLookout } from './lookout.ts';
import { createRecorder } from './outcome.ts';
import { createPace } from './pace.ts';
import { startPruning } from './prune.ts';
import { createReading } from './reading.ts';
import type { Sender } from './send.ts';
import { createSender } from './send.ts';

/** After what was under way had its time, so long may its outcome take to the database. */
const recordWithinMs = 2_000;

export type WorkerOptions = {
  sender?: Sender;
  /** How long a lane stays taken when its worker has died. */
  leaseMs?: number;
  /** The safety net beneath notifications. */
  pollMs?: number;
  /** How long attempts under way may still take when the worker is stopped. */
  stopWithinMs?: number;
};

export type DeliveryWorker = {
  /** Looks for everything that is due now. */
  wake(): void;
  /** Resolves once nothing is due or under way. */
  settled(): Promise<void>;
  /** Ends or breaks off what is under way, and gives everything back. */
  stop(): Promise<void>;
};

/** Tells those who wait for it that nothing is due or under way. */
function createQuiet(isQuiet: () => boolean) {
  const waiting: (() => void)[] = [];
  const tell = (): void => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  const look = (): void => {
    if (isQuiet()) tell();
  };
  const reached = (): Promise<void> =>
    new Promise((resolve) => {
      waiting.push(resolve);
      look();
    });
  return { tell, look, reached };
}

/**
 * Delivers what is due, woken by notifications. Any number of workers share the work: each leases endpoints' lanes, and
 * an endpoint that hangs or fails occupies nothing but its own lane.
 */
export function startWorker(app: App, options: WorkerOptions = {}): DeliveryWorker {
  const { clock, log } = app;
  const { leaseMs = 10_000, pollMs = 5_000, stopWithinMs = 3_000 } = options;
  const sender = options.sender ?? createSender({ clock, allowNetworks: app.settings.webhookAllowNetworks });
  // Losing a lease or an outcome in a crash of the database does no harm (outcome.ts), so neither waits for the disk.
  const connection = app.db.dedicated({ synchronousCommit: false });
  const recordingConnection = app.db.dedicated({ synchronousCommit: false });
  const pace = createPace(clock);
  const recorder = createRecorder(recordingConnection, () => pace.mayRepeat);
  const stopping = new AbortController();
  const breakOff = new AbortController();
  const failed = (error: unknown) => {
    const expected = stopping.signal.aborted || error instanceof DatabaseUnavailable;
    if (!expected) log.error('webhook.worker_failed', errorFields(error));
  };
  const quiet = createQuiet(() => lookout.idle && holding.empty);
  const part = { app, clock, connection, recorder, pace, stopping: stopping.signal, failed };

  const reading = createReading(part);
  const attempt = createDelivering({
    ...part,
    sender,
    breakOff: breakOff.signal,
    lookIn: (ms) => lookout.within(ms),
  });
  const holding = createHolding({
    ...part,
    workerId: app.random.uuid(),
    leaseMs,
    recovered: reading.recovered,
    fetch: reading.fetch,
    attempt,
    givenBack: quiet.look,
  });
  const lookout = createLookout({ ...part, latestMs: pollMs, look, looked: quiet.look });

  async function look(organisations: number[] | null): Promise<{ more: boolean; dueInMs: number | null }> {
    if (app.restored.pending) return { more: false, dueInMs: null };
    await reading.recovered();
    await holding.nudge(organisations);
    const more = await holding.claim(organisations);
    const dueMs = organisations === null ? await nextDueMs(connection, clock.nowMs()) : null;
    return { more, dueInMs: dueMs === null ? null : dueMs - clock.nowMs() };
  }

  /** Lets what is under way end, for as long as it may take. */
  async function finish(): Promise<void> {
    holding.closeAll();
    const cut = setTimeout(() => breakOff.abort(), stopWithinMs);
    // The database may be away; what it then doesn't get is attempted again by the next worker.
    const giveUp = setTimeout(() => {
      recorder.stop();
      quiet.tell();
    }, stopWithinMs + recordWithinMs);
    await quiet.reached();
    clearTimeout(cut);
    clearTimeout(giveUp);
    recorder.stop();
  }

  const heartbeat = setInterval(() => void holding.renew().catch(failed), leaseMs / 4);
  heartbeat.unref();
  const stopPruning = startPruning(app, failed);
  let wasUp = false;
  void connection.listen(deliveryChannel, (payload) => {
    if (payload === null) {
      if (wasUp) holding.databaseWasAway();
      wasUp = true;
      reading.begin();
      lookout.everywhere();
    } else lookout.at(Number(payload));
  });

  return {
    wake: lookout.everywhere,
    settled: quiet.reached,
    async stop() {
      if (stopping.signal.aborted) return;
      stopping.abort();
      lookout.stop();
      clearInterval(heartbeat);
      stopPruning();
      await finish();
      if (options.sender === undefined) await sender.close();
      await Promise.all([connection.close(), recordingConnection.close()]);
    },
  };
}
