import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Restarts } from '../../cli/restarts.ts';
import { manualClock } from '../../src/clock.ts';
import { migrate } from '../../src/db/migrate.ts';
import { freePorts } from '../ports.ts';
import { readExposition } from '../exposition.ts';
import { freshDatabase, withDatabase } from '../postgres.ts';
import { thisServer, withService } from '../service.ts';

const ars = new URL('../../cli/ars.ts', import.meta.url).pathname;

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
  test(`ars serve with ${processes} process${processes === 1 ? '' : 'es'} answers probes while it migrates, and ends at once; what PostgreSQL built is kept`, async () => {
    const { url, drop } = await freshDatabase(await thisServer());
    const [metrics] = await freePorts(1);
    await withDatabase(url, async (db) => {
      const building = `select from pg_stat_activity where datname = current_database() and query ~ '^create unique index concurrently learner_feed_covering'`;
      const state = async () =>
        (
          await db.query<{ oid: number; valid: boolean }>(
            `select indexrelid::int8 as oid, indisvalid as valid from pg_index
            where indexrelid = any(array[to_regclass('learner_feed_covering'), to_regclass('learner_feed_position')])
            order by 1 desc`,
          )
        )[0]!;
      await db.query('delete from migration where number = 77');
      const writer = db.dedicated();
      await writer.query('begin; lock table learner_feed in row exclusive mode');
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
      while ((await db.query(`${building} and wait_event_type = 'Lock'`)).length === 0) await delay(20);
      const asked = async (path: string) => (await fetch(`http://127.0.0.1:${metrics!}${path}`)).status;
      assert.deepEqual([await asked('/livez'), await asked('/readyz'), await asked('/metrics')], [200, 503, 200]);
      const figures = readExposition(await (await fetch(`http://127.0.0.1:${metrics!}/metrics`)).text());
      child.kill('SIGTERM');
      assert.deepEqual(await ended, [0, null]);
      await writer.query('commit');
      await writer.close();
      while ((await db.query(building)).length > 0) await delay(20);
      assert.equal(figures.value('ars_opening', {}), 1);
      assert.ok(figures.names.has('ars_build_info'), 'whoever watches sees that there is one');
      const built = await state();
      assert.equal(built.valid, true, 'by PostgreSQL, for nobody');
      assert.deepEqual(await migrate(db, manualClock(Date.UTC(2026, 0, 31, 9))), [77]);
      assert.deepEqual(await state(), built);
    });
    await drop();
  });

suite('a process that ended unasked', () => {
  test('ends all where none has come up', () => {
    assert.equal(new Restarts().afterEnd(false, 0), null);
  });

  test('is started again at once where it had served', () => {
    const restarts = new Restarts();
    restarts.cameUp();
    for (let i = 0; i < 20; i++) assert.equal(restarts.afterEnd(true, 0), 0);
  });

  test('is tried again ever more seldom while another one serves, and ten times where none does', () => {
    const restarts = new Restarts();
    restarts.cameUp();
    const waits = Array.from({ length: 12 }, () => restarts.afterEnd(false, 1));
    assert.deepEqual(waits.slice(0, 7), [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    assert.equal(waits.at(-1), 30_000);
    // The one that served ends, too: the others' failures beside it were another matter.
    assert.equal(restarts.afterEnd(true, 0), 0);
    for (let i = 0; i < 10; i++) assert.notEqual(restarts.afterEnd(false, 0), null);
    assert.equal(restarts.afterEnd(false, 0), null);
  });
});
