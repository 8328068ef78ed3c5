import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { after, suite, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { manualClock } from '../src/clock.ts';
import { lockMigration } from '../src/db/locks.ts';
import { limits } from '../src/limits.ts';
import '../src/measures.ts';
import { exposition, merged, metricsTable, outlasting } from '../src/metrics.ts';
import type { Readiness } from '../src/probes.ts';
import { credentials } from './contract/client.ts';
import { freePorts } from './ports.ts';
import { withDatabase } from './postgres.ts';
import { withService } from './service.ts';
import { readExposition } from './exposition.ts';

const ars = new URL('../cli/ars.ts', import.meta.url).pathname;

const scrape = async (url: string) => {
  const reply = await fetch(`${url}/metrics`);
  assert.equal(reply.status, 200);
  assert.equal(reply.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  return readExposition(await reply.text());
};

suite('one process', () => {
  test('counts what it answers, by route and status, and nothing of whom', async () => {
    const service = await withService({ role: 'all', settings: { ARS_METRICS_PORT: '0', ARS_RATE_LIMIT: '5' } });
    const metrics = service.metricsUrl!;
    const org = await service.organisation({ name: 'College of the Metrics' });
    const before = await scrape(metrics);
    const tag = (await org.get('/assessments')).headers.etag!;
    for (let i = 0; i < 4; i++) assert.equal((await org.get('/assessments', { 'if-none-match': tag })).status, 304);
    assert.equal((await org.get('/assessments')).status, 429);
    assert.equal((await org.get('/learners/Bartholomew')).status, 429);
    await fetch(`${service.url}/api/v1/nothing/Bartholomew`);
    await fetch(`${service.url}/nowhere/Bartholomew`);
    const text = await (await fetch(`${metrics}/metrics`)).text();
    const now = readExposition(text);
    const risen = (name: string, labels: Record<string, string>) =>
      now.value(name, labels)! - (before.value(name, labels) ?? 0);
    const route = 'GET /assessments';
    assert.equal(risen('ars_http_requests_total', { route, status: '2xx' }), 1);
    assert.equal(risen('ars_http_requests_total', { route, status: '3xx' }), 4);
    assert.equal(risen('ars_http_requests_total', { route, status: '4xx' }), 1);
    assert.equal(risen('ars_http_not_modified_total', { route }), 4);
    assert.equal(risen('ars_http_rate_limited_total', { route }), 1);
    assert.equal(risen('ars_http_request_duration_seconds_count', { route }), 6);
    assert.equal(risen('ars_http_rate_limited_total', { route: 'GET /learners/{ref}' }), 1);
    assert.ok(risen('ars_admission_batch_size_count', {}) > 0);
    assert.equal(now.value('ars_database_up', {}), 1);
    assert.equal(now.value('ars_processes', {}), 1);
    assert.equal(now.value('ars_opening', {}), 0);
    assert.equal(now.value('ars_webhook_backlog', {}), 0);
    for (const personal of ['Bartholomew', 'College', org.publicId, org.key.access_key_id])
      assert.ok(!text.includes(personal), personal);
    for (const path of ['/livez', '/readyz']) assert.equal((await fetch(metrics + path)).status, 200);
    assert.equal((await fetch(`${metrics}/`)).status, 404);
    assert.equal((await fetch(`${metrics}/metrics`, { method: 'POST' })).status, 405);
    assert.equal((await fetch(`${service.url}/metrics`)).status, 404);
  });

  test('a worker without an API has probes, too', async () => {
    const service = await withService({ role: 'worker', settings: { ARS_METRICS_PORT: '0' } });
    const reply = await fetch(`${service.metricsUrl!}/readyz`);
    assert.equal(reply.status, 200);
    assert.equal(((await reply.json()) as Readiness).status, 'ready');
  });

  test('what waits is counted: deliveries, mails, rows that are not sealed, sittings', async () => {
    const service = await withService({ settings: { ARS_METRICS_PORT: '0' } });
    const org = await service.organisation();
    await org.get('/groups');
    const { db, clock } = service.app;
    const at = (minutes: number) => new Date(clock.nowMs() - minutes * 60_000);
    await db.query(
      `insert into mail (mail_id, cause, status, next_attempt_at, created_at, expires_at)
       values ('00000000-0000-0000-0000-000000000001', 'a cause', 'waiting', $1, $1, $2)`,
      [at(10), at(-10)],
    );
    await db.query(
      `insert into webhook_endpoint (organisation_id, endpoint_id, event_types, secret, url, created_at, updated_at)
       values ($1, '00000000-0000-0000-0000-000000000002', '{}', 'x', 'https://example.org', $2, $2)`,
      [org.id, at(30)],
    );
    for (const [n, due] of [
      [3, at(5)],
      [4, at(-5)],
    ] as const)
      await db.query(
        `insert into delivery (organisation_id, delivery_id, endpoint_id, event_id, next_attempt_at, created_at)
         values ($1, $2, '00000000-0000-0000-0000-000000000002', $2, $3, $4)`,
        [org.id, `00000000-0000-0000-0000-00000000000${n}`, due, at(30)],
      );
    const now = await scrape(service.metricsUrl!);
    assert.equal(now.value('ars_webhook_backlog', {}), 1);
    assert.ok(now.value('ars_webhook_oldest_due_seconds', {})! >= 300);
    assert.equal(now.value('ars_webhook_endpoints', { status: 'active' }), 1);
    assert.equal(now.value('ars_mail_waiting', {}), 1);
    assert.ok(now.value('ars_mail_oldest_seconds', {})! >= 600);
    assert.ok(now.value('ars_mail_stuck_seconds', {})! >= 600);
    assert.ok(now.value('ars_audit_unsealed_rows', {})! >= 1);
    assert.equal(now.value('ars_sittings_open', {}), 0);
  });

  test('the database is asked though all connections are busy, and what is late is left out', async () => {
    const clock = manualClock(Date.UTC(2026, 0, 31, 9));
    const service = await withService({ clock, settings: { ARS_METRICS_PORT: '0' } });
    const { db } = service.app;
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const busy = Array.from({ length: limits.readConnections }, () =>
      db.snapshot(async (tx) => {
        await tx.query('select 1');
        await over;
      }),
    );
    try {
      await withDatabase(service.databaseUrl, async (other) => {
        const locking = other.dedicated();
        await locking.query('begin; lock table mail in access exclusive mode');
        let now = await scrape(service.metricsUrl!);
        assert.equal(now.value('ars_db_pool_connections', { pool: 'reads', state: 'idle' }), 0);
        assert.equal(now.value('ars_database_up', {}), 1);
        assert.equal(now.value('ars_webhook_backlog', {}), 0);
        assert.equal(now.value('ars_mail_waiting', {}), undefined);
        assert.ok(now.value('ars_database_bytes', {})! > 0);
        await locking.query('lock table delivery, audit, sitting in access exclusive mode');
        clock.advance(60_000);
        now = await scrape(service.metricsUrl!);
        assert.equal(now.value('ars_database_up', {}), 1);
        assert.equal(now.value('ars_database_bytes', {}), undefined, 'there was no time left for it');
        await locking.query('commit');
        clock.advance(60_000);
        now = await scrape(service.metricsUrl!);
        assert.equal(now.value('ars_mail_waiting', {}), 0);
        assert.ok(now.value('ars_database_bytes', {})! > 0);
      });
    } finally {
      end();
      await Promise.all(busy);
    }
  });
});

suite('before anything is served', () => {
  const opening = async (databaseUrl: string, words: string[], isSo: string) => {
    const [port, metrics] = await freePorts(2);
    const child = spawn(process.execPath, [ars, 'serve', ...words], {
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

  for (const words of [[], ['--processes', '2']]) {
    test(`it is told that the database is away ${words.join(' ')}`, async () => {
      const silent = createServer().listen(0, '127.0.0.1');
      await once(silent, 'listening');
      const { port } = silent.address() as { port: number };
      await opening(`postgres://ars@127.0.0.1:${port}/ars`, words, '0');
      silent.close();
    });

    test(`it is told that the database is there, while a migration of another process is waited for ${words.join(' ')}`, async () => {
      const { app, databaseUrl } = await withService();
      await app.db.transaction(async (tx) => {
        await lockMigration(tx);
        await opening(databaseUrl, words, '1');
      });
    });
  }
});

suite('several processes', () => {
  test('are one to whoever reads, and nothing falls when one of them is killed', async () => {
    const { databaseUrl, organisation } = await withService();
    const org = await organisation();
    const child = spawn(process.execPath, [ars, 'serve', '--processes', '2'], {
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        ARS_SECRET: 'a secret of the tests, longer than 32 characters',
        ARS_PORT: '0',
        ARS_METRICS_PORT: '0',
        ARS_DRAIN_DELAY_SECONDS: '0',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    after(() => child.kill('SIGKILL'));
    const { url, metrics } = await bothStarted(child);
    const call = async () =>
      assert.equal(
        (await fetch(`${url}/api/v1/groups`, { headers: { ...credentials(org.key), connection: 'close' } })).status,
        200,
      );
    for (let i = 0; i < 6; i++) await call();
    const counted = (of: Awaited<ReturnType<typeof scrape>>) =>
      of.value('ars_http_requests_total', { route: 'GET /groups', status: '2xx' });
    // A process that a busy machine keeps from answering in time is left out, and counts as it did last.
    const scrapeBoth = async () => {
      for (;;) {
        const all = await scrape(metrics);
        if (all.value('ars_processes', {}) === 2) return all;
      }
    };
    let now = await scrapeBoth();
    assert.equal(counted(now), 6);
    assert.equal(now.value('ars_opening', {}), 0);
    assert.equal(now.value('ars_http_request_duration_seconds_count', { route: 'GET /groups' }), 6);
    let ready: Readiness;
    do ready = (await (await fetch(`${metrics}/readyz`)).json()) as Readiness;
    while (ready.processes?.ready !== 2);
    assert.deepEqual([ready.status, ready.processes], ['ready', { ready: 2, started: 2 }]);

    const { stdout } = spawnSync('pgrep', ['-P', String(child.pid)], { encoding: 'utf8' });
    process.kill(Number(stdout.trim().split('\n')[0]), 'SIGKILL');
    do {
      now = await scrape(metrics);
      assert.equal(counted(now), 6);
    } while (now.value('ars_process_restarts_total', {}) !== 1 || now.value('ars_processes', {}) !== 2);
    await call();
    assert.equal(counted(await scrapeBoth()), 7);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await ended, [0, null]);
  });

  async function bothStarted(child: ChildProcess): Promise<{ url: string; metrics: string }> {
    let url = '';
    let metrics = '';
    let started = 0;
    for await (const line of createInterface({ input: child.stderr! })) {
      const found = /^Probes and metrics at (\S+)$/.exec(line);
      if (found !== null) metrics = found[1]!;
      url = /"event":"service.started".*"url":"([^"]+)"/.exec(line)?.[1] ?? url;
      if (line.includes('"service.started"')) started++;
      if (started === 2 && metrics !== '') break;
    }
    child.stderr!.resume();
    return { url, metrics };
  }

  test('are summed, but for what is the same of all, of which the largest counts', () => {
    const one = {
      ars_http_requests_total: { 'route="GET /x",status="2xx"': [3] },
      ars_admission_batch_size: { '': [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 900] },
      ars_webhook_backlog: { '': [7] },
      process_resident_memory_bytes: { '': [100] },
    };
    const other = { ...one, ars_webhook_backlog: { '': [5] } };
    const all = merged([one, other]);
    assert.deepEqual(all.ars_http_requests_total, { 'route="GET /x",status="2xx"': [6] });
    assert.deepEqual(all.ars_admission_batch_size, { '': [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1800] });
    assert.deepEqual(all.ars_webhook_backlog, { '': [7] });
    assert.deepEqual(all.process_resident_memory_bytes, { '': [200] });
    assert.deepEqual(Object.keys(outlasting(one)), ['ars_http_requests_total', 'ars_admission_batch_size']);
  });
});

suite('the text', () => {
  test('is escaped, and its buckets add up', () => {
    const text = exposition({
      ars_log_errors_total: { 'event="a\\"b\\\\c\\nd"': [1] },
      ars_admission_batch_size: { '': [1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 4, 2005] },
    });
    const read = readExposition(text);
    assert.equal(read.value('ars_log_errors_total', { event: 'a"b\\c\nd' }), 1);
    assert.equal(read.value('ars_admission_batch_size_bucket', { le: '2' }), 3);
    assert.equal(read.value('ars_admission_batch_size_bucket', { le: '+Inf' }), 7);
    assert.equal(read.value('ars_admission_batch_size_sum', {}), 2005);
  });

  test('of everything passes the check of Prometheus', (t) => {
    const some = Object.fromEntries(
      metricsTable().map(({ name, kind, labels }) => [
        name,
        { [labels.map((label) => `${label}="x"`).join(',')]: kind === 'histogram' ? Array<number>(16).fill(1) : [1] },
      ]),
    );
    const { error, status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: exposition(some),
      encoding: 'utf8',
    });
    if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT')
      t.skip('promtool (package prometheus) is not installed');
    else assert.deepEqual([status, stdout, stderr], [0, '', '']);
  });
});
