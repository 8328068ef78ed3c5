import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { suite, test } from 'node:test';
import { emitGroupsUpdated } from '../../src/events/emit.ts';
import { lockFeed } from '../../src/feed/position.ts';
import { claimLanes } from '../../src/webhooks/claim.ts';
import { redeliverOne, replayRange } from '../../src/webhooks/deliveries.ts';
import { disableAfterMs, warnAfterMs } from '../../src/webhooks/health.ts';
import { pauseEndpoint, resumeEndpoint, rotateSecret, rotationMs } from '../../src/webhooks/manage.ts';
import { registerEndpoint } from '../../src/webhooks/register.ts';
import { verify } from '../../src/webhooks/signing.ts';
import { answer, dropConnection, hang, inTurn, startReceiver } from './receiver.ts';
import type { Endpoint } from './scene.ts';
import { withScene } from './scene.ts';

const hour = 3600_000;

suite('a delivery', async () => {
  const scene = await withScene();

  test('arrives once, signed, and its attempt is stored', async () => {
    const worker = scene.worker();
    const endpoint = await scene.endpoint();
    await scene.emit(['ana']);
    await scene.settle(worker);
    const [request, ...others] = endpoint.receiver.received;
    assert.equal(others.length, 0);
    assert.equal(
      verify({
        secret: endpoint.secret,
        header: request!.headers['x-svc-signature-256'],
        body: request!.body,
        nowMs: scene.clock.nowMs(),
      }),
      scene.clock.nowMs() / 1000,
    );
    assert.deepEqual(JSON.parse(request!.body.toString()), {
      event: 'learner.groups.updated',
      learner_ref: 'ana',
      added: [],
      removed: [],
      occurred_at: '2026-01-31T09:00:00.000Z',
    });
    const [delivery] = await scene.deliveries(endpoint);
    assert.equal(request!.headers['x-svc-delivery-id'], delivery!.id);
    assert.deepEqual(
      { ...delivery, attempts: delivery!.attempts.map((attempt) => ({ ...attempt, duration_ms: 0 })) },
      {
        id: delivery!.id,
        endpoint_id: endpoint.id,
        event: 'learner.groups.updated',
        status: 'succeeded',
        attempts: [{ at: '2026-01-31T09:00:00.000Z', status_code: 204, duration_ms: 0, error: null }],
        next_attempt_at: null,
        cancelled_because: null,
      },
    );
    await worker.stop();
  });

  test('is attempted ten times on the schedule, with one id and a new signature each time, and then is a dead letter', async () => {
    const worker = scene.worker();
    const endpoint = await scene.endpoint({ behaviour: answer(500) });
    await scene.emit(['ben']);
    await scene.settle(worker);
    const waits = [5_000, 300_000, 1_800_000, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour];
    for (const [i, wait] of waits.entries()) {
      const [delivery] = await scene.deliveries(endpoint);
      const dueMs = Date.parse(delivery!.next_attempt_at!);
      const waited = dueMs - scene.clock.nowMs();
      assert.ok(waited >= wait * 0.85 && waited <= wait * 1.15, `wait ${i + 1} is ${waited}`);
      scene.clock.set(dueMs - 1);
      await scene.settle(worker);
      assert.equal(endpoint.receiver.received.length, i + 1, 'not before its time');
      scene.clock.set(dueMs);
      await scene.settle(worker);
      assert.equal(endpoint.receiver.received.length, i + 2);
    }
    const [dead] = await scene.deliveries(endpoint);
    assert.deepEqual([dead!.status, dead!.next_attempt_at, dead!.attempts.length], ['dead', null, 10]);
    assert.deepEqual(
      dead!.attempts.map((attempt) => [attempt.status_code, attempt.error]),
      Array(10).fill([500, 'The endpoint answered 500.']),
    );
    assert.deepEqual(
      dead!.attempts.map((attempt) => attempt.at),
      dead!.attempts.map((attempt) => attempt.at).toSorted(),
    );
    const { received } = endpoint.receiver;
    assert.deepEqual(new Set(received.map((request) => request.headers['x-svc-delivery-id'])), new Set([dead!.id]));
    assert.equal(new Set(received.map((request) => request.headers['x-svc-signature-256'])).size, 10);

    endpoint.receiver.behave(answer(204));
    await scene.service.inWork((work) => redeliverOne(work, scene.organisation.id, dead!.id));
    await scene.settle(worker);
    const [again] = await scene.deliveries(endpoint);
    assert.deepEqual(
      [again!.status, again!.attempts.length, received.at(-1)!.headers['x-svc-delivery-id']],
      ['succeeded', 11, dead!.id],
    );
    await worker.stop();
  });

  test('that is sent again has the whole schedule before it', async () => {
    const worker = scene.worker();
    const endpoint = await scene.endpoint({ behaviour: inTurn(answer(204), answer(500)) });
    await scene.emit(['bo']);
    await scene.settle(worker);
    const [delivery] = await scene.deliveries(endpoint);
    await scene.service.inWork((work) => redeliverOne(work, scene.organisation.id, delivery!.id));
    await scene.settle(worker);
    const [failed] = await scene.deliveries(endpoint);
    assert.ok(Date.parse(failed!.next_attempt_at!) - scene.clock.nowMs() <= 5_750);
    assert.equal(
      await scene.service.inWork((work) => redeliverOne(work, scene.organisation.id + 1, delivery!.id)),
      'unknown',
      'another organisation has no such delivery',
    );
    await worker.stop();
  });

  test('that is to be sent again while an attempt is under way is, should that one fail', async () => {
    const held: ServerResponse[] = [];
    const endpoint = await scene.endpoint({
      behaviour: inTurn(
        answer(500),
        (_request, response) => {
          held.push(response);
        },
        answer(204),
      ),
    });
    const worker = scene.worker();
    await scene.emit(['bob']);
    await scene.settle(worker);
    const [delivery] = await scene.deliveries(endpoint);
    scene.clock.set(Date.parse(delivery!.next_attempt_at!));
    worker.wake();
    await endpoint.receiver.arrived(2);
    await scene.service.inWork((work) => redeliverOne(work, scene.organisation.id, delivery!.id));
    held[0]!.writeHead(410).end();
    await worker.settled();
    const [waiting] = await scene.deliveries(endpoint);
    assert.deepEqual(
      [waiting!.status, waiting!.attempts.length, Date.parse(waiting!.next_attempt_at!)],
      ['pending', 2, scene.clock.nowMs()],
    );
    await scene.service.inWork((work) => resumeEndpoint(work, scene.organisation.id, endpoint.id));
    await scene.settle(worker);
    assert.deepEqual(
      (await scene.deliveries(endpoint)).map(({ status, attempts }) => [status, attempts.length]),
      [['succeeded', 3]],
    );
    await worker.stop();
  });

  test('waits as long as Retry-After asks', async () => {
    const worker = scene.worker();
    const endpoint = await scene.endpoint({ behaviour: answer(503, { 'retry-after': '1000' }) });
    await scene.emit(['cy']);
    await scene.settle(worker);
    const [delivery] = await scene.deliveries(endpoint);
    const waited = Date.parse(delivery!.next_attempt_at!) - scene.clock.nowMs();
    assert.ok(waited >= 1_000_000 && waited <= 1_150_000, String(waited));
    await worker.stop();
  });

  test('whose address is refused at delivery fails like any other, and nothing is sent', async () => {
    const worker = scene.worker();
    const [inside, metadata] = [
      await scene.endpoint({ url: 'https://10.0.0.8/hook' }),
      await scene.endpoint({ url: 'https://169.254.169.254/latest' }),
    ];
    await scene.emit(['di']);
    await scene.settle(worker);
    for (const endpoint of [inside, metadata]) {
      const [delivery] = await scene.deliveries(endpoint);
      assert.equal(delivery!.status, 'pending');
      assert.match(delivery!.attempts[0]!.error!, /refused/);
      assert.equal(delivery!.attempts[0]!.status_code, null);
    }
    await worker.stop();
  });
});

suite('an endpoint', async () => {
  const scene = await withScene();
  const statuses = async (endpoint: Endpoint) =>
    (await scene.deliveries(endpoint)).map((delivery) => delivery.status).toSorted();

  test('that answers 410 is disabled with a reason, and what follows waits', async () => {
    const worker = scene.worker();
    const endpoint = await scene.endpoint({ behaviour: answer(410) });
    await scene.emit(['ana']);
    await scene.settle(worker);
    const row = await scene.row(endpoint);
    assert.deepEqual(
      [row.status, row.disabled_reason],
      ['disabled', 'The endpoint answered 410 Gone at 2026-01-31T09:00:00.000Z.'],
    );
    await scene.emit(['ben']);
    await scene.settle(worker);
    assert.equal(endpoint.receiver.received.length, 1);
    assert.deepEqual(await statuses(endpoint), ['dead', 'pending']);
    endpoint.receiver.behave(answer(200));
    await scene.service.inWork((work) => resumeEndpoint(work, scene.organisation.id, endpoint.id));
    await scene.settle(worker);
    assert.deepEqual(await statuses(endpoint), ['dead', 'succeeded']);
    assert.equal((await scene.row(endpoint)).disabled_reason, null);
    await worker.stop();
  });

  test('with nothing but failures is warned of after a day and disabled after five, and its events are kept', async () => {
    const worker = scene.worker();
    const endpoint = await scene.endpoint({ behaviour: dropConnection });
    const since = scene.clock.nowMs();
    const failAt = async (ms: number) => {
      scene.clock.set(since + ms);
      await scene.emit([`at-${ms}`]);
      await scene.settle(worker);
      return scene.row(endpoint);
    };
    assert.deepEqual(await failAt(0).then((row) => [row.status, row.failing_since?.getTime(), row.warned_at]), [
      'active',
      since,
      null,
    ]);
    assert.equal((await failAt(warnAfterMs - 1)).warned_at, null);
    assert.equal((await failAt(warnAfterMs)).warned_at?.getTime(), since + warnAfterMs);
    assert.equal((await failAt(disableAfterMs - 1)).status, 'active');
    assert.equal(scene.service.logged.join('').match(/webhook\.failing/g)?.length, 1);
    const row = await failAt(disableAfterMs);
    assert.deepEqual(
      [row.status, row.disabled_reason],
      ['disabled', `Every delivery since ${new Date(since).toISOString()} failed.`],
    );
    assert.match(scene.service.logged.join(''), /webhook\.disabled/);
    const kept = await scene.deliveries(endpoint);
    assert.equal(kept.length, 5);
    endpoint.receiver.behave(answer(204));
    await scene.service.inWork((work) => resumeEndpoint(work, scene.organisation.id, endpoint.id));
    scene.clock.advance(24 * hour);
    await scene.settle(worker);
    assert.deepEqual(await statuses(endpoint), Array(5).fill('succeeded'));
    await worker.stop();
  });

  test('that succeeds once in between is neither warned of nor disabled', async () => {
    const worker = scene.worker();
    const endpoint = await scene.endpoint({ behaviour: inTurn(answer(500), answer(204), answer(500)) });
    for (const days of [0, 2, 3]) {
      scene.clock.advance(days * 24 * hour);
      await scene.service.inWork((work) =>
        work.tx.query("update delivery set status = 'dead' where endpoint_id = $1", [endpoint.id]),
      );
      await scene.emit([`${days}`]);
      await scene.settle(worker);
    }
    const row = await scene.row(endpoint);
    assert.deepEqual([row.status, row.failing_since?.getTime()], ['active', scene.clock.nowMs()]);
    await worker.stop();
  });

  test('that is paused gets nothing until it is resumed', async () => {
    const worker = scene.worker();
    const endpoint = await scene.endpoint();
    await scene.service.inWork((work) => pauseEndpoint(work, scene.organisation.id, endpoint.id));
    await scene.emit(['ana', 'ben']);
    await scene.settle(worker);
    assert.equal(endpoint.receiver.received.length, 0);
    assert.deepEqual(await statuses(endpoint), ['pending', 'pending']);
    await scene.service.inWork((work) => resumeEndpoint(work, scene.organisation.id, endpoint.id));
    await scene.settle(worker);
    assert.deepEqual(await statuses(endpoint), ['succeeded', 'succeeded']);
    await worker.stop();
  });

  test("gets both secrets' signatures for a day after a rotation, the new one first", async () => {
    const worker = scene.worker();
    const endpoint = await scene.endpoint();
    const rotated = await scene.service.inWork((work) => rotateSecret(work, scene.organisation.id, endpoint.id));
    const signedBy = async () => {
      await scene.emit(['ana']);
      await scene.settle(worker);
      const request = endpoint.receiver.received.at(-1)!;
      const header = request.headers['x-svc-signature-256']!;
      return [endpoint.secret, rotated!.secret].map((secret) => {
        try {
          verify({ secret, header, body: request.body, nowMs: scene.clock.nowMs() });
          return true;
        } catch {
          return false;
        }
      });
    };
    assert.deepEqual(await signedBy(), [true, true]);
    const [t, newest] = endpoint.receiver.received.at(-1)!.headers['x-svc-signature-256']!.split(',');
    assert.doesNotThrow(() =>
      verify({
        secret: rotated!.secret,
        header: `${t},${newest}`,
        body: endpoint.receiver.received.at(-1)!.body,
        nowMs: scene.clock.nowMs(),
      }),
    );
    scene.clock.advance(rotationMs - 1000);
    assert.deepEqual(await signedBy(), [true, true]);
    scene.clock.advance(1000);
    assert.deepEqual(await signedBy(), [false, true]);
    await worker.stop();
  });

  test('is sent a range of its events again, under the same ids, and those from before its registration', async () => {
    const worker = scene.worker();
    scene.clock.advance(1000);
    await scene.emit(['before']);
    scene.clock.advance(1000);
    const endpoint = await scene.endpoint();
    for (const ref of ['one', 'two', 'three']) {
      await scene.emit([ref]);
      scene.clock.advance(1000);
    }
    await scene.settle(worker);
    const refs = () =>
      endpoint.receiver.received.map((request) => JSON.parse(request.body.toString()).learner_ref as string);
    const idOf = (ref: string) =>
      endpoint.receiver.received
        .filter((request) => JSON.parse(request.body.toString()).learner_ref === ref)
        .map((request) => request.headers['x-svc-delivery-id']);
    const at = (seconds: number) => new Date(scene.clock.nowMs() + seconds * 1000);
    assert.equal(
      await scene.service.inWork((work) => replayRange(work, scene.organisation.id, endpoint.id, at(-2), at(-1))),
      1,
    );
    await scene.settle(worker);
    assert.deepEqual(refs().toSorted(), ['one', 'three', 'two', 'two']);
    assert.equal(new Set(idOf('two')).size, 1);
    assert.equal(
      await scene.service.inWork((work) => replayRange(work, scene.organisation.id, endpoint.id, at(-4), at(-3))),
      1,
    );
    await scene.settle(worker);
    assert.deepEqual(refs().at(-1), 'before');
    await worker.stop();
  });
});

suite('workers', async () => {
  const scene = await withScene();

  /** Resolves once the worker has taken note of every notification so far: they come in order, and this one is of another organisation. */
  const notified = async () => {
    const other = await scene.service.organisation();
    const receiver = await startReceiver();
    await scene.service.inWork((work) =>
      registerEndpoint(work, other.id, { url: receiver.url, eventTypes: ['learner.groups.updated'], groupIds: null }),
    );
    await scene.service.inWork(async (work) => {
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
      await scene.service.inWork((work) => redeliverOne(work, scene.organisation.id, waiting!.id)),
      'unknown',
    );
    await worker.stop();
  });

  test("don't send again at once what they can't record", async () => {
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
    await db.query('drop trigger refuse on delivery_attempt');
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
    const dead = await claimLanes(
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
