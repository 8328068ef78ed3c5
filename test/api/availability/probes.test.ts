import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { NetConnectOpts, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { after, suite, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { build } from '../../../src/platform/config/version.ts';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { sessionSettings } from '../../../src/platform/db/connection/connection.ts';
import type { Readiness } from '../../../src/server/probes.ts';
import { atPort, serverOf } from '../../support/postgres.ts';
import { withService } from '../../support/service.ts';

const ask = async (url: string) => {
  const reply = await fetch(url);
  return { status: reply.status, body: (await reply.json()) as Readiness };
};

test('a service that serves is alive and ready, and says which version it is', async () => {
  const service = await withService({ own: 'Is stopped, and its database is changed.' });
  assert.deepEqual(await ask(`${service.url}/livez`), { status: 200, body: { status: 'ok' } });
  assert.deepEqual(await ask(`${service.url}/readyz`), {
    status: 200,
    body: {
      status: 'ready',
      ...build,
      checks: { database: 'ok', migrations: 'ok', draining: 'no' },
    },
  });
  for (const path of ['/livez', '/readyz']) {
    const head = await fetch(service.url + path, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text(), head.headers.get('cache-control')], [200, '', 'no-store']);
  }
  const started = service.logged
    .join('')
    .split('\n')
    .find((line) => line.includes('"service.started"'));
  const { version, commit } = JSON.parse(started!) as typeof build;
  assert.deepEqual({ version, commit }, build);
});

test('a database without a migration that this version needs makes it unready, a newer one does not', async () => {
  const service = await withService({ own: 'Is stopped, and its database is changed.' });
  const { db } = service.app;
  await db.query("insert into migration values (9999, 'of_a_later_release', '2026-01-01')");
  assert.equal((await ask(`${service.url}/readyz`)).status, 200);
  await db.query('delete from migration where number = 1');
  const { status, body } = await ask(`${service.url}/readyz`);
  assert.equal(status, 503);
  assert.deepEqual(
    [body.status, body.checks],
    ['not_ready', { database: 'ok', migrations: 'missing', draining: 'no' }],
  );
});

test('while it stops it is alive and no longer ready, and still answers those who come', async () => {
  const service = await withService({
    own: 'Is stopped while it answers.',
    settings: { ARS_DRAIN_DELAY_SECONDS: '2' },
  });
  const stopped = service.stop();
  let reply = await fetch(`${service.url}/readyz`);
  while (reply.status === 200) reply = await fetch(`${service.url}/readyz`);
  assert.equal(reply.status, 503);
  // Kept: whoever made new ones now would have one in the listener's queue when it closes.
  assert.equal(reply.headers.get('connection'), 'keep-alive');
  assert.equal(((await reply.json()) as Readiness).checks.draining, 'yes');
  assert.equal((await fetch(`${service.url}/livez`)).status, 200);
  assert.equal((await fetch(`${service.url}/api/v1/health`)).status, 401);
  await stopped;
  await assert.rejects(fetch(`${service.url}/livez`));
});

suite('a database that is away', () => {
  /** Stands between the service and its database. */
  async function cable(to: NetConnectOpts) {
    const open = new Set<Socket>();
    let mode: 'whole' | 'cut' | 'silent' = 'whole';
    const server = createServer((near) => {
      open.add(near);
      near.on('error', () => {}).once('close', () => open.delete(near));
      if (mode === 'cut') return near.destroy();
      if (mode === 'silent') return near.resume();
      const far = connect(to);
      open.add(far);
      far.on('error', () => {}).once('close', () => near.destroy());
      near.once('close', () => far.destroy());
      near.on('data', (bytes) => mode === 'whole' && far.write(bytes));
      far.on('data', (bytes) => mode === 'whole' && near.write(bytes));
      return near;
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    after(() => {
      server.close();
      for (const socket of open) socket.destroy();
    });
    return {
      port: (server.address() as { port: number }).port,
      is(now: typeof mode) {
        mode = now;
        if (now === 'cut') for (const socket of open) socket.destroy();
      },
    };
  }

  /** A database, and a way to it that can be cut. */
  async function withCable() {
    const service = await withService({ own: 'Is stopped, and its database is changed.' });
    const between = await cable(serverOf(service.databaseUrl));
    return { service, between, databaseUrl: atPort(service.databaseUrl, between.port) };
  }

  for (const [how, past] of [
    ['cut', false],
    ['silent', false],
    ['cut', true],
    ['silent', true],
  ] as const)
    test(`${how}${past ? ', its pooler alone' : ''}: the process lives, is not ready, and is again when it is back`, async () => {
      const { service, between, databaseUrl } = await withCable();
      if (past)
        for (const [name, value] of Object.entries(sessionSettings))
          await service.app.db.query(
            `alter role current_user in database ${new URL(databaseUrl).pathname.slice(1)} set ${name} = '${value}'`,
          );
      const direct: Record<string, string> = past ? { DATABASE_DIRECT_URL: service.databaseUrl } : {};
      const clock = manualClock(systemClock.nowMs());
      const far = await service.sibling({ databaseUrl, clock, settings: { ARS_METRICS_PORT: '0', ...direct } });
      const up = async () => {
        // By then what was measured before is too old to be shown.
        clock.advance(10_000);
        return /^ars_database_up (\d)$/m.exec(await (await fetch(`${far.metricsUrl}/metrics`)).text())?.[1];
      };
      assert.equal((await ask(`${far.url}/readyz`)).status, 200);
      between.is(how);
      const { status, body } = await ask(`${far.url}/readyz`);
      assert.deepEqual(
        [status, body.checks],
        [503, { database: 'unavailable', migrations: 'unknown', draining: 'no' }],
      );
      assert.equal((await fetch(`${far.url}/livez`)).status, 200);
      assert.equal(await up(), '0');
      between.is('cut');
      between.is('whole');
      while ((await ask(`${far.url}/readyz`)).status !== 200);
      while ((await up()) !== '1') await wait(100);
    });
});
