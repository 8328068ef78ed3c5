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
import { Misuse } from './command.ts';
import { numberOption, option } from './open.ts';
import { refuseBusyPort } from './port.ts';
import { isForked, serveProcesses } from './processes.ts';
import { terminal } from './terminal.ts';

const roles: readonly string[] = ['all', 'web', 'worker'];

export const commands: Command[] = [
  {
    name: 'serve',
    usage: '[--role all|web|worker] [--processes N]',
    summary: 'Run the service until it is told to stop',
    options: { role: { type: 'string' }, processes: { type: 'string' } },
    run: async (call) => {
      const role = option(call, 'role') ?? 'all';
      if (!roles.includes(role)) throw new Misuse(`--role must be one of ${roles.join(', ')}`);
      const processes = numberOption(call, 'processes', 1, 1, 64);
      const settings = readSettings(terminal().environment);
      if (!isForked()) await refuseBusyPort(settings, role);
      if (processes > 1) return serveProcesses(processes, role, settings, call.signal);
      return serveAlone(call, role as Role, settings);
    },
  },
];

/** Serves with this process alone. */
async function serveAlone(call: Call, role: Role, settings: Settings): Promise<Output> {
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
