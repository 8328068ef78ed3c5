import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, suite, test } from 'node:test';
import { emitGroupsUpdated } from '../../../src/feed/events/emit.ts';
import { lockFeed } from '../../../src/feed/position.ts';
import { redeliverOne } from '../../../src/integrations/webhooks/resend.ts';
import {
  editEndpoint,
  pauseEndpoint,
  resumeEndpoint,
  registerEndpoint,
} from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import { createAttempts } from '../../../src/integrations/webhooks/attempt.ts';
import { createSender } from '../../../src/integrations/webhooks/http/send.ts';
import { Recorder } from '../../../src/integrations/webhooks/outcome.ts';
import type { Tx } from '../../../src/platform/db/database.ts';
import { nilUuid } from '../../../src/platform/crypto/random.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { parseNetworks } from '../../../src/platform/validation/networks.ts';
import { claimEndpoints, LeaseManager } from '../../../src/integrations/webhooks/lease.ts';
import { dueDeliveries, EndpointQueue } from '../../../src/integrations/webhooks/queue.ts';
import { onCitus } from '../../support/postgres.ts';
import { answer, hang, startReceiver } from './receiver.ts';
import { withScene } from './scene.ts';

const hour = 3600_000;

suite('workers', async () => {
  const scene = await withScene();

  /** Resolves once the worker has taken note of every notification so far: they come in order, and this one is of another organisation. */
  const notified = async () => {
    const other = await scene.service.organisation();
    const receiver = await startReceiver();
    await scene.service.withUnitOfWork((work) =>
      registerEndpoint(work, other.id, { url: receiver.url, eventTypes: ['learner.groups.updated'], groupIds: null }),
    );
    await scene.service.withUnitOfWork(async (work) => {
      await lockFeed(work, other.id);
      await emitGroupsUpdated(work, other.id, [{ learner_ref: 'other', added: [], removed: [] }]);
    });
    await receiver.arrived(1);
    await receiver.close();
  };

  test('send nothing more to an endpoint that was removed, and never again what waited for it', async () => {
    const held: ServerResponse[] = [];
    const endpoint = await scene.endpoint({
      behaviour: (_request, response) => {
        held.push(response);
      },
    });
    await scene.emit(Array.from({ length: 100 }, (_, i) => `learner-${i}`));
    const worker = scene.worker({ leaseMs: hour, pollMs: hour });
    await endpoint.receiver.arrived(8);
    const [waiting] = await scene.deliveries(endpoint);
    assert.equal((await scene.organisation.delete(`/webhooks/${endpoint.id}`)).status, 204);
    await notified();
    endpoint.receiver.behave(answer(204));
    for (const response of held) response.writeHead(204).end();
    await worker.settled();
    assert.equal(endpoint.receiver.received.length, 8);
    assert.equal(
      await scene.service.withUnitOfWork((work) => redeliverOne(work, scene.organisation.id, waiting!.id)),
      'unknown',
    );
    await worker.stop();
  });

  // Citus takes no triggers.
  test("don't send again at once what they can't record", { skip: onCitus }, async () => {
    const endpoint = await scene.endpoint();
    const { db } = scene.service.app;
    await db.query(`create function refuse() returns trigger language plpgsql as $$ begin
      if new.organisation_id = ${scene.organisation.id} then raise exception 'refused by the test'; end if; return new; end $$`);
    await db.query('create trigger refuse before insert on delivery_attempt for each row execute function refuse()');
    const worker = scene.worker({ pollMs: hour });
    await scene.emit(['ana']);
    await endpoint.receiver.arrived(1);
    await worker.settled();
    await notified();
    assert.equal(endpoint.receiver.received.length, 1);
    // Dropping the trigger would lock the table's months before the table, and a worker that writes locks them the other way round.
    await db.query(
      'create or replace function refuse() returns trigger language plpgsql as $$ begin return new; end $$',
    );
    await scene.settle(worker);
    assert.equal(endpoint.receiver.received.length, 1, 'nor before their lease has ended');
    scene.clock.advance(10_000);
    await scene.settle(worker);
    assert.deepEqual(
      (await scene.deliveries(endpoint)).map((delivery) => delivery.status),
      ['succeeded'],
    );
    await worker.stop();
  });

  test('have an endpoint that hangs delay nobody else, and keep few attempts under way to it', async () => {
    const hanging = await scene.endpoint({ behaviour: hang });
    const healthy = await Promise.all(Array.from({ length: 3 }, () => scene.endpoint()));
    await scene.emit(Array.from({ length: 200 }, (_, i) => `learner-${i}`));
    // The hanging endpoint's attempts don't end before the test does, so whatever waited for one would never arrive.
    const worker = scene.worker();
    await Promise.all(healthy.map((endpoint) => endpoint.receiver.arrived(200)));
    assert.ok(hanging.receiver.received.length <= 8, `${hanging.receiver.received.length} attempts`);
    await worker.stop();
    assert.ok((await scene.deliveries(hanging)).every((delivery) => delivery.status === 'pending'));
  });

  test('give back what they hold when they die: another takes it over when the lease has ended', async () => {
    const endpoint = await scene.endpoint();
    await scene.emit(['ana']);
    const nowMs = scene.clock.nowMs();
    const dead = await claimEndpoints(
      scene.service.app.db,
      { workerId: scene.service.app.random.uuid(), nowMs, untilMs: nowMs + 10_000 },
      100,
      [scene.organisation.id],
    );
    assert.ok(dead.some((lane) => lane.endpoint_id === endpoint.id));
    const worker = scene.worker();
    scene.clock.advance(9_999);
    await scene.settle(worker);
    assert.equal(endpoint.receiver.received.length, 0);
    scene.clock.advance(1);
    await scene.settle(worker);
    assert.equal(endpoint.receiver.received.length, 1);
    await worker.stop();
  });

  test('send to the new address what the one of before answered with 410 meanwhile', async () => {
    const worker = scene.worker({ pollMs: hour });
    const held = Promise.withResolvers<ServerResponse>();
    const endpoint = await scene.endpoint({ behaviour: (_request, response) => held.resolve(response) });
    const moved = await startReceiver();
    after(() => moved.close());
    await scene.emit(['ana']);
    await endpoint.receiver.arrived(1);
    const given = { url: moved.url, eventTypes: ['learner.groups.updated'], groupIds: null };
    await scene.service.withUnitOfWork((work) => editEndpoint(work, scene.organisation.id, endpoint.id, given));
    await notified();
    (await held.promise).writeHead(410).end();
    let delivery;
    do [delivery] = await scene.deliveries(endpoint);
    while (delivery!.attempts.length === 0);
    assert.notEqual(delivery!.status, 'dead');
    await moved.arrived(1);
    await worker.settled();
    [delivery] = await scene.deliveries(endpoint);
    assert.equal(delivery!.status, 'succeeded');
    assert.deepEqual(
      delivery!.attempts.map((attempt) => attempt.status_code),
      [410, 204],
    );
    assert.equal((await scene.row(endpoint)).status, 'active');
    await worker.stop();
  });

  test('keep the lane of a paused endpoint while an attempt is under way, also after it is resumed', async () => {
    const { db, random } = scene.service.app;
    const organisations = [scene.organisation.id];
    const leaseMs = 10_000;
    const endpoint = await scene.endpoint();
    await scene.emit(['ana']);
    const connection = db.dedicated();
    const [begun, underWay] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const drained = Promise.withResolvers<void>();
    const leases = new LeaseManager({
      workerId: random.uuid(),
      leaseMs,
      clock: scene.clock,
      connection,
      stopping: new AbortController().signal,
      open: (leased, lease, released) =>
        new EndpointQueue(leased, lease, {
          read: (of, after, limit) => dueDeliveries(connection, of, scene.clock.nowMs(), after, limit),
          attempt: async () => {
            begun.resolve();
            await underWay.promise;
            return { result: 'dropped', recorded: Promise.resolve() };
          },
          drained: released,
          failed: assert.ifError,
        }),
      released: drained.resolve,
      failed: assert.ifError,
    });
    await leases.poll(organisations);
    await begun.promise;
    await scene.service.withUnitOfWork((work) => pauseEndpoint(work, scene.organisation.id, endpoint.id));
    await leases.poll(organisations);
    scene.clock.advance(leaseMs - 1);
    await leases.renew();
    await scene.service.withUnitOfWork((work) => resumeEndpoint(work, scene.organisation.id, endpoint.id));
    scene.clock.advance(1);
    const nowMs = scene.clock.nowMs();
    const other = { workerId: random.uuid(), nowMs, untilMs: nowMs };
    assert.deepEqual(await claimEndpoints(db, other, 100, organisations), []);
    underWay.resolve();
    await drained.promise;
    assert.equal((await claimEndpoints(db, other, 100, organisations)).length, 1, 'it is given back thereafter');
    await connection.close();
  });

  test('ask about every delivery that begins before it takes a permit', async () => {
    const { app } = scene.service;
    const endpoint = await scene.endpoint();
    await scene.emit(Array.from({ length: 12 }, (_, i) => `learner-${i}`));
    const nowMs = scene.clock.nowMs();
    const lease = { workerId: app.random.uuid(), nowMs, untilMs: nowMs + 10_000 };
    const leased = (await claimEndpoints(app.db, lease, 100, [scene.organisation.id])).find(
      ({ endpoint_id: id }) => id === endpoint.id,
    )!;
    const questions: number[] = [];
    const counting: Tx = {
      query: (sql, values) => {
        questions.push(String(values![0]).split(',').length);
        return app.db.query(sql, values);
      },
    };
    const recorder = new Recorder(app.db);
    const sender = createSender({ clock: systemClock, allowNetworks: parseNetworks('127.0.0.0/8') });
    const never = new AbortController().signal;
    const rest = { stopping: never, breakOff: never, failed: assert.ifError };
    const attempt = createAttempts({ ...rest, app, sender, recorder, connection: counting });
    const queue = new EndpointQueue(leased, lease, { ...rest, read: async () => [], attempt, drained: () => {} });
    const due = await dueDeliveries(app.db, leased, nowMs, { at: new Date(0), deliveryId: nilUuid }, 100);
    const ended = await Promise.all(due.map((delivery) => attempt(queue, delivery)));
    assert.ok(ended.every(({ result }) => result === 'delivered'));
    assert.ok(recorder.maxUnrecorded() < due.length);
    assert.deepEqual(questions, [due.length]);
    await Promise.all(ended.map(({ recorded }) => recorded));
    await sender.close();
  });

  test('leave the lanes of others alone for one lease after the database was away', async () => {
    const { db, random } = scene.service.app;
    const leaseMs = 10_000;
    const worker = scene.worker({ leaseMs, pollMs: hour });
    await worker.settled();
    const endpoint = await scene.endpoint();
    const nowMs = scene.clock.nowMs();
    const other = { workerId: random.uuid(), nowMs, untilMs: nowMs + leaseMs };
    await db.query('update webhook_endpoint set leased_by = $1, leased_until = $2 where endpoint_id = $3', [
      other.workerId,
      new Date(other.untilMs),
      endpoint.id,
    ]);
    await scene.emit(['ana']);
    await notified();
    await scene.settle(worker);
    scene.clock.advance(leaseMs);
    // The worker's, which has given back an endpoint or polled for all.
    const [ended] = await db.query<{ count: number }>(
      `select count(pg_terminate_backend(pid)) as count from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and query like any (array['%leased_by = null%', '%select distinct w.organisation_id%'])`,
    );
    assert.equal(ended!.count, 1);
    await notified();
    await scene.settle(worker);
    assert.equal(endpoint.receiver.received.length, 0);
    scene.clock.advance(leaseMs);
    await scene.settle(worker);
    assert.equal(endpoint.receiver.received.length, 1);
    await worker.stop();
  });

  test('share the work without sending anything twice', async () => {
    const endpoints = await Promise.all(Array.from({ length: 6 }, () => scene.endpoint()));
    const workers = [scene.worker(), scene.worker(), scene.worker()];
    for (let i = 0; i < 10; i++) await scene.emit(Array.from({ length: 20 }, (_, n) => `learner-${i}-${n}`));
    await Promise.all(endpoints.map((endpoint) => endpoint.receiver.arrived(200)));
    for (const worker of workers) await scene.settle(worker);
    for (const endpoint of endpoints) {
      assert.equal(endpoint.receiver.received.length, 200);
      assert.equal(
        new Set(endpoint.receiver.received.map((request) => request.headers['x-svc-delivery-id'])).size,
        200,
      );
    }
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  test('are woken by the commit', async () => {
    const worker = scene.worker({ pollMs: 3600_000 });
    await worker.settled();
    const endpoint = await scene.endpoint();
    await scene.emit(['woken']);
    const [request] = await endpoint.receiver.arrived(1);
    assert.match(request!.body.toString(), /woken/);
    await worker.stop();
  });
});
