import { once } from 'node:events';
import { systemClock } from '../src/clock.ts';
import type { Role } from '../src/main.ts';
import { startService } from '../src/main.ts';
import { databaseUp } from '../src/measures.ts';
import { openUnlessStopped } from '../src/open-app.ts';
import { startOperations } from '../src/operations.ts';
import { watchProcess } from '../src/process-figures.ts';
import type { Settings } from '../src/settings.ts';
import { readSettings } from '../src/settings.ts';
import { warmUpSoon } from '../src/warm-up.ts';
import type { Call, Command, Output } from './command.ts';
import { command } from './command.ts';
import { count, or, word } from './options.ts';
import { refuseBusyPort } from './port.ts';
import { isForked, serveProcesses } from './processes.ts';
import { terminal } from './terminal.ts';

export const commands: Command[] = [
  command({
    name: 'serve',
    summary: 'Run the service until it is told to stop',
    options: { role: or(word(['all', 'web', 'worker']), 'all' as const), processes: or(count(1, 64), 1) },
    run: async (call) => {
      const { role, processes } = call.options;
      const settings = readSettings(terminal().environment);
      if (!isForked()) await refuseBusyPort(settings, role);
      if (processes > 1) return serveProcesses(processes, role, settings, call.signal);
      return serveAlone(call, role, settings);
    },
  }),
];

/** Serves with this process alone. */
async function serveAlone(call: Call<unknown>, role: Role, settings: Settings): Promise<Output> {
  const { metricsHost: host, metricsPort: port } = settings;
  // Before the database is opened: that may take minutes, and whoever asks whether the process lives would end it.
  const unwatch = port === null ? null : watchProcess(systemClock, role);
  const operations = port === null ? null : await startOperations({ host, port });
  try {
    const opened = await openUnlessStopped(settings, call.signal, () => databaseUp.set(1)).catch(
      async (error: unknown) => {
        await operations?.stop();
        throw error;
      },
    );
    if (opened === null) {
      await operations?.stop();
      return { json: { stopped: true }, text: '' };
    }
    const service = await startService(opened, role, { operations });
    if (!call.json && role !== 'worker') terminal().errors.write(`Answering at ${service.app.settings.baseUrl}\n`);
    if (role !== 'worker') void warmUpSoon(service.app, call.signal);
    if (!call.signal.aborted) await once(call.signal, 'abort');
    await service.stop();
    return { json: { stopped: true }, text: '' };
  } finally {
    unwatch?.();
  }
}
