import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { findDelivery } from '../../../src/integrations/webhooks/browse.ts';
import { editEndpoint } from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import { disableAfterMs, noticeAfterMs } from '../../../src/integrations/webhooks/endpoints/health.ts';
import { latestNotices } from '../../../src/integrations/webhooks/endpoints/notices.ts';
import type { Which } from '../../../src/integrations/webhooks/resend.ts';
import { countResendable, orderResend, resends } from '../../../src/integrations/webhooks/resend.ts';
import { sentRequest } from '../../../src/integrations/webhooks/http/signing.ts';
import { answer } from './receiver.ts';
import type { Endpoint } from './scene.ts';
import { withScene } from './scene.ts';
import { verify } from './receiving/verify.ts';

suite('sending many again', async () => {
  const scene = await withScene({ ARS_WEBHOOK_RETRY_SCHEDULE: '1s' });
  const { app } = scene.service;
  const organisationId = scene.organisation.id;
  const worker = scene.worker();
  const order = (which: Which) =>
    scene.service.withUnitOfWork((work) =>
      orderResend(work, organisationId, { resendId: app.random.uuid(), which, by: 'operator' }),
    );
  const count = (which: Which) => countResendable(app.db, organisationId, which, new Date(scene.clock.nowMs()));

  /** Deliveries that have finally failed. */
  async function dead(endpoint: Endpoint, refs: string[]): Promise<void> {
    await scene.emit(refs);
    for (let i = 0; i < 2; i++) {
      await scene.settle(worker);
      scene.clock.advance(60_000);
    }
    assert.ok((await scene.deliveries(endpoint)).some(({ status }) => status === 'dead'));
  }

  test('all that failed since a time and have not succeeded since, each once, whatever is broken off', async () => {
    const endpoint = await scene.endpoint({ behaviour: answer(500) });
    const well = await scene.endpoint();
    await dead(endpoint, ['old-1', 'old-2']);
    const failedSince = new Date(scene.clock.nowMs());
    await dead(
      endpoint,
      Array.from({ length: 12 }, (_, n) => `new-${n}`),
    );
    const which = { endpointId: endpoint.id, failedSince };
    assert.equal(await count(which), 12);
    assert.equal(await count({ endpointId: null, failedSince }), 12);
    assert.equal(await count({ endpointId: well.id, failedSince }), 0);
    const before = endpoint.receiver.received.length;
    const resend = await order(which);
    assert.equal(resend.total, 12);
    // It fails again: it isn't sent a second time by the same order, however often that is taken up.
    for (let i = 0; i < 3; i++) {
      await Promise.all([resends.run(app), resends.run(app)]);
      await scene.settle(worker);
      scene.clock.advance(60_000);
      await scene.settle(worker);
    }
    const sent = endpoint.receiver.received.slice(before);
    assert.equal(sent.length, 24, 'each in the two attempts of the schedule');
    assert.equal(new Set(sent.map(({ headers }) => headers['x-svc-delivery-id'])).size, 12);
    const done = (await resends.find(app.db, organisationId, resend.run_id))!;
    assert.deepEqual([done.resent, done.finished_at !== null], [12, true]);
    // What has succeeded since is left alone.
    endpoint.receiver.behave(answer(204));
    const [first] = (await scene.deliveries(endpoint)).filter(({ status }) => status === 'dead');
    await order({ deliveryIds: [first!.id] });
    await resends.run(app);
    await scene.settle(worker);
    assert.equal(await count(which), 11);
    const all = await order({ endpointId: null, failedSince: new Date(0) });
    assert.equal(all.total, 13);
    await resends.run(app);
    await scene.settle(worker);
    assert.equal(await count({ endpointId: null, failedSince: new Date(0) }), 0);
    assert.equal(well.receiver.received.length, 14);
  });

  test('goes on where it was when the process that did it is gone', async () => {
    const endpoint = await scene.endpoint({ behaviour: answer(500) });
    await dead(endpoint, ['a', 'b', 'c']);
    const resend = await order({ endpointId: endpoint.id, failedSince: new Date(0) });
    // Nobody has begun; another process finds it.
    const sibling = await scene.service.sibling();
    await resends.run(sibling.app);
    assert.equal((await resends.find(app.db, organisationId, resend.run_id))!.resent, 3);
    const pending = (await scene.deliveries(endpoint)).filter(({ status }) => status === 'pending');
    assert.equal(pending.length, 3);
  });
});

suite('what an attempt sent', async () => {
  const scene = await withScene();
  const { app } = scene.service;
  const worker = scene.worker();

  test('is kept as it went out, with its signatures, under the address of then', async () => {
    let raw: string[] = [];
    const endpoint = await scene.endpoint({
      behaviour: (request, response, incoming) => {
        raw = [`${request.method} ${request.path} HTTP/1.1`];
        for (let i = 0; i < incoming.rawHeaders.length; i += 2)
          raw.push(`${incoming.rawHeaders[i]}: ${incoming.rawHeaders[i + 1]}`);
        response.writeHead(204).end();
      },
    });
    await scene.emit(['ana']);
    await scene.settle(worker);
    const [listed] = await scene.deliveries(endpoint);
    await scene.service.withUnitOfWork((work) =>
      editEndpoint(work, scene.organisation.id, endpoint.id, {
        url: 'https://elsewhere.example/hook',
        eventTypes: ['assessment.completed'],
        groupIds: null,
      }),
    );
    const { delivery, attempts } = (await findDelivery(app.db, scene.organisation.id, listed!.id))!;
    const sent = sentRequest(attempts[0]!.sent, delivery.delivery_id, delivery.payload)!;
    assert.deepEqual(sent.head.split('\r\n'), raw);
    assert.equal(sent.url, endpoint.receiver.url);
    assert.equal(delivery.payload, endpoint.receiver.received[0]!.body.toString());
    const signature = /x-svc-signature-256: (.*)/i.exec(sent.head)![1]!;
    verify({ secret: endpoint.secret, body: delivery.payload, header: signature, nowMs: scene.clock.nowMs() });
    assert.ok(!JSON.stringify(attempts).includes(endpoint.secret));
    // From here on it is told of something else, elsewhere.
    await scene.emit(['bo']);
    await scene.settle(worker);
    assert.equal((await scene.deliveries(endpoint)).length, 1);
  });
});

suite('notices of an endpoint', async () => {
  const scene = await withScene();
  const worker = scene.worker();
  const kinds = async () =>
    (await latestNotices(scene.service.app.db, scene.organisation.id, new Date(0), 100)).map(({ kind }) => kind);

  test('one when it has failed for a while, one when it is well again, none for a hiccup', async () => {
    const endpoint = await scene.endpoint({ behaviour: answer(500) });
    await scene.emit(['a']);
    await scene.settle(worker);
    endpoint.receiver.behave(answer(204));
    scene.clock.advance(60_000);
    await scene.settle(worker);
    assert.deepEqual(await kinds(), []);
    endpoint.receiver.behave(answer(500));
    await scene.emit(['b']);
    await scene.settle(worker);
    for (let i = 0; i < 4; i++) {
      scene.clock.advance(noticeAfterMs);
      await scene.emit([`c-${i}`]);
      await scene.settle(worker);
    }
    assert.deepEqual(await kinds(), ['failing']);
    endpoint.receiver.behave(answer(204));
    scene.clock.advance(3600_000);
    await scene.settle(worker);
    assert.deepEqual(await kinds(), ['recovered', 'failing']);
    endpoint.receiver.behave(answer(500));
    await scene.emit(['d']);
    await scene.settle(worker);
    scene.clock.advance(disableAfterMs);
    await scene.settle(worker);
    assert.deepEqual(new Set(await kinds()), new Set(['failing', 'recovered', 'disabled']));
  });
});
