import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { packageFolder } from '../../../../src/platform/db/embedded/binaries.ts';
import { isPostmaster, readPostmaster } from '../../../../src/platform/db/embedded/cluster.ts';

/** Data folders of embedded servers for tests, and their users. */

type Greeting = { url: string; adopted: boolean; logged: string[]; error?: string };
type User = Greeting & { process: ChildProcess; leaves(): Promise<void>; isKilled(): Promise<void> };

/** Whether this platform has no package with PostgreSQL. */
export const withoutPackage = ((): boolean => {
  try {
    return !packageFolder();
  } catch {
    return true;
  }
})();

/** A data folder that other users can pass through, as an ordinary one is; what still runs on it is ended afterwards. */
export async function dataFolder(context: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'ars-embedded-'));
  await chmod(folder, 0o755);
  context.after(async () => {
    const cluster = await clusterOf(folder).catch(() => null);
    const server = cluster && readPostmaster(cluster);
    if (server) {
      process.kill(server.pid, 'SIGQUIT');
      await gone(server.pid, cluster);
    }
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
}

export const clusterOf = (dataDir: string): Promise<string> => realpath(join(dataDir, 'postgres', 'cluster'));

export async function gone(pid: number, cluster: string): Promise<void> {
  while (isPostmaster(pid, cluster)) await delay(5);
}

export async function userOf(dataDir: string): Promise<User> {
  const child = fork(join(import.meta.dirname, 'embedded-crash.ts'), [dataDir]);
  const [greeting] = (await once(child, 'message')) as [Greeting];
  assert.equal(greeting.error, undefined);
  return {
    ...greeting,
    process: child,
    leaves: async () => {
      const exit = once(child, 'exit');
      child.send('leave');
      assert.deepEqual((await exit)[0], 0);
    },
    isKilled: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
  };
}

export async function ask<T>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows.map((row) => row[0] as T);
  } finally {
    await client.end();
  }
}
