import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answer, inTurn } from './receiver.ts';
import { withScene } from './scene.ts';
import { verify } from '../../src/webhooks/signing.ts';

describe('the delivery worker', async () => {
  const scene = await withScene();
  const worker = scene.worker();

  it('delivers a committed event once, signed, and stores the attempt', async () => {
    const endpoint = await scene.endpoint();
    await scene.emit(['ana']);
    await scene.settle(worker);
    const [request, ...others] = endpoint.receiver.received;
    assert.equal(others.length, 0);
    assert.equal(verify({ secret: endpoint.secret, header: request!.headers['x-svc-signature-256'], body: request!.body, nowMs: scene.clock.nowMs() }), scene.clock.nowMs() / 1000);
    const [delivery] = await scene.deliveries(endpoint);
    assert.equal(request!.headers['x-svc-delivery-id'], delivery!.id);
    assert.deepEqual({ ...delivery, attempts: delivery!.attempts.map((attempt) => ({ ...attempt, duration_ms: 0 })) }, {
      id: delivery!.id, endpoint_id: endpoint.id, event: 'learner.groups.updated', status: 'succeeded',
      attempts: [{ at: '2026-01-31T09:00:00.000Z', status_code: 204, duration_ms: 0, error: null }], next_attempt_at: null,
    });
  });
});
