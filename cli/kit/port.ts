import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Settings } from '../../src/platform/config/settings.ts';
import { Failure } from './command.ts';

const reasons = new Map([
  ['EADDRINUSE', 'is in use: end what uses it, or set PORT'],
  ['EACCES', 'may not be listened on by this user: set PORT to one above 1023'],
  ['EADDRNOTAVAIL', 'is at an address that this machine does not have: set HOST'],
  ['ENOTFOUND', 'is at a host whose name is not known: set HOST'],
]);

/**
 * Call this before the command opens or fills the database, which can take minutes.
 * @throws Failure if a port is in use
 */
export async function refuseBusyPort(settings: Settings, role: string): Promise<void> {
  if (role !== 'worker') await refuseBusy(settings.host, settings.port, 'ARS_');
  if (settings.metricsPort !== null) await refuseBusy(settings.metricsHost, settings.metricsPort, 'ARS_METRICS_');
}

async function refuseBusy(host: string, port: number, settings: string): Promise<void> {
  const probe = createServer().listen(port, host);
  await once(probe, 'listening').catch(({ code = '' }: NodeJS.ErrnoException) => {
    const because = reasons.get(code)?.replace(/PORT|HOST/, `${settings}$&`) ?? 'cannot be listened on';
    throw new Failure(`Port ${port} of ${host} ${because} (${code}).`);
  });
  await new Promise((closed) => probe.close(closed));
}
