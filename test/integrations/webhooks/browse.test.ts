import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Statement, Tx } from '../../../src/platform/db/database.ts';
import { cancelEvents } from '../../../src/feed/events/cancel.ts';
import type { DeliveryFilter, DeliveryPosition } from '../../../src/integrations/webhooks/browse.ts';
import { browseDeliveries } from '../../../src/integrations/webhooks/browse.ts';
import { stillWanted } from '../../../src/integrations/webhooks/attempt.ts';
import { Recorder } from '../../../src/integrations/webhooks/outcome.ts';
import { registerEndpoint } from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import { withService } from '../../support/service.ts';

/** Deliveries page by page: each that fits once, the newest first, however rare it is among the others. */

const service = await withService();
const { db } = service.app;
const org = await service.organisation();
const other = await service.organisation();
const endpoints: string[] = [];
for (const owner of [org, org, org, other])
  endpoints.push(
    (
      await service.withUnitOfWork((work) =>
        registerEndpoint(work, owner.id, {
          url: 'https://platform.example/hook',
          eventTypes: ['assessment.completed', 'learner.groups.updated'],
          groupIds: null,
        }),
      )
    ).row.endpoint_id,
  );
// The first endpoint has most of them; many are of one millisecond.
await db.query(
  `with told as (
     insert into event (organisation_id, event_id, type, occurred_at, payload)
     select o, md5(o || ' ' || n)::uuid, case when n % 1700 = 5 then 'learner.groups.updated' else 'assessment.completed' end,
            to_timestamp(1766000000 + n / 7), '{}'
       from generate_series(1, 5000) n, unnest($1::int8[]) o
     returning organisation_id, event_id, occurred_at, md5(event_id::text) as draw)
   insert into delivery (organisation_id, delivery_id, endpoint_id, event_id, status, created_at, next_attempt_at, finished_at)
   select t.organisation_id, md5(t.event_id::text || w.endpoint_id)::uuid, w.endpoint_id, t.event_id, s.status, t.occurred_at,
          case when s.status = 'pending' then t.occurred_at end, case when s.status <> 'pending' then t.occurred_at end
     from told t join webhook_endpoint w using (organisation_id),
          lateral (select case when t.draw < '005' then 'cancelled' when t.draw < '01' then 'dead' when t.draw < '04' then 'pending' else 'succeeded' end as status) s
    where w.endpoint_id = $2 or t.draw > 'e'`,
  [[org.id, other.id], endpoints[0]],
);

const everything: DeliveryFilter = { endpointId: null, status: null, type: null, from: null, to: null, after: null };

async function walk(filter: Partial<DeliveryFilter>, limit: number): Promise<string[]> {
  const ids: string[] = [];
  let after: DeliveryPosition | null = null;
  do {
    const { deliveries, next } = await browseDeliveries(db, org.id, { ...everything, ...filter, after }, limit);
    assert.ok(deliveries.length <= limit);
    ids.push(...deliveries.map((one) => one.delivery_id));
    after = next;
  } while (after !== null);
  return ids;
}

suite('deliveries page by page', () => {
  const at = (n: number) => new Date((1766000000 + n / 7) * 1000);
  const filters: [string, Partial<DeliveryFilter>, string, number][] = [
    ['all', {}, 'true', 997],
    ['of one endpoint', { endpointId: endpoints[1]! }, `endpoint_id = '${endpoints[1]}'`, 50],
    ['that are done', { status: 'succeeded' }, `status = 'succeeded'`, 1500],
    ['that wait', { status: 'pending' }, `status = 'pending'`, 20],
    ['that failed', { status: 'dead' }, `status = 'dead'`, 3],
    ['the rare cancelled', { status: 'cancelled' }, `status = 'cancelled'`, 50],
    ['of a rare kind', { type: 'learner.groups.updated' }, `type = 'learner.groups.updated'`, 50],
    [
      'of a rare kind that are done',
      { type: 'learner.groups.updated', status: 'succeeded' },
      `type like 'l%' and status = 'succeeded'`,
      50,
    ],
    [
      'of some days',
      { from: at(700), to: at(3500) },
      `created_at >= to_timestamp(1766000100) and created_at < to_timestamp(1766000500)`,
      300,
    ],
    ['of an endpoint of somebody else', { endpointId: endpoints[3]! }, 'false', 50],
  ];
  for (const [name, filter, where, limit] of filters)
    test(name, async () => {
      const expected = await db.query<{ delivery_id: string }>(
        `select delivery_id from delivery d join event e using (organisation_id, event_id)
          where organisation_id = $1 and ${where} order by created_at desc, delivery_id desc`,
        [org.id],
      );
      assert.deepEqual(
        await walk(filter, limit),
        expected.map((row) => row.delivery_id),
      );
      if (name !== 'of an endpoint of somebody else') assert.ok(expected.length > 0);
    });
});

// Searched for in the index of what is due, which has them too, each would pass over all that waits.
suite('deliveries by their ids are found by their key, however many wait', async () => {
  const [one] = await db.query<{ organisation_id: number; delivery_id: string; event_id: string }>(
    "select organisation_id, delivery_id, event_id from delivery where status = 'pending' limit 1",
  );
  const { organisation_id: organisationId, delivery_id: deliveryId, event_id } = one!;
  /** The statements that are run, and their values. */
  const asked = async (run: (tx: Tx) => Promise<unknown>, found: object[] = []) => {
    const all: { sql: Statement; values: readonly unknown[] }[] = [];
    const query = async (sql: Statement, values: readonly unknown[]) => {
      all.push({ sql, values });
      return found;
    };
    await run({ query } as unknown as Tx);
    return all;
  };
  const moment = { atMs: 0, endedMs: 0, durationMs: 0, statusCode: 204, error: null, sent: null };
  const outcome = {
    organisationId,
    deliveryId,
    endpointId: endpoints[0]!,
    attemptsBefore: 0,
    resentAfter: 0,
    ...moment,
  };
  const statements = {
    wanted: () => asked((tx) => stillWanted(tx, [{ organisationId, deliveryId, attempts: 0 }])),
    recorded: () =>
      asked(
        (tx) => new Recorder(tx as never).record({ ...outcome, status: 'succeeded', nextAttemptMs: null }).written,
        [{ written: 1, news: null, otherwise: null }],
      ),
    cancelled: async () => {
      const all = await asked(
        (tx) =>
          service.withUnitOfWork((work) =>
            cancelEvents({ ...work, tx, afterCommit: () => {} }, organisationId, { assessmentIds: [''] }, 'withdrawn'),
          ),
        [{ event_id }],
      );
      return all.slice(-1);
    },
  };
  for (const [name, statement] of Object.entries(statements))
    test(name, async () => {
      const all = await statement();
      assert.equal(all.length, name === 'recorded' ? 2 : 1);
      for (const { sql, values } of all)
        await db.transaction(async (tx) => {
          const plan = await tx.query<{ 'QUERY PLAN': string }>(`explain ${sql.text}`, values);
          const text = plan.map((row) => row['QUERY PLAN']).join('\n');
          assert.match(text, /delivery_\w+_pkey/);
          assert.doesNotMatch(text, /next_attempt_a_idx|delivery_due/);
        });
    });
});
