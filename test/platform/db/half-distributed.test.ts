import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { systemClock } from '../../../src/platform/time/clock.ts';
import type { Database } from '../../../src/platform/db/database.ts';
import { NotReady, proveAlone } from '../../../src/platform/db/citus/distribute.ts';
import { proveWhole } from '../../../src/platform/db/citus/distributed.ts';
import { advisoryLocks } from '../../../src/platform/db/locks.ts';
import { DatabaseUnfit, migrate } from '../../../src/platform/db/migrate.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import { freshDatabase, waitForLocks, withDatabase } from '../../support/postgres.ts';
import { thisServer } from '../../support/service.ts';

/** While `ars distribute` is at it there are no foreign keys: nothing is served, and it goes on only where nobody is. */

suite('a database that is half distributed', async () => {
  const { url, drop } = await freshDatabase(await thisServer());
  const open = () => openApp({ ...readSettings({ DATABASE_URL: url, ARS_SECRET: 'x'.repeat(32) }), log: 'none' }, {});
  const refusal = (error: unknown) =>
    error instanceof DatabaseUnfit && /half distributed.*run ars distribute to its end/.test(error.message);
  const aside = 'create table distribution_reference (table_name text, name text, definition text)';

  test('is not opened, whenever its keys are put aside, but migrated', () =>
    withDatabase(url, async (db) => {
      await (await open()).close();
      await db.query(aside);
      await assert.rejects(open(), refusal);
      assert.deepEqual(await migrate(db, systemClock), []);
      await db.query('drop table distribution_reference');
      // Whoever comes in the middle of it.
      let opening: Promise<unknown>;
      await db.transaction(async (tx) => {
        await tx.query('select pg_advisory_xact_lock($1)', [advisoryLocks.migration]);
        await tx.query(aside);
        opening = open();
        opening.catch(() => {});
        while ((await tx.query(waitForLocks)).length === 0);
      });
      await assert.rejects(opening!, refusal);
      await db.query('drop table distribution_reference');
      await (await open()).close();
    }));

  test('or migrated is waited for, for longer than for any other lock', () =>
    withDatabase(url, (db) =>
      withDatabase(url, async (other) => {
        const impatient: Database = {
          ...other,
          transaction: (inside, turn) =>
            other.transaction(async (tx) => {
              await tx.query("set local lock_timeout = '20ms'");
              return inside(tx);
            }, turn),
        };
        for (const start of [() => proveWhole(impatient), () => migrate(impatient, systemClock)]) {
          const starting = await db.transaction(async (tx) => {
            await tx.query('select pg_advisory_xact_lock($1)', [advisoryLocks.migration]);
            const begun = {
              ended: start().then(
                () => null,
                (error: unknown) => error,
              ),
            };
            await tx.query('select pg_sleep(0.5)');
            return begun;
          });
          assert.equal(await starting.ended, null);
        }
      }),
    ));

  test('is distributed no further while somebody is connected', () =>
    withDatabase(url, async (db) => {
      const { app, close } = await open();
      await app.db.query('select');
      await assert.rejects(
        db.transaction((tx) => proveAlone(tx)),
        (error) => error instanceof NotReady && /The service still has \d+ connections/.test(error.message),
      );
      await close();
      await db.transaction((tx) => proveAlone(tx));
      await drop();
    }));
});
