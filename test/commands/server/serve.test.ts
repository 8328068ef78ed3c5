import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { restartDelay } from '../../../cli/supervisor/processes.ts';
import { build } from '../../../src/platform/config/version.ts';
import { advisoryLocks } from '../../../src/platform/db/locks.ts';
import { freePorts } from '../../support/ports.ts';
import { readExposition } from '../../support/metrics/exposition.ts';
import { freshDatabase, withDatabase } from '../../support/postgres.ts';
import { thisServer, withService } from '../../support/service.ts';

const ars = new URL('../../../cli/ars.ts', import.meta.url).pathname;

for (const processes of [1, 2]) {
  const answers = `ars serve with ${processes} process${processes === 1 ? '' : 'es'} answers, and ends when it is told to`;
  test(answers, { timeout: 100_000 }, async () => {
    const { databaseUrl } = await withService({ own: 'Other processes serve its database.' });
    const child = spawn(process.execPath, [ars, 'serve', '--processes', String(processes)], {
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        ARS_SECRET: 'a secret of the tests, longer than 32 characters',
        ARS_PORT: '0',
        // A process that the first one didn't tell of the end would wait for a quarter of it.
        ARS_DRAIN_SECONDS: '600',
        ARS_DRAIN_DELAY_SECONDS: '1',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    after(() => child.kill('SIGKILL'));
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
    const { databaseUrl, url } = await withService({ own: 'Other processes serve its database.' });
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

for (const processes of [1, 2])
  test(`ars serve with ${processes} process${processes === 1 ? '' : 'es'} answers probes while it waits for a migration, and ends at a stop`, async () => {
    const { url, drop } = await freshDatabase(await thisServer());
    const [metrics] = await freePorts(1);
    await withDatabase(url, async (db) => {
      const migrating = db.dedicated();
      await migrating.query('select pg_advisory_lock($1)', [advisoryLocks.migration]);
      const child = spawn(process.execPath, [ars, 'serve', '--processes', String(processes)], {
        env: {
          ...process.env,
          DATABASE_URL: url,
          ARS_SECRET: 'a secret of the tests, longer than 32 characters',
          ARS_PORT: '0',
          ARS_METRICS_PORT: String(metrics),
        },
        stdio: ['ignore', 'ignore', 'ignore'],
      });
      const ended = once(child, 'exit');
      const waiting = `select from pg_locks l join pg_database d on d.oid = l.database
        where d.datname = current_database() and l.locktype = 'advisory' and not l.granted`;
      while ((await db.query(waiting)).length < processes) await delay(20);
      const asked = async (path: string) => (await fetch(`http://127.0.0.1:${metrics!}${path}`)).status;
      assert.deepEqual([await asked('/livez'), await asked('/readyz'), await asked('/metrics')], [200, 503, 200]);
      const figures = readExposition(await (await fetch(`http://127.0.0.1:${metrics!}/metrics`)).text());
      child.kill('SIGTERM');
      assert.deepEqual(await ended, [0, null]);
      await migrating.close();
      assert.equal(figures.value('ars_opening', {}), 1);
      const labels = { ...build, node: process.versions.node, role: processes === 1 ? 'all' : 'primary' };
      assert.equal(figures.value('ars_build_info', labels), 1, 'monitoring sees that there is a process');
    });
    await drop();
  });

suite('a process that ends without a stop', () => {
  test('ends all if none serves after ten failed starts', () => {
    assert.equal(restartDelay(11, 0), null);
    assert.notEqual(restartDelay(10, 0), null);
  });

  test('is started again immediately if it had served', () => {
    assert.equal(restartDelay(0, 0), 0);
  });

  test('is started again after a growing wait while another one serves', () => {
    const waits = Array.from({ length: 12 }, (_, i) => restartDelay(i + 1, 1));
    assert.deepEqual(waits.slice(0, 7), [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    assert.equal(waits.at(-1), 30_000);
  });
});
