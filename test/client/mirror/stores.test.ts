import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, suite, test } from 'node:test';
import pg from 'pg';
import type { StoreUnderTest } from '../../../client/src/stores/conformance.ts';
import { storeConformance } from '../../../client/src/stores/conformance.ts';
import { jsonFileStore } from '../../../client/src/stores/json-file.ts';
import { postgresStore } from '../../../client/src/stores/postgres.ts';
import { sqliteStore } from '../../../client/src/stores/sqlite.ts';
import { isDamaged } from '../../../client/src/sync/mirror.ts';
import type { Assessment, Store } from '../../../client/src/index.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { thisServer } from '../../support/service.ts';

const folder = await mkdtemp(join(tmpdir(), 'ars-stores-'));
after(() => rm(folder, { recursive: true, force: true }));

/** Stores by number, each place with the stores that were opened on it. */
function placed(make: (place: string) => Store, isShared: boolean): StoreUnderTest {
  let count = 0;
  const places = new Map<Store, string>();
  const at = async (place: string) => {
    const store = make(place);
    places.set(store, place);
    return store;
  };
  return { fresh: () => at(`mirror_${++count}`), again: (store) => at(places.get(store)!), isShared };
}

const database = await freshDatabase(await thisServer(), { migrated: false });
const pool = new pg.Pool({ connectionString: database.url, max: 4 });
after(() => pool.end());
const files: DatabaseSync[] = [];
after(() => {
  for (const file of files) file.close();
});
const sqlite = (place: string): Store => {
  const file = new DatabaseSync(join(folder, `${place}.sqlite`));
  files.push(file);
  return sqliteStore(file);
};

for (const [name, store] of [
  ['PostgreSQL', placed((table) => postgresStore(pool, { table }), true)],
  // Two connections of one process wait for each other in vain: SQLite makes the whole process wait.
  ['SQLite', placed(sqlite, false)],
  ['a JSON file', placed((place) => jsonFileStore(join(folder, `${place}.json`)), false)],
] as const) {
  suite(`a store in ${name}`, () => {
    for (const { name: what, run } of storeConformance(store)) test(what, run);
  });
}

suite('a JSON file that two processes keep', () => {
  const row = (id: string) => ({ id, updated_at: '', generation: 1, check: '', record: {} as Assessment });
  const idsOf = (store: Store) => store.transaction(async (all) => (await all.list(null, 10)).map(({ id }) => id));

  test('shows each what the other has written, and takes nothing back', async () => {
    const path = join(folder, 'shared.json');
    const [one, two] = [jsonFileStore(path), jsonFileStore(path)];
    await one.open();
    await two.open();
    await one.transaction((all) => all.put([row('a')]));
    await two.transaction((all) => all.put([row('b')]));
    assert.deepEqual(await idsOf(one), ['a', 'b']);
    const overtaken = one.transaction(async (all) => {
      await all.put([row('c')]);
      await two.transaction((other) => other.put([row('d')]));
    });
    await assert.rejects(overtaken, { name: 'Overtaken' });
    for (const store of [one, two]) assert.deepEqual(await idsOf(store), ['a', 'b', 'd']);
    await rm(path);
    for (const store of [one, two]) assert.deepEqual(await idsOf(store), []);
  });

  test('and somebody has damaged by hand shows rows that differ, each under its own id', async () => {
    const path = join(folder, 'damaged.json');
    const damaged = { a: null, b: 5, c: {}, d: { ...row('a'), generation: 'x' } };
    await writeFile(path, JSON.stringify({ state: null, results: damaged }));
    const store = jsonFileStore(path);
    await store.open();
    assert.deepEqual(await idsOf(store), ['a', 'b', 'c', 'd']);
    await store.transaction(async (all) => {
      const rows = await all.list(null, 10);
      assert.ok(rows.every((one) => isDamaged(one) && Number.isSafeInteger(one.generation)));
      await all.remove(rows.map(({ id }) => id));
    });
    assert.deepEqual(await idsOf(store), []);
  });

  test('leaves no drafts of processes that were killed', async () => {
    const path = join(folder, 'killed.json');
    await writeFile(`${path}.0.new`, '{"state":');
    await utimes(`${path}.0.new`, 1, 1);
    const store = jsonFileStore(path);
    await store.transaction((all) => all.put([row('a')]));
    await store.open();
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.startsWith('killed.json')),
      ['killed.json'],
    );
  });
});
