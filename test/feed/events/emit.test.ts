import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { followEvents, newestEvent } from '../../../src/feed/events/follow.ts';
import { withScene } from '../../integrations/webhooks/scene.ts';

suite('an event', async () => {
  const scene = await withScene();
  const toldTo = async (): Promise<Set<string>> =>
    new Set((await scene.deliveries()).map((delivery) => delivery.endpoint_id));

  test('is written for the endpoints that are subscribed to its type and groups, an added or a removed one', async () => {
    const [here, there, elsewhere] = [
      await scene.group('here'),
      await scene.group('there'),
      await scene.group('elsewhere'),
    ];
    const everything = await scene.endpoint();
    const otherType = await scene.endpoint({ types: ['assessment.completed'] });
    const scopedTo = {
      here: await scene.endpoint({ groupIds: [here] }),
      there: await scene.endpoint({ groupIds: [there] }),
      both: await scene.endpoint({ groupIds: [elsewhere, there] }),
      elsewhere: await scene.endpoint({ groupIds: [elsewhere] }),
    };
    await scene.emit(['ana'], { added: [here] });
    assert.deepEqual(await toldTo(), new Set([everything.id, scopedTo.here.id]));
    await scene.emit(['ana'], { removed: [there] });
    assert.deepEqual(await toldTo(), new Set([everything.id, scopedTo.here.id, scopedTo.there.id, scopedTo.both.id]));
    assert.equal((await scene.deliveries(otherType)).length, 0);
    assert.equal((await scene.deliveries(scopedTo.elsewhere)).length, 0);
    await scene.emit(['ana']);
    assert.equal((await scene.deliveries(everything)).length, 3);
    assert.equal(
      (await scene.deliveries(scopedTo.here)).length,
      1,
      'an event without groups is for unscoped endpoints only',
    );
  });

  test('is in the transaction of its cause: neither is there when it is rolled back', async () => {
    const endpoint = await scene.endpoint();
    const count = async () =>
      (await scene.service.app.db.query<{ count: number }>('select count(*) as count from event'))[0]!.count;
    const before = await count();
    await assert.rejects(
      scene.service.withUnitOfWork(async (work) => {
        await scene.emitIn(work, ['ana']);
        throw new Error('the cause fails');
      }),
      /the cause fails/,
    );
    assert.equal(await count(), before);
    assert.equal((await scene.deliveries(endpoint)).length, 0);
  });

  test('is followed in the order of commits, and none is missed beside concurrent writers', async () => {
    const stop = new AbortController();
    after(() => stop.abort());
    const seen: string[] = [];
    const from = (await newestEvent(scene.service.app.db, scene.organisation.id))?.number ?? 0;
    const following = (async () => {
      for await (const event of followEvents(
        scene.service.app.db,
        scene.organisation.id,
        from,
        ['learner.groups.updated'],
        stop.signal,
      )) {
        seen.push(JSON.parse(event.payload).learner_ref);
        if (seen.length === 400) return;
      }
    })();
    await Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        for (let i = 0; i < 10; i++) await scene.emit(Array.from({ length: 5 }, (_, n) => `${writer}-${i}-${n}`));
      }),
    );
    await following;
    assert.equal(new Set(seen).size, 400);
    const ofWriter = seen.filter((ref) => ref.startsWith('3-'));
    assert.deepEqual(
      ofWriter,
      Array.from({ length: 10 }, (_, i) => Array.from({ length: 5 }, (_, n) => `3-${i}-${n}`)).flat(),
    );
  });

  test('is followed over a failover that lost the last events and gives their numbers out again', async () => {
    const { db } = scene.service.app;
    await scene.emit(['kept']);
    const stop = new AbortController();
    after(() => stop.abort());
    const from = (await newestEvent(db, scene.organisation.id))?.number ?? 0;
    const events = followEvents(db, scene.organisation.id, from, ['learner.groups.updated'], stop.signal);
    const next = async () => JSON.parse((await events.next()).value!.payload).learner_ref;
    await scene.emit(['lost 1', 'lost 2', 'lost 3']);
    for (const ref of ['lost 1', 'lost 2', 'lost 3']) assert.equal(await next(), ref);
    await db.query('delete from delivery');
    await db.query('delete from event where number > $1', [from]);
    await db.query(`select setval(pg_get_serial_sequence('event', 'number'), $1)`, [from]);
    await scene.emit(['instead 1', 'instead 2']);
    for (const ref of ['instead 1', 'instead 2']) assert.equal(await next(), ref);
    await scene.emit(['later']);
    assert.equal(await next(), 'later');
  });
});
