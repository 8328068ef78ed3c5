import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Role } from '../src/main.ts';
import { openApp, startService } from '../src/main.ts';
import type { Settings } from '../src/settings.ts';
import type { Output } from './command.ts';

/** Restarts in a row after which a process that doesn't stay up ends them all. */
const mostRestarts = 10;

/** Whether this process is one of several that another started. */
export const isForked = (): boolean => cluster.isWorker;

/** Serves with several processes behind one port. One that ends unasked is started again. */
export async function serveProcesses(
  count: number,
  role: string,
  settings: Settings,
  signal: AbortSignal,
): Promise<Output> {
  if (cluster.isWorker) {
    try {
      const service = await startService(await openApp(settings), role as Role);
      process.send!('started');
      if (!signal.aborted) await once(signal, 'abort');
      await service.stop();
    } finally {
      // The channel to the process that started this one would keep it alive.
      cluster.worker!.disconnect();
    }
    return { json: { stopped: true }, text: '' };
  }
  // What keeps the first from starting keeps the others, and starting them again.
  let restarts = mostRestarts;
  let stopping = false;
  let failed = false;
  for (let i = 0; i < count; i++) cluster.fork();
  cluster.on('exit', () => {
    if (stopping) return;
    if (++restarts > mostRestarts) {
      failed = true;
      process.kill(process.pid, 'SIGTERM');
      return;
    }
    cluster.fork();
  });
  cluster.on('message', () => {
    restarts = 0;
  });
  if (!signal.aborted) await once(signal, 'abort');
  stopping = true;
  const workers = Object.values(cluster.workers ?? {});
  await Promise.all(
    workers.map(async (worker) => {
      if (worker === undefined || worker.isDead()) return;
      const gone = once(worker, 'exit');
      worker.process.kill('SIGTERM');
      await gone;
    }),
  );
  return { json: { stopped: true }, text: '', exitCode: failed ? 1 : 0 };
}
