import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, suite, test } from 'node:test';
import { tryLock } from '../../../src/platform/db/embedded/file-lock.ts';
import { withService } from '../../support/service.ts';
import { answering } from '../sittings/answering.ts';

const root = join(import.meta.dirname, '../../..');
const children = new Set<ChildProcess>();
after(() => {
  for (const child of children) child.kill('SIGKILL');
});

const { databaseUrl } = await withService({ own: 'Other processes serve its database.' });
const env = {
  ...process.env,
  NODE_TEST_CONTEXT: undefined,
  DATABASE_URL: databaseUrl,
  ARS_SECRET: 'a secret of the tests, longer than 32 characters',
  ARS_PORT: '0',
  ARS_DRAIN_SECONDS: '2',
};

function start(program: string, words: string[], more: Record<string, string> = {}): ChildProcess {
  const child = spawn(program, words, { cwd: root, env: { ...env, ...more }, stdio: ['ignore', 'ignore', 'pipe'] });
  children.add(child);
  return child;
}

suite('npm alone gets the signal', () => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const) {
    test(`${signal} ends the service, too`, async () => {
      const npm = start('npm', ['run', '-s', 'ars', '--', 'serve']);
      // The output closes when everybody who could write to it has ended: npm, its shell, and the service.
      const ended = once(npm, 'close');
      const url = await answering(npm);
      assert.equal((await fetch(`${url}/healthz`, { headers: { connection: 'close' } })).status, 200);
      npm.kill(signal);
      await ended;
      await assert.rejects(fetch(`${url}/healthz`));
    });
  }
});

suite('Ctrl+C', () => {
  /** A service with a request under way that never ends. */
  async function held(): Promise<{ child: ChildProcess; ended: Promise<unknown[]> }> {
    const child = start(process.execPath, ['cli/ars.ts', 'serve'], { ARS_DRAIN_SECONDS: '600' });
    const ended = once(child, 'exit');
    const { hostname, port } = new URL(await answering(child));
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /');
    await once(socket, 'data');
    after(() => socket.destroy());
    return { child, ended };
  }

  test('pressed again ends what the first waits for', async () => {
    const { child, ended } = await held();
    const again = setInterval(() => child.kill('SIGINT'), 600);
    child.kill('SIGINT');
    assert.deepEqual(await ended, [130, null]);
    clearInterval(again);
  });

  test('ends a sandbox that waits for another one to be made', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ars-sandbox-'));
    after(() => rm(folder, { recursive: true }));
    const lock = tryLock(join(folder, 'sandbox.lock'), 'exclusive')!;
    after(() => lock.release());
    const child = start(process.execPath, ['cli/ars.ts', 'sandbox'], { ARS_DATA_DIR: folder });
    const ended = once(child, 'exit');
    for await (const line of createInterface({ input: child.stderr! }))
      if (line.includes('waiting for it')) child.kill('SIGINT');
    assert.deepEqual(await ended, [0, null]);
  });
});

suite('a simulation under way', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    test(`ends at ${signal} where it is, and leaves no report`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'ars-simulate-'));
      after(() => rm(folder, { recursive: true }));
      const out = join(folder, 'report.md');
      const child = start(process.execPath, ['cli/ars.ts', 'bank', 'simulate', '--learners', '1000000', '--out', out]);
      const ended = once(child, 'exit');
      const lines: string[] = [];
      for await (const line of createInterface({ input: child.stderr! })) {
        lines.push(line);
        if (line.startsWith('Simulating')) child.kill(signal);
      }
      assert.deepEqual(await ended, [1, null]);
      assert.match(lines[0]!, /^Simulating [\d,]+ sittings\.$/);
      assert.equal(lines.at(-1), 'ars: Stopped before the end: there is no report.');
      assert.deepEqual(await readdir(folder), []);
    });
});
