import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { withService } from '../service.ts';

const ars = new URL('../../cli/ars.ts', import.meta.url).pathname;

for (const processes of [1, 2]) {
  test(`ars serve with ${processes} process${processes === 1 ? '' : 'es'} answers, and ends when it is told to`, async () => {
    const { databaseUrl } = await withService();
    const child = spawn(process.execPath, [ars, 'serve', '--processes', String(processes)], {
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        ARS_SECRET: 'a secret of the tests, longer than 32 characters',
        ARS_PORT: '0',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = once(child, 'exit');
    const urls: string[] = [];
    for await (const line of createInterface({ input: child.stderr })) {
      const started = line.startsWith('{') ? (JSON.parse(line) as { event: string; url: string }) : null;
      if (started?.event === 'service.started') urls.push(started.url);
      if (urls.length === processes) break;
    }
    child.stderr.resume();
    assert.equal((await fetch(`${urls[0]}/api/v1/health`)).status, 401);
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  });

  test(`ars serve with ${processes} process${processes === 1 ? '' : 'es'} on a port that is taken says so and fails`, async () => {
    const { databaseUrl, url } = await withService();
    const child = spawn(process.execPath, [ars, 'serve', '--processes', String(processes)], {
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        ARS_SECRET: 'a secret of the tests, longer than 32 characters',
        ARS_PORT: new URL(url).port,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const ended = once(child, 'exit');
    const said = await text(child.stderr);
    assert.match(said, /^ars: [^\n]*EADDRINUSE[^\n]*\n/m);
    assert.deepEqual(await ended, [1, null]);
  });
}
