import type { Worker } from 'node:cluster';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../src/platform/time/clock.ts';
import * as metricDefinitions from '../../src/platform/observability/metric-definitions.ts';
import type { Snapshot } from '../../src/platform/observability/metrics.ts';
import { exposition, merged, outlasting, readMetrics } from '../../src/platform/observability/metrics.ts';
import { type OperationsSource, startOperations } from '../../src/server/operations.ts';
import { type Readiness, unknownChecks } from '../../src/server/probes.ts';
import type { Status } from '../../src/server/status/status.ts';
import { watchProcess } from '../../src/platform/observability/process-collectors.ts';
import type { Settings } from '../../src/platform/config/settings.ts';
import { build } from '../../src/platform/config/version.ts';
import type { Output } from '../kit/command.ts';

/** The answers of a process. `figures`: its metrics, and the metrics that it reads from the database. */
type Answers = { readiness: Readiness; metrics: Snapshot; figures: Snapshot; status: Status | null };
type Message = { what: keyof Answers; answer: Answers[keyof Answers] } | 'reached' | 'started';

/** How long the supervisor waits for an answer. For readiness, this is less than the 1 second that a probe waits. */
const answerMs = { readiness: 800, metrics: 3000, figures: 3000, status: 6000 };

const maxFailedStarts = 10;
const maxRestartDelayMs = 30_000;

/**
 * @param failedStarts the number of processes in a row that ended before they served requests
 * @returns milliseconds until the next start; null: all processes end
 */
export function restartDelay(failedStarts: number, serving: number): number | null {
  if (failedStarts > maxFailedStarts && serving === 0) return null;
  return failedStarts === 0 ? 0 : Math.min(maxRestartDelayMs, 1000 * 2 ** (failedStarts - 1));
}

export const sendSupervisor = (message: Message): void => {
  if (process.connected) process.send!(message);
};

/** Reports to the supervisor that this process serves, and answers the supervisor's questions. */
export function answerSupervisor(state: OperationsSource & { figures(): Promise<void> }): void {
  process.on('message', async (what: keyof Answers) => {
    if (what === 'figures') await state.figures();
    const asked = { readiness: state.readiness, status: () => state.status().catch(() => null) };
    const answer = what === 'readiness' || what === 'status' ? await asked[what]() : readMetrics();
    sendSupervisor({ what, answer });
  });
  sendSupervisor('started');
}

/** Serves with several processes behind one port (node:cluster), and restarts processes that end unexpectedly. */
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

/** The totals of counters include processes that have ended. */
class Processes implements OperationsSource {
  readonly #count: number;
  readonly #signal: AbortSignal;
  /** The last metrics of each process that serves. */
  readonly #serving = new Map<Worker, Snapshot>();
  /** Whether a process has reached the database since the last end of a process. */
  #hasReached = false;
  #ended: Snapshot = {};
  // The counter starts at its maximum, so that all processes end if the first start fails and no process serves.
  #failedStarts = maxFailedStarts;
  hasFailed = false;

  constructor(count: number, signal: AbortSignal) {
    this.#count = count;
    this.#signal = signal;
  }

  start(): void {
    const worker = cluster.fork();
    worker.on('message', (message: Message) => {
      this.#hasReached = true;
      if (typeof message !== 'string') worker.emit(message.what, message.answer);
      if (message !== 'started') return;
      this.#serving.set(worker, {});
      this.#failedStarts = 0;
    });
    worker.on('exit', () => void this.#startAgain(worker));
  }

  async #startAgain(worker: Worker): Promise<void> {
    const last = this.#serving.get(worker);
    this.#ended = merged([this.#ended, outlasting(last ?? {})]);
    this.#serving.delete(worker);
    this.#hasReached = false;
    if (this.#signal.aborted || this.hasFailed) return;
    const serving = this.#serving.size;
    this.#failedStarts = last === undefined ? this.#failedStarts + 1 : serving === 0 ? 0 : this.#failedStarts;
    const waitMs = restartDelay(last === undefined ? this.#failedStarts : 0, serving);
    this.hasFailed = waitMs === null;
    if (waitMs === null) return void process.kill(process.pid, 'SIGTERM');
    await delay(waitMs, undefined, { signal: this.#signal }).catch(() => {});
    if (this.#signal.aborted) return;
    metricDefinitions.restarts.count();
    this.start();
  }

  async stop(): Promise<void> {
    const workers = Object.values(cluster.workers!).filter((worker) => worker?.isDead() === false) as Worker[];
    const ends = workers.map((worker) => once(worker, 'exit'));
    for (const worker of workers) worker.process.kill('SIGTERM');
    await Promise.all(ends);
  }

  async readiness(): Promise<Readiness> {
    const answers = await Promise.all([...this.#serving.keys()].map((worker) => ask(worker, 'readiness')));
    const ready = answers.filter((answer) => answer?.status === 'ready');
    const { checks } = ready[0] ?? answers.find((answer) => answer !== null) ?? { checks: unknownChecks };
    const draining = this.#signal.aborted ? 'yes' : checks.draining;
    return {
      status: ready.length > 0 && draining === 'no' ? 'ready' : 'not_ready',
      ...build,
      checks: { ...checks, draining },
      processes: { ready: ready.length, started: this.#count },
    };
  }

  /** Asks one process after the other until one answers. */
  async status(): Promise<Status | null> {
    for (const worker of this.#serving.keys()) {
      const answer = await ask(worker, 'status');
      if (answer !== null) return answer;
    }
    return null;
  }

  async metrics(): Promise<string> {
    // Only one process reads the metrics of the database, because all processes would read equal values.
    const answers = [...this.#serving.keys()].map(async (worker, i) => {
      const answer = await ask(worker, i === 0 ? 'figures' : 'metrics');
      const last = this.#serving.get(worker);
      // If the process ended after the question, `#ended` already contains its metrics.
      if (last === undefined) return {};
      if (answer !== null) this.#serving.set(worker, answer);
      return answer ?? outlasting(last);
    });
    const snapshots = await Promise.all(answers);
    // Until a process serves, the supervisor reports these two metrics itself.
    const isNone = this.#serving.size === 0;
    metricDefinitions.opening.set(isNone && !this.#signal.aborted ? 1 : 0);
    if (isNone) metricDefinitions.databaseUp.set(this.#hasReached ? 1 : 0);
    else metricDefinitions.databaseUp.clear();
    return exposition(merged([readMetrics(), this.#ended, ...snapshots]));
  }
}

/** @returns null if the process ends, or is too busy to answer */
async function ask<What extends keyof Answers>(worker: Worker, what: What): Promise<Answers[What] | null> {
  const answer = once(worker, what, { signal: AbortSignal.timeout(answerMs[what]) });
  worker.send(what, (error) => error !== null && worker.emit(what, null));
  return answer.then(
    ([value]) => value as Answers[What],
    () => null,
  );
}
