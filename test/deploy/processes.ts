import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after } from 'node:test';

const root = new URL('../../', import.meta.url).pathname;

export type ServedProcess = {
  port: number;
  /** Calls of the API that it has answered since it was started last. */
  answered(): number;
  /** Ends as a service manager ends it, and starts it again. */
  restart(): Promise<void>;
};

/** One process of the service, as an operator starts it. */
export async function serveOn(port: number, settings: Record<string, string>): Promise<ServedProcess> {
  let answered = 0;
  const start = async () => {
    const child = spawn(process.execPath, [`${root}cli/ars.ts`, 'serve', '--role', 'web'], {
      env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...settings, ARS_PORT: String(port), ARS_LOG: 'all' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    answered = 0;
    const said: string[] = [];
    const lines = createInterface({ input: child.stderr });
    const started = new Promise<void>((resolve, reject) => {
      lines.on('line', (line) => {
        if (line.includes('"event":"request"') && !line.includes('(page)')) answered++;
        else said.push(line);
        if (line.includes('"service.started"')) resolve();
      });
      lines.once('close', () => reject(new Error(`the service did not start: ${said.join('\n')}`)));
    });
    await started;
    return child;
  };
  let child = await start();
  after(() => child.kill('SIGKILL'));
  return {
    port,
    answered: () => answered,
    async restart() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      assert.deepEqual(await ended, [0, null]);
      child = await start();
    },
  };
}
