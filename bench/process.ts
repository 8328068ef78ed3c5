import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

const canPin = spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/** Starts a Node program of this folder, on one core where the machine can pin. */
export function startNode(core: number, args: string[], environment: Record<string, string> = {}): ChildProcess {
  const [command, first] = canPin ? ['taskset', ['-c', String(core), process.execPath]] : [process.execPath, []];
  return spawn(command, [...first, ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** The first line of standard output that is JSON. */
export async function firstJson<T>(child: ChildProcess): Promise<T> {
  for await (const line of createInterface({ input: child.stdout! })) {
    if (line.startsWith('{')) return JSON.parse(line) as T;
  }
  throw new Error('the program ended without a line of JSON');
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await gone;
}

export type Load = {
  per_second: number;
  p50_ms: number;
  p99_ms: number;
  mb_per_second: number;
  statuses: Record<string, number>;
};

/** @param count how many numbers stand in turn for `############` in the request; 0: it has none */
export async function load(
  port: number,
  connections: number,
  seconds: number,
  request: string,
  count = 0,
): Promise<Load> {
  return firstJson<Load>(
    startNode(1, [
      new URL('load.ts', import.meta.url).pathname,
      String(port),
      String(connections),
      String(seconds),
      Buffer.from(request).toString('base64'),
      String(count),
    ]),
  );
}

export function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
