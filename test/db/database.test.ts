import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { freshDatabase, withDatabase } from '../postgres.ts';
import { thisServer } from '../service.ts';

const refused = /a second connection was asked for inside a transaction/;

suite('whoever holds a connection is refused a second one', async () => {
  const database = await freshDatabase(await thisServer(), { migrated: false });

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
