import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Tx } from '../src/db/database.ts';

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

/** Processor time by process, of those that have ended what they were last seen with. */
const seenUs = new Map<number, number>();

/**
 * Processor time of everybody who is or was seen connected to this database, in µs; it has to be on this machine. Of a
 * connection that ends only what it took until it was last asked for counts.
 */
export async function backendsCpuUs(db: Tx): Promise<number> {
  const sql = "select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'";
  const rows = await db.query<{ pid: number }>(sql);
  for (const { pid } of rows)
    try {
      seenUs.set(pid, Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000);
    } catch {
      // It has ended since it was listed.
    }
  return seenUs.values().reduce((sum, us) => sum + us, 0);
}

/** Processor time of a process so far, in µs; 0 where the system doesn't tell. */
export function cpuUs({ pid }: ChildProcess): number {
  try {
    const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ').slice(11, 13);
    return (Number(user) + Number(system)) * 10_000;
  } catch {
    return 0;
  }
}

/** Memory of a process now, in MB; 0 where the system doesn't tell. */
export function memoryMb({ pid }: ChildProcess): number {
  try {
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024);
  } catch {
    return 0;
  }
}

export function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
