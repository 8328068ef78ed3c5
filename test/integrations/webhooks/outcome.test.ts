import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Dedicated } from '../../../src/platform/db/database.ts';
import type { Outcome } from '../../../src/integrations/webhooks/outcome.ts';
import { Recorder } from '../../../src/integrations/webhooks/outcome.ts';
import { onCitus } from '../../support/postgres.ts';
import { withScene } from './scene.ts';

suite('a recorder of outcomes', async () => {
  const scene = await withScene();
  const { app } = scene.service;
  const { db } = app;
  const outcomeOf = (deliveryId: string, given: Partial<Outcome> = {}): Outcome => {
    const nowMs = scene.clock.nowMs();
    return {
      organisationId: scene.organisation.id,
      endpointId: app.random.uuid(),
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

  const backendOf = async (connection: Dedicated) =>
    (await connection.query<{ pid: number }>('select pg_backend_pid() as pid').catch(() => []))[0]?.pid;
  const connectAnew = async (connection: Dedicated, pid: number) => {
    await db.query('select pg_terminate_backend($1)', [pid]);
    while ([pid, undefined].includes(await backendOf(connection))) await setTimeout(10);
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
    const recorder = new Recorder(connection);
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

  test('writes successes of a healthy endpoint as those that end its failing', async () => {
    const endpoint = await scene.endpoint();
    await scene.emit(['ana', 'ben', 'chi']);
    const ids = (await scene.deliveries(endpoint)).map((delivery) => delivery.id);
    const connection = db.dedicated();
    const recorder = new Recorder(connection);
    const record = (...outcomes: Outcome[]) =>
      Promise.all(outcomes.map((outcome) => recorder.record({ ...outcome, endpointId: endpoint.id }).written));
    const kept = async (id: string) => ({
      delivery: (
        await db.query(
          'select status, attempts, next_attempt_at, finished_at, resent_after from delivery where delivery_id = $1',
          [id],
        )
      )[0],
      attempts: await db.query(
        'select number, at, status_code, duration_ms, error, sent from delivery_attempt where delivery_id = $1',
        [id],
      ),
    });
    const failingSince = async () =>
      (
        await db.query<{ at: Date | null }>('select failing_since as at from webhook_endpoint where endpoint_id = $1', [
          endpoint.id,
        ])
      )[0]!.at;
    const [alone, beside, failed] = [ids[0]!, ids[1]!, ids[2]!];
    const sent = { sent: `${endpoint.receiver.url}\nt=1,v1=a\nb` };
    const failure = { status: 'dead', statusCode: 500, error: 'It answered 500.' } as const;

    await record(outcomeOf(alone, sent));
    await record(outcomeOf(alone, { ...sent, statusCode: 200 }));
    scene.clock.advance(1000);
    await record(outcomeOf(failed, failure));
    assert.notEqual(await failingSince(), null);
    scene.clock.advance(1000);
    await record(outcomeOf(beside, sent));
    assert.equal(await failingSince(), null, 'a success alone ends it');

    const [one, other] = [await kept(alone), await kept(beside)];
    const later = (at: unknown) => new Date((at as Date).getTime() + 2000);
    assert.deepEqual(other, {
      delivery: { ...one.delivery!, finished_at: later(one.delivery!.finished_at) },
      attempts: one.attempts.map((attempt) => ({ ...attempt, at: later(attempt.at) })),
    });
    assert.deepEqual(
      one.attempts.map((attempt) => [attempt.number, attempt.status_code, attempt.sent]),
      [[1, 204, sent.sent]],
      'what is recorded twice is written once',
    );
    recorder.stop();
    await connection.close();
  });

  test('has the address of before speak neither for a delivery nor for the address that replaced it', async () => {
    const endpoint = await scene.endpoint();
    await scene.emit(['ana', 'ben', 'chi', 'dan']);
    const ids = (await scene.deliveries(endpoint)).map((delivery) => delivery.id);
    const connection = db.dedicated();
    const recorder = new Recorder(connection);
    const before = 'https://before.example.org/\nt=1,v1=a\nb';
    const gone = { endpointId: endpoint.id, status: 'dead', statusCode: 410, sent: before } as const;
    const retried = { ...gone, status: 'pending', statusCode: 500, nextAttemptMs: scene.clock.nowMs() + 3600_000 };
    const record = async (deliveryId: string, given: Partial<Outcome>) => {
      const outcome = outcomeOf(deliveryId, given);
      const { otherwise } = await recorder.record(outcome).written;
      const {
        status,
        attempts,
        next_attempt_at: next,
      } = (await scene.deliveries(endpoint)).find(({ id }) => id === deliveryId)!;
      const dueAtOnce = next !== null && Date.parse(next) === outcome.endedMs;
      return [otherwise, status, attempts.length, dueAtOnce];
    };
    const fares = async () => {
      const { status, failing_since: since } = await scene.row(endpoint);
      return [status, since?.getTime() ?? null];
    };

    assert.deepEqual(await record(ids[0]!, gone), ['pending', 'pending', 1, true]);
    assert.deepEqual(await record(ids[1]!, { ...retried, status: 'pending' }), ['pending', 'pending', 1, true]);
    assert.deepEqual(await fares(), ['active', null]);

    const sent = `${endpoint.receiver.url}\nt=1,v1=a\nb`;
    const failedMs = scene.clock.nowMs() + 7;
    assert.deepEqual(await record(ids[2]!, { ...gone, statusCode: 500, sent }), [null, 'dead', 1, false]);
    assert.deepEqual(await fares(), ['active', failedMs]);
    scene.clock.advance(1000);
    const succeeded = { endpointId: endpoint.id, status: 'succeeded', sent: before } as const;
    assert.deepEqual(await record(ids[3]!, succeeded), [null, 'succeeded', 1, false]);
    assert.deepEqual(await fares(), ['active', failedMs], 'nor does its success end a failing');
    assert.deepEqual(await record(ids[0]!, { ...gone, attemptsBefore: 1, sent }), [null, 'dead', 2, false]);
    assert.equal((await scene.row(endpoint)).status, 'disabled');
    recorder.stop();
    await connection.close();
  });

  test('writes again what a crash may have thrown out, where nothing was under way', { skip: onCitus }, async () => {
    const endpoint = await scene.endpoint();
    await scene.emit(['ana', 'ben']);
    const [first, second] = (await scene.deliveries(endpoint)).map((delivery) => delivery.id);
    const connection = db.dedicated({ connected: (tx) => recorder.replay(tx) });
    const recorder = new Recorder(connection);
    await recorder.record(outcomeOf(first!)).written;
    const pid = await backendOf(connection);
    // As after a crash: the commit is gone, and all that was connected.
    await db.query('delete from delivery_attempt where delivery_id = $1', [first]);
    await db.query(
      `update delivery set attempts = 0, status = 'pending', next_attempt_at = created_at, finished_at = null where delivery_id = $1`,
      [first],
    );
    await connectAnew(connection, pid!);
    await recorder.record(outcomeOf(second!)).written;
    assert.deepEqual(
      (await scene.deliveries(endpoint)).map(({ status, attempts }) => [status, attempts.length]),
      [
        ['succeeded', 1],
        ['succeeded', 1],
      ],
    );
    recorder.stop();
    await connection.close();
  });

  test(
    'brings what the first batch on a new connection tells of, though it is written again',
    { skip: onCitus },
    async () => {
      const endpoint = await scene.endpoint();
      await scene.emit(['ana', 'ben', 'chi']);
      const [first, gone, cancelled] = (await scene.deliveries(endpoint)).map((delivery) => delivery.id);
      const connection = db.dedicated({ connected: (tx) => recorder.replay(tx) });
      const recorder = new Recorder(connection);
      const of = { endpointId: endpoint.id, sent: `${endpoint.receiver.url}\nt=1,v1=a\nb` };
      await recorder.record(outcomeOf(first!, of)).written;
      await connectAnew(connection, (await backendOf(connection))!);
      await db.query(
        `update delivery set status = 'cancelled', next_attempt_at = null, finished_at = created_at where delivery_id = $1`,
        [cancelled],
      );
      const told = await Promise.all(
        [gone!, cancelled!].map(
          (id) => recorder.record(outcomeOf(id, { ...of, status: 'dead', statusCode: 410 })).written,
        ),
      );
      assert.equal((await scene.row(endpoint)).status, 'disabled');
      assert.match(told[0]!.news?.reason ?? '', /^The endpoint answered 410 Gone at /);
      assert.deepEqual(
        told.map(({ news, otherwise }) => [news?.endpoint_id, otherwise]),
        [
          [endpoint.id, null],
          [undefined, 'cancelled'],
        ],
      );
      recorder.stop();
      await connection.close();
    },
  );

  // A cluster's tables have no triggers.
  test('writes again what a deadlock threw out', { skip: onCitus }, async () => {
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
    const recorder = new Recorder(connection);
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
