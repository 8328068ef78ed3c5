// A user of the embedded database in a process of its own: the tests talk to it over IPC and kill it.
import { startEmbedded } from '../../../../src/platform/db/embedded/embedded.ts';

const dataDir = process.argv[2]!;
const logged: string[] = [];

try {
  const server = await startEmbedded({ dataDir, log: (line) => logged.push(line) });
  process.on('message', async () => {
    await server.stop();
    process.disconnect?.();
  });
  process.send?.({ url: server.url, adopted: server.adopted, logged });
} catch (error) {
  process.send?.({ error: (error as Error).message });
  process.disconnect?.();
}
