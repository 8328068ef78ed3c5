import cluster from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../src/clock.ts';
import * as measures from '../src/measures.ts';
import type { Snapshot } from '../src/metrics.ts';
import { exposition, merged, outlasting, readMetrics } from '../src/metrics.ts';
import type { Told } from '../src/operations.ts';
import { startOperations } from '../src/operations.ts';
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
import { stopWorkers } from './stop-workers.ts';
import type { Answer, Question } from './workers.ts';
import { Workers } from './workers.ts';

/** Whether this process is one of several that another started. */
export const isForked = (): boolean => cluster.isWorker;

/** Tells the process that started this one how it is. */
function tellWhenAsked({ told, http }: Service): void {
  process.on('message', ({ what, question, figures }: Question) => {
    void (async () => {
      if (what === 'metrics' && figures) await told.figures();
      const answer =
        what === 'taken' ? (http?.taken ?? 0) : what === 'metrics' ? readMetrics() : await told.readiness();
      if (process.connected) process.send!({ question, answer } satisfies Answer);
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
      const opened = await openUnlessStopped(settings, signal, () => {
        if (process.connected) process.send!('reached');
      });
      if (opened === null) return { json: { stopped: true }, text: '' };
      const service = await startService(opened, role as Role, { gathered: true });
      tellWhenAsked(service);
      if (process.connected) process.send!('started');
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
  const workers = new Workers();
  const operations = port === null ? null : await startOperations({ host, port }, gather(workers, count, signal));
  if (operations !== null) process.stderr.write(`Probes and metrics at ${operations.url}\n`);
  const restarts = new Restarts();
  let stopping = false;
  let failed = false;
  const startAgain = async (waitMs: number) => {
    await delay(waitMs, undefined, { signal }).catch(() => {});
    if (stopping || signal.aborted) return;
    measures.restarts.count();
    workers.start();
  };
  for (let i = 0; i < count; i++) workers.start();
  workers.onStart(() => restarts.cameUp());
  workers.onEnd((_id, hadServed) => {
    if (stopping) return;
    const waitMs = restarts.afterEnd(hadServed, workers.serving().length);
    if (waitMs !== null) return void startAgain(waitMs);
    stopping = true;
    failed = true;
    process.kill(process.pid, 'SIGTERM');
  });
  if (!signal.aborted) await once(signal, 'abort');
  stopping = true;
  await stopWorkers(workers, settings, role !== 'worker');
  unwatch?.();
  await operations?.stop();
  return { json: { stopped: true }, text: '', exitCode: failed ? 1 : 0 };
}

/** What is said of all processes together. Sums don't fall when one of them ends: what it had counted last stays. */
function gather(workers: Workers, count: number, signal: AbortSignal): Told {
  const last = new Map<number, Snapshot>();
  let ended: Snapshot = {};
  workers.onEnd((id) => {
    ended = merged([ended, outlasting(last.get(id) ?? {})]);
    last.delete(id);
  });
  return {
    async readiness() {
      const states = await Promise.all(workers.serving().map((worker) => workers.ask(worker, 'readiness')));
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
      const serving = workers.serving();
      const answers = await Promise.all(serving.map((worker, i) => workers.ask(worker, 'metrics', i === 0)));
      const told = serving.map(({ id }, i) => {
        const answer = answers[i];
        if (answer == null) return outlasting(last.get(id) ?? {});
        // Who has ended while the others were asked is among the ended by now.
        if (!workers.serves(id)) return {};
        last.set(id, answer);
        return answer;
      });
      // None of them says it of itself: until one serves, none is asked.
      measures.opening.set(workers.serving().length === 0 && !signal.aborted ? 1 : 0);
      if (workers.serving().length > 0) measures.databaseUp.clear();
      else measures.databaseUp.set(workers.haveReachedDatabase() ? 1 : 0);
      return exposition(merged([readMetrics(), ended, ...told]));
    },
  };
}
