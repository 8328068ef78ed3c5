import type { App } from '../app.ts';
import { batcher } from '../db/batcher.ts';
import { DatabaseUnavailable } from '../db/database.ts';
import { deliveryChannel, notifyWorkers } from '../events/emit.ts';
import { errorFields } from '../log.ts';
import { attemptDelivery } from './attempt.ts';
import type { After, DueDelivery, LaneEndpoint } from './claim.ts';
import { claimLanes, dueDeliveries, heldLanes, nextDueMs, releaseLanes, renewLanes, stillWanted } from './claim.ts';
import { createGate } from './gate.ts';
import { followHealth } from './health.ts';
import type { Lane } from './lane.ts';
import { openLane } from './lane.ts';
import { createRecorder } from './outcome.ts';
import { pruneDeliveries, renewEncryption } from './prune.ts';
import { nextAttempt, verdictOf } from './retry.ts';
import type { Sender } from './send.ts';
import { createSender } from './send.ts';

/**
 * Attempts on fast endpoints between their first byte and the departure of their outcome for the database, in one worker: as many deliveries as
 * can arrive twice when it is killed.
 */
const gateSize = 8;
/** An attempt that takes longer gives its pass back, and its endpoint's next ones don't ask for one, until it answers sooner. */
const slowAfterMs = 50;
/** Lanes that one worker holds at most. */
const mostLanes = 2000;
const mostClaimedAtOnce = 64;
/** A lane that is never empty is given back after so long, so that workers that came later get their share. */
const holdMs = 30_000;
const retryMs = 500;
const soonestPollMs = 250;
const tidyMs = 3600_000;
/** A service that is started more often than hourly prunes too. */
const firstTidyMs = 60_000;

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

/**
 * Delivers what is due, woken by notifications. Any number of workers share the work: each leases endpoints' lanes, and an
 * endpoint that hangs or fails occupies nothing but its own lane.
 */
export function startWorker(app: App, options: WorkerOptions = {}): DeliveryWorker {
  const { clock, log } = app;
  const { leaseMs = 10_000, pollMs = 5_000, stopWithinMs = 3_000 } = options;
  const workerId = app.random.uuid();
  const sender = options.sender ?? createSender({ clock, allowNetworks: app.settings.webhookAllowNetworks });
  // Losing a lease or an outcome in a crash of the database does no harm (outcome.ts), so neither waits for the disk.
  const connection = app.db.dedicated({ synchronousCommit: false });
  const recordingConnection = app.db.dedicated({ synchronousCommit: false });
  const recorder = createRecorder(recordingConnection);
  const gate = createGate(gateSize);
  // Attempts that begin together share the question.
  const isWanted = batcher(
    (asked: { organisationId: number; deliveryId: string }[]) => stillWanted(connection, asked),
    200,
  );
  const lanes = new Map<string, Lane>();
  const breakOff = new AbortController();
  const quiet: (() => void)[] = [];
  const notified = new Set<number>();
  // Lanes whose outcomes the database refuses.
  const stuck = new WeakSet<Lane>();
  let everything = true;
  let looking = false;
  let releasing = 0;
  let stopping = false;
  let timer: NodeJS.Timeout | null = null;
  let timerAtMs = Infinity;
  // Rises when the database may have restarted: what was read before outcomes were written again can't be trusted.
  let epoch = 0;
  let recovered: Promise<void> = Promise.resolve();

  const lease = () => ({ workerId, nowMs: clock.nowMs(), untilMs: clock.nowMs() + leaseMs });
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      setTimeout(resolve, ms);
    });
  const failed = (error: unknown) => {
    if (!stopping && !(error instanceof DatabaseUnavailable)) log.error('webhook.worker_failed', errorFields(error));
  };

  function lookIn(ms: number): void {
    const atMs = clock.monotonicMs() + Math.min(pollMs, Math.max(soonestPollMs, ms));
    if (stopping || (timer !== null && timerAtMs <= atMs)) return;
    if (timer !== null) clearTimeout(timer);
    timerAtMs = atMs;
    timer = setTimeout(() => {
      timer = null;
      wake();
    }, atMs - clock.monotonicMs());
    timer.unref();
  }

  function wake(): void {
    everything = true;
    void look();
  }

  function tellIfQuiet(): void {
    if (!looking && (stopping || (!everything && notified.size === 0)) && lanes.size + releasing === 0)
      for (const resolve of quiet.splice(0)) resolve();
  }

  async function look(): Promise<void> {
    if (looking || stopping) return;
    looking = true;
    let nextLookMs = pollMs;
    try {
      while (!stopping && (everything || notified.size > 0)) {
        const organisations = everything ? null : [...notified];
        everything = false;
        notified.clear();
        await recovered;
        await nudgeHeld(organisations);
        const taken = lease();
        const most = Math.min(mostClaimedAtOnce, mostLanes - lanes.size);
        const claimed = most <= 0 ? [] : await claimLanes(connection, taken, most, organisations);
        await recovered;
        for (const endpoint of claimed) {
          if (!lanes.has(endpoint.endpoint_id))
            lanes.set(
              endpoint.endpoint_id,
              openLane(endpoint, taken, { fetch, attempt, drained: (lane) => void giveBack(lane) }),
            );
        }
        if (claimed.length > 0 && claimed.length === most) everything = true;
        if (organisations === null) {
          const dueMs = await nextDueMs(connection, clock.nowMs());
          if (dueMs !== null) nextLookMs = Math.min(nextLookMs, dueMs - clock.nowMs());
        }
      }
    } catch (error) {
      failed(error);
      everything = true;
      nextLookMs = retryMs;
    }
    looking = false;
    lookIn(nextLookMs);
    tellIfQuiet();
  }

  async function nudgeHeld(organisations: number[] | null): Promise<void> {
    const concerned = [...lanes.values()].filter(
      (lane) => organisations === null || organisations.includes(lane.endpoint.organisation_id),
    );
    if (concerned.length === 0) return;
    const found = await heldLanes(connection, workerId, [
      ...new Set(concerned.map((lane) => lane.endpoint.organisation_id)),
    ]);
    bringUpToDate(concerned, found, null);
  }

  function bringUpToDate(concerned: Lane[], found: LaneEndpoint[], untilMs: number | null): void {
    const states = new Map(found.map((state) => [state.endpoint_id, state]));
    for (const lane of concerned) {
      const state = states.get(lane.endpoint.endpoint_id);
      if (state === undefined) {
        lane.close();
        continue;
      }
      lane.refresh(state);
      if (untilMs !== null) lane.leasedUntilMs = untilMs;
      else lane.nudge();
    }
  }

  async function renewAll(): Promise<void> {
    const held = [...lanes.values()];
    if (held.length === 0) return;
    const next = lease();
    bringUpToDate(
      held,
      await renewLanes(
        connection,
        next,
        held.map((lane) => lane.endpoint),
      ),
      next.untilMs,
    );
  }

  async function giveBack(lane: Lane): Promise<void> {
    const { organisation_id: organisationId, endpoint_id: endpointId } = lane.endpoint;
    // Before the release is sent: a claim that is sent after it, on the same connection, finds the lane free.
    lanes.delete(endpointId);
    releasing += 1;
    await releaseLanes(connection, workerId, [lane.endpoint]).catch(failed);
    // A lane that was closed may have left something, for this worker or another.
    if (lane.closed && !stuck.has(lane) && !stopping) await notifyWorkers(connection, [organisationId]).catch(failed);
    releasing -= 1;
    tellIfQuiet();
  }

  async function fetch(endpoint: LaneEndpoint, after: After, limit: number): Promise<DueDelivery[]> {
    while (!stopping) {
      await recovered;
      const before = epoch;
      try {
        const rows = await dueDeliveries(connection, endpoint, clock.nowMs(), after, limit);
        if (before === epoch) return rows;
      } catch (error) {
        failed(error);
        await pause(retryMs);
      }
    }
    return [];
  }

  async function attempt(
    lane: Lane,
    delivery: DueDelivery,
    tellEnd: (result: 'delivered' | 'failed' | 'dropped') => void,
  ): Promise<void> {
    let told = false;
    const ended = (result: 'delivered' | 'failed' | 'dropped') => {
      if (!told) tellEnd(result);
      told = true;
    };
    const leave = lane.slow ? () => {} : await gate();
    // A result may have been withdrawn while its delivery was queued here.
    const wanted = await isWanted({
      organisationId: lane.endpoint.organisation_id,
      deliveryId: delivery.delivery_id,
    }).catch((error: unknown) => {
      failed(error);
      lane.close();
      return false;
    });
    const at = clock.nowMs();
    if (lane.closed || stopping || at >= lane.leasedUntilMs) {
      leave();
      lane.close();
      ended('dropped');
      return;
    }
    if (!wanted) {
      leave();
      ended('dropped');
      return;
    }
    if (at - lane.openedMs > holdMs) lane.close();
    const tooSlow = setTimeout(() => {
      lane.slow = true;
      leave();
    }, slowAfterMs);
    try {
      const made = await attemptDelivery(app, sender, lane.endpoint, delivery, breakOff.signal);
      clearTimeout(tooSlow);
      lane.slow = made.duration_ms >= slowAfterMs;
      const verdict = verdictOf(made);
      if (verdict === 'unfinished') return;

      const endedMs = clock.nowMs();
      const number = delivery.attempts + 1;
      const wait =
        verdict !== 'retry'
          ? 'dead'
          : nextAttempt({
              attempt: number - delivery.resent_after,
              schedule: app.settings.webhookRetryScheduleMs,
              random: app.random,
              retryAfterMs: made.retry_after_ms,
            });
      const status = verdict === 'delivered' ? 'succeeded' : wait === 'dead' ? 'dead' : 'pending';
      const recorded = recorder.record({
        organisationId: lane.endpoint.organisation_id,
        deliveryId: delivery.delivery_id,
        attemptsBefore: delivery.attempts,
        resentAfter: delivery.resent_after,
        status,
        nextAttemptMs: wait === 'dead' ? null : endedMs + wait,
        atMs: at,
        endedMs,
        statusCode: made.status_code,
        durationMs: made.duration_ms,
        error: made.error,
      });
      await recorded.sent;
      leave();
      ended(verdict === 'delivered' ? 'delivered' : 'failed');
      await recorded.written;
      if (wait !== 'dead') lookIn(wait);
      log.info('webhook.attempt', {
        delivery: delivery.delivery_id,
        endpoint: lane.endpoint.endpoint_id,
        type: delivery.type,
        attempt: number,
        outcome: made.outcome,
        status: made.status_code,
        duration_ms: made.duration_ms,
        delivery_status: status,
        retry_in_ms: wait === 'dead' ? null : wait,
      });
      if (await followHealth(app, recordingConnection, lane.endpoint, verdict, endedMs)) lane.close();
    } catch (error) {
      // The delivery stays due; without its lane, and with nobody told of it, it is not tried again before the next look.
      failed(error);
      stuck.add(lane);
      lane.close();
    } finally {
      clearTimeout(tooSlow);
      leave();
      ended('dropped');
    }
  }

  const heartbeat = setInterval(() => void renewAll().catch(failed), leaseMs / 4);
  heartbeat.unref();
  const tidy = async () => {
    const pruned = await pruneDeliveries(app);
    log.info('webhook.pruned', { ...pruned, secrets_renewed: await renewEncryption(app) });
  };
  const tidying = setInterval(() => void tidy().catch(failed), tidyMs);
  tidying.unref();
  const tidyingSoon = setTimeout(() => void tidy().catch(failed), firstTidyMs);
  tidyingSoon.unref();
  void connection.listen(deliveryChannel, (payload) => {
    if (payload === null) {
      epoch += 1;
      recovered = recorder.recover().catch(failed);
      wake();
    } else {
      notified.add(Number(payload));
      void look();
    }
  });

  return {
    wake,
    settled: () =>
      new Promise((resolve) => {
        quiet.push(resolve);
        tellIfQuiet();
      }),
    async stop() {
      if (stopping) return;
      stopping = true;
      if (timer !== null) clearTimeout(timer);
      clearInterval(heartbeat);
      clearInterval(tidying);
      clearTimeout(tidyingSoon);
      const ended = new Promise<void>((resolve) => {
        quiet.push(resolve);
      });
      for (const lane of [...lanes.values()]) lane.close();
      const cut = setTimeout(() => breakOff.abort(), stopWithinMs);
      // The database may be away; what it then doesn't get is attempted again by the next worker.
      const giveUp = setTimeout(() => {
        recorder.stop();
        for (const resolve of quiet.splice(0)) resolve();
      }, stopWithinMs + 2_000);
      tellIfQuiet();
      await ended;
      clearTimeout(cut);
      clearTimeout(giveUp);
      recorder.stop();
      if (options.sender === undefined) await sender.close();
      await Promise.all([connection.close(), recordingConnection.close()]);
    },
  };
}
