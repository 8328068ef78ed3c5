import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Outcome } from '../../src/webhooks/outcome.ts';
import { createRecorder } from '../../src/webhooks/outcome.ts';
import { withScene } from './scene.ts';

suite('a recorder of outcomes', async () => {
  const scene = await withScene();
  const { db } = scene.service.app;
  const outcomeOf = (deliveryId: string, given: Partial<Outcome> = {}): Outcome => {
    const nowMs = scene.clock.nowMs();
    return {
      organisationId: scene.organisation.id,
      endpointId: '',
      deliveryId,
      attemptsBefore: 0,
      resentAfter: 0,
      status: 'succeeded',
      nextAttemptMs: null,
      atMs: nowMs,
      endedMs: nowMs + 7,
      statusCode: 204,
      durationMs: 7,
      error: null,
      sent: null,
      ...given,
    };
  };

  test('writes a batch as it was, whatever the errors say', async () => {
    const endpoint = await scene.endpoint();
    const errors = [
      'The host was refused: it\'s "private".',
      null,
      'null',
      '{a,b}',
      'back\\slash, comma',
      '',
      'é😀',
      null,
    ];
    await scene.emit(errors.map((_, i) => `learner-${i}`));
    const ids = (await scene.deliveries(endpoint)).map((delivery) => delivery.id);
    const connection = db.dedicated();
    const recorder = createRecorder(connection);
    const dueMs = scene.clock.nowMs() + 12_345;
    await Promise.all(
      errors.map(
        (error, i) =>
          recorder.record(
            outcomeOf(
              ids[i]!,
              error === null ? {} : { status: 'pending', nextAttemptMs: dueMs, statusCode: null, error },
            ),
          ).written,
      ),
    );
    const stored = new Map((await scene.deliveries(endpoint)).map((delivery) => [delivery.id, delivery]));
    assert.deepEqual(
      ids.map((id) => stored.get(id)!.attempts.map(({ error }) => error)),
      errors.map((error) => [error === '' ? null : error]),
    );
    assert.deepEqual(
      ids.map((id) => stored.get(id)!.next_attempt_at),
      errors.map((error) => (error === null ? null : new Date(dueMs).toISOString())),
    );
    recorder.stop();
    await connection.close();
  });

  test('writes again what a deadlock threw out', async () => {
    const endpoint = await scene.endpoint();
    await scene.emit(['ana', 'ben']);
    // Which side of a real deadlock is ended depends on time; a sequence keeps its place when its transaction is ended.
    await db.query('create sequence deadlocks');
    await db.query(`create function deadlock_once() returns trigger language plpgsql as $$ begin
      if nextval('deadlocks') = 1 then raise exception 'deadlock detected' using errcode = '40P01'; end if; return new; end $$`);
    await db.query(
      'create trigger deadlock_once before insert on delivery_attempt for each row execute function deadlock_once()',
    );
    const connection = db.dedicated();
    const recorder = createRecorder(connection);
    await Promise.all(
      (await scene.deliveries(endpoint)).map((delivery) => recorder.record(outcomeOf(delivery.id)).written),
    );
    assert.deepEqual(
      (await scene.deliveries(endpoint)).map((delivery) => [delivery.status, delivery.attempts.length]),
      [
        ['succeeded', 1],
        ['succeeded', 1],
      ],
    );
    recorder.stop();
    await connection.close();
  });
});
