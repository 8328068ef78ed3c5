import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Settings } from '../src/settings.ts';
import { Failure } from './command.ts';

const why = new Map([
  ['EADDRINUSE', 'is in use: end what uses it, or set ARS_PORT'],
  ['EACCES', 'may not be listened on by this user: set ARS_PORT to one above 1023'],
  ['EADDRNOTAVAIL', 'is at an address that this machine does not have: set ARS_HOST'],
  ['ENOTFOUND', 'is at a host whose name is not known: set ARS_HOST'],
]);

/**
 * Asks for the port before anything is begun, so that nobody waits for a database to be filled and is refused then.
 * @throws Failure when the service can't listen there
 */
export async function refuseBusyPort({ host, port }: Pick<Settings, 'host' | 'port'>): Promise<void> {
  const probe = createServer();
  try {
    probe.listen(port, host);
    await once(probe, 'listening');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    throw new Failure(`Port ${port} of ${host} ${why.get(code) ?? 'cannot be listened on'} (${code}).`);
  }
  await new Promise((closed) => probe.close(closed));
}
