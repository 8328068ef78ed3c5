import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Settings } from '../../src/platform/config/settings.ts';
import { Failure } from './command.ts';

/**
 * Call this before the command opens or fills the database, which can take minutes.
 * @throws Failure if a port cannot be used
 */
export async function refuseBusyPort(settings: Settings, role: string): Promise<void> {
  if (role !== 'worker') await refuseBusy(settings.host, settings.port, 'ARS_');
  if (settings.metricsPort !== null) await refuseBusy(settings.metricsHost, settings.metricsPort, 'ARS_METRICS_');
}

async function refuseBusy(host: string, port: number, prefix: string): Promise<void> {
  const probe = createServer().listen(port, host);
  await once(probe, 'listening').catch(({ code = '' }: NodeJS.ErrnoException) => {
    const isBusy = code === 'EADDRINUSE';
    const why = isBusy ? 'is in use: end what uses it, or' : `cannot be listened on: set ${prefix}HOST, or`;
    throw new Failure(`Port ${port} of ${host} ${why} set ${prefix}PORT (${code}).`);
  });
  await new Promise((closed) => probe.close(closed));
}
