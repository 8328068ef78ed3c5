import type { Worker } from 'node:cluster';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/platform/time/clock.ts';
import * as metricDefinitions from '../../src/platform/observability/metric-definitions.ts';
import type { Snapshot } from '../../src/platform/observability/metrics.ts';
import { exposition, merged, outlasting, readMetrics } from '../../src/platform/observability/metrics.ts';
import type { Told } from '../../src/server/operations.ts';
import { startOperations } from '../../src/server/operations.ts';
import type { Readiness } from '../../src/server/probes.ts';
import { unknownChecks } from '../../src/server/probes.ts';
import { watchProcess } from '../../src/platform/observability/process-collectors.ts';
import type { Settings } from '../../src/platform/config/settings.ts';
import { build } from '../../src/platform/config/version.ts';
import type { Output } from '../kit/command.ts';

/** What a process is asked. `figures`: its metrics with those of the database. */
type Answers = { readiness: Readiness; metrics: Snapshot; figures: Snapshot };
type Answer = { [What in keyof Answers]: { what: What; answer: Answers[What] } }[keyof Answers];
type Message = Answer | 'reached' | 'started';

/** A process that answers later is left out of the sum, because a probe waits for a second. */
const answerMs = { readiness: 800, metrics: 3000, figures: 3000 };

const maxFailedStarts = 10;
const maxRestartDelayMs = 30_000;

/**
 * @param failedStarts processes in a row that ended before they served
 * @returns when the next process starts, in ms; null: all processes end, because none serves
 */
export function restartDelay(failedStarts: number, serving: number): number | null {
  if (failedStarts > maxFailedStarts && serving === 0) return null;
  return failedStarts === 0 ? 0 : Math.min(maxRestartDelayMs, 1000 * 2 ** (failedStarts - 1));
}

/** What one of several processes says to the process that started it. */
export const sendSupervisor = (message: Message): void => {
  if (process.connected) process.send!(message);
};

/** One of several processes serves from now on, and says how it is. */
export function answerSupervisor(told: Told & { figures(): Promise<void> }): void {
  process.on('message', async (what: keyof Answers) => {
    if (what === 'figures') await told.figures();
    sendSupervisor(what === 'readiness' ? { what, answer: await told.readiness() } : { what, answer: readMetrics() });
  });
  sendSupervisor('started');
}

/** Serves with several processes behind one port (node:cluster). A process that ends without a stop is started again. */
export async function supervise(count: number, settings: Settings, signal: AbortSignal): Promise<Output> {
  const { metricsHost: host, metricsPort: port } = settings;
  const processes = new Processes(count, signal);
  const unwatch = port === null ? null : watchProcess(systemClock, 'primary');
  const operations = port === null ? null : await startOperations({ host, port }, processes);
  if (operations !== null) process.stderr.write(`Probes and metrics at ${operations.url}\n`);
  for (let i = 0; i < count; i++) processes.start();
  if (!signal.aborted) await once(signal, 'abort');
  await processes.stop();
  unwatch?.();
  await operations?.stop();
  return { json: { stopped: true }, text: '', exitCode: processes.hasFailed ? 1 : 0 };
}

type State = { worker: Worker; hasReached: boolean; isServing: boolean; last: Snapshot };

/** The processes that this one started. Counters of a process that ended stay in the sums. */
class Processes implements Told {
  readonly #states = new Set<State>();
  readonly #count: number;
  readonly #signal: AbortSignal;
  #ended: Snapshot = {};
  // Until one process has served, a process that ends ends all of them.
  #failedStarts = maxFailedStarts;
  hasFailed = false;

  constructor(count: number, signal: AbortSignal) {
    this.#count = count;
    this.#signal = signal;
  }

  start(): void {
    const state: State = { worker: cluster.fork(), hasReached: false, isServing: false, last: {} };
    this.#states.add(state);
    state.worker.on('message', (message: Message) => {
      state.hasReached = true;
      if (message !== 'started') return;
      state.isServing = true;
      this.#failedStarts = 0;
    });
    state.worker.on('exit', () => this.#startAgain(state));
  }

  #startAgain(state: State): void {
    this.#states.delete(state);
    this.#ended = merged([this.#ended, outlasting(state.last)]);
    if (this.#signal.aborted || this.hasFailed) return;
    const others = this.#serving().length;
    if (!state.isServing) this.#failedStarts += 1;
    else if (others === 0) this.#failedStarts = 0;
    const waitMs = restartDelay(state.isServing ? 0 : this.#failedStarts, others);
    if (waitMs === null) {
      this.hasFailed = true;
      process.kill(process.pid, 'SIGTERM');
      return;
    }
    const start = () => {
      metricDefinitions.restarts.count();
      this.start();
    };
    void delay(waitMs, undefined, { signal: this.#signal }).then(start, () => {});
  }

  async stop(): Promise<void> {
    const ends = [...this.#states].map(({ worker }) => (worker.isDead() ? null : once(worker, 'exit')));
    for (const { worker } of this.#states) worker.process.kill('SIGTERM');
    await Promise.all(ends);
  }

  #serving = () => [...this.#states].filter(({ isServing }) => isServing);

  async readiness(): Promise<Readiness> {
    const asked = await Promise.all(this.#serving().map(({ worker }) => ask(worker, 'readiness')));
    const answers = asked.filter((answer) => answer !== null);
    const ready = answers.filter(({ status }) => status === 'ready');
    const { checks } = ready[0] ?? answers[0] ?? { checks: unknownChecks };
    const draining = this.#signal.aborted ? 'yes' : checks.draining;
    return {
      status: ready.length > 0 && draining === 'no' ? 'ready' : 'not_ready',
      ...build,
      checks: { ...checks, draining },
      processes: { ready: ready.length, started: this.#count },
    };
  }

  async metrics(): Promise<string> {
    // One process reads the database: the others would read the same.
    const answers = this.#serving().map(async (state, i) => {
      const answer = await ask(state.worker, i === 0 ? 'figures' : 'metrics');
      // A process that ended meanwhile is in the sum of the ended ones.
      if (!this.#states.has(state)) return {};
      if (answer === null) return outlasting(state.last);
      state.last = answer;
      return answer;
    });
    const snapshots = await Promise.all(answers);
    // No process says this of itself: before one serves, none is asked.
    const isNone = this.#serving().length === 0;
    metricDefinitions.opening.set(isNone && !this.#signal.aborted ? 1 : 0);
    if (isNone) metricDefinitions.databaseUp.set([...this.#states].some(({ hasReached }) => hasReached) ? 1 : 0);
    else metricDefinitions.databaseUp.clear();
    return exposition(merged([readMetrics(), this.#ended, ...snapshots]));
  }
}

/** Null: the process is ending, or too busy to answer. */
function ask<What extends keyof Answers>(worker: Worker, what: What): Promise<Answers[What] | null> {
  return new Promise((resolve) => {
    const end = (answer: Answers[What] | null) => {
      clearTimeout(timer);
      worker.off('message', read);
      resolve(answer);
    };
    const read = (message: Message) => {
      if (typeof message !== 'string' && message.what === what) end(message.answer as Answers[What]);
    };
    const timer = setTimeout(end, answerMs[what], null);
    worker.on('message', read);
    worker.send(what, (error) => error !== null && end(null));
  });
}
