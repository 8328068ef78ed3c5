import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

/** Below what Linux, macOS and Windows give to outgoing connections and to whoever asks for any port. */
const [lowest, beyond] = [20_000, 32_000];

/** Names the folder of a run, in which each port that a process of it took has a file. */
export const portsVariable = 'ARS_TEST_PORTS';

/** Files are run by processes of their own, which begin far from one another. */
let looked = process.pid * 101;

/** Whether no other process of this run took the port. */
function isOurs(port: number): boolean {
  const folder = process.env[portsVariable];
  if (folder === undefined) return true;
  try {
    closeSync(openSync(join(folder, `port-${port}`), 'wx'));
    return true;
  } catch {
    return false;
  }
}

/**
 * A port that nobody has now, and that stays free between two of its listeners: no connection that another test opens
 * gets it by chance.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = lowest + (looked++ % (beyond - lowest));
    const server = createServer();
    const isFree = await new Promise<boolean>((told) => {
      server.once('error', () => told(false)).listen(port, '127.0.0.1', () => told(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    if (isOurs(port)) return port;
  }
}

/** So many of them. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
