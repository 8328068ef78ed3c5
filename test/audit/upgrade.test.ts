import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { suite, test } from 'node:test';
import pg from 'pg';
import { manualClock } from '../../src/clock.ts';
import { migrate } from '../../src/db/migrate.ts';
import { freshDatabase, withDatabase } from '../postgres.ts';
import { thisServer } from '../service.ts';

/** The log becomes partitioned while the version before still writes to it, and nothing of it is copied or lost. */

const folder = new URL('../../src/db/migrations/', import.meta.url);
const clock = manualClock(Date.UTC(2026, 10, 22, 12));
const day = 86_400_000;

/** The statement of the version before, named as there, so that it stays prepared on its connection. */
const insert = {
  name: 'audit.insert',
  text: `insert into audit (organisation_id, at, request_id, actor, action, resource, status)
         select 1, to_timestamp(ms / 1000.0), md5(ms::text)::uuid, 'ARSKOLD', 'GET /groups', null, 200 from unnest($1::int8[]) as u(ms)`,
};

async function before() {
  const database = await freshDatabase(await thisServer(), { migrated: false });
  const old = new pg.Client({ connectionString: database.url });
  await old.connect();
  await old.query(
    'create table migration (number int4 primary key, name text not null, applied_at timestamptz not null)',
  );
  for (const name of (await readdir(folder)).sort()) {
    if (Number(name.slice(0, 4)) >= 27) continue;
    await old.query("select set_config('ars.now', $1, false)", [new Date(clock.nowMs()).toISOString()]);
    await old.query(await readFile(new URL(name, folder), 'utf8'));
    await old.query('insert into migration values ($1, $2, to_timestamp(0))', [Number(name.slice(0, 4)), name]);
  }
  return { database, old, writes: (...atMs: number[]) => old.query({ ...insert, values: [`{${atMs.join()}}`] }) };
}

suite('a log of the version before', async () => {
  const { database, old, writes } = await before();
  const now = clock.nowMs();

  test('stays open for writers while it is read through, and is the partition of everything before', async () => {
    await writes(...Array.from({ length: 50 }, (_, i) => now - 400 * day + i * 8 * day));
    // A clock that was a year ahead once must not push the months a year away.
    await writes(now + 365 * day);
    await withDatabase(database.url, async (db) => {
      const file = (number: string) => readFile(new URL(number, folder), 'utf8');
      await db.transaction(async (tx) => {
        await tx.query("select set_config('ars.now', $1, true)", [new Date(now).toISOString()]);
        await tx.query(await file('0027_audit_sealing.sql'));
      });
      await db.transaction(async (tx) => {
        await tx.query(await file('0028_audit_bound.sql'));
        await old.query("set lock_timeout = '2s'");
        await writes(now);
      });
      await db.query("insert into migration values (27, 'x', to_timestamp(0)), (28, 'x', to_timestamp(0))");
      const [{ node }] = (await db.query<{ node: number }>("select pg_relation_filenode('audit') as node")) as [
        { node: number },
      ];
      await migrate(db, clock);
      const [moved] = await db.query<{ node: number }>("select pg_relation_filenode('audit_before') as node");
      assert.equal(moved!.node, node, 'the very same file');
      const parts = await db.query<{ part: string; count: number }>(
        'select tableoid::regclass::text as part, count(*) as count from audit group by 1 order by 1',
      );
      assert.deepEqual(parts, [
        { part: 'audit_before', count: 51 },
        { part: 'audit_default', count: 1 },
      ]);
      assert.deepEqual(
        await db.query('select * from audit_indexes_missing()'),
        [],
        'what was there before is read by index, too',
      );
    });
  });

  test('takes rows of processes that still run, in the month that they belong to', async () => {
    await writes(now + 1000, now + 41 * day, now + 200 * day);
    const { rows } = await old.query<{ part: string }>(
      'select tableoid::regclass::text as part from audit order by audit_id desc limit 3',
    );
    assert.deepEqual(
      rows.map(({ part }) => part),
      ['audit_default', 'audit_2027_01', 'audit_before'],
    );
    const { rows: ids } = await old.query('select count(distinct audit_id)::int4 as n from audit');
    assert.equal(ids[0].n, 55);
    await old.end();
  });
});
