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
import type { Role, Service } from '../src/main.ts';
import { startService } from '../src/main.ts';
import { openUnlessStopped } from '../src/open-app.ts';
import { warmUpSoon } from '../src/warm-up.ts';
import type { Settings } from '../src/settings.ts';
import { version } from '../src/version.ts';
import type { Output } from './command.ts';
import { Restarts } from './restarts.ts';

/** Who takes longer to tell is left out of what is said of all: probes wait for a second. */
const tellMs = { readiness: 800, metrics: 3000 };

/** Whether this process is one of several that another started. */
export const isForked = (): boolean => cluster.isWorker;

/** What a process is asked by the one that started it, and what it answers. */
type Question = { question: number; what: 'readiness' | 'metrics'; figures: boolean };
type Answer = { question: number; answer: Readiness | Snapshot };

/** Tells the process that started this one how it is. */
function tellWhenAsked({ told }: Service): void {
  process.on('message', (message: Question) => {
    void (async () => {
      if (message.what === 'metrics' && message.figures) await told.figures();
      const answer = message.what === 'metrics' ? readMetrics() : await told.readiness();
      if (process.connected) process.send!({ question: message.question, answer } satisfies Answer);
    })();
  });
}

/** Serves with several processes behind one port. One that ends unasked is started again. */
export async function serveProcesses(
  count: number,
  role: string,
  settings: Settings,
  signal: AbortSignal,
): Promise<Output> {
  if (cluster.isWorker) {
    try {
      const opened = await openUnlessStopped(settings, signal);
      if (opened === null) return { json: { stopped: true }, text: '' };
      const service = await startService(opened, role as Role, { gathered: true });
      tellWhenAsked(service);
      process.send!('started');
      if (role !== 'worker') void warmUpSoon(service.app, signal);
      if (!signal.aborted) await once(signal, 'abort');
      await service.stop();
    } finally {
      // The channel to the process that started this one would keep it alive.
      cluster.worker!.disconnect();
    }
    return { json: { stopped: true }, text: '' };
  }
  const { metricsHost: host, metricsPort: port } = settings;
  const unwatch = port === null ? null : watchProcess(systemClock, 'primary');
  const operations = port === null ? null : await startOperations({ host, port }, gather(count, signal));
  if (operations !== null) process.stderr.write(`Probes and metrics at ${operations.url}\n`);
  const restarts = new Restarts();
  const serving = new Set<number>();
  let stopping = false;
  let failed = false;
  const startAgain = async (waitMs: number) => {
    await delay(waitMs, undefined, { signal }).catch(() => {});
    if (stopping || signal.aborted) return;
    measures.restarts.count();
    cluster.fork();
  };
  for (let i = 0; i < count; i++) cluster.fork();
  cluster.on('exit', ({ id }) => {
    const hadServed = serving.delete(id);
    if (stopping) return;
    const waitMs = restarts.afterEnd(hadServed, serving.size);
    if (waitMs !== null) return void startAgain(waitMs);
    stopping = true;
    failed = true;
    process.kill(process.pid, 'SIGTERM');
  });
  cluster.on('message', ({ id }, message) => {
    if (message !== 'started') return;
    serving.add(id);
    restarts.cameUp();
  });
  if (!signal.aborted) await once(signal, 'abort');
  stopping = true;
  await Promise.all(
    running().map(async (worker) => {
      if (worker.isDead()) return;
      const gone = once(worker, 'exit');
      worker.process.kill('SIGTERM');
      await gone;
    }),
  );
  unwatch?.();
  await operations?.stop();
  return { json: { stopped: true }, text: '', exitCode: failed ? 1 : 0 };
}

const running = (): Worker[] => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);

/** What is said of all processes together. Sums don't fall when one of them ends: what it had counted last stays. */
function gather(count: number, signal: AbortSignal): Told {
  const started = new Set<number>();
  const last = new Map<number, Snapshot>();
  let ended: Snapshot = {};
  let question = 0;
  const waiting = new Map<number, (answer: Answer['answer'] | null) => void>();
  cluster.on('message', ({ id }, message: Answer | 'started') => {
    if (message === 'started') started.add(id);
    else waiting.get(message.question)?.(message.answer);
  });
  cluster.on('exit', ({ id }) => {
    ended = merged([ended, outlasting(last.get(id) ?? {})]);
    last.delete(id);
    started.delete(id);
  });

  const serving = () => running().filter(({ id }) => started.has(id));

  /** Null: it is ending, or too busy to say. */
  function ask<T extends Answer['answer']>(worker: Worker, what: Question['what'], figures = false): Promise<T | null> {
    const mine = ++question;
    return new Promise<T | null>((resolve) => {
      const end = (answer: Answer['answer'] | null) => {
        clearTimeout(timer);
        waiting.delete(mine);
        resolve(answer as T | null);
      };
      const timer = setTimeout(end, tellMs[what], null);
      waiting.set(mine, end);
      worker.send({ question: mine, what, figures } satisfies Question, (error) => error !== null && end(null));
    });
  }

  return {
    async readiness() {
      const states = await Promise.all(serving().map((worker) => ask<Readiness>(worker, 'readiness')));
      const told = states.filter((state) => state !== null);
      const ready = told.filter((state) => state.status === 'ready').length;
      const one = told.find((state) => state.status === 'ready') ?? told[0];
      const checks = one?.checks ?? unknownChecks;
      const draining = signal.aborted ? 'yes' : checks.draining;
      return {
        status: ready > 0 && draining === 'no' ? 'ready' : 'not_ready',
        version,
        checks: { ...checks, draining },
        processes: { ready, started: count },
      };
    },
    async metrics() {
      // One of them asks the database: all of them would hear the same.
      const workers = serving();
      const answers = await Promise.all(workers.map((worker, i) => ask<Snapshot>(worker, 'metrics', i === 0)));
      const told = workers.map(({ id }, i) => {
        const answer = answers[i];
        if (answer == null) return outlasting(last.get(id) ?? {});
        // Who has ended while the others were asked is among the ended by now.
        if (!started.has(id)) return {};
        last.set(id, answer);
        return answer;
      });
      // None of them says it of itself: until one serves, none is asked.
      measures.opening.set(serving().length === 0 && !signal.aborted ? 1 : 0);
      return exposition(merged([readMetrics(), ended, ...told]));
    },
  };
}
