import type { App } from '../../platform/app.ts';
import { DatabaseUnavailable } from '../../platform/db/connection/unavailable.ts';
import { deliveryChannel } from '../../feed/events/emit.ts';
import { errorFields } from '../../platform/observability/log.ts';
import { createAttempts } from './attempt.ts';
import { createLeases } from './lease.ts';
import { createRecorder } from './outcome.ts';
import { dueDeliveries, EndpointQueue } from './queue.ts';
import type { Sender } from './http/send.ts';
import { createSender } from './http/send.ts';

/** When the time of attempts under way is over, their outcomes have this long to reach the database. */
const recordWithinMs = 2_000;

export type WorkerOptions = {
  sender?: Sender;
  /** How long an endpoint stays leased when its worker has died. */
  leaseMs?: number;
  /** How often a worker looks for what is due. Commits notify it besides. */
  pollMs?: number;
  /** How long attempts under way may still take when the worker is stopped. */
  stopWithinMs?: number;
};

export type DeliveryWorker = {
  /** Polls for everything that is due now. */
  wake(): void;
  /** Resolves once nothing is due or under way. */
  settled(): Promise<void>;
  /** Ends or breaks off what is under way, and gives everything back. */
  stop(): Promise<void>;
};

/**
 * Polls one at a time: what is asked for during a poll is polled for after it.
 * @param poll organisations null: all; resolves to true when there may be more
 * @param idle is called when nothing is left to poll for
 */
function createPoller(
  poll: (organisations: number[] | null) => Promise<boolean>,
  idle: () => void,
  failed: (error: unknown) => void,
) {
  let asked: Set<number> | 'all' = new Set();
  let isPolling = false;

  async function run(): Promise<void> {
    if (isPolling) return;
    isPolling = true;
    try {
      while (asked === 'all' || asked.size > 0) {
        const organisations: number[] | null = asked === 'all' ? null : [...asked];
        asked = new Set();
        if (await poll(organisations)) asked = 'all';
      }
    } catch (error) {
      failed(error);
    }
    isPolling = false;
    idle();
  }

  return {
    /** @param organisation null: all */
    ask(organisation: number | null) {
      if (organisation === null) asked = 'all';
      else if (asked !== 'all') asked.add(organisation);
      void run();
    },
    isIdle: () => !isPolling,
  };
}

/**
 * Delivers what is due. Any number of workers share the work: each leases endpoints (leases.ts), reads what is due to them
 * (queue.ts), makes the attempts (attempt.ts) and records the outcomes (outcome.ts). An endpoint that hangs or fails occupies
 * only its own queue.
 */
export function startWorker(app: App, options: WorkerOptions = {}): DeliveryWorker {
  const { clock, log } = app;
  const { leaseMs = 10_000, pollMs = 1_000, stopWithinMs = 3_000 } = options;
  const sender = options.sender ?? createSender({ clock, allowNetworks: app.settings.webhookAllowNetworks });
  // A lease that a crash of the database forgets does no harm, and outcomes are replayed: neither waits for the disk.
  const recording = app.db.dedicated({ synchronousCommit: false, connected: (tx) => recorder.replay(tx) });
  const recorder = createRecorder(recording);
  // Nothing is read from a database that has forgotten outcomes.
  const connection = app.db.dedicated({ synchronousCommit: false, connected: () => recording.query('select 1') });
  const stopping = new AbortController();
  const breakOff = new AbortController();
  const failed = (error: unknown) => {
    const expected = stopping.signal.aborted || error instanceof DatabaseUnavailable;
    if (!expected) log.error('webhook.worker_failed', errorFields(error));
  };
  const settling: (() => void)[] = [];
  const settle = () => settling.splice(0).forEach((resolve) => resolve());
  const settleIfIdle = () => {
    if (poller.isIdle() && leases.isEmpty()) settle();
  };
  const settled = () =>
    new Promise<void>((resolve) => {
      settling.push(resolve);
      settleIfIdle();
    });

  const part = { app, clock, connection, stopping: stopping.signal, failed };
  const attempt = createAttempts({ ...part, sender, recorder, breakOff: breakOff.signal });
  const leases = createLeases({
    ...part,
    workerId: app.random.uuid(),
    leaseMs,
    open: (endpoint, lease, drained) =>
      new EndpointQueue(endpoint, lease, {
        read: (of, after, limit) => dueDeliveries(connection, of, clock.nowMs(), after, limit),
        attempt,
        drained,
        failed,
      }),
    released: settleIfIdle,
  });
  const poller = createPoller(
    async (organisations) => !stopping.signal.aborted && !app.restored.pending && leases.poll(organisations),
    settleIfIdle,
    failed,
  );

  const timers = [
    setInterval(() => poller.ask(null), pollMs),
    setInterval(() => void leases.renew().catch(failed), leaseMs / 4),
  ];
  for (const timer of timers) timer.unref();
  let wasUp = false;
  void connection.listen(deliveryChannel, (payload) => {
    if (payload !== null) return poller.ask(Number(payload));
    if (wasUp) leases.databaseWasAway();
    wasUp = true;
    poller.ask(null);
  });

  return {
    wake: () => poller.ask(null),
    settled,
    async stop() {
      if (stopping.signal.aborted) return;
      stopping.abort();
      for (const timer of timers) clearInterval(timer);
      leases.closeAll();
      const cut = setTimeout(() => breakOff.abort(), stopWithinMs);
      // The database may be away. What it doesn't get is attempted again by the next worker.
      const giveUp = setTimeout(() => {
        recorder.stop();
        settle();
      }, stopWithinMs + recordWithinMs);
      await settled();
      clearTimeout(cut);
      clearTimeout(giveUp);
      recorder.stop();
      if (options.sender === undefined) await sender.close();
      await Promise.all([connection.close(), recording.close()]);
    },
  };
}
