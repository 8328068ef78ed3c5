import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { after, suite, test } from 'node:test';
import pg from 'pg';
import { manualClock } from '../../src/clock.ts';
import { migrate } from '../../src/db/migrate.ts';
import { emitGroupsUpdated } from '../../src/events/emit.ts';
import { lockFeed } from '../../src/feed/position.ts';
import { createKeyring } from '../../src/keyring.ts';
import { seededRandom } from '../../src/random.ts';
import { secretContext } from '../../src/webhooks/register.ts';
import { keepMs } from '../../src/webhooks/deliveries.ts';
import { dropEventMonths, makeEventMonths } from '../../src/webhooks/months.ts';
import { pruneDeliveries } from '../../src/webhooks/prune.ts';
import { freshDatabase, withDatabase } from '../postgres.ts';
import { thisServer, withService } from '../service.ts';

/** Events go by months while the version before still writes and sends them; nothing is copied, lost or told twice. */

const folder = new URL('../../src/db/migrations/', import.meta.url);
const clock = manualClock(Date.UTC(2026, 10, 22, 12));
const day = 86_400_000;

/** The statements of the version before, named as there, so that they stay prepared on its connection. */
const old = {
  insert: `
    with told as materialized (
      select event_id, payload, groups::uuid[] as groups
        from unnest($4::uuid[], $5::text[], $6::text[]) as e(event_id, payload, groups)),
    written as (
      insert into event (organisation_id, event_id, type, occurred_at, payload)
      select $1, event_id, $2, $3, payload from told),
    fanned as (
      insert into delivery (organisation_id, delivery_id, endpoint_id, event_id, next_attempt_at, created_at)
      select $1, md5(told.event_id::text || w.endpoint_id)::uuid, w.endpoint_id, told.event_id, $3, $3
        from webhook_endpoint w cross join told
       where w.organisation_id = $1 and $2 = any(w.event_types) and (w.group_ids is null or w.group_ids && told.groups)
      returning 1)
    select count(*)::int4 as count from fanned`,
  replay: `
    insert into delivery as d (organisation_id, delivery_id, endpoint_id, event_id, next_attempt_at, created_at)
    select $1, md5(e.event_id::text || $2::uuid)::uuid, $2, e.event_id, $3, $3 from event e where e.organisation_id = $1 order by 2
        on conflict (organisation_id, delivery_id) do update set status = 'pending', next_attempt_at = $3, finished_at = null, resent_after = d.attempts`,
  record: `
    with moved as (
      update delivery d set attempts = d.attempts + 1, status = 'succeeded', next_attempt_at = null, finished_at = $2
       where d.organisation_id = $1 and d.status = 'pending' returning d.organisation_id, d.delivery_id, d.attempts)
    insert into delivery_attempt (organisation_id, delivery_id, number, at, status_code, duration_ms, error, sent)
    select organisation_id, delivery_id, attempts, $2, 204, 7, null, null from moved`,
};

const secret = 'the secret of before, longer than 32 characters';
const endpointId = 'eeeeeeee-2222-4222-8222-222222222222';
const kept = createKeyring([secret], seededRandom('events of before')).encrypt(
  'whsec_of_before',
  secretContext(1, endpointId),
);

const uuid = (text: string) => `${text.padStart(8, 'e')}-1111-4111-8111-111111111111`;

suite('events of the version before', async () => {
  const database = await freshDatabase(await thisServer(), { migrated: false });
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(
    'create table migration (number int4 primary key, name text not null, applied_at timestamptz not null)',
  );
  await client.query("select set_config('ars.now', $1, false)", [new Date(clock.nowMs()).toISOString()]);
  for (const name of (await readdir(folder)).sort()) {
    if (Number(name.slice(0, 4)) >= 72) continue;
    await client.query(await readFile(new URL(name, folder), 'utf8'));
    await client.query('insert into migration values ($1, $2, to_timestamp(0))', [Number(name.slice(0, 4)), name]);
  }
  await client.query(`
    insert into organisation (organisation_id, public_id, name, plan, created_at)
    overriding system value values (1, md5('o')::uuid, 'The College', 'unlimited', to_timestamp(0));
    insert into feed (organisation_id, position) values (1, 0);
    insert into webhook_endpoint (organisation_id, endpoint_id, url, event_types, secret, created_at, updated_at)
    values (1, '${endpointId}', 'https://example.org/', '{learner.groups.updated}', '${kept}', to_timestamp(0), to_timestamp(0));
    set lock_timeout = '2s'`);
  const run = (name: keyof typeof old, ...values: unknown[]) => client.query({ name, text: old[name], values });
  const emits = async (id: string, atMs = clock.nowMs()) => {
    const payload = `{"event":"learner.groups.updated","learner_ref":"${id}","added":[],"removed":[]}`;
    const { rows } = await run('insert', 1, 'learner.groups.updated', new Date(atMs), [uuid(id)], [payload], ['{}']);
    assert.equal(rows[0].count, 1);
  };
  const replays = () => run('replay', 1, endpointId, new Date(clock.nowMs()));
  const countsOf = async (table: string) =>
    Object.fromEntries(
      (
        await client.query(
          `select tableoid::regclass::text as part, count(*)::int4 as n from ${table} group by 1 order by 1`,
        )
      ).rows.map(({ part, n }) => [part, n]),
    );

  test('are written, sent and sent again while the tables are read through', async () => {
    await emits('a', clock.nowMs() - 20 * day);
    await emits('b');
    // By chance an id may look as if it named a day.
    await client.query(
      `insert into event (organisation_id, event_id, type, occurred_at, payload)
       values (1, '00000000-1111-4111-8111-111111111111', 'learner.groups.updated', $1, '{"added":[],"removed":[]}')`,
      [new Date(clock.nowMs())],
    );
    await run('record', 1, new Date(clock.nowMs()));
    await withDatabase(database.url, async (db) => {
      const file = async (name: string) => readFile(new URL(name, folder), 'utf8');
      await db.transaction(async (tx) => {
        await tx.query(await file('0072_event_months.sql'));
      });
      await emits('c');
      await db.transaction(async (tx) => {
        await tx.query(await file('0073_event_bound.sql'));
        await emits('d');
        await replays();
        await run('record', 1, new Date(clock.nowMs()));
      });
      await db.query("insert into migration values (72, 'x', to_timestamp(0)), (73, 'x', to_timestamp(0))");
      const files = async (suffix: string) =>
        (
          await db.query<{ node: number }>(
            `select pg_relation_filenode(t || $1)::int8 as node from unnest('{event,delivery,delivery_attempt}'::text[]) t`,
            [suffix],
          )
        ).map(({ node }) => node);
      const before = await files('');
      // Somebody reads for long: writers needn't wait behind the exchange that waits for him.
      const reader = new pg.Client({ connectionString: database.url });
      await reader.connect();
      await reader.query('begin');
      await reader.query('select from event limit 1');
      const migrated = migrate(db, clock);
      for (const id of ['e1', 'e2', 'e3']) await emits(id);
      await reader.query('commit');
      await reader.end();
      await migrated;
      assert.deepEqual(await files('_before'), before, 'the very same files');
    });
    assert.deepEqual(await countsOf('event'), { event_before: 7, event_default: 1 });
    assert.deepEqual(await countsOf('delivery'), { delivery_before: 7 });
  });

  test('go on as they did behind it', async () => {
    await emits('f');
    await replays();
    await run('record', 1, new Date(clock.nowMs()));
    await replays();
    const { rows } = await client.query(
      'select count(*)::int4 as n, count(distinct delivery_id)::int4 as ids, count(distinct event_id)::int4 as events from delivery',
    );
    assert.deepEqual(rows[0], { n: 9, ids: 9, events: 9 });
    const { rows: numbers } = await client.query(
      'select count(distinct number)::int4 as n, max(number)::int4 as last from event',
    );
    assert.equal(numbers[0].n, 9);
    assert.ok(numbers[0].last >= 9);
    await run('record', 1, new Date(clock.nowMs()));
  });

  test('are joined by those of the new version, which begin their months when nobody of before is left', async () => {
    // Before the database goes with the service.
    after(() => client.end());
    const service = await withService({ database, clock, settings: { ARS_SECRET: secret } });
    const emit = (ref: string) =>
      service.inWork(async (work) => {
        await lockFeed(work, 1);
        await emitGroupsUpdated(work, 1, [{ learner_ref: ref, added: [], removed: [] }]);
      });
    await emit('new');
    assert.deepEqual(await countsOf('event'), { event_before: 9, event_default: 1 });
    clock.set(Date.UTC(2027, 0, 1));
    await emit('newer');
    // A process of before that is still here finds what it knows, and what it writes is found.
    await emits('1a');
    await makeEventMonths(service.app);
    assert.deepEqual(await countsOf('event'), { event_2027_01: 1, event_before: 10, event_default: 1 });
    assert.deepEqual(await countsOf('delivery'), { delivery_2027_01: 1, delivery_before: 11 });

    // What belongs to no month goes by itself when it is old enough, and then its part.
    await run('record', 1, new Date(clock.nowMs()));
    clock.advance(keepMs);
    assert.deepEqual(await pruneDeliveries(service.app), { deliveries: 9, events: 9 });
    await dropEventMonths(service.app);
    assert.deepEqual(await countsOf('event'), { event_2027_01: 1 });
    assert.equal((await client.query("select to_regclass('delivery_before') as there")).rows[0].there, null);
    await emits('1b');
    assert.deepEqual(await countsOf('event'), { event_2027_01: 1, event_default: 1 });
  });
});
