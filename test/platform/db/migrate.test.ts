import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { manualClock } from '../time/manual-clock.ts';
import type { Database, Tx } from '../../../src/platform/db/database.ts';
import { planDistribution } from '../../../src/platform/db/citus/distribute.ts';
import { placements } from '../../../src/platform/db/citus/distribution.ts';
import { DatabaseUnfit, migrate, partsOf, SchemaTooNew } from '../../../src/platform/db/migrate.ts';
import { freePort } from '../../support/ports.ts';
import { ars } from '../../support/ars.ts';
import { atPort, freshDatabase, onCitus, withDatabase } from '../../support/postgres.ts';
import { thisServer } from '../../support/service.ts';
import { schemaText } from './schema-text.ts';

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const folder = new URL('../../../src/platform/db/migrations/', import.meta.url);
const secret = 'a secret of the tests, longer than 32 characters';
const numbers = (await readdir(folder)).map((name) => Number(name.slice(0, 4))).sort((a, b) => a - b);

/** What later versions may add: a column, a table and a function, and an index that is built beside writers. */
const later = {
  '9001_nickname.sql': `alter table learner add column nickname text;
create table nickname_use (
  organisation_id int8 not null references organisation,
  learner_id uuid not null,
  used_at timestamptz not null,
  primary key (organisation_id, learner_id)
);
alter table nickname_use add constraint nickname_use_learner_fkey
  foreign key (organisation_id, learner_id) references learner;
create function shout(said text) returns text immutable language plpgsql as $$
begin
  return upper(said);
end $$;
`,
  '9002_nicknames.sql': `-- concurrently
-- Searched by tutors.

drop index concurrently if exists learner_nickname;

create unique index concurrently learner_nickname on learner (organisation_id, nickname) where nickname is not null;
`,
};

/** The migrations of a later version, in a folder of their own. */
async function laterVersion(inside: (folder: URL) => Promise<void>): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), 'ars-later-'));
  try {
    for (const name of await readdir(folder)) await copyFile(new URL(name, folder), join(path, name));
    for (const [name, text] of Object.entries(later)) await writeFile(join(path, name), text);
    await inside(pathToFileURL(`${path}/`));
  } finally {
    await rm(path, { recursive: true });
  }
}

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

  test('a database that is distributed is migrated, its new tables too', { skip: !onCitus }, async () => {
    const { url, drop } = await freshDatabase(await thisServer());
    placements.nickname_use = 'organisation';
    await withDatabase(url, async (db) => {
      await laterVersion(async (from) => assert.deepEqual(await migrate(db, clock, from), [9001, 9002]));
      const steps = await planDistribution(db, 3);
      assert.deepEqual(
        steps.filter(({ done }) => !done),
        [],
      );
      assert.ok(steps.some(({ step }) => step === 'nickname_use: by organisation'));
      assert.equal((await db.query("select from pg_constraint where conname = 'nickname_use_learner_fkey'")).length, 1);
    });
    delete placements.nickname_use;
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
      const environment = { DATABASE_URL: atPort(url, await freePort()), DATABASE_DIRECT_URL: url, ARS_SECRET: secret };
      const { code, out } = await ars(['migrate'], environment);
      assert.equal(code, 0);
      assert.match(
        out,
        /^Applied migrations [\d, ]+\.\nNo database answers at DATABASE_URL\. The service checks at its start whether it leads to \w+, /,
      );
      assert.ok(out.includes(new URL(url).pathname.slice(1)), 'it is said which one was migrated');
      assert.deepEqual((await ars(['migrate', '--json'], environment)).json, { applied: [], one_database: false });
      assert.deepEqual(await migrate(db, clock), []);
    }));

  test('goes on where the version before ended, which goes on reading and writing', () =>
    inEmptyDatabase((db) =>
      laterVersion(async (from) => {
        await migrate(db, clock);
        await db.query("insert into refused_calls values (to_timestamp(0), 'x', 7)");
        assert.deepEqual(await migrate(db, clock, from), [9001, 9002]);
        assert.deepEqual(await migrate(db, clock, from), []);
        const [row] = await db.query("select calls, shout('a') as said from refused_calls");
        assert.deepEqual(row, { calls: 7, said: 'A' });
        assert.equal((await db.query("select from pg_indexes where indexname = 'learner_nickname'")).length, 1);
        // The version before doesn't start any more; its processes that run go on.
        await assert.rejects(migrate(db, clock), SchemaTooNew);
        await db.query("insert into refused_calls values (to_timestamp(60), 'x', 7)");
      }),
    ));

  test('a failed migration leaves no trace', () =>
    inEmptyDatabase((db) =>
      laterVersion(async (from) => {
        await migrate(db, clock);
        await db.query('alter table learner add column nickname text');
        await assert.rejects(migrate(db, clock, from), 'what exists is not made twice');
        const rows = await db.query<{ number: number }>('select number from migration order by number');
        assert.deepEqual(
          rows.map((row) => row.number),
          numbers,
        );
        assert.deepEqual(await db.query("select from pg_proc where proname = 'shout'"), []);
      }),
    ));

  test('refuses a database of before 1.0.0', () =>
    inEmptyDatabase(async (db, url) => {
      await db.query(
        'create table migration (number int4 primary key, name text not null, applied_at timestamptz not null)',
      );
      await db.query(
        "insert into migration values (1, '0001_initial.sql', now()), (116, '0116_past_suspensions.sql', now())",
      );
      const message = 'This database was made by a version before 1.0.0. Create a new one.';
      await assert.rejects(migrate(db, clock), (error) => error instanceof DatabaseUnfit && error.message === message);
      const { code, said } = await ars(['migrate'], { DATABASE_URL: url, ARS_SECRET: secret });
      assert.deepEqual([code, said], [1, `ars: ${message}\n`]);
      assert.deepEqual(await db.query("select from pg_class where relname = 'organisation'"), []);
    }));

  test('refuses a database that is newer than itself', () =>
    inEmptyDatabase(async (db) => {
      await migrate(db, clock);
      await db.query('insert into migration values ($1, $2, $3)', [9999, '9999_future.sql', new Date(clock.nowMs())]);
      await assert.rejects(migrate(db, clock), SchemaTooNew);
    }));

  test('builds indexes beside writers, by one process of several, and anew where it was broken off', () =>
    inEmptyDatabase((db, url) =>
      laterVersion(async (from) => {
        await migrate(db, clock, from);
        await db.query('delete from migration where number = 9002; drop index learner_nickname');
        const building = `from pg_stat_activity where datname = current_database() and query ~ '^(create unique|drop) index concurrently .*learner_nickname'`;
        const waits = async () => {
          while ((await db.query(`select ${building} and wait_event_type = 'Lock'`)).length === 0) await delay(20);
        };
        const writer = db.dedicated();
        // One that is broken off, then two at once.
        for (const brokenOff of [true, false]) {
          await writer.query('begin; lock table learner in row exclusive mode');
          const running = [1, 2]
            .slice(brokenOff ? 1 : 0)
            .map(() => withDatabase(url, (other) => migrate(other, clock, from)));
          const ended = Promise.allSettled(running);
          await waits();
          await db.query('begin; lock table learner in row exclusive mode nowait; commit');
          if (brokenOff) await db.query(`select pg_terminate_backend(pid) ${building}`);
          if (brokenOff) await ended;
          await writer.query('commit');
          const made = (await ended).map((one) => (one.status === 'fulfilled' ? one.value : 'broken off'));
          if (brokenOff) assert.deepEqual(made, ['broken off']);
          else assert.deepEqual(made.flat(), [9002]);
          assert.equal((await db.query('select from pg_index where not indisvalid')).length, brokenOff ? 1 : 0);
        }
        await writer.close();
      }),
    ));

  test('refuses a database that is not in UTF-8', async () => {
    const { url, disposable } = await thisServer();
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
        assert.rejects(migrate(db, clock), {
          message: new RegExp(`encoding of the database is ${encoding}, and must be UTF8`),
        }),
      );
      if (!disposable) await withDatabase(url, (db) => db.query(`drop database ${name}`));
    }
  });

  // The version before still writes, and an index on a table of millions takes minutes.
  test('no index of a table that was there before is built inside a transaction', async () => {
    for (const name of await readdir(folder)) {
      const text = await readFile(new URL(name, folder), 'utf8');
      if (text.startsWith('-- concurrently\n')) continue;
      const tables = [...text.matchAll(/^\s*create (?:unique )?index \S+ on (\w+)/gim)].map(([, table]) => table!);
      const before = tables.filter((table) => !new RegExp(`create table (if not exists )?${table}\\b`, 'i').test(text));
      assert.deepEqual(before, [], `${name}: see "concurrently" in src/platform/db/migrate.ts`);
    }
  });

  // Branches that land in another order than they were numbered leave gaps for a while.
  test('numbers are four digits, each given once', async () => {
    for (const name of await readdir(folder)) assert.match(name, /^\d{4}_\w+\.sql$/);
    assert.equal(new Set(numbers).size, numbers.length);
  });
});

test('a name is found by its words, and by each that it is written together with', () =>
  inEmptyDatabase(async (db) => {
    await migrate(db, clock);
    const long = `${'x'.repeat(150)} ${'y'.repeat(101)}-${'z'.repeat(99)}`;
    const words: Record<string, string[]> = {
      '': [],
      "'-": [],
      "o'brien": ['brien', 'o', 'obrien'],
      'smith-jones': ['jones', 'smith', 'smithjones'],
      'ana ana silva': ['ana', 'silva'],
      zoë: ['zoe'],
      '王 小明': ['小明', '王'],
      [long]: ['x'.repeat(100), 'y'.repeat(100), `${'y'.repeat(100)}`, 'z'.repeat(99)],
    };
    for (const [name, expected] of Object.entries(words)) {
      const [row] = await db.query<{ words: string[] }>(
        'select tsvector_to_array(name_words(12, folded_name($1))) as words',
        [name],
      );
      assert.deepEqual(row!.words, [...new Set(expected)].map((word) => `12:${word}`).sort(), name);
    }
  }));

test('the golden schema is what the migrations make', () =>
  inEmptyDatabase(async (db) => {
    await migrate(db, clock);
    assert.equal(
      await readFile(new URL('../../../src/platform/db/schema.sql', import.meta.url), 'utf8'),
      await schemaText(db),
      'run npm run check -- --write',
    );
  }));
