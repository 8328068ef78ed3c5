import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { lockMigration } from '../../../src/platform/db/locks.ts';
import { program } from '../ars.ts';
import { readExposition } from './exposition.ts';
import { freePorts } from '../ports.ts';
import { withService } from '../service.ts';

/** What a service's port for metrics shows. */
export const scrape = async (url: string) => {
  const reply = await fetch(`${url}/metrics`);
  assert.equal(reply.status, 200);
  assert.equal(reply.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  return readExposition(await reply.text());
};

const opening = async (databaseUrl: string, words: string[], isSo: string) => {
  const [port, metrics] = await freePorts(2);
  const child = spawn(process.execPath, [program, 'serve', ...words], {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      ARS_SECRET: 'a secret of the tests, longer than 32 characters',
      ARS_PORT: String(port),
      ARS_METRICS_PORT: String(metrics),
    },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  try {
    for (;;) {
      assert.equal(child.exitCode, null);
      const now = await scrape(`http://127.0.0.1:${metrics!}`).catch(() => null);
      if (now !== null) assert.equal(now.value('ars_opening', {}), 1);
      if (now !== null && String(now.value('ars_database_up', {})) === isSo) break;
      await wait(20);
    }
  } finally {
    child.kill('SIGTERM');
  }
  assert.deepEqual(await ended, [0, null]);
};

/** Tests of what is shown before anything is served. */
export function openingTests(words: string[]): void {
  test(`it is told that the database is away ${words.join(' ')}`, async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    await opening(`postgres://ars@127.0.0.1:${port}/ars`, words, '0');
    silent.close();
  });

  test(`it is told that the database is there, while a migration of another process is waited for ${words.join(' ')}`, async () => {
    const { app, databaseUrl } = await withService({ own: 'Other processes serve its database.' });
    await app.db.transaction(async (tx) => {
      await lockMigration(tx);
      await opening(databaseUrl, words, '1');
    });
  });
}
