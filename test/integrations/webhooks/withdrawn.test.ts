import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { withdrawAssessment } from '../../../src/governance/erasure/withdraw.ts';
import { withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { cancelEvents } from '../../../src/feed/events/cancel.ts';
import { lockFeed } from '../../../src/feed/position.ts';
import { redeliverOne, replayRange } from '../../../src/integrations/webhooks/resend.ts';
import { waitForLocks } from '../../support/postgres.ts';
import { recordResults } from '../../support/scenario.ts';
import { answer } from './receiver.ts';
import { withScene } from './scene.ts';

/** What was withdrawn is told to nobody any more, whoever was about to send it. */
suite('a withdrawn result', async () => {
  const scene = await withScene();
  const organisationId = scene.organisation.id;
  const why = { actor: 'operator', reason: 'recorded for the wrong learner' };
  let learners = 0;

  /** Completes a result of a learner of its own, with an event. */
  async function complete(): Promise<string> {
    const ref = `L-${++learners}`;
    await scene.organisation.post('/learners', { full_name: 'Nessa Quillfeather', ref });
    const [id] = await scene.service.withUnitOfWork((work) =>
      recordResults(work, organisationId, [{ ref }], { events: true }),
    );
    return id!;
  }
  const withdraw = (id: string) =>
    scene.service.withUnitOfWork((work) => withdrawAssessment(work, organisationId, id, why));
  const payloads = async () =>
    (
      await scene.service.app.db.query<{ payload: string }>(
        "select payload from event where organisation_id = $1 and type = 'assessment.completed'",
        [organisationId],
      )
    ).map((row) => row.payload);
  const replayAll = (endpointId: string) =>
    scene.service.withUnitOfWork((work) =>
      replayRange(work, organisationId, endpointId, new Date(0), new Date(scene.clock.nowMs() + 1000)),
    );

  test('is not pushed by a retry, a redelivery or a replay, and its payload is gone', async () => {
    const worker = scene.worker();
    const failing = await scene.endpoint({ behaviour: answer(500), types: ['assessment.completed'] });
    const working = await scene.endpoint({ types: ['assessment.completed'] });
    const id = await complete();
    const other = await complete();
    await scene.settle(worker);
    assert.equal(failing.receiver.received.length, 2);
    const [delivered] = (await scene.deliveries(working)).filter((one) => one.status === 'succeeded');
    await withdraw(id);

    const states = (await scene.deliveries(failing)).map((one) => [one.status, one.cancelled_because]).sort();
    assert.deepEqual(states, [
      ['cancelled', 'the result was withdrawn'],
      ['pending', null],
    ]);
    const cancelled = (await scene.deliveries(failing)).find((one) => one.status === 'cancelled')!;
    assert.equal(cancelled.next_attempt_at, null);
    assert.equal(cancelled.attempts.length, 1, 'what was attempted stays listed');
    assert.equal((await payloads()).filter((payload) => payload.includes(id)).length, 0);
    assert.equal((await payloads()).filter((payload) => payload.includes(other)).length, 1);

    failing.receiver.behave(answer(204));
    scene.clock.advance(24 * 3600_000);
    failing.receiver.received.length = 0;
    working.receiver.received.length = 0;
    const redelivered = await Promise.all(
      [...(await scene.deliveries(failing)), ...(await scene.deliveries(working))].map(async (one) => [
        one.cancelled_because,
        await scene.service.withUnitOfWork((work) => redeliverOne(work, organisationId, one.id)),
      ]),
    );
    assert.deepEqual(redelivered.map(String).sort(), [
      ',',
      ',',
      ...Array(2).fill('the result was withdrawn,withdrawn'),
    ]);
    assert.equal(await replayAll(failing.id), 1);
    assert.equal(await replayAll(working.id), 1);
    await scene.settle(worker);
    for (const receiver of [failing.receiver, working.receiver]) {
      assert.ok(receiver.received.length >= 1);
      assert.ok(receiver.received.every((request) => request.body.toString().includes(other)));
    }
    assert.ok(delivered !== undefined);
    await worker.stop();
  });

  test('an attempt that is under way ends, and is not repeated; what is queued behind it is not begun', async () => {
    const worker = scene.worker();
    const held: ServerResponse[] = [];
    const arrived = Promise.withResolvers<void>();
    const endpoint = await scene.endpoint({
      types: ['assessment.completed'],
      behaviour: (_request, response) => {
        held.push(response);
        if (held.length === 8) arrived.resolve();
      },
    });
    const ids: string[] = [];
    for (let i = 0; i < 12; i++) ids.push(await complete());
    worker.wake();
    await arrived.promise;
    for (const id of ids) await withdraw(id);
    endpoint.receiver.behave(answer(204));
    held.forEach((response, i) => {
      response.writeHead(i === 0 ? 204 : 500).end();
    });
    await worker.settled();
    assert.equal(endpoint.receiver.received.length, 8, 'nothing is begun after the withdrawal');
    scene.clock.advance(24 * 3600_000);
    await scene.settle(worker);
    assert.equal(endpoint.receiver.received.length, 8);
    const listed = await scene.deliveries(endpoint);
    const counts = Object.groupBy(listed, (one) => `${one.status} after ${one.attempts.length}`);
    assert.deepEqual(Object.fromEntries(Object.entries(counts).map(([state, all]) => [state, all!.length])), {
      'succeeded after 1': 1,
      'cancelled after 1': 7,
      'cancelled after 0': 4,
    });
    await worker.stop();
  });

  test('that a delivery is still wanted, asked before its turn, is asked again when its turn comes late', async () => {
    const worker = scene.worker();
    const held: ServerResponse[] = [];
    const arrived = Promise.withResolvers<void>();
    const endpoint = await scene.endpoint({
      types: ['learner.groups.updated'],
      behaviour: (_request, response) => {
        scene.clock.advance(1);
        if (endpoint.receiver.received.length <= 24) {
          response.writeHead(204).end();
          return;
        }
        held.push(response);
        if (held.length === 8) arrived.resolve();
      },
    });
    await scene.emit(Array.from({ length: 60 }, (_, i) => `learner-${i}`));
    worker.wake();
    await arrived.promise;
    // Straight in the table, so that no notification tells the worker of it.
    await scene.service.app.db.query(
      "update delivery set status = 'cancelled', next_attempt_at = null where organisation_id = $1 and endpoint_id = $2 and status = 'pending'",
      [organisationId, endpoint.id],
    );
    scene.clock.advance(10);
    endpoint.receiver.behave(answer(204));
    for (const response of held) response.writeHead(204).end();
    await worker.settled();
    assert.equal(endpoint.receiver.received.length, 32);
    await worker.stop();
  });

  test('a replay or redelivery at the same time sends nothing of it, whichever comes first', async () => {
    const endpoint = await scene.endpoint({ types: ['assessment.completed'] });
    const withdrawn: string[] = [];
    for (const first of ['withdrawal', 'replay', 'redelivery'] as const) {
      scene.clock.advance(1000);
      const id = await complete();
      withdrawn.push(id);
      const [delivery] = await scene.deliveries(endpoint);
      const again = async () => {
        await replayAll(endpoint.id);
        await scene.service.withUnitOfWork((work) => redeliverOne(work, organisationId, delivery!.id));
      };
      // The first holds its transaction open until the second waits for it, or is done.
      const begun = Promise.withResolvers<void>();
      const release = Promise.withResolvers<void>();
      const holding = withUnitOfWork(scene.service.app, null, async (work) => {
        if (first === 'withdrawal') await withdrawAssessment(work, organisationId, id, why);
        else if (first === 'replay')
          await replayRange(work, organisationId, endpoint.id, new Date(0), new Date(scene.clock.nowMs() + 1000));
        else await redeliverOne(work, organisationId, delivery!.id);
        begun.resolve();
        await release.promise;
      });
      await begun.promise;
      const second = first === 'withdrawal' ? again() : withdraw(id);
      await waiting();
      release.resolve();
      await Promise.all([holding, second]);
      const mine = (await scene.deliveries(endpoint)).find((one) => one.id === delivery!.id)!;
      assert.deepEqual([mine.status, mine.cancelled_because], ['cancelled', 'the result was withdrawn'], first);
    }
    const worker = scene.worker();
    await scene.settle(worker);
    const sent = endpoint.receiver.received.map((request) => JSON.parse(request.body.toString()).data.assessment_id);
    assert.deepEqual(
      sent.filter((id) => withdrawn.includes(id)),
      [],
    );
    await worker.stop();
  });

  test('a learner that is gone: its groups are not told of either', async () => {
    const endpoint = await scene.endpoint({ types: ['learner.groups.updated'] });
    await scene.emit(['gone', 'stays']);
    await scene.service.withUnitOfWork(async (work) => {
      await lockFeed(work, organisationId);
      await cancelEvents(work, organisationId, { learnerRefs: ['gone'] }, 'erased');
    });
    const worker = scene.worker();
    await scene.settle(worker);
    assert.deepEqual(
      endpoint.receiver.received.map((request) => JSON.parse(request.body.toString()).learner_ref),
      ['stays'],
    );
    assert.deepEqual((await scene.deliveries(endpoint)).map((one) => String(one.cancelled_because)).sort(), [
      'null',
      'the learner was erased',
    ]);
    await worker.stop();
  });

  test('a withdrawal that fails takes nothing back', async () => {
    const endpoint = await scene.endpoint({ types: ['assessment.completed'] });
    const id = await complete();
    await assert.rejects(
      scene.service.withUnitOfWork(async (work) => {
        await withdrawAssessment(work, organisationId, id, why);
        throw new Error('the process ends here');
      }),
    );
    const worker = scene.worker();
    await scene.settle(worker);
    assert.equal(endpoint.receiver.received.length, 1);
    await worker.stop();
  });

  /** Resolves once a transaction waits for a lock. */
  async function waiting(): Promise<void> {
    while ((await scene.service.app.db.query(waitForLocks)).length === 0) await delay(10);
  }
});
