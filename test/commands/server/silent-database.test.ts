// Tier: full. Waits for time limits of connections.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { readPostmaster } from '../../../src/platform/db/embedded/cluster.ts';
import { startEmbedded } from '../../../src/platform/db/embedded/embedded.ts';
import { withDatabase } from '../../support/postgres.ts';
import { answering } from '../sittings/answering.ts';

const root = join(import.meta.dirname, '../../..');
const [, killedAfter] = /^TimeoutStopSec=(\d+)$/m.exec(readFileSync(join(root, 'deploy/ars.service'), 'utf8'))!;

function serve(databaseUrl: string, ...words: string[]): ChildProcess {
  const child = spawn(process.execPath, ['cli/ars.ts', 'serve', ...words], {
    cwd: root,
    env: {
      ...process.env,
      NODE_TEST_CONTEXT: undefined,
      DATABASE_URL: databaseUrl,
      ARS_SECRET: 'a secret of the tests, longer than 32 characters',
      ARS_PORT: '0',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  after(() => child.kill('SIGKILL'));
  return child;
}

/** Stops a service as systemd does, by the unit of deploy. */
async function stop(child: ChildProcess): Promise<unknown[]> {
  const ended = once(child, 'exit');
  const kill = setTimeout(() => child.kill('SIGKILL'), Number(killedAfter) * 1000);
  child.kill('SIGTERM');
  const [code, signal] = await ended;
  clearTimeout(kill);
  return [code, signal];
}

suite('a stop whose database says nothing ends before the service manager kills', () => {
  test('PostgreSQL is there, and stands still', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'ars-silent-'));
    await chmod(dataDir, 0o755);
    const server = await startEmbedded({ dataDir });
    const halted: number[] = [];
    const goOn = () => {
      for (const pid of halted.splice(0)) process.kill(pid, 'SIGCONT');
    };
    after(async () => {
      goOn();
      await server.stop();
      await rm(dataDir, { recursive: true });
    });
    // One after the other: the first makes the tables.
    const alone = serve(server.url);
    const urls = [await answering(alone)];
    const several = serve(server.url, '--processes', '2');
    urls.push(await answering(several));

    const halt = (pid: number) => {
      if (process.kill(pid, 'SIGSTOP')) halted.push(pid);
    };
    await withDatabase(server.url, async (db) => {
      const cluster = await realpath(join(dataDir, 'postgres', 'cluster'));
      const backends = () =>
        db.query<{ pid: number }>('select pid from pg_stat_activity where pid <> pg_backend_pid()');
      await backends();
      // It makes no more of them, and none of those there ends.
      halt(readPostmaster(cluster)!.pid);
      for (const { pid } of await backends()) halt(pid);
    });

    const headers = { 'x-access-key-id': `ARSK${'A'.repeat(16)}`, 'x-secret-access-key': 'b'.repeat(43) };
    const asked = urls.flatMap((url) => [
      fetch(`${url}/readyz`),
      fetch(`${url}/api/v1/groups`, { method: 'POST', body: '{}', headers }),
    ]);
    const [ends] = await Promise.all([Promise.all([stop(alone), stop(several)]), Promise.allSettled(asked)]);
    assert.deepEqual(ends, [
      [0, null],
      [0, null],
    ]);
    goOn();
  });

  test('at its start, behind a pooler that is paused: it lets in, and answers nothing', async () => {
    const asked = Promise.withResolvers<void>();
    const paused = createServer((socket) => {
      socket.on('error', () => {});
      // AuthenticationOk and ReadyForQuery, as PgBouncer says them by itself.
      socket.once('data', () => {
        socket.write(Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1'));
        socket.once('data', () => asked.resolve());
      });
    });
    paused.listen(0, '127.0.0.1');
    await once(paused, 'listening');
    after(() => paused.close());
    const { port } = paused.address() as { port: number };
    const child = serve(`postgres://ars:secret@127.0.0.1:${port}/ars`);
    await asked.promise;
    assert.deepEqual(await stop(child), [0, null]);
  });
});
