import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { NetConnectOpts, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { after, suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { assertRefused } from '../../contract/support/expect.ts';
import { atPort, serverOf } from '../../support/postgres.ts';
import { withService } from '../../support/service.ts';

/** Stands between a service and its database, and can cut them off. */
async function cable(to: NetConnectOpts) {
  const open = new Set<Socket>();
  let cut = false;
  const server = createServer((near) => {
    if (cut) {
      near.destroy();
      return;
    }
    const far = connect(to);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  const { port } = server.address() as { port: number };
  return {
    port,
    pull() {
      cut = true;
      for (const socket of open) socket.destroy();
    },
    plug() {
      cut = false;
    },
    connections: () => open.size / 2,
    /** As when the database's process is gone: connections are refused. */
    unplug() {
      server.close();
      for (const socket of open) socket.destroy();
    },
    async replug() {
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
  };
}

/** Looks again until it is so; only a run that hangs ends by time. */
async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let looked = 0; !(await isSo()); looked++) {
    assert.ok(looked < 1000, what);
    await setTimeout(20);
  }
}

const direct = await withService({ own: 'Is cut off from its database.' });
const org = await direct.organisation();
const wire = await cable(serverOf(direct.databaseUrl));
const databaseUrl = atPort(direct.databaseUrl, wire.port);
const service = await direct.sibling({ databaseUrl });
const there = service.client(org.key);

suite('a database that goes away', () => {
  test('503: service_unavailable with Retry-After, for every kind of request; then service resumes by itself', async () => {
    assert.equal((await there.get('/health')).status, 200);
    wire.pull();
    for (const [method, path, body] of [
      ['GET', '/health'],
      ['GET', '/assessments'],
      ['POST', '/groups', { type: 'cohort', ref: 'A', name: 'A' }],
      ['GET', '/nothing'],
      ['GET', '/assessments?foo=1'],
    ] as const) {
      const answer = await there.api(method, path, { body });
      assertRefused(answer, 503, 'service_unavailable');
      assert.match(answer.headers['retry-after']!, /^[1-9]\d*$/);
    }
    wire.plug();
    assert.equal((await there.get('/health')).status, 200);
    assert.equal((await there.post('/groups', { type: 'cohort', ref: 'A', name: 'A' })).status, 201);
  });

  test('an answer that could not be audited is not given', async () => {
    await Promise.all(Array.from({ length: 5 }, () => there.get('/assessments')));
    const asked = Array.from({ length: 30 }, () => there.get('/assessments'));
    wire.pull();
    const answers = await Promise.all(asked);
    wire.plug();
    const audited = await direct.app.db.query<{ n: number }>(
      'select count(*) as n from audit where organisation_id = $1 and action = $2 and status = 200',
      [org.id, 'GET /assessments'],
    );
    const given = answers.filter((answer) => answer.status === 200).length + 5;
    for (const answer of answers) if (answer.status !== 200) assertRefused(answer, 503, 'service_unavailable');
    assert.ok(audited[0]!.n >= given, `${given} answers, ${audited[0]!.n} rows`);
    assert.equal((await there.get('/health')).status, 200);
  });

  test('a repeated read is no exception, and is known again afterwards', async () => {
    const held = { 'if-none-match': (await there.get('/learners')).headers.etag! };
    const count = async () =>
      (
        await direct.app.db.query<{ n: number }>(
          'select count(*) as n from audit where organisation_id = $1 and action = $2 and status = 304',
          [org.id, 'GET /learners'],
        )
      )[0]!.n;
    for (let i = 0; i < 2; i++) assert.equal((await there.get('/learners', held)).status, 304);
    const asked = Array.from({ length: 30 }, () => there.get('/learners', held));
    wire.pull();
    const answers = await Promise.all(asked);
    assertRefused(await there.get('/learners', held), 503, 'service_unavailable');
    wire.plug();
    for (const answer of answers) if (answer.status !== 304) assertRefused(answer, 503, 'service_unavailable');
    assert.ok((await count()) >= 2 + answers.filter((answer) => answer.status === 304).length);
    assert.equal((await there.get('/learners', held)).status, 304);
  });

  test("what the database broke off has its row, and a 503 does not wait until the row's table is free", async () => {
    const other = (await direct.sibling()).app.db;
    const brokenOff = async (whileLocked: (requestId: string) => Promise<void>, locks: string) => {
      let requestId = '';
      await other.transaction(async (tx) => {
        await tx.query(locks);
        const asked = org.get('/webhooks');
        const waits = `select pg_cancel_backend(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query ~ 'from webhook_endpoint'`;
        await until('it waits for the table', async () => (await direct.app.db.query(waits)).length > 0);
        const answer = await asked;
        assertRefused(answer, 503, 'service_unavailable');
        requestId = answer.headers['x-request-id']!;
        await whileLocked(requestId);
      });
      return requestId;
    };
    const rowsOf = (requestId: string) =>
      direct.app.db.query('select actor, action, status, detail::jsonb->>$2 as code from audit where request_id = $1', [
        requestId,
        'code',
      ]);
    const row = { actor: org.key.access_key_id, action: 'GET /webhooks', status: 503, code: 'service_unavailable' };
    await brokenOff(async (id) => assert.deepEqual(await rowsOf(id), [row]), 'lock table webhook_endpoint');
    const late = await brokenOff(
      async (id) => assert.deepEqual(await rowsOf(id), []),
      'lock table webhook_endpoint; lock table audit in exclusive mode',
    );
    await until('its row is written later', async () => (await rowsOf(late)).length === 1);
  });

  test('a worker asks for it now and then, not without a pause, and goes on when it is back', async () => {
    const before = wire.connections();
    const worker = await direct.sibling({ databaseUrl, role: 'worker' });
    await until('it is connected', () => wire.connections() > before);
    const begun = performance.now();
    wire.unplug();
    // It asks again after half a second; without a pause it wrote thousands of lines in this time.
    await until('it has asked again', () => {
      const lines = worker.logged.filter((line) => line.includes('database.')).length;
      assert.ok(lines < 30, `${lines} lines in ${performance.now() - begun} ms`);
      return lines > 0 && performance.now() - begun > 600;
    });
    await wire.replug();
    // It has looked for deliveries again, on a connection of its own.
    const looked = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and query ~ 'delivery'`;
    await until('it looks for deliveries again', async () => (await direct.app.db.query(looked)).length > 0);
  });

  test('nothing of it is a fault of ours', () => assert.doesNotMatch(service.logged.join(''), /"status":500/));
});
