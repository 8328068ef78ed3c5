import { SpanKind } from '@opentelemetry/api';
import type { App } from '../../platform/app.ts';
import { formatMs } from '../../platform/time/clock.ts';
import { arrayLiteral, uuidArray } from '../../platform/db/arrays.ts';
import { batcher } from '../../platform/db/batcher.ts';
import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import { SecretUnreadableError } from '../../platform/crypto/keyring.ts';
import { deadLetters, deliveryAttempts, deliveryTime } from '../../platform/observability/metric-definitions.ts';
import { inSpan } from '../../platform/observability/tracing.ts';
import { logEndpointNews } from './endpoints/health.ts';
import type { Outcome, Recorder, Stored } from './outcome.ts';
import type { DueDelivery, Ended, EndpointQueue, LeasedEndpoint } from './queue.ts';
import { nextAttempt, verdictOf } from './retry.ts';
import type { EndpointSecrets } from './endpoints/secrets.ts';
import { signingSecrets } from './endpoints/secrets.ts';
import type { Attempt, Sender } from './http/send.ts';
import { createSender } from './http/send.ts';
import { deliveryHeaders, sentText } from './http/signing.ts';

/** Signs and makes one attempt. Like the sender, it never throws. */
export async function attemptDelivery(
  app: App,
  sender: Sender,
  endpoint: EndpointSecrets & { url: string },
  delivery: { delivery_id: string; payload: string },
  signal?: AbortSignal,
): Promise<Attempt & { sent: string | null }> {
  const nowMs = app.clock.nowMs();
  let secrets: string[];
  try {
    secrets = signingSecrets(app, endpoint, nowMs);
  } catch (error) {
    if (!(error instanceof SecretUnreadableError)) throw error;
    const nothing = { status_code: null, duration_ms: 0, retry_after_ms: null, sent: null };
    return { outcome: 'secret_unreadable', error: error.message, ...nothing };
  }
  const { url } = endpoint;
  const headers = deliveryHeaders({ deliveryId: delivery.delivery_id, secrets, body: delivery.payload, nowMs });
  const attempt = await sender.send({ url, headers, body: delivery.payload, signal });
  return { ...attempt, sent: sentText(url, headers) };
}

/**
 * Sends an endpoint something once: a test event, unless a payload is given. Its type is one that no subscription has, so no
 * receiver takes it for a result. Nothing is stored, and nothing follows from how it ends.
 */
export async function sendTest(
  app: App,
  endpoint: EndpointSecrets & { url: string },
  {
    payload = JSON.stringify({ event: 'webhook.test', occurred_at: formatMs(app.clock.nowMs()) }),
    signal,
  }: { payload?: string; signal?: AbortSignal } = {},
): Promise<Attempt & { deliveryId: string }> {
  const deliveryId = app.random.uuid();
  const sender = createSender({ clock: app.clock, allowNetworks: app.settings.webhookAllowNetworks });
  try {
    const attempt = await attemptDelivery(app, sender, endpoint, { delivery_id: deliveryId, payload }, signal);
    return { ...attempt, deliveryId };
  } finally {
    await sender.close();
  }
}

// "Not in": status = 'pending' would let the planner search the index of what is due, whose organisation's part grows with the
// backlog. An attempt more than was read: the page was older than an outcome.
const unchanged = statement(
  'attempt.unchanged',
  `
  select g.n::int4 as n
    from unnest($1::int8[], $2::uuid[], $3::int4[]) with ordinality as g(organisation_id, delivery_id, attempts, n)
    join delivery d on d.organisation_id = g.organisation_id and d.delivery_id = g.delivery_id
   where d.status not in ('succeeded', 'dead', 'cancelled') and d.attempts = g.attempts`,
);

type ReadDelivery = { organisationId: number; deliveryId: string; attempts: number };

/** Which deliveries still wait as they were read: one that was cancelled since, with its result, is not sent. */
export async function stillWanted(tx: Tx, deliveries: ReadDelivery[]): Promise<boolean[]> {
  const rows = await tx.query<{ n: number }>(unchanged, [
    arrayLiteral(deliveries.map((one) => one.organisationId)),
    uuidArray(deliveries.map((one) => one.deliveryId)),
    arrayLiteral(deliveries.map((one) => one.attempts)),
  ]);
  const wanted = new Set(rows.map((row) => row.n - 1));
  return deliveries.map((_, i) => wanted.has(i));
}

/**
 * At most `size()` permits are out at a time. Callers wait in their order.
 * @returns acquires a permit, and gives what releases it; to release twice does nothing
 */
export function createSemaphore(size: () => number): () => Promise<() => void> {
  const waiting: (() => void)[] = [];
  let out = 0;
  const admit = (): void => {
    while (waiting.length > 0 && out < size()) {
      out += 1;
      waiting.shift()!();
    }
  };
  return () =>
    new Promise((resolve) => {
      waiting.push(() => {
        let held = true;
        resolve(() => {
          if (!held) return;
          held = false;
          out -= 1;
          admit();
        });
      });
      admit();
    });
}

/** An attempt that takes longer gives its permit back, and its endpoint's next ones take none until it answers sooner. */
const slowAfterMs = 50;
/** An endpoint whose queue never empties is given back after this time, so that workers that came later get a share. */
const maxHoldMs = 30_000;

const dropped: Ended = { result: 'dropped', recorded: Promise.resolve() };

/** Makes the attempts of one worker: asks whether the delivery is still wanted, sends it, records and reports the outcome. */
export function createAttempts(options: {
  app: App;
  sender: Sender;
  recorder: Recorder;
  connection: Tx;
  /** No attempt begins any more. */
  stopping: AbortSignal;
  /** Attempts under way are broken off. */
  breakOff: AbortSignal;
  failed(error: unknown): void;
}): (queue: EndpointQueue, delivery: DueDelivery) => Promise<Ended> {
  const { app, sender, recorder, connection, stopping, breakOff, failed } = options;
  const acquire = createSemaphore(recorder.maxUnrecorded);
  // Attempts that begin together share the question.
  const isWanted = batcher((asked: ReadDelivery[]) => stillWanted(connection, asked), 200);

  async function mayBegin(queue: EndpointQueue, { delivery_id: deliveryId, attempts }: DueDelivery): Promise<boolean> {
    const wanted = await isWanted({ organisationId: queue.endpoint.organisation_id, deliveryId, attempts });
    const nowMs = app.clock.nowMs();
    const mayNot = stopping.aborted || app.restored.pending || nowMs >= queue.leasedUntilMs;
    if (mayNot || nowMs - queue.openedMs > maxHoldMs) queue.close();
    return wanted && !mayNot && !queue.closed;
  }

  async function send(queue: EndpointQueue, delivery: DueDelivery, release: () => void) {
    const slow = setTimeout(() => {
      queue.slow = true;
      release();
    }, slowAfterMs);
    try {
      const attempt = await inSpan(
        'webhook attempt',
        { 'ars.event_type': delivery.type, 'ars.attempt': delivery.attempts + 1 },
        () => attemptDelivery(app, sender, queue.endpoint, delivery, breakOff),
        SpanKind.CLIENT,
      );
      queue.slow = attempt.duration_ms >= slowAfterMs;
      return attempt;
    } finally {
      clearTimeout(slow);
    }
  }

  function report(
    queue: EndpointQueue,
    outcome: Outcome,
    type: string,
    name: Attempt['outcome'],
    stored: Stored,
  ): void {
    const { endpointId: endpoint, deliveryId: delivery, statusCode, durationMs, nextAttemptMs, endedMs } = outcome;
    const status = stored.otherwise ?? outcome.status;
    deliveryAttempts.count(name);
    deliveryTime.observe(durationMs / 1000);
    if (status === 'dead') deadLetters.count();
    app.log.info('webhook.attempt', {
      delivery,
      endpoint,
      type,
      attempt: outcome.attemptsBefore + 1,
      outcome: name,
      status: statusCode,
      duration_ms: durationMs,
      delivery_status: status,
      retry_in_ms: stored.otherwise !== null || nextAttemptMs === null ? null : nextAttemptMs - endedMs,
    });
    if (stored.news !== null) logEndpointNews(app.log, stored.news);
    if (stored.news !== null && stored.news.reason !== null) queue.close();
    else if (stored.otherwise === 'pending') queue.nudge();
  }

  return async function attempt(queue, delivery) {
    const release = queue.slow ? () => {} : await acquire();
    try {
      if (!(await mayBegin(queue, delivery))) return dropped;
      const startedMs = app.clock.nowMs();
      const made = await send(queue, delivery, release);
      if (made.outcome === 'aborted') return dropped;
      const outcome = outcomeOf(app, queue.endpoint, delivery, made, startedMs);
      const { sent, written } = recorder.record(outcome);
      const recorded = written.then(
        (stored) => report(queue, outcome, delivery.type, made.outcome, stored),
        (error: unknown) => {
          // It stays due. Sent again at once, it would fail to be recorded again.
          failed(error);
          queue.stuck = true;
          queue.close();
        },
      );
      await sent;
      return { result: outcome.status === 'succeeded' ? 'delivered' : 'failed', recorded };
    } catch (error) {
      failed(error);
      queue.close();
      return dropped;
    } finally {
      release();
    }
  };
}

/** What an attempt means for its delivery. */
function outcomeOf(
  app: App,
  endpoint: LeasedEndpoint,
  delivery: DueDelivery,
  made: Attempt & { sent: string | null },
  startedMs: number,
): Outcome {
  const verdict = verdictOf(made);
  const endedMs = app.clock.nowMs();
  const retryInMs =
    verdict === 'retry'
      ? nextAttempt({
          attempt: delivery.attempts + 1 - delivery.resent_after,
          schedule: app.settings.webhookRetryScheduleMs,
          random: app.random,
          retryAfterMs: made.retry_after_ms,
        })
      : 'dead';
  return {
    organisationId: endpoint.organisation_id,
    endpointId: endpoint.endpoint_id,
    deliveryId: delivery.delivery_id,
    attemptsBefore: delivery.attempts,
    resentAfter: delivery.resent_after,
    status: verdict === 'delivered' ? 'succeeded' : retryInMs === 'dead' ? 'dead' : 'pending',
    nextAttemptMs: retryInMs === 'dead' ? null : endedMs + retryInMs,
    atMs: startedMs,
    endedMs,
    statusCode: made.status_code,
    durationMs: made.duration_ms,
    error: made.error,
    sent: made.sent,
  };
}
