import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { DatabaseUnavailable } from '../../../src/platform/db/connection/unavailable.ts';
import { lockHeld } from '../../../src/platform/db/connection/unavailable.ts';
import { freshDatabase, withDatabase } from '../../support/postgres.ts';
import { thisServer } from '../../support/service.ts';

const refused = /a second connection was asked for inside a transaction/;

const database = await freshDatabase(await thisServer(), { migrated: false });

suite('whoever holds a connection is refused a second one', () => {
  test('for a statement, a transaction or a snapshot, however deep', () =>
    withDatabase(database.url, async (db) => {
      const asks: (() => Promise<unknown>)[] = [
        () => db.query('select 1'),
        () => db.transaction(async () => {}),
        () => db.snapshot(async () => {}),
        () => new Promise((resolve) => setImmediate(resolve)).then(() => db.query('select 1')),
        () => Promise.all([db.query('select 1'), db.query('select 2')]),
      ];
      for (const hold of [db.transaction, db.snapshot])
        for (const ask of asks) await assert.rejects(hold<unknown>(ask), refused);
      // The pool is whole, with two connections: nothing was left behind by what was refused.
      await Promise.all(Array.from({ length: 8 }, () => db.query('select 1')));
    }));

  test('not after the transaction, for what began inside it', () =>
    withDatabase(database.url, async (db) => {
      let over = () => {};
      const ended = new Promise<void>((resolve) => {
        over = resolve;
      });
      let late: Promise<unknown> = Promise.resolve();
      await db.transaction(async () => {
        late = ended.then(() => db.query<{ one: number }>('select 1 as one'));
      });
      over();
      assert.deepEqual(await late, [{ one: 1 }]);
    }));
});

test('an address with words of its own leaves the service its name and settings, and keeps the others', async () => {
  const sessionAt = async (url: string) => {
    const settings = `select current_setting('application_name') as name,
      current_setting('lock_timeout') as timeout, current_setting('seq_page_cost') as cost`;
    const [session] = await withDatabase(url, (db) => db.query(settings));
    return session!;
  };
  const plain = await sessionAt(database.url);
  assert.match(String(plain['name']), /^ars\//);
  const url = new URL(database.url);
  url.searchParams.set('application_name', 'reports');
  url.searchParams.set('options', '-c lock_timeout=1 -c seq_page_cost=7');
  const asked = await sessionAt(url.href);
  assert.deepEqual(asked, { ...plain, cost: '7' });
});

test('times are read right, and stand in JSON as UTC, whatever form and zone of them the database prefers', async () => {
  const name = new URL(database.url).pathname.slice(1);
  const atMs = Date.UTC(2028, 1, 29, 23, 59, 59, 999);
  for (const [style, zone] of [
    ['German, DMY', 'America/St_Johns'],
    ['SQL, MDY', 'Pacific/Chatham'],
  ]) {
    await withDatabase(database.url, async (db) => {
      await db.query(`alter database ${name} set datestyle = '${style}'`);
      await db.query(`alter database ${name} set timezone = '${zone}'`);
    });
    const [row] = await withDatabase(database.url, (db) =>
      db.query<{ at: Date; json: string }>('select $1::timestamptz as at, to_jsonb($1::timestamptz) as json', [
        new Date(atMs),
      ]),
    );
    assert.deepEqual([row!.at?.getTime(), row!.json], [atMs, '2028-02-29T23:59:59.999+00:00']);
  }
});

test('a lock that is held for too long at the commit is no lost connection: nothing was done, and that is known', () =>
  withDatabase(database.url, async (db) => {
    await db.query('create table committed (how text)');
    await db.query(`create function at_commit() returns trigger language plpgsql as $$ begin
      if new.how = 'lost' then perform pg_terminate_backend(pg_backend_pid()); perform 1; end if;
      raise exception 'held' using errcode = '55P03'; end $$`);
    await db.query(`create constraint trigger late after insert on committed deferrable initially deferred
      for each row execute function at_commit()`);
    const commits = (how: string) =>
      db.transaction((tx) => tx.query('insert into committed values ($1)', [how])).catch((error: unknown) => error);
    const [held, lost] = [await commits('held'), await commits('lost')] as DatabaseUnavailable[];
    assert.deepEqual([held!.code, held!.atCommit], [lockHeld, false]);
    assert.deepEqual([lost!.code, lost!.atCommit], ['57P01', true]);
    assert.deepEqual(await db.query('select from committed'), []);
  }));
