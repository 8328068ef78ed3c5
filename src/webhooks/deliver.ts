import { SpanKind } from '@opentelemetry/api';
import type { App } from '../app.ts';
import { batcher } from '../db/batcher.ts';
import type { Dedicated } from '../db/database.ts';
import { deadLetters, deliveryAttempts, deliveryTime } from '../measures.ts';
import { attemptDelivery } from './attempt.ts';
import type { DueDelivery } from './claim.ts';
import { stillWanted } from './claim.ts';
import { createGate } from './gate.ts';
import { tellOfEndpoint } from './health.ts';
import type { Lane, LaneIo } from './lane.ts';
import type { Outcome, Recorder } from './outcome.ts';
import type { Watch } from './overdue.ts';
import { watchOverdue } from './overdue.ts';
import type { Pace } from './pace.ts';
import type { Verdict } from './retry.ts';
import { nextAttempt, verdictOf } from './retry.ts';
import type { Attempt, Sender } from './send.ts';
import { inSpan } from '../tracing.ts';

/** An attempt that takes longer gives its pass back, and its endpoint's next ones don't ask for one, until it answers sooner. */
const slowAfterMs = 50;
/** A lane that is never empty is given back after so long, so that workers that came later get their share. */
const holdMs = 30_000;
const mostAskedAtOnce = 200;
/** That a delivery is still wanted counts for so long, unless its lane is nudged before: a withdrawal nudges it. */
const wantedForMs = 10;
/** Deliveries that are asked about before their turn comes, at most. */
const mostAhead = 64;

type Finished = Exclude<Verdict, 'unfinished'>;
/** One attempt that came to an end, and what follows from it. */
type Made = Attempt & {
  sent: string | null;
  verdict: Finished;
  startedMs: number;
  endedMs: number;
  retryInMs: number | null;
};

/** What the attempts of one worker are made with. */
type Means = {
  app: App;
  sender: Sender;
  recorder: Recorder;
  pace: Pace;
  connection: Dedicated;
  /** Nothing is begun any more. */
  stopping: AbortSignal;
  /** What is under way is broken off. */
  breakOff: AbortSignal;
  /** Something falls due so long from now. */
  lookIn(ms: number): void;
  failed(error: unknown): void;
};

/** Makes the attempts of one worker: each is begun only where it is still wanted, sent, recorded and told of. */
export function createDelivering(means: Means): LaneIo['attempt'] {
  const { app, recorder, pace, lookIn, failed } = means;
  const gate = createGate(() => pace.mayRepeat);
  const waiting = new Set<Turn>();
  const mayBegin = createPermission(means, waiting);
  const passing = watchOverdue<Passing>(slowAfterMs, ({ lane, leave }) => {
    lane.slow = true;
    leave();
  });

  return async function deliver(lane, delivery, tellEnd) {
    let told = false;
    const ended = (result: 'delivered' | 'failed' | 'dropped') => {
      if (!told) tellEnd(result);
      told = true;
    };
    const turn = { lane, delivery };
    waiting.add(turn);
    const passes = !lane.slow;
    const leave = passes ? await gate() : () => {};
    waiting.delete(turn);
    try {
      if (!(await mayBegin(turn))) return;
      const made = await makeAttempt(means, passing, lane, delivery, leave);
      if (made === null) return;

      // Its pass bounds what is not recorded yet, so the endpoint may be asked by the next one meanwhile.
      if (passes && !lane.slow && made.verdict === 'delivered') ended('delivered');
      const recorded = recorder.record(outcomeOf(lane, delivery, made));
      await recorded.sent;
      leave();
      ended(made.verdict === 'delivered' ? 'delivered' : 'failed');
      const { news, otherwise } = await recorded.written;
      pace.recorded();
      if (otherwise === 'pending') lookIn(0);
      else if (made.retryInMs !== null) lookIn(made.retryInMs);
      tellOf(app, lane, delivery, made, otherwise ?? statusAfter(made));
      if (news !== null) tellOfEndpoint(app.log, news);
      if (news !== null && news.reason !== null) lane.close();
    } catch (error) {
      // The delivery stays due; without its lane, and with nobody told of it, it is not tried again before the next look.
      failed(error);
      lane.stuck = true;
      lane.close();
    } finally {
      leave();
      ended('dropped');
    }
  };
}

/** An attempt under way, and how it gives its pass back. */
type Passing = { lane: Lane; leave(): void };
type Turn = { lane: Lane; delivery: DueDelivery };

/**
 * Says whether a delivery is still wanted: a result may have been withdrawn while it was queued here. The answer takes as
 * long as an attempt and costs a fifth of one, so those whose turn comes next are asked about together, as many as will be
 * begun while the answer counts (docs/decisions/0123).
 * @param waiting those that wait at the gate, in its order
 */
function createQuestions({ app, connection }: Means, waiting: ReadonlySet<Turn>) {
  // Attempts that begin together share the question.
  const isWanted = batcher(
    (asked: { organisationId: number; deliveryId: string }[]) => stillWanted(connection, asked),
    mostAskedAtOnce,
  );
  const answers = new WeakMap<DueDelivery, { wanted: Promise<boolean>; atMs: number; nudges: number }>();
  let begun = 0;
  let askedMs = app.clock.monotonicMs();

  function answerFor({ lane, delivery }: Turn, nowMs: number): Promise<boolean> | null {
    const answer = answers.get(delivery);
    const counts = answer !== undefined && answer.nudges === lane.nudges && nowMs - answer.atMs < wantedForMs;
    return counts ? answer.wanted : null;
  }

  function ask({ lane, delivery }: Turn, atMs: number): Promise<boolean> {
    const wanted = isWanted({ organisationId: lane.endpoint.organisation_id, deliveryId: delivery.delivery_id });
    // Whoever begins it meets the failure; one that is never begun fails unseen.
    wanted.catch(() => {});
    answers.set(delivery, { wanted, atMs, nudges: lane.nudges });
    return wanted;
  }

  function* next(lane: Lane, most: number): Generator<Turn> {
    for (const turn of waiting) {
      if (most-- <= 0) return;
      yield turn;
    }
    for (const delivery of lane.upcoming(most)) yield { lane, delivery };
  }

  return function wantedOf(turn: Turn): Promise<boolean> {
    const nowMs = app.clock.monotonicMs();
    begun += 1;
    const known = answerFor(turn, nowMs);
    if (known !== null) return known;
    const passedMs = nowMs - askedMs;
    const ahead = passedMs > 0 ? Math.min(mostAhead, Math.floor((begun * wantedForMs) / passedMs)) : 0;
    begun = 0;
    askedMs = nowMs;
    for (const other of next(turn.lane, ahead)) if (answerFor(other, nowMs) === null) void ask(other, nowMs);
    return ask(turn, nowMs);
  };
}

/** Says whether an attempt may begin; whatever forbids every further one closes the lane. */
function createPermission(means: Means, waiting: ReadonlySet<Turn>) {
  const { app, stopping, failed } = means;
  const wantedOf = createQuestions(means, waiting);
  return async function mayBegin(turn: Turn): Promise<boolean> {
    const { lane } = turn;
    const wanted = await wantedOf(turn).catch((error: unknown) => {
      failed(error);
      lane.close();
      return false;
    });
    const nowMs = app.clock.nowMs();
    if (lane.closed || stopping.aborted || app.restored.pending || nowMs >= lane.leasedUntilMs) {
      lane.close();
      return false;
    }
    if (wanted && nowMs - lane.openedMs > holdMs) lane.close();
    return wanted;
  };
}

/** @returns null when it was broken off and nothing follows from it */
async function makeAttempt(
  { app, sender, breakOff }: Means,
  passing: Watch<Passing>,
  lane: Lane,
  delivery: DueDelivery,
  leave: () => void,
): Promise<Made | null> {
  const startedMs = app.clock.nowMs();
  const pass = { lane, leave };
  passing.begin(pass);
  let attempt: Attempt & { sent: string | null };
  try {
    attempt = await inSpan(
      'webhook attempt',
      { 'ars.event_type': delivery.type, 'ars.attempt': delivery.attempts + 1 },
      () => attemptDelivery(app, sender, lane.endpoint, delivery, breakOff),
      SpanKind.CLIENT,
    );
    lane.slow = attempt.duration_ms >= slowAfterMs;
  } finally {
    passing.end(pass);
  }
  const verdict = verdictOf(attempt);
  if (verdict === 'unfinished') return null;
  const retryInMs = retryIn(app, delivery, verdict, attempt);
  return { ...attempt, verdict, startedMs, endedMs: app.clock.nowMs(), retryInMs };
}

/** After how long it is tried again; null when it isn't. */
function retryIn(app: App, delivery: DueDelivery, verdict: Finished, attempt: Attempt): number | null {
  if (verdict !== 'retry') return null;
  const wait = nextAttempt({
    attempt: delivery.attempts + 1 - delivery.resent_after,
    schedule: app.settings.webhookRetryScheduleMs,
    random: app.random,
    retryAfterMs: attempt.retry_after_ms,
  });
  return wait === 'dead' ? null : wait;
}

function tellOf(app: App, lane: Lane, delivery: DueDelivery, made: Made, status: string): void {
  deliveryAttempts.count(made.outcome);
  deliveryTime.observe(made.duration_ms / 1000);
  if (status === 'dead') deadLetters.count();
  app.log.info('webhook.attempt', {
    delivery: delivery.delivery_id,
    endpoint: lane.endpoint.endpoint_id,
    type: delivery.type,
    attempt: delivery.attempts + 1,
    outcome: made.outcome,
    status: made.status_code,
    duration_ms: made.duration_ms,
    delivery_status: status,
    retry_in_ms: status === statusAfter(made) ? made.retryInMs : null,
  });
}

function statusAfter({ verdict, retryInMs }: Made): Outcome['status'] {
  if (verdict === 'delivered') return 'succeeded';
  return retryInMs === null ? 'dead' : 'pending';
}

function outcomeOf(lane: Lane, delivery: DueDelivery, made: Made): Outcome {
  return {
    organisationId: lane.endpoint.organisation_id,
    endpointId: lane.endpoint.endpoint_id,
    deliveryId: delivery.delivery_id,
    attemptsBefore: delivery.attempts,
    resentAfter: delivery.resent_after,
    status: statusAfter(made),
    nextAttemptMs: made.retryInMs === null ? null : made.endedMs + made.retryInMs,
    atMs: made.startedMs,
    endedMs: made.endedMs,
    statusCode: made.status_code,
    durationMs: made.duration_ms,
    error: made.error,
    sent: made.sent,
  };
}
