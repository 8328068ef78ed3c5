import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Tx } from '../../src/platform/db/database.ts';
import type { OpenApp } from '../../src/server/open-app.ts';
import { openApp } from '../../src/server/open-app.ts';
import { readSettings } from '../../src/platform/config/settings.ts';

const canPin = spawnSync('taskset', ['-c', '0', 'true']).status === 0;

/** Starts a Node program, on one core where the machine can pin. */
export function startNode(core: number, args: string[], environment: Record<string, string> = {}): ChildProcess {
  const [command, first] = canPin ? ['taskset', ['-c', String(core), process.execPath]] : [process.execPath, []];
  return spawn(command, [...first, ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** The path of a program of this folder. */
export const program = (name: string): string => join(import.meta.dirname, name);

/** The first line of standard output that is JSON. */
export async function firstJson<T>(child: ChildProcess): Promise<T> {
  for await (const line of createInterface({ input: child.stdout! })) {
    if (line.startsWith('{')) return JSON.parse(line) as T;
  }
  throw new Error('The program ended without a line of JSON.');
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await exited;
}

/** The service's parts on the database of this benchmark. */
export const openBench = (): Promise<OpenApp> => openApp({ ...readSettings(process.env), log: 'none' });

export type Server = { child: ChildProcess; port: number };

/** A program of this folder that prints its port. */
export async function startServer(name: string, ...args: string[]): Promise<Server> {
  const child = startNode(0, [program(name), ...args]);
  return { child, ...(await firstJson<{ port: number }>(child)) };
}

export type Service = Server & {
  keyId: string;
  secret: string;
  headers: Record<string, string>;
  /** A GET request as bytes for `load`. */
  get(path: string, more?: Record<string, string>): string;
};

/** The service as a process, with an access key of this organisation. */
export async function startBenchService(
  organisation: string,
  environment: Record<string, string> = {},
): Promise<Service> {
  const child = startNode(0, [program('service.ts')], {
    ARS_LOG: 'errors',
    BENCH_ORGANISATION: organisation,
    ...environment,
  });
  type Made = { port: number; access_key_id: string; secret_access_key: string };
  const { port, access_key_id: keyId, secret_access_key: secret } = await firstJson<Made>(child);
  const headers = { 'X-Access-Key-Id': keyId, 'X-Secret-Access-Key': secret };
  return { child, port, keyId, secret, headers, get: (path, more) => getRequest(path, { ...headers, ...more }) };
}

export function getRequest(path: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ Host: '127.0.0.1', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

export type Load = { per_second: number; p50_ms: number; p99_ms: number };
type LoadOptions = {
  connections: number;
  seconds: number;
  request: string;
  /** How many numbers are put in turn into `############` of the request. */
  count?: number;
  /** The status of every response. */
  status?: string;
};

/** Throws if a response has another status. */
export async function load(
  { port }: { port: number },
  { connections, seconds, request, count = 0, status = '200' }: LoadOptions,
): Promise<Load> {
  const text = Buffer.from(request).toString('base64');
  const args = [port, connections, seconds, text, count].map(String);
  const { statuses, ...measured } = await firstJson<Load & { statuses: Record<string, number> }>(
    startNode(1, [program('load.ts'), ...args]),
  );
  if (Object.keys(statuses).join() !== status)
    throw new Error(`Every response should have status ${status}. Received: ${JSON.stringify(statuses)}.`);
  return measured;
}

export type CostedLoad = Load & { node: number; postgres: number };

/** A load, and the processor time of a request in µs. The second of warming up counts as one more. */
export async function costedLoad(server: Server, db: Tx, options: LoadOptions): Promise<CostedLoad> {
  const [node, postgres] = [cpuUs(server.child), await backendsCpuUs(db)];
  const measured = await load(server, options);
  const count = measured.per_second * (options.seconds + 1);
  return {
    ...measured,
    node: (cpuUs(server.child) - node) / count,
    postgres: ((await backendsCpuUs(db)) - postgres) / count,
  };
}

/** Processor time by process, of ended processes as last seen. */
const seenUs = new Map<number, number>();

/**
 * Processor time in µs of all connections to this database. A connection that has ended counts as it was last seen. Throws
 * if the database is on another machine, because its time can't be read.
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
  // This process is connected, too.
  if (read === 0)
    throw new Error("PostgreSQL's processor time can't be read. Run PostgreSQL on this machine, on Linux.");
  return seenUs.values().reduce((sum, us) => sum + us, 0);
}

/** Processor time of a running process so far, in µs. Linux only. */
function cpuUs({ pid }: ChildProcess): number {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ').slice(11, 13);
  return (Number(user) + Number(system)) * 10_000;
}

/** Memory of a running process now, in MB. Linux only. */
export function memoryMb({ pid }: ChildProcess): number {
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024);
}

/** The largest memory of this process so far, in MB. */
export const peakMemoryMb = (): number => process.resourceUsage().maxRSS / 1000;

/** A temporary folder that is removed when this process ends. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'ars-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  process.once('SIGTERM', () => process.exit(143));
  process.once('SIGINT', () => process.exit(130));
  return folder;
}

export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

export const median = (values: number[]): number => quantile(values, 0.5);
