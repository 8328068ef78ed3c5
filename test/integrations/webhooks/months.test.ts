import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import pg from 'pg';
import type { Database } from '../../../src/platform/db/database.ts';
import { cancelEvents } from '../../../src/feed/events/cancel.ts';
import {
  keepMs,
  dropEventMonths,
  makeEventMonths,
  pruneDeliveries,
} from '../../../src/integrations/webhooks/retention.ts';
import { redeliverOne, replayRange } from '../../../src/integrations/webhooks/resend.ts';
import {
  pauseEndpoint,
  resumeEndpoint,
  registerEndpoint,
} from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import { onCitus, waitForLocks } from '../../support/postgres.ts';
import { answer, startReceiver } from './receiver.ts';
import type { Endpoint, Scene } from './scene.ts';
import { withScene } from './scene.ts';

/** Events, deliveries and attempts stand in the month of their event, whenever it is made, and go with it. */

const tables = ['event', 'delivery', 'delivery_attempt'];
const day = 24 * 3600_000;

/** How many rows each part of each table has. */
async function parts({ service: { app } }: Scene): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const table of tables)
    for (const { part, n } of await app.db.query<{ part: string; n: number }>(
      // On several nodes parts are in shards, which bear their number behind.
      `select regexp_replace(tableoid::regclass::text, '_\\d{6}$', '') as part, count(*) as n from ${table} group by 1 order by 1`,
    ))
      found[part] = n;
  return found;
}

const inAll = (month: string, n: number) => Object.fromEntries(tables.map((table) => [`${table}_${month}`, n]));

const monthsOf = async ({ service: { app } }: Scene): Promise<string[]> =>
  (
    await app.db.query<{ name: string }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'event'::regclass and c.relname ~ '\\d' and c.relname < 'event_2026_09' order by 1`,
    )
  ).map(({ name }) => name);

async function deliveryIds({ service: { app } }: Scene, endpoint: Endpoint): Promise<string[]> {
  const rows = await app.db.query<{ id: string }>(
    'select delivery_id as id from delivery where endpoint_id = $1 order by created_at, delivery_id',
    [endpoint.id],
  );
  return rows.map(({ id }) => id);
}

suite('events by months', async () => {
  const scene = await withScene({ ARS_WEBHOOK_RETRY_SCHEDULE: '1s' });
  const { app, databaseUrl } = scene.service;
  const { clock, organisation } = scene;
  await app.db.query(
    `do $$ begin execute format('alter database %I set timezone = %L', current_database(), 'Pacific/Auckland'); end $$`,
  );
  // Another process of the service, whose connections are new.
  const other = await scene.service.sibling();
  const worker = scene.worker();
  const receiver = await startReceiver({});
  after(() => receiver.close());
  const registered = await scene.service.withUnitOfWork((work) =>
    registerEndpoint(work, organisation.id, {
      url: receiver.url,
      eventTypes: ['learner.groups.updated'],
      groupIds: null,
    }),
  );
  const endpoint: Endpoint = { id: registered.row.endpoint_id, secret: registered.secret, receiver };

  test('what came before its month was made moves there, made by two processes at once', async () => {
    await scene.emit(['ana', 'ben']);
    await scene.settle(worker);
    assert.deepEqual(await parts(scene), inAll('default', 2));
    await Promise.all([makeEventMonths(app), makeEventMonths(other.app), makeEventMonths(app)]);
    assert.deepEqual(await monthsOf(scene), ['event_2026_01', 'event_2026_02']);
    assert.deepEqual(await parts(scene), inAll('2026_01', 2));
    for (const { number } of await app.db.query<{ number: string }>('select event_id::text as number from event'))
      assert.match(number, /^00000000-5004-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    for (const id of await deliveryIds(scene, endpoint))
      assert.match(id, /^00000000-5004-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('a month ends at midnight in UTC, wherever the database is', async () => {
    clock.set(Date.UTC(2026, 1, 1) - 1);
    await scene.emit(['last']);
    clock.advance(1);
    await other.withUnitOfWork((work) => scene.emitIn(work, ['first']));
    await scene.settle(worker);
    assert.deepEqual(await parts(scene), { ...inAll('2026_01', 3), ...inAll('2026_02', 1) });
  });

  test('a maker that is killed leaves nothing half made', async () => {
    clock.set(Date.UTC(2026, 1, 3));
    const killed = new pg.Client({ connectionString: databaseUrl });
    killed.on('error', () => {});
    await killed.connect();
    const { rows } = await killed.query('select pg_backend_pid() as pid');
    await killed.query('begin');
    await killed.query("select make_event_month('2026-03-01T00:00:00Z')");
    await app.db.query('select pg_terminate_backend($1::int4, 5000)', [rows[0].pid]);
    assert.deepEqual(await monthsOf(scene), ['event_2026_01', 'event_2026_02']);
    await makeEventMonths(app);
    assert.deepEqual(await monthsOf(scene), ['event_2026_01', 'event_2026_02', 'event_2026_03']);
  });

  test('one is sent again from its month, and all of a range from all of theirs, once each', async () => {
    const before = await deliveryIds(scene, endpoint);
    await scene.service.withUnitOfWork((work) => redeliverOne(work, organisation.id, before[0]!));
    await scene.settle(worker);
    assert.deepEqual(endpoint.receiver.received.at(-1)!.headers['x-svc-delivery-id'], before[0]);
    const late = await scene.endpoint();
    for (const one of [endpoint, late])
      for (const time of ['once', 'twice'])
        assert.equal(
          await scene.service.withUnitOfWork((work) =>
            replayRange(work, organisation.id, one.id, new Date(0), new Date(clock.nowMs() + 1)),
          ),
          4,
          time,
        );
    await scene.settle(worker);
    assert.deepEqual(await deliveryIds(scene, endpoint), before);
    const { event_2026_01: events, delivery_2026_01: deliveries } = await parts(scene);
    assert.deepEqual([events, deliveries], [3, 6], 'deliveries stand with their event, whenever they were made');
  });

  test('what is taken back is taken back in every month', async () => {
    await scene.service.withUnitOfWork((work) => pauseEndpoint(work, organisation.id, endpoint.id));
    const [first] = await deliveryIds(scene, endpoint);
    await scene.service.withUnitOfWork((work) => redeliverOne(work, organisation.id, first!));
    await scene.emit(['ana']);
    await scene.service.withUnitOfWork((work) =>
      cancelEvents(work, organisation.id, { learnerRefs: ['ana'] }, 'erased'),
    );
    const rows = await app.db.query<{ part: string; status: string; payload: string }>(
      `select d.tableoid::regclass::text as part, d.status, e.payload from delivery d join event e using (organisation_id, event_id)
        where e.emptied is not null and d.endpoint_id = $1 order by 1`,
      [endpoint.id],
    );
    assert.deepEqual(
      rows.map((row) => row.part),
      ['delivery_2026_01', 'delivery_2026_02'],
    );
    for (const row of rows) assert.deepEqual([row.status === 'pending', row.payload], [false, '']);
    await scene.service.withUnitOfWork((work) => resumeEndpoint(work, organisation.id, endpoint.id));
  });

  test('a clock that is a month ahead finds its month, and one that is a year ahead loses nothing', async () => {
    const now = clock.nowMs();
    const numbers = async () =>
      (await app.db.query<{ n: number }>('select number as n from event order by occurred_at, number')).map(
        (row) => row.n,
      );
    clock.set(Date.UTC(2026, 2, 2));
    await scene.emit(['early']);
    clock.set(Date.UTC(2027, 2, 2));
    await scene.emit(['far']);
    await scene.settle(worker);
    const there = await parts(scene);
    assert.deepEqual([there.event_2026_03, there.event_default], [1, 1]);
    assert.deepEqual([there.delivery_attempt_2026_03, there.delivery_attempt_default! >= 1], [1, true]);
    clock.set(now);
    await makeEventMonths(app);
    assert.deepEqual((await parts(scene)).event_default, 1, 'no month is made for a clock that was wrong');
    assert.deepEqual(
      await numbers(),
      (await numbers()).toSorted((a, b) => a - b),
    );
  });

  test('a month goes 30 days after its end, all three at once, unless something of it is still awaited', async () => {
    const failing = await scene.endpoint({ behaviour: answer(500) });
    const january = async () => (await monthsOf(scene)).includes('event_2026_01');
    clock.set(Date.UTC(2026, 1, 1) + keepMs - 1);
    await dropEventMonths(app);
    assert.ok(await january(), 'too early');
    await scene.service.withUnitOfWork((work) =>
      replayRange(work, organisation.id, failing.id, new Date(0), new Date(Date.UTC(2026, 1, 1))),
    );
    clock.advance(1);
    await dropEventMonths(app);
    assert.ok(await january(), 'some wait');
    await scene.settle(worker);
    clock.advance(2_000);
    await scene.settle(worker);
    assert.ok((await scene.deliveries(failing)).every(({ status }) => status === 'dead'));
    await dropEventMonths(app);
    assert.ok(await january(), 'some failed a moment ago');
    clock.advance(keepMs + 1);
    await makeEventMonths(app);
    await dropEventMonths(app);
    assert.deepEqual(await monthsOf(scene), ['event_2026_03', 'event_2026_04', 'event_2026_05']);
    const left = Object.keys(await parts(scene)).filter((part) => /2026_0[12]/.test(part));
    assert.deepEqual(left, []);
    await Promise.all([dropEventMonths(app), dropEventMonths(other.app)]);
  });

  test('a drop waits for nobody, so that nobody waits behind it', async () => {
    clock.set(Date.UTC(2026, 3, 1) + keepMs + 40 * day);
    await scene.settle(worker);
    const reader = new pg.Client({ connectionString: databaseUrl });
    await reader.connect();
    await reader.query('begin');
    await reader.query('select count(*) from event');
    await assert.rejects(dropEventMonths(app), { code: '55P03' });
    await scene.emit(['meanwhile']);
    await reader.query('commit');
    await reader.end();
    await dropEventMonths(app);
    assert.deepEqual(await monthsOf(scene), ['event_2026_05']);
    await pruneDeliveries(app);
  });

  // Where several nodes wait for each other is another question.
  test('who writes for a month that is just being made is not refused', { skip: onCitus }, async () => {
    const [held, made] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding: Database = {
      ...other.app.db,
      transaction: (inside) =>
        other.app.db.transaction(async (tx) => {
          const result = await inside(tx);
          made.resolve();
          await held.promise;
          return result;
        }),
    };
    clock.set(Date.UTC(2026, 8, 3));
    const making = makeEventMonths({ ...other.app, db: holding });
    await made.promise;
    const written = scene.emit(['during']);
    while ((await app.db.query(waitForLocks)).length === 0);
    held.resolve();
    await making;
    await written;
    await scene.settle(worker);
    const { event_2026_09, delivery_2026_09, delivery_attempt_2026_09 } = await parts(scene);
    assert.deepEqual([event_2026_09, delivery_2026_09, delivery_attempt_2026_09], [1, 1, 1]);
  });
});
