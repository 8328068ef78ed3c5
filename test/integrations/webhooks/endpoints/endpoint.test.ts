import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { replayRange, replayStep } from '../../../../src/integrations/webhooks/resend.ts';
import { disableAfterMs, warnAfterMs } from '../../../../src/integrations/webhooks/endpoints/health.ts';
import {
  pauseEndpoint,
  resumeEndpoint,
  rotateSecret,
  rotationMs,
} from '../../../../src/integrations/webhooks/endpoints/endpoints.ts';
import { answer, dropConnection, inTurn } from '../receiver.ts';
import type { Endpoint } from '../scene.ts';
import { withScene } from '../scene.ts';
import { verify } from '../receiving/verify.ts';

const hour = 3600_000;

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
    await scene.service.withUnitOfWork((work) => resumeEndpoint(work, scene.organisation.id, endpoint.id));
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
    await scene.service.withUnitOfWork((work) => resumeEndpoint(work, scene.organisation.id, endpoint.id));
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
      await scene.service.withUnitOfWork((work) =>
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
    await scene.service.withUnitOfWork((work) => pauseEndpoint(work, scene.organisation.id, endpoint.id));
    await scene.emit(['ana', 'ben']);
    await scene.settle(worker);
    assert.equal(endpoint.receiver.received.length, 0);
    assert.deepEqual(await statuses(endpoint), ['pending', 'pending']);
    await scene.service.withUnitOfWork((work) => resumeEndpoint(work, scene.organisation.id, endpoint.id));
    await scene.settle(worker);
    assert.deepEqual(await statuses(endpoint), ['succeeded', 'succeeded']);
    await worker.stop();
  });

  test("gets both secrets' signatures for a day after a rotation, the new one first", async () => {
    const worker = scene.worker();
    const endpoint = await scene.endpoint();
    const rotated = await scene.service.withUnitOfWork((work) =>
      rotateSecret(work, scene.organisation.id, endpoint.id),
    );
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
      await scene.service.withUnitOfWork((work) =>
        replayRange(work, scene.organisation.id, endpoint.id, at(-2), at(-1)),
      ),
      1,
    );
    await scene.settle(worker);
    assert.deepEqual(refs().toSorted(), ['one', 'three', 'two', 'two']);
    assert.equal(new Set(idOf('two')).size, 1);
    assert.equal(
      await scene.service.withUnitOfWork((work) =>
        replayRange(work, scene.organisation.id, endpoint.id, at(-4), at(-3)),
      ),
      1,
    );
    await scene.settle(worker);
    assert.deepEqual(refs().at(-1), 'before');
    const had = refs().length;
    const steps: number[] = [];
    const to = at(0);
    let from: Date | null = at(-4);
    while (from !== null) {
      const range: { from: Date; to: Date } = { from, to };
      const step: { count: number; next: Date | null } = await scene.service.withUnitOfWork((work) =>
        replayStep(work, scene.organisation.id, endpoint.id, range, 3),
      );
      steps.push(step.count);
      from = step.next;
    }
    assert.deepEqual(steps, [3, 1]);
    await scene.settle(worker);
    assert.deepEqual(refs().slice(had).toSorted(), ['before', 'one', 'three', 'two']);
    await worker.stop();
  });
});
