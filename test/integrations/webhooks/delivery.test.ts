import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { suite, test } from 'node:test';
import { redeliverOne } from '../../../src/integrations/webhooks/resend.ts';
import { resumeEndpoint } from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import { answer, inTurn } from './receiver.ts';
import { withScene } from './scene.ts';
import { verify } from './receiving/verify.ts';

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
    await scene.service.withUnitOfWork((work) => redeliverOne(work, scene.organisation.id, dead!.id));
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
    await scene.service.withUnitOfWork((work) => redeliverOne(work, scene.organisation.id, delivery!.id));
    await scene.settle(worker);
    const [failed] = await scene.deliveries(endpoint);
    assert.ok(Date.parse(failed!.next_attempt_at!) - scene.clock.nowMs() <= 5_750);
    assert.equal(
      await scene.service.withUnitOfWork((work) => redeliverOne(work, scene.organisation.id + 1, delivery!.id)),
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
    await scene.service.withUnitOfWork((work) => redeliverOne(work, scene.organisation.id, delivery!.id));
    held[0]!.writeHead(410).end();
    await worker.settled();
    const [waiting] = await scene.deliveries(endpoint);
    assert.deepEqual(
      [waiting!.status, waiting!.attempts.length, Date.parse(waiting!.next_attempt_at!)],
      ['pending', 2, scene.clock.nowMs()],
    );
    await scene.service.withUnitOfWork((work) => resumeEndpoint(work, scene.organisation.id, endpoint.id));
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
