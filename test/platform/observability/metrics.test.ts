// Process: own. Reads the metrics of the process.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { manualClock } from '../time/manual-clock.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import '../../../src/platform/observability/metric-definitions.ts';
import { exposition, merged, metricsTable, outlasting } from '../../../src/platform/observability/metrics.ts';
import type { Readiness } from '../../../src/server/probes.ts';
import { withDatabase } from '../../support/postgres.ts';
import { withService } from '../../support/service.ts';
import { readExposition } from '../../support/metrics/exposition.ts';
import { openingTests, scrape } from '../../support/metrics/scrape.ts';

suite('one process', () => {
  test('counts what it answers, by route and status, and nothing of whom', async () => {
    const service = await withService({
      own: 'Does background work.',
      role: 'all',
      settings: { ARS_METRICS_PORT: '0', ARS_RATE_LIMIT: '5' },
    });
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
    const service = await withService({
      own: 'Does background work.',
      role: 'worker',
      settings: { ARS_METRICS_PORT: '0' },
    });
    const reply = await fetch(`${service.metricsUrl!}/readyz`);
    assert.equal(reply.status, 200);
    assert.equal(((await reply.json()) as Readiness).status, 'ready');
  });

  test('what waits is counted: deliveries, mails, rows that are not sealed, sittings', async () => {
    const service = await withService({ own: 'Serves metrics.', settings: { ARS_METRICS_PORT: '0' } });
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
    const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_METRICS_PORT: '0' } });
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
  openingTests([]);
});

suite('several processes', () => {
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
