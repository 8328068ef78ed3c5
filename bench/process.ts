import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
 * Processor time of everybody who is or was seen connected to this database, in µs. Of a connection that ends only what it took
 * until it was last asked for counts. Throws where the database isn't on this machine: nothing measured is not a little.
 */
export async function backendsCpuUs(db: Tx): Promise<number> {
  const sql = "select pid from pg_stat_activity where datname = current_database() and backend_type = 'client backend'";
  const rows = await db.query<{ pid: number }>(sql);
  let read = 0;
  for (const { pid } of rows)
    try {
      const name = readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
      if (name !== 'postgres' && name !== 'postmaster') continue;
      seenUs.set(pid, Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000);
      read++;
    } catch {
      // It has ended since it was listed.
    }
  // Whoever asks is connected, too.
  if (read === 0) throw new Error(`PostgreSQL's processor time can't be read: it has to be on this machine, a Linux`);
  return seenUs.values().reduce((sum, us) => sum + us, 0);
}

/** Processor time of a running process so far, in µs. Linux only. */
export function cpuUs({ pid }: ChildProcess): number {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ').slice(11, 13);
  return (Number(user) + Number(system)) * 10_000;
}

/** Memory of a running process now, in MB. Linux only. */
export function memoryMb({ pid }: ChildProcess): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024);
}

/** A temporary folder that is gone when this process is, whether it comes to its end, fails or is told to end. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ars-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.once('SIGTERM', () => process.exit(143));
  process.once('SIGINT', () => process.exit(130));
  return folder;
}

export function median(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
