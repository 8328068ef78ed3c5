// Tier: full. It fills a disk, and waits while PostgreSQL recovers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { startEmbedded } from '../../../src/platform/db/embedded/embedded.ts';
import { runningAsRoot } from '../../../src/platform/db/embedded/folder.ts';
import { migrate } from '../../../src/platform/db/migrate.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { streamLog } from '../../../src/platform/observability/log.ts';
import type { Readiness } from '../../../src/server/probes.ts';
import { ars } from '../../support/ars.ts';
import { readExposition } from '../../support/metrics/exposition.ts';
import type { TestService } from '../../support/service.ts';
import { withService } from '../../support/service.ts';

/** A database that answers, and takes no changes. */

const metrics = { ARS_METRICS_PORT: '0' };
const readiness = async (service: TestService) => {
  const reply = await fetch(`${service.url}/readyz`);
  const { checks } = (await reply.json()) as Readiness;
  return `${reply.status} ${checks.database}`;
};
const gauge = async (service: TestService, name: string) =>
  readExposition(await (await fetch(`${service.metricsUrl!}/metrics`)).text()).value(name, {});

async function until(what: string, maxMs: number, isSo: () => Promise<boolean>): Promise<void> {
  const startedMs = performance.now();
  while (!(await isSo())) {
    assert.ok(performance.now() - startedMs < maxMs, what);
    await delay(100);
  }
}

suite('a read-only database', () => {
  test('is named by readiness, metric, requests and commands, and needs no restart', async () => {
    const service = await withService({ own: 'Serves metrics.', settings: metrics });
    const org = await service.organisation();
    assert.equal((await org.get('/assessments')).status, 200);
    const name = new URL(service.databaseUrl).pathname.slice(1);
    const { db } = service.app;
    const endSessions = () =>
      db
        .query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
          [name],
        )
        .then(() => db.query('select pg_terminate_backend(pg_backend_pid())'))
        .catch(() => {});
    await db.query(`alter database ${name} set default_transaction_read_only = on`);
    await endSessions();
    await until('readyz says so', 10_000, async () => (await readiness(service)) === '503 read_only');
    assert.equal((await org.get('/assessments')).status, 503);
    assert.equal(await gauge(service, 'ars_database_read_only'), 1);
    const command = await ars(['organisation', 'create', '--name', 'Late'], service.environment);
    assert.equal(command.code, 1);
    assert.match(command.said, /^ars: The database is read-only \(25006\)\. Set DATABASE_URL to the primary/);

    await db.query(`set transaction_read_only = off; alter database ${name} reset default_transaction_read_only`);
    await endSessions();
    await until('readyz recovers', 20_000, async () => (await readiness(service)) === '200 ok');
    assert.equal((await org.get('/assessments')).status, 200);
    assert.equal(await gauge(service, 'ars_database_read_only'), 0);
  });
});

/** A small file system of its own that `fill` leaves without a free byte. */
async function smallDisk(megabytes: number) {
  const folder = await mkdtemp(join(tmpdir(), 'ars-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=755`, 'tmpfs', folder]);
  await chmod(folder, 0o755);
  const ballast = join(folder, 'ballast');
  return {
    folder,
    async fill() {
      const file = await open(ballast, 'w');
      for (const size of [1 << 20, 1 << 12]) {
        const block = Buffer.alloc(size);
        while ((await file.write(block).catch(() => null))?.bytesWritten === size);
      }
      await file.close();
    },
    free: () => rm(ballast),
    async remove() {
      execFileSync('umount', ['--lazy', folder]);
      await rm(folder, { recursive: true });
    },
  };
}

suite('a full disk', { skip: runningAsRoot() ? false : 'only root can mount a small file system' }, () => {
  test('is named by readiness and metric, with PostgreSQL up or down, and needs no restart', async (context) => {
    const disk = await smallDisk(400);
    const ends: (() => Promise<void>)[] = [() => disk.remove()];
    context.after(async () => {
      for (const end of ends.reverse()) await end();
    });
    const server = await startEmbedded({ dataDir: join(disk.folder, 'data') });
    ends.push(() => server.stop());
    const silent = streamLog(systemClock, 'none', { write: () => true });
    const db = openDatabase(server.url, silent, 2);
    await migrate(db, systemClock);
    await db.close();
    const service = await withService({
      own: 'Opens a database that is there already.',
      database: { url: server.url, drop: async () => {} },
      settings: metrics,
    });
    ends.push(() => service.stop());
    const org = await service.organisation();
    for (const isBusy of [false, true]) {
      assert.equal(await readiness(service), '200 ok');
      assert.equal(await gauge(service, 'ars_database_disk_full'), 0);
      await disk.fill();
      // Enough changes bring PostgreSQL down: it has no room for its log.
      const stop = new AbortController();
      const busy = (async () => {
        while (isBusy && !stop.signal.aborted) {
          await org.post('/groups', { type: 'cohort', ref: service.app.random.uuid(), name: 'N' });
          await service.app.db.query(`select pg_logical_emit_message(true, 'x', repeat('x', 1000000))`).catch(() => {});
        }
      })();
      await until('readyz says so', 15_000, async () => (await readiness(service)) === '503 disk_full');
      await until('so does the metric', 15_000, async () => (await gauge(service, 'ars_database_disk_full')) === 1);
      await delay(isBusy ? 8000 : 0);
      assert.equal(await readiness(service), '503 disk_full');
      stop.abort();
      await busy;
      await disk.free();
      await until('readyz recovers', 60_000, async () => (await readiness(service)) === '200 ok');
      await until('the metric recovers', 15_000, async () => (await gauge(service, 'ars_database_disk_full')) === 0);
      assert.equal((await org.get('/assessments')).status, 200);
    }
    const log = await readFile(join(disk.folder, 'data', 'postgres', 'server.log'), 'utf8');
    assert.match(log, /PANIC: .*No space left on device/, 'PostgreSQL was brought down');
  });
});
