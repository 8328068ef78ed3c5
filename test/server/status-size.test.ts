// Tier: full. Makes 300 organisations with 1 million deliveries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statement } from '../../src/platform/db/database.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { readStatus } from '../../src/server/status/status.ts';
import { withService } from '../support/service.ts';

const service = await withService({ own: 'Fills its database.' });
const { db } = service.app;
const nowMs = systemClock.nowMs();
const now = new Date(nowMs);

const steps = {
  organisations: `
    insert into organisation (organisation_id, public_id, name, plan, credits, created_at)
    overriding system value select g, md5('o' || g)::uuid, 'College ' || g, 'standard', 10, $1 from generate_series(1001, 1300) g`,
  feeds: `insert into feed (organisation_id, position, shape) select g, 1, 1 from generate_series(1001, 1300) g where $1 is not null`,
  keys: `
    insert into access_key (key_id, organisation_id, secret_sha256, created_at)
    select 'ARSK' || g || k, g, sha256(convert_to(g::text || k, 'UTF8')), $1 from generate_series(1001, 1300) g, generate_series(1, 3) k`,
  windows: `
    insert into rate_window (key_id, organisation_id, last_ms)
    select key_id, organisation_id, (extract(epoch from $1) * 1000)::int8 - case when key_id = 'ARSK11501' then 72000000 else 60000 end from access_key`,
  // Every key polls in every hour of 14 days, with 3 kinds of responses.
  hours: `
    insert into audit_hour (organisation_id, hour, actor, action, status, code, calls, last_at, lowest_id, highest_id, pages)
    select k.organisation_id, date_trunc('hour', $1, 'UTC') - h * interval '1 hour', k.key_id, 'GET /assessments', s, '', 12, $1, 1, 2, 0
      from access_key k, generate_series(0, 335) h, unnest(array[200, 304, 429]) s`,
  endpoints: `
    insert into webhook_endpoint (organisation_id, endpoint_id, url, event_types, secret, created_at, updated_at, failing_since)
    select g, md5('e' || g || e)::uuid, 'https://hooks' || g || '.example/', '{assessment.completed}', '', $1, $1,
           case when g = 1077 and e = 1 then $1 - interval '2 hours' end
      from generate_series(1001, 1300) g, generate_series(1, 2) e`,
  deliveries: `
    insert into delivery (organisation_id, delivery_id, endpoint_id, event_id, created_at, status, next_attempt_at, finished_at)
    select w.organisation_id, gen_random_uuid(), w.endpoint_id, gen_random_uuid(), $1 - n * interval '1 minute',
           case when n <= 3 then 'pending' when n % 100 = 0 then 'dead' else 'succeeded' end, case when n <= 3 then $1 end, null
      from webhook_endpoint w, generate_series(1, 1667) n`,
};

test('300 organisations with 900 keys, 600 endpoints and 1 million deliveries take one statement and less than 1 second', async (t) => {
  for (const [name, text] of Object.entries(steps))
    await db.query(statement(`test.${name}`, text.replaceAll('$1', '$1::timestamptz')), [now]);
  for (const table of ['audit_hour', 'delivery', 'access_key', 'rate_window'])
    await db.query(statement(`test.vacuum_${table}`, `vacuum analyze ${table}`));
  let statements = 0;
  const counting = { ...db, query: (...words: Parameters<typeof db.query>) => (statements++, db.query(...words)) };
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const beganMs = performance.now();
    const { organisations } = await readStatus(counting as typeof db, { nowMs, silentAfter: 3 });
    times.push(performance.now() - beganMs);
    assert.equal(organisations.length, 300);
    assert.match(organisations[0]!.attention[0]!.text, /^Webhook endpoint hooks1077\.example has failed for 2 hours/);
    const silent = organisations.flatMap(({ keys }) => keys).filter((key) => key.is_silent);
    assert.deepEqual(
      silent.map(({ key_id }) => key_id),
      ['ARSK11501'],
    );
    assert.equal(organisations[0]!.dead_letters, 32);
  }
  assert.equal(statements, 5);
  t.diagnostic(`${times.map((ms) => ms.toFixed(0)).join(', ')} ms`);
  assert.ok(times.toSorted((a, b) => a - b)[2]! < 1000, String(times));
});
