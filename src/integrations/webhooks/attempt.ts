import { SpanKind } from '@opentelemetry/api';
import type { App } from '../../platform/app.ts';
import { formatMs } from '../../platform/time/clock.ts';
import { arrayLiteral, uuidArray } from '../../platform/db/arrays.ts';
import { batcher } from '../../platform/db/batcher.ts';
import { type Tx, statement } from '../../platform/db/database.ts';
import { SecretUnreadableError } from '../../platform/crypto/keyring.ts';
import { deadLetters, deliveryAttempts, deliveryTime } from '../../platform/observability/metric-definitions.ts';
import { inSpan } from '../../platform/observability/tracing.ts';
import { logEndpointNews } from './endpoints/health.ts';
import type { Outcome, Recorder, Stored } from './outcome.ts';
import type { DueDelivery, Ended, EndpointQueue, LeasedEndpoint } from './queue.ts';
import { nextAttempt, verdictOf } from './retry.ts';
import { type EndpointSecrets, signingSecrets } from './endpoints/secrets.ts';
import { type Attempt, type Sender, createSender } from './http/send.ts';
import { deliveryHeaders, sentText } from './http/signing.ts';

type SignedAttempt = Attempt & { sent: string | null };

/** Signs and makes one attempt. A failure is part of the result and is never thrown. */
async function attemptDelivery(
  app: App,
  sender: Sender,
  endpoint: EndpointSecrets & { url: string },
  delivery: { delivery_id: string; payload: string },
  signal?: AbortSignal,
): Promise<SignedAttempt> {
  const nowMs = app.clock.nowMs();
  let secrets: string[];
  try {
    secrets = signingSecrets(app, endpoint, nowMs);
  } catch (error) {
    if (!(error instanceof SecretUnreadableError)) throw error;
    const unsent = { status_code: null, duration_ms: 0, retry_after_ms: null, sent: null };
    return { outcome: 'secret_unreadable', error: error.message, ...unsent };
  }
  const { url } = endpoint;
  const headers = deliveryHeaders({ deliveryId: delivery.delivery_id, secrets, body: delivery.payload, nowMs });
  const attempt = await sender.send({ url, headers, body: delivery.payload, signal });
  return { ...attempt, sent: sentText(url, headers) };
}

/**
 * Sends one test event, or the payload, to the endpoint and stores nothing. Endpoints receive test events without a
 * subscription.
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

// With `status = 'pending'`, the planner would search the index of due deliveries, which grows with the backlog. A
// delivery that has had another attempt since it was read is left out.
const unchanged = statement('attempt.unchanged')`
  select g.n::int4 as n
    from unnest($1::int8[], $2::uuid[], $3::int4[]) with ordinality as g(organisation_id, delivery_id, attempts, n)
    join delivery d on d.organisation_id = g.organisation_id and d.delivery_id = g.delivery_id
   where d.status not in ('succeeded', 'dead', 'cancelled') and d.attempts = g.attempts`;

type ReadDelivery = { organisationId: number; deliveryId: string; attempts: number };

/** Whether each delivery is still as it was read. A delivery that was cancelled or attempted meanwhile is not sent. */
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
 * Allows at most `size()` permits at a time. Callers wait in the order in which they asked.
 * @returns a function that acquires a permit and resolves to the release function; a second release does nothing
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
        let isHeld = true;
        resolve(() => {
          if (!isHeld) return;
          isHeld = false;
          out -= 1;
          admit();
        });
      });
      admit();
    });
}

/**
 * An attempt that takes longer releases its permit. The next attempts to its endpoint take no permit until an attempt
 * is faster.
 */
const slowAfterMs = 50;
/** A worker gives an endpoint back after this time, even if the queue is not empty, so that new workers get a share. */
const maxHoldMs = 30_000;
/** If getting a permit takes longer than this, the worker asks again whether the delivery is still wanted. */
const askAgainAfterMs = 100;

const dropped: Ended = { result: 'dropped', recorded: Promise.resolve() };

export type AttemptOptions = {
  app: App;
  sender: Sender;
  recorder: Recorder;
  connection: Tx;
  /** After this signal, no attempt begins. */
  stopping: AbortSignal;
  /** Breaks off the attempts under way. */
  breakOff: AbortSignal;
  failed(error: unknown): void;
};

/** @returns a function that makes one attempt of a worker */
export function createAttempts(
  options: AttemptOptions,
): (queue: EndpointQueue, delivery: DueDelivery) => Promise<Ended> {
  const { app, recorder, connection, failed } = options;
  const acquire = createSemaphore(() => recorder.maxUnrecorded());
  const askIfWanted = batcher((deliveries: ReadDelivery[]) => stillWanted(connection, deliveries), 200);

  return async function attempt(queue, delivery) {
    let release = () => {};
    try {
      // 1. Ask whether the delivery is still wanted, so that an unwanted delivery takes no permit.
      const { delivery_id: deliveryId, attempts } = delivery;
      const read = { organisationId: queue.endpoint.organisation_id, deliveryId, attempts };
      const askedMs = app.clock.monotonicMs();
      if (!(await askIfWanted(read))) return dropped;

      // 2. Wait for a permit.
      if (!queue.slow) release = await acquire();
      const isLate = app.clock.monotonicMs() - askedMs > askAgainAfterMs;
      if ((isLate && !(await askIfWanted(read))) || !mayBegin(options, queue)) return dropped;

      // 3. Send.
      const startedMs = app.clock.nowMs();
      const made = await send(options, queue, delivery, release);
      if (made.outcome === 'aborted') return dropped;

      // 4. Record the outcome. The permit is released once the outcome has been sent to the database.
      const outcome = outcomeOf(app, queue.endpoint, delivery, made, startedMs);
      const { sent, written } = recorder.record(outcome);
      const recorded = written.then(
        (stored) => report(app, queue, outcome, { type: delivery.type, ended: made.outcome, stored }),
        (error: unknown) => {
          // The delivery stays due. The queue closes, because the outcome of another attempt could not be recorded
          // either.
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

/**
 * Whether an attempt may begin. The queue closes if the worker is stopping, its lease has expired, or it has held the
 * endpoint too long.
 */
function mayBegin({ app, stopping }: AttemptOptions, queue: EndpointQueue): boolean {
  const nowMs = app.clock.nowMs();
  const hasEnded = nowMs >= queue.leasedUntilMs || nowMs - queue.openedMs > maxHoldMs;
  if (hasEnded || stopping.aborted || app.restored.pending) queue.close();
  return !queue.closed;
}

async function send(
  { app, sender, breakOff }: AttemptOptions,
  queue: EndpointQueue,
  delivery: DueDelivery,
  release: () => void,
): Promise<SignedAttempt> {
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

function outcomeOf(
  app: App,
  endpoint: LeasedEndpoint,
  delivery: DueDelivery,
  made: SignedAttempt,
  startedMs: number,
): Outcome {
  const endedMs = app.clock.nowMs();
  const verdict = verdictOf(made);
  const attempt = delivery.attempts + 1 - delivery.resent_after;
  const { webhookRetryScheduleMs: schedule } = app.settings;
  const retryInMs =
    verdict === 'retry'
      ? nextAttempt({ attempt, schedule, random: app.random, retryAfterMs: made.retry_after_ms })
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

function report(
  app: App,
  queue: EndpointQueue,
  outcome: Outcome,
  { type, ended, stored }: { type: string; ended: Attempt['outcome']; stored: Stored },
): void {
  const { news, otherwise } = stored;
  const status = otherwise ?? outcome.status;
  deliveryAttempts.count(ended);
  deliveryTime.observe(outcome.durationMs / 1000);
  if (status === 'dead') deadLetters.count();
  app.log.info('webhook.attempt', {
    delivery: outcome.deliveryId,
    endpoint: outcome.endpointId,
    type,
    attempt: outcome.attemptsBefore + 1,
    outcome: ended,
    status: outcome.statusCode,
    duration_ms: outcome.durationMs,
    delivery_status: status,
    retry_in_ms: otherwise !== null || outcome.nextAttemptMs === null ? null : outcome.nextAttemptMs - outcome.endedMs,
  });
  if (news !== null) logEndpointNews(app.log, news);
  if (news !== null && news.reason !== null) queue.close();
  else if (otherwise === 'pending') queue.nudge();
}
