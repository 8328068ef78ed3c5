import type { App } from '../../platform/app.ts';
import type { Dedicated } from '../../platform/db/database.ts';
import { DatabaseUnavailable } from '../../platform/db/connection/unavailable.ts';
import { deliveryChannel } from '../../feed/events/emit.ts';
import { errorFields } from '../../platform/observability/log.ts';
import { createAttempts } from './attempt.ts';
import { LeaseManager } from './lease.ts';
import { Recorder } from './outcome.ts';
import { dueDeliveries, EndpointQueue } from './queue.ts';
import { type Sender, createSender } from './http/send.ts';

/** After the attempts under way have ended, their outcomes must reach the database within this time. */
const recordWithinMs = 2_000;

export type WorkerOptions = {
  sender?: Sender;
  /** An endpoint stays leased for this time after its worker has died. */
  leaseMs?: number;
  /** How often a worker polls for due deliveries. Commits also wake the worker. */
  pollMs?: number;
  /** How long attempts under way may still take after `stop` is called. */
  stopWithinMs?: number;
};

/**
 * Sends what is due: leases endpoints (lease.ts), reads their due deliveries (queue.ts), makes attempts (attempt.ts)
 * and records outcomes (outcome.ts). Any number of workers can run, and an endpoint that hangs or fails delays only its
 * own queue.
 */
export class DeliveryWorker {
  readonly #app: App;
  readonly #sender: Sender;
  readonly #hasOwnSender: boolean;
  readonly #stopWithinMs: number;
  readonly #recorder: Recorder;
  readonly #connections: Dedicated[];
  readonly #leases: LeaseManager;
  readonly #timers: NodeJS.Timeout[];
  readonly #stopping = new AbortController();
  readonly #breakOff = new AbortController();
  #settling: (() => void)[] = [];
  #toPoll: Set<number> | 'all' = new Set();
  #isPolling = false;

  constructor(app: App, { sender, leaseMs = 10_000, pollMs = 1_000, stopWithinMs = 3_000 }: WorkerOptions = {}) {
    const { clock } = app;
    this.#app = app;
    this.#sender = sender ?? createSender({ clock, allowNetworks: app.settings.webhookAllowNetworks });
    this.#hasOwnSender = sender === undefined;
    this.#stopWithinMs = stopWithinMs;
    // Neither connection waits for the disk, because lost outcomes are written again and a lost lease does no harm.
    const recording = app.db.dedicated({ synchronousCommit: false, connected: (tx) => this.#recorder.replay(tx) });
    this.#recorder = new Recorder(recording);
    // This connection waits for `recording`, so that it reads nothing before lost outcomes are written again.
    const connection = app.db.dedicated({ synchronousCommit: false, connected: () => recording.query('select 1') });
    this.#connections = [connection, recording];
    const failed = (error: unknown) => this.#failed(error);
    const shared = { connection, stopping: this.#stopping.signal, failed };
    const breakOff = this.#breakOff.signal;
    const attempt = createAttempts({ ...shared, app, sender: this.#sender, recorder: this.#recorder, breakOff });
    this.#leases = new LeaseManager({
      ...shared,
      workerId: app.random.uuid(),
      leaseMs,
      clock,
      open: (endpoint, lease, drained) =>
        new EndpointQueue(endpoint, lease, {
          read: (of, after, limit) => dueDeliveries(connection, of, clock.nowMs(), after, limit),
          attempt,
          drained,
          failed,
        }),
      released: () => this.#settleIfIdle(),
    });
    this.#timers = [
      setInterval(() => this.wake(), pollMs),
      setInterval(() => void this.#leases.renew().catch(failed), leaseMs / 4),
    ];
    for (const timer of this.#timers) timer.unref();
    this.#listen(connection);
  }

  /** Polls for all deliveries that are due now. */
  wake(): void {
    this.#poll(null);
  }

  /** Resolves when no delivery is due or under way. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#settling.push(resolve);
      this.#settleIfIdle();
    });
  }

  /** Waits for the attempts under way, breaks off those that take too long, and gives all endpoints back. */
  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    for (const timer of this.#timers) clearInterval(timer);
    this.#leases.closeAll();
    const cut = setTimeout(() => this.#breakOff.abort(), this.#stopWithinMs);
    // If the database is unavailable, outcomes are lost, and the next worker sends their deliveries again.
    const giveUp = setTimeout(() => {
      this.#recorder.stop();
      this.#settle();
    }, this.#stopWithinMs + recordWithinMs);
    await this.settled();
    clearTimeout(cut);
    clearTimeout(giveUp);
    this.#recorder.stop();
    if (this.#hasOwnSender) await this.#sender.close();
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  #listen(connection: Dedicated): void {
    let wasConnected = false;
    void connection.listen(deliveryChannel, (payload) => {
      if (payload !== null) return this.#poll(Number(payload));
      if (wasConnected) this.#leases.databaseWasAway();
      wasConnected = true;
      this.wake();
    });
  }

  #poll(organisation: number | null): void {
    if (organisation === null) this.#toPoll = 'all';
    else if (this.#toPoll !== 'all') this.#toPoll.add(organisation);
    if (!this.#isPolling) void this.#pollAll();
  }

  async #pollAll(): Promise<void> {
    this.#isPolling = true;
    try {
      while (this.#toPoll === 'all' || this.#toPoll.size > 0) {
        const organisations = this.#toPoll === 'all' ? null : [...this.#toPoll];
        this.#toPoll = new Set();
        const canPoll = !this.#stopping.signal.aborted && !this.#app.restored.pending;
        if (canPoll && (await this.#leases.poll(organisations))) this.#toPoll = 'all';
      }
    } catch (error) {
      this.#failed(error);
    }
    this.#isPolling = false;
    this.#settleIfIdle();
  }

  #settleIfIdle(): void {
    if (!this.#isPolling && this.#leases.isEmpty()) this.#settle();
  }

  #settle(): void {
    for (const resolve of this.#settling.splice(0)) resolve();
  }

  #failed(error: unknown): void {
    const isExpected = this.#stopping.signal.aborted || error instanceof DatabaseUnavailable;
    if (!isExpected) this.#app.log.error('webhook.worker_failed', errorFields(error));
  }
}
