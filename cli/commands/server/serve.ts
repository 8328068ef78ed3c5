import cluster from 'node:cluster';
import { once } from 'node:events';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { type Role, startService } from '../../../src/main.ts';
import { databaseUp } from '../../../src/platform/observability/metric-definitions.ts';
import { openUnlessStopped } from '../../../src/server/open-app.ts';
import { startOperations } from '../../../src/server/operations.ts';
import { watchProcess } from '../../../src/platform/observability/process-collectors.ts';
import { type Settings, readSettings } from '../../../src/platform/config/settings.ts';
import { warmUpSoon } from '../../../src/server/warm-up.ts';
import { startWatchdog } from '../../../src/server/watchdog.ts';
import { type Call, type Command, type Output, command } from '../../kit/command.ts';
import { count, or, word } from '../../kit/options.ts';
import { refuseBusyPort } from '../../kit/port.ts';
import { answerSupervisor, sendSupervisor, supervise } from '../../supervisor/processes.ts';
import { terminal } from '../../kit/terminal.ts';

export const commands: Command[] = [
  command({
    name: 'serve',
    summary: 'Run the service until it is stopped',
    examples: ['', '--role worker --processes 2'],
    about: {
      role: 'What this process does: answer requests, do background work, or both',
      processes: 'The number of processes',
    },
    options: { role: or(word(['all', 'web', 'worker']), 'all' as const), processes: or(count(1, 64), 1) },
    run: async (call) => {
      const { role, processes } = call.options;
      const settings = readSettings(terminal().environment);
      if (cluster.isWorker) return serve(call, role, settings);
      await refuseBusyPort(settings, role);
      const stopWatchdog = startWatchdog(terminal().environment);
      try {
        return await (processes > 1 ? supervise(processes, settings, call.signal) : serve(call, role, settings));
      } finally {
        stopWatchdog();
      }
    },
  }),
];

async function serve({ signal, json }: Call<unknown>, role: Role, settings: Settings): Promise<Output> {
  const { metricsHost: host, metricsPort: port } = settings;
  const isOne = cluster.isWorker;
  // The process answers probes while it opens the database, which may take minutes.
  const unwatch = port === null || isOne ? null : watchProcess(systemClock, role);
  const operations = port === null || isOne ? null : await startOperations({ host, port });
  try {
    const reached = () => (isOne ? sendSupervisor('reached') : databaseUp.set(1));
    const opened = await openUnlessStopped(settings, signal, reached);
    if (opened !== null) {
      const { app, source, stop } = await startService(opened, role, { operations, gathered: isOne });
      if (isOne) answerSupervisor(source);
      else if (!json && role !== 'worker') terminal().errors.write(`Answering at ${app.settings.baseUrl}\n`);
      if (role !== 'worker') void warmUpSoon(app, signal);
      if (!signal.aborted) await once(signal, 'abort');
      await stop();
    }
  } finally {
    unwatch?.();
    await operations?.stop();
    // An open channel to the supervisor would keep this process alive.
    if (isOne) cluster.worker!.disconnect();
  }
  return { json: { stopped: true }, text: '' };
}
