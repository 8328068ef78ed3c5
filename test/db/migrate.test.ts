import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { manualClock } from '../../src/clock.ts';
import type { Database, Tx } from '../../src/db/database.ts';
import { migrate, partsOf, SchemaTooNew } from '../../src/db/migrate.ts';
import { freePort } from '../ports.ts';
import { ars } from '../ars.ts';
import { freshDatabase, onCitus, withDatabase } from '../postgres.ts';
import { thisServer } from '../service.ts';
import { schemaText } from './schema-text.ts';

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const folder = new URL('../../src/db/migrations/', import.meta.url);
const secret = 'a secret of the tests, longer than 32 characters';
const numbers = (await readdir(folder)).map((name) => Number(name.slice(0, 4))).sort((a, b) => a - b);

async function inEmptyDatabase(inside: (db: Database, url: string) => Promise<void>): Promise<void> {
  const database = await freshDatabase(await thisServer(), { migrated: false });
  await withDatabase(database.url, (db) => inside(db, database.url));
  await database.drop();
}

suite('migrate', () => {
  test('applies every migration once, in order', () =>
    inEmptyDatabase(async (db) => {
      assert.deepEqual(await migrate(db, clock), numbers);
      assert.deepEqual(await migrate(db, clock), []);
      const rows = await db.query<{ number: number; applied_at: Date }>(
        'select number, applied_at from migration order by number',
      );
      assert.deepEqual(
        rows.map((row) => row.number),
        numbers,
      );
      assert.ok(rows.every((row) => row.applied_at.getTime() === clock.nowMs()));
    }));

  test('a file comes apart into statements, each of which is one', () =>
    inEmptyDatabase(async (db) => {
      const outside = db.dedicated();
      try {
        for (const name of (await readdir(folder)).sort()) {
          const text = await readFile(new URL(name, folder), 'utf8');
          const parts = partsOf(text);
          // Prepared under a name, several at once are refused, as Citus's nodes refuse them.
          const runOn = async (tx: Tx) => {
            for (const [i, part] of parts.entries()) await tx.query({ name: `${name} ${i}`, text: part });
          };
          if (text.startsWith('-- concurrently')) await runOn(outside);
          else
            await db.transaction(async (tx) => {
              await tx.query("select set_config('ars.now', '2026-01-31T09:00:00.000Z', true)");
              await runOn(tx);
            });
        }
      } finally {
        await outside.close();
      }
    }));

  test('a database that is distributed is migrated', { skip: !onCitus }, async () => {
    const { url, drop } = await freshDatabase(await thisServer());
    await withDatabase(url, async (db) => {
      // One file that alters an index and a function, and may be run again.
      await db.query('delete from migration where number = 114');
      assert.deepEqual(await migrate(db, clock), [114]);
    });
    await drop();
  });

  test('by any number of processes at once', () =>
    inEmptyDatabase(async (_, url) => {
      // Many, so that the very first statements of some meet.
      const applied = await Promise.all(
        Array.from({ length: 12 }, () => withDatabase(url, (db) => migrate(db, clock))),
      );
      assert.deepEqual(
        applied.flat().sort((a, b) => a - b),
        numbers,
      );
    }));

  test('by the command, and `distribute` too, only where both addresses lead to one database', () =>
    inEmptyDatabase((db, url) =>
      inEmptyDatabase(async (_, other) => {
        const says = async (words: string[], direct: string) => {
          const environment = { DATABASE_URL: url, DATABASE_DIRECT_URL: direct, ARS_SECRET: secret };
          const { out, said } = await ars(words, environment);
          return out + said;
        };
        for (const words of [['migrate'], ['distribute', '--dry-run']])
          assert.match(await says(words, other), /^ars: DATABASE_URL and DATABASE_DIRECT_URL lead to two databases/);
        assert.match(await says(['migrate'], url), /^Applied migrations [\d, ]+\.\n$/);
        assert.deepEqual(await migrate(db, clock), []);
      }),
    ));

  test('by the command while nobody answers at the pooler', () =>
    inEmptyDatabase(async (db, url) => {
      const away = new URL(url);
      away.hostname = '127.0.0.1';
      away.port = String(await freePort());
      const environment = { DATABASE_URL: away.href, DATABASE_DIRECT_URL: url, ARS_SECRET: secret };
      const { code, out } = await ars(['migrate'], environment);
      assert.equal(code, 0);
      assert.match(
        out,
        /^Applied migrations [\d, ]+\.\nNobody answers at DATABASE_URL: whether it leads to \w+, too, /,
      );
      assert.ok(out.includes(new URL(url).pathname.slice(1)), 'it is said which one was migrated');
      assert.deepEqual((await ars(['migrate', '--json'], environment)).json, { applied: [], one_database: false });
      assert.deepEqual(await migrate(db, clock), []);
    }));

  test('goes on where an older version of the service ended', () =>
    inEmptyDatabase(async (db) => {
      await migrate(db, clock);
      await db.query('create table kept (x int4)');
      await db.query('delete from migration where number = $1', [numbers[0]]);
      await assert.rejects(migrate(db, clock), 'what exists is not made twice');
      assert.equal(
        (await db.query('select from migration')).length,
        numbers.length - 1,
        'a failed migration leaves no trace',
      );
    }));

  test('refuses a database that is newer than itself', () =>
    inEmptyDatabase(async (db) => {
      await migrate(db, clock);
      await db.query('insert into migration values ($1, $2, $3)', [9999, '9999_future.sql', new Date(clock.nowMs())]);
      await assert.rejects(migrate(db, clock), SchemaTooNew);
    }));

  test('builds indexes beside writers, by one process of several, and anew where it was broken off', () =>
    inEmptyDatabase(async (db, url) => {
      await migrate(db, clock);
      const building = `from pg_stat_activity where datname = current_database() and query ~ '^(create unique|drop) index concurrently .*learner_feed_covering'`;
      const waits = async () => {
        while ((await db.query(`select ${building} and wait_event_type = 'Lock'`)).length === 0) await delay(20);
      };
      const writer = db.dedicated();
      // One that is broken off, then two at once.
      for (const brokenOff of [true, false]) {
        await db.query('delete from migration where number = 77');
        const running = [1, 2].slice(brokenOff ? 1 : 0).map(() => withDatabase(url, (other) => migrate(other, clock)));
        const ended = Promise.allSettled(running);
        await writer.query('begin; lock table learner_feed in row exclusive mode');
        await waits();
        await db.query('begin; lock table learner_feed in row exclusive mode nowait; commit');
        if (brokenOff) await db.query(`select pg_terminate_backend(pid) ${building}`);
        if (brokenOff) await ended;
        await writer.query('commit');
        const made = (await ended).map((one) => (one.status === 'fulfilled' ? one.value : 'broken off'));
        if (brokenOff) assert.deepEqual(made, ['broken off']);
        else assert.deepEqual(made.flat(), [77]);
        assert.equal((await db.query('select from pg_index where not indisvalid')).length, brokenOff ? 1 : 0);
      }
      assert.equal(await readFile(new URL('../../src/db/schema.sql', import.meta.url), 'utf8'), await schemaText(db));
    }));

  test('refuses a database that is not in UTF-8', async () => {
    const { url } = await thisServer();
    for (const encoding of ['SQL_ASCII', 'LATIN1']) {
      const address = new URL(url);
      address.pathname = `/ars_test_${encoding.toLowerCase()}_${process.pid}`;
      const name = address.pathname.slice(1);
      await withDatabase(url, (db) =>
        db.query(
          `create database ${name} encoding '${encoding}' locale_provider libc lc_collate 'C' lc_ctype 'C' template template0`,
        ),
      );
      await withDatabase(address.href, (db) =>
        assert.rejects(migrate(db, clock), { message: new RegExp(`encoding is ${encoding}, and must be UTF8`) }),
      );
      await withDatabase(url, (db) => db.query(`drop database ${name}`));
    }
  });

  // The version before still writes, and an index on a table of millions takes minutes.
  test('no index of a table that was there before is built inside a transaction', async () => {
    for (const name of (await readdir(folder)).filter((one) => one >= '0076')) {
      const text = await readFile(new URL(name, folder), 'utf8');
      if (text.startsWith('-- concurrently\n')) continue;
      const tables = [...text.matchAll(/^\s*create (?:unique )?index \S+ on (\w+)/gim)].map(([, table]) => table!);
      const before = tables.filter((table) => !new RegExp(`create table (if not exists )?${table}\\b`, 'i').test(text));
      assert.deepEqual(before, [], `${name}: see "concurrently" in src/db/migrate.ts`);
    }
  });

  // Branches that land in another order than they were numbered leave gaps for a while.
  test('numbers are four digits, each given once', async () => {
    for (const name of await readdir(folder)) assert.match(name, /^\d{4}_\w+\.sql$/);
    assert.equal(new Set(numbers).size, numbers.length);
  });
});

test('names have the words under which older versions put them into the index', () =>
  inEmptyDatabase(async (db) => {
    await migrate(db, clock);
    const made = await readFile(new URL('0050_learner_search.sql', folder), 'utf8');
    const [before] = /^create function name_words\(.*?^end \$\$;/ms.exec(made)!;
    await db.query(before.replace('name_words', 'words_before'));
    const long = [`${'x'.repeat(150)} ${'y'.repeat(101)}-${'z'.repeat(99)}`, 'ab-'.repeat(60), `${'o’'.repeat(99)}'n`];
    const names = [
      ...['', ' ', "'-", '--', "a'''b", 'a - b', "o'brien", 'smith-jones', "d'arc-o'neil, ana", 'ana ana silva'],
      ...['zoë \u00a0x', '王 小明', 'a\u0001b\nc', 'a`{~}[d]^e_f\\g"h', 'a:b a:b', '12 3', ...long],
    ];
    const rows = await db.query<{ name: string; words: string; before: string }>(
      `select name, name_words(12, folded_name(name)) as words, words_before(12, folded_name(name)) as before
         from unnest($1::text[]) as n(name)`,
      [names],
    );
    for (const { name, words, before } of rows) assert.equal(words, before, name);
    assert.equal(rows.find((row) => row.name === "o'brien")?.words, "'12:brien' '12:o' '12:obrien'");
  }));

test('the golden schema is what the migrations make', () =>
  inEmptyDatabase(async (db) => {
    await migrate(db, clock);
    assert.equal(
      await readFile(new URL('../../src/db/schema.sql', import.meta.url), 'utf8'),
      await schemaText(db),
      'run npm run check -- --write',
    );
  }));
