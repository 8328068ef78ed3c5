import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { program } from '../../support/ars.ts';
import { freePort } from '../../support/ports.ts';

const root = join(import.meta.dirname, '../../..');

/** Shared by all processes of a test, as docs/operate/scale-out.md says. */
export const secret = 'the same secret in every process of a law test';

/** A service in a process of its own, started as an operator starts it. */
export type ServiceProcess = {
  url: string;
  pid: number;
  /** What it has written to its outputs; of more than 4 MiB the last part. */
  output(): string;
  /** Ends it at once, with nothing that it could still do. */
  kill(): Promise<void>;
};

const running = new Set<ChildProcess>();
after(() => {
  for (const child of running) child.kill('SIGKILL');
});

/**
 * Starts `ars serve` and waits until it answers.
 * @param environment settings; port 0 takes any free one
 */
export async function serviceProcess(environment: Record<string, string>): Promise<ServiceProcess> {
  const child = spawn(process.execPath, ['cli/ars.ts', 'serve', '--role', 'web'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      NODE_TEST_CONTEXT: undefined,
      ARS_HOST: '127.0.0.1',
      ARS_PORT: '0',
      ARS_RATE_LIMIT: '1000000',
      ...environment,
    },
  });
  running.add(child);
  const gone = once(child, 'exit').then(() => {
    running.delete(child);
  });
  let text = '';
  const url = await new Promise<string>((resolve, reject) => {
    const read = (part: Buffer) => {
      text += part.toString('utf8');
      if (text.length > 2 ** 22) text = text.slice(-(2 ** 21));
      const started = /"event":"service.started".*?"url":"([^"]+)"/.exec(text);
      if (started !== null) resolve(started[1]!);
    };
    child.stdout!.on('data', read);
    child.stderr!.on('data', read);
    void gone.then(() => reject(new Error(`the service ended before it answered: ${text}`)));
  });
  return {
    url,
    pid: child.pid!,
    output: () => text,
    async kill() {
      child.kill('SIGKILL');
      await gone;
      assert.equal(child.signalCode, 'SIGKILL');
    },
  };
}

/**
 * Starts `ars serve` with a module that changes the process first, and waits until it is ready.
 * @param module URL of the module
 */
export const changedProcess = (module: string, environment: Record<string, string>, port?: number) =>
  readyProcess([`--import=${module}`, program, 'serve'], environment, port);

/** Starts a program of Node that serves, and waits until it is ready. */
export async function readyProcess(words: readonly string[], environment: Record<string, string>, port?: number) {
  port ??= await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(process.execPath, words, {
    env: {
      ...process.env,
      ...environment,
      ARS_PORT: String(port),
      ARS_LOG: 'none',
      ARS_DRAIN_DELAY_SECONDS: '0',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    assert.equal(child.exitCode, null, 'the process has ended');
    await delay(50);
  }
  return {
    url,
    async stop() {
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
