import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { putReferencesAside } from '../../../src/platform/db/citus/distribute.ts';
import { placements } from '../../../src/platform/db/citus/distribution.ts';
import { partsOf } from '../../../src/platform/db/migrate.ts';
import { freshDatabase, onCitus, withDatabase } from '../../support/postgres.ts';
import { thisServer } from '../../support/service.ts';
import { readStatements } from '../../support/statements.ts';
import { crossingOf, isByOrganisation, wholeOf } from './bindings.ts';
import { crossing, foundByPlace, keyedOtherwise, unexplained, volatileCalls } from './crossing.ts';

/**
 * What the code asks of its tables can be answered by the node that holds the organisation (docs/decisions/0030). It is read
 * from PostgreSQL's own plans: what a statement binds a table's rows to, whatever way it was written in.
 */

const volatile = `
  select distinct proname as name from pg_proc where provolatile = 'v' and proname not in ('set_config', 'pg_notify')`;

const keysOf = `
  select c.relname as table, i.relname as key, array_agg(a.attname::text) as columns
    from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
    join pg_attribute a on a.attrelid = c.oid and a.attnum = any(x.indkey::int2[])
   where x.indisunique and c.relnamespace = 'public'::regnamespace group by 1, 2 order by 1, 2`;

const referencesOf = `
  select c.conname as name, f.relname as "from", t.relname as "to",
         array(select a.attname::text from unnest(c.conkey) with ordinality k(n, i) join pg_attribute a on a.attrelid = f.oid and a.attnum = k.n order by k.i) as columns,
         array(select a.attname::text from unnest(c.confkey) with ordinality k(n, i) join pg_attribute a on a.attrelid = t.oid and a.attnum = k.n order by k.i) as theirs
    from pg_constraint c join pg_class f on f.oid = c.conrelid join pg_class t on t.oid = c.confrelid
   where c.contype = 'f' and c.conparentid = 0 and f.relnamespace = 'public'::regnamespace order by 1`;

// A database that is distributed plans otherwise, and has another key: what is read here is one PostgreSQL's.
suite('the database can be distributed by organisation', { skip: onCitus }, async () => {
  const { url, drop } = await freshDatabase(await thisServer());
  const texts = await readStatements();

  test('every table has a place, and those by organisation name it in every key', () =>
    withDatabase(url, async (db) => {
      const tables = await db.query<{ name: string; column: boolean }>(
        `select relname as name, exists (select from pg_attribute a where a.attrelid = c.oid and attname = 'organisation_id' and atttypid = 'int8'::regtype) as column
           from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
      );
      assert.deepEqual(
        tables.map(({ name }) => name),
        Object.keys(placements).sort(),
      );
      for (const { name, column } of tables) if (placements[name] === 'organisation') assert.ok(column, name);
      const keys = await db.query<{ table: string; key: string; columns: string[] }>(keysOf);
      assert.ok(keys.length > 60);
      const found = keys.filter(
        ({ table, columns }) => isByOrganisation(table) && !columns.includes('organisation_id'),
      );
      assert.deepEqual(
        found.map(({ key }) => key),
        Object.keys(keyedOtherwise),
      );
    }));

  test('no foreign key leads to where its rows are not', () =>
    withDatabase(url, async (db) => {
      const all = await db.query<{ name: string; from: string; to: string; columns: string[]; theirs: string[] }>(
        referencesOf,
      );
      assert.ok(all.length > 40);
      const wrong = all.filter(({ from, to, columns, theirs }) => {
        const [here, there] = [placements[wholeOf(from)], placements[wholeOf(to)]];
        if (there === 'reference') return false;
        if (here === 'organisation' && there === 'organisation')
          return !columns.some((column, i) => column === 'organisation_id' && theirs[i] === column);
        return here !== 'local' || there !== 'local';
      });
      assert.deepEqual(
        wrong.map(({ name }) => name),
        [],
      );
    }));

  test('all foreign keys are put aside, and can come back on a cluster', async () => {
    const fresh = await freshDatabase(await thisServer());
    await withDatabase(fresh.url, async (db) => {
      const keys = `select f.relname as table from pg_constraint c join pg_class f on f.oid = c.conrelid
                     where c.contype = 'f' and f.relnamespace = 'public'::regnamespace`;
      await db.transaction(putReferencesAside);
      assert.deepEqual(await db.query(keys), []);
      const kept = await db.query<{ table: string }>('select table_name as table from distribution_reference');
      assert.ok(kept.length > 40);
      // A partition's own can't come back on a cluster.
      assert.ok(kept.every(({ table }) => placements[table] !== undefined));
    });
    await fresh.drop();
  });

  test('there are no triggers and no functions in SQL, which are carried out elsewhere than they are called', () =>
    withDatabase(url, async (db) => {
      const found = await db.query(
        `select tgname as name from pg_trigger where not tgisinternal
         union all select proname from pg_proc p join pg_language l on l.oid = p.prolang where l.lanname = 'sql' and p.pronamespace = 'public'::regnamespace`,
      );
      assert.deepEqual(found, []);
    }));

  test('a statement asks for one organisation, or stands in the list of those that ask for several, with its reason', () =>
    withDatabase(url, async (db) => {
      assert.ok(texts.size > 600);
      const { found, opaque } = await crossingOf(db, texts);
      assert.deepEqual(opaque, unexplained);
      assert.deepEqual(found, Object.keys(crossing).sort());
    }));

  test('what changes rows calls nothing whose value changes by itself', () =>
    withDatabase(url, async (db) => {
      const names = (await db.query<{ name: string }>(volatile)).map(({ name }) => name);
      const called = new RegExp(`\\b(${names.join('|')})\\s*\\(`, 'i');
      const found = [...texts].filter(([, text]) => /\b(update|delete from)\b/i.test(text) && called.test(text));
      assert.deepEqual(
        found.map(([name, text]) => `${name}: ${called.exec(text)![1]}`),
        Object.keys(volatileCalls),
      );
    }));

  test('no case compares a parameter by itself: a node writes it anew as a comparison with true', () => {
    const found = [...texts].filter(([, text]) => /\bcase\s+\$\d+(?:::\w+)?\s+when\b/i.test(text));
    assert.deepEqual(
      found.map(([name]) => name),
      [],
    );
  });

  test('what changes rows adds no interval to a column: a day is as long as a zone says, so Citus refuses it in an update', async () => {
    const folder = new URL('../../../src/platform/db/migrations/', import.meta.url);
    const changing = new Map(texts);
    for (const file of await readdir(folder))
      for (const [i, text] of partsOf(await readFile(new URL(file, folder), 'utf8')).entries())
        changing.set(`${file} ${i}`, text);
    const added = /\b\w+(?:_at|_until|_since|_from)\s*[+-]\s*(?:\$\d+::interval|\w*interval\b)/i;
    const found = [...changing].filter(([, text]) => /\b(update|delete from)\b/i.test(text) && added.test(text));
    assert.deepEqual(
      found.map(([name]) => name),
      [],
    );
  });

  test('what changes rows finds none by its place, or a cluster is asked otherwise', () => {
    const found = [...texts].filter(([, text]) => /\b(update|delete from)\b/i.test(text) && /\bctid\b/.test(text));
    assert.deepEqual(found.map(([name]) => name).sort(), Object.keys(foundByPlace));
    for (const instead of Object.values(foundByPlace)) if (instead !== null) assert.ok(texts.has(instead), instead);
  });

  test('the database that was read goes', drop);
});
