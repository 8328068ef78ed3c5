import type { Worker } from 'node:cluster';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../src/clock.ts';
import * as measures from '../src/measures.ts';
import type { Snapshot } from '../src/metrics.ts';
import { exposition, merged, outlasting, readMetrics } from '../src/metrics.ts';
import type { Told } from '../src/operations.ts';
import { startOperations } from '../src/operations.ts';
import type { Readiness } from '../src/probes.ts';
import { unknownChecks } from '../src/probes.ts';
import { watchProcess } from '../src/process-figures.ts';
import type { Role } from '../src/main.ts';
import { startService } from '../src/main.ts';
import { openUnlessStopped } from '../src/open-app.ts';
import { warmUpSoon } from '../src/warm-up.ts';
import type { Settings } from '../src/settings.ts';
import { version } from '../src/version.ts';
import type { Output } from './command.ts';

type Answers = { readiness: Readiness; metrics: Snapshot };
/** `hasFigures`: the metrics of the database are wanted too. */
type Question = { id: number; what: keyof Answers; hasFigures: boolean };
type Message = { id: number; answer: Answers[keyof Answers] } | 'reached' | 'started';

/** A process that answers later is left out of the sum, because a probe waits for a second. */
const answerMs = { readiness: 800, metrics: 3000 };

const maxFailedStarts = 10;
const maxRestartDelayMs = 30_000;

/** Whether this process is one of several that another process started. */
export const isForked = (): boolean => cluster.isWorker;

/**
 * @param failedStarts processes in a row that ended before they served
 * @returns when the next process starts, in ms; null: all processes end, because none serves
 */
export function restartDelay(failedStarts: number, serving: number): number | null {
  if (failedStarts > maxFailedStarts && serving === 0) return null;
  return failedStarts === 0 ? 0 : Math.min(maxRestartDelayMs, 1000 * 2 ** (failedStarts - 1));
}

/** Serves with several processes behind one port (node:cluster). A process that ends without a stop is started again. */
export function serveProcesses(count: number, role: Role, settings: Settings, signal: AbortSignal): Promise<Output> {
  return cluster.isWorker ? work(role, settings, signal) : supervise(count, settings, signal);
}

async function work(role: Role, settings: Settings, signal: AbortSignal): Promise<Output> {
  const send = (message: Message) => process.connected && process.send!(message);
  try {
    const opened = await openUnlessStopped(settings, signal, () => void send('reached'));
    if (opened !== null) {
      const { app, told, stop } = await startService(opened, role, { gathered: true });
      process.on('message', ({ id, what, hasFigures }: Question) => {
        void (async () => {
          if (hasFigures) await told.figures();
          send({ id, answer: what === 'metrics' ? readMetrics() : await told.readiness() });
        })();
      });
      send('started');
      if (role !== 'worker') void warmUpSoon(app, signal);
      if (!signal.aborted) await once(signal, 'abort');
      await stop();
    }
  } finally {
    // The channel to the supervisor would keep this process alive.
    cluster.worker!.disconnect();
  }
  return { json: { stopped: true }, text: '' };
}

type State = { worker: Worker; hasReached: boolean; isServing: boolean; last: Snapshot };

async function supervise(count: number, settings: Settings, signal: AbortSignal): Promise<Output> {
  const { metricsHost: host, metricsPort: port } = settings;
  const states = new Map<number, State>();
  const serving = () => [...states.values()].filter(({ isServing }) => isServing);
  // Until one process has served, a process that ends ends all of them.
  let failedStarts = maxFailedStarts;
  let ended: Snapshot = {};
  let hasFailed = false;
  const start = () => {
    const worker = cluster.fork();
    states.set(worker.id, { worker, hasReached: false, isServing: false, last: {} });
  };
  cluster.on('message', ({ id }, message: Message) => {
    const state = states.get(id);
    if (state === undefined || typeof message !== 'string') return;
    state.hasReached = true;
    if (message !== 'started') return;
    state.isServing = true;
    failedStarts = 0;
  });
  cluster.on('exit', ({ id }) => {
    const { isServing: hadServed, last } = states.get(id)!;
    states.delete(id);
    ended = merged([ended, outlasting(last)]);
    if (signal.aborted || hasFailed) return;
    const others = serving().length;
    failedStarts = hadServed ? (others === 0 ? 0 : failedStarts) : failedStarts + 1;
    const waitMs = restartDelay(hadServed ? 0 : failedStarts, others);
    if (waitMs === null) {
      hasFailed = true;
      process.kill(process.pid, 'SIGTERM');
      return;
    }
    void delay(waitMs, undefined, { signal }).then(
      () => {
        measures.restarts.count();
        start();
      },
      () => {},
    );
  });
  const unwatch = port === null ? null : watchProcess(systemClock, 'primary');
  const together = toldTogether(states, serving, () => ended, count, signal);
  const operations = port === null ? null : await startOperations({ host, port }, together);
  if (operations !== null) process.stderr.write(`Probes and metrics at ${operations.url}\n`);
  for (let i = 0; i < count; i++) start();
  if (!signal.aborted) await once(signal, 'abort');
  const ends = [...states.values()].map(({ worker }) => (worker.isDead() ? null : once(worker, 'exit')));
  for (const { worker } of states.values()) worker.process.kill('SIGTERM');
  await Promise.all(ends);
  unwatch?.();
  await operations?.stop();
  return { json: { stopped: true }, text: '', exitCode: hasFailed ? 1 : 0 };
}

let questions = 0;

/** Null: the process is ending, or too busy to answer. */
function ask<What extends keyof Answers>(
  worker: Worker,
  what: What,
  hasFigures = false,
): Promise<Answers[What] | null> {
  const question: Question = { id: ++questions, what, hasFigures };
  return new Promise((resolve) => {
    const end = (answer: Answers[What] | null) => {
      clearTimeout(timer);
      worker.off('message', read);
      resolve(answer);
    };
    const read = (message: Message) => {
      if (typeof message !== 'string' && message.id === question.id) end(message.answer as Answers[What]);
    };
    const timer = setTimeout(end, answerMs[what], null);
    worker.on('message', read);
    worker.send(question, (error) => error !== null && end(null));
  });
}

/** Readiness and metrics of all processes. Counters of a process that ended stay in the sums. */
function toldTogether(
  states: ReadonlyMap<number, State>,
  serving: () => State[],
  ended: () => Snapshot,
  count: number,
  signal: AbortSignal,
): Told {
  return {
    async readiness() {
      const answers = await Promise.all(serving().map(({ worker }) => ask(worker, 'readiness')));
      const told = answers.filter((answer) => answer !== null);
      const ready = told.filter(({ status }) => status === 'ready').length;
      const checks = (told.find(({ status }) => status === 'ready') ?? told[0])?.checks ?? unknownChecks;
      const draining = signal.aborted ? 'yes' : checks.draining;
      return {
        status: ready > 0 && draining === 'no' ? 'ready' : 'not_ready',
        version,
        checks: { ...checks, draining },
        processes: { ready, started: count },
      };
    },
    async metrics() {
      const asked = serving();
      // One process reads the database: the others would read the same.
      const answers = await Promise.all(asked.map(({ worker }, i) => ask(worker, 'metrics', i === 0)));
      const told = asked.map((state, i) => {
        // A process that ended meanwhile is in the sum of the ended ones.
        if (!states.has(state.worker.id)) return {};
        const answer = answers[i] ?? null;
        if (answer === null) return outlasting(state.last);
        state.last = answer;
        return answer;
      });
      // No process says this of itself: before one serves, none is asked.
      const isNone = serving().length === 0;
      measures.opening.set(isNone && !signal.aborted ? 1 : 0);
      if (isNone) measures.databaseUp.set([...states.values()].some(({ hasReached }) => hasReached) ? 1 : 0);
      else measures.databaseUp.clear();
      return exposition(merged([readMetrics(), ended(), ...told]));
    },
  };
}
