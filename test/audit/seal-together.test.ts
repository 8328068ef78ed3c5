import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { sealAudit, sealOrganisation } from '../../src/audit/seal.ts';
import { manualClock } from '../../src/clock.ts';
import { openDatabase } from '../../src/db/database.ts';
import { limits } from '../../src/limits.ts';
import { onCitus } from '../postgres.ts';
import type { TestOrganisation } from '../service.ts';
import { withService } from '../service.ts';
import { sealedLog } from './sealed.ts';

/** Several processes that seal, several organisations at once, and rows that are committed late. */

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ clock });
const { app } = service;
const minute = 60_000;
const { writes, blocksOf, intact } = sealedLog(service, clock);

suite('sealing', () => {
  test('by two processes at once puts each row into one block', async () => {
    const other = await service.sibling({ role: 'web' });
    const orgs = await Promise.all(Array.from({ length: 4 }, () => service.organisation()));
    for (const org of orgs) await writes(org, 9, 30_000);
    clock.advance(minute);
    await Promise.all([app, other.app, app, other.app].map((one) => sealAudit(one)));
    for (const org of orgs) {
      await sealOrganisation(app, org.id);
      const ids = (await blocksOf(org)).flatMap((block) => block.ids ?? []);
      assert.deepEqual([ids.length, new Set(ids).size], [9, 9]);
      await intact(org);
    }
  });

  test('of several organisations takes one transaction, and one that fails keeps none of the others', async () => {
    const orgs = await Promise.all(Array.from({ length: 4 }, () => service.organisation()));
    const ids = orgs.map((org) => org.id);
    const round = async () => {
      for (const org of orgs) await writes(org, 3);
      clock.advance(minute);
      await sealAudit(app);
    };
    const transactions = async (number: number) =>
      app.db.query<{ n: number; blocks: number }>(
        `select count(distinct xmin::text::int8)::int8 as n, count(*) as blocks from audit_block
          where organisation_id = any($1) and number = $2`,
        [ids, number],
      );
    // The first block of each is its own: there was no chain yet.
    await round();
    await round();
    assert.deepEqual(
      (await transactions(2)).map(({ blocks }) => blocks),
      [4],
    );
    if (!onCitus) assert.deepEqual(await transactions(2), [{ n: 1, blocks: 4 }]);
    // Its next block would be one that is there already.
    const chain = (blocks: number) =>
      app.db.query('update audit_chain set blocks = $2 where organisation_id = $1', [ids[1], blocks]);
    await chain(0);
    const lines = service.logged.length;
    await round();
    assert.deepEqual(
      (await transactions(3)).map(({ blocks }) => blocks),
      [3],
    );
    const logged = service.logged
      .slice(lines)
      .join('')
      .match(/"organisation_id":\d+/g);
    assert.deepEqual(logged, [`"organisation_id":${ids[1]}`]);
    await chain(2);
    await sealAudit(app);
    for (const org of orgs) assert.equal((await intact(org)).unsealed.rows, 0);
  });

  test('makes of each the blocks that it would have by itself', async () => {
    const pairs = await Promise.all(
      Array.from({ length: 8 }, async () => [await service.organisation(), await service.organisation()] as const),
    );
    for (const org of pairs.flat()) await writes(org, 1);
    clock.advance(minute);
    await sealAudit(app);
    const start = clock.nowMs();
    const days = 35 * 24 * 60 * minute;
    const offset = fc.oneof(fc.integer({ min: 0, max: 3 * minute }), fc.integer({ min: -days, max: days }));
    const times = fc.array(offset, { minLength: 1, maxLength: 12 });
    for (const [i, offsets] of fc.sample(times, pairs.length).entries())
      for (const ms of offsets) {
        clock.set(start + ms);
        for (const org of pairs[i]!) await writes(org, 1);
      }
    clock.set(start + 2 * days);
    for (const [, alone] of pairs) await sealOrganisation(app, alone.id);
    await sealAudit(app);
    for (const [together, alone] of pairs) {
      const shape = async (org: TestOrganisation) =>
        (await blocksOf(org)).map(({ first_at: first, last_at: last, rows }) => [first, last, rows]);
      assert.deepEqual(await shape(together), await shape(alone));
      assert.equal((await intact(together)).unsealed.rows, 0);
      const hours = async (org: TestOrganisation) =>
        app.db.query(
          'select hour, actor, action, status, code, calls, last_at, pages from audit_hour where organisation_id = $1 order by hour',
          [org.id],
        );
      assert.deepEqual(await hours(together), await hours(alone));
    }
  });

  test('leaves one that has many rows to be sealed by itself, into as large a block', async () => {
    const orgs = await Promise.all([service.organisation(), service.organisation()]);
    for (const org of orgs) await writes(org, 1);
    clock.advance(2 * minute);
    await sealAudit(app);
    const many = limits.auditBlockRowsTogether + 7;
    await writes(orgs[0]!, 3);
    await app.db.query(
      `insert into audit (organisation_id, at, request_id, actor, action, status)
       select $1, $2, gen_random_uuid(), 'ARSKTEST', 'GET /groups', 200 from generate_series(1, $3)`,
      [orgs[1]!.id, new Date(clock.nowMs()), many],
    );
    clock.advance(minute);
    await sealAudit(app);
    const rows = await Promise.all(orgs.map(async (org) => (await blocksOf(org)).map((block) => block.rows)));
    assert.deepEqual(rows, [
      [1, 3],
      [1, many],
    ]);
    for (const org of orgs) await intact(org);
  });

  test('finds late rows of several organisations at once', async () => {
    const orgs = await Promise.all(Array.from({ length: 3 }, () => service.organisation()));
    for (const org of orgs) await writes(org, 1);
    clock.advance(minute);
    await sealAudit(app);
    const own = openDatabase(service.databaseUrl, app.log, 1, undefined, onCitus);
    try {
      await own.transaction(async (tx) => {
        for (const org of orgs.slice(1)) await writes(org, 2, 0, tx);
        for (let round = 0; round < 2; round++) {
          for (const org of orgs) await writes(org, 1);
          clock.advance(minute);
          await sealAudit(app);
        }
      });
    } finally {
      await own.close();
    }
    await sealAudit(app);
    for (const [i, org] of orgs.entries()) {
      const verdict = await intact(org);
      assert.deepEqual([verdict.rows, verdict.unsealed.rows], [i === 0 ? 3 : 5, 0]);
    }
  });

  test(
    'on a cluster finds a row whose number was drawn minutes before any node heard of it',
    { skip: !onCitus },
    async () => {
      const org = await service.organisation();
      await writes(org, 1);
      const [drawn] = await app.db.query<{ id: number }>(
        `select nextval(pg_get_serial_sequence('audit', 'audit_id'))::int8 as id`,
      );
      for (let round = 0; round < 4; round++) {
        await writes(org, 1);
        clock.advance(minute);
        await sealAudit(app);
      }
      await app.db.query(
        `insert into audit (organisation_id, audit_id, at, request_id, actor, action, status)
       values ($1, $2, $3, gen_random_uuid(), 'ARSKTEST', 'GET /groups', 200)`,
        [org.id, drawn!.id, new Date(clock.nowMs())],
      );
      await sealAudit(app);
      const verdict = await intact(org);
      assert.deepEqual([verdict.rows, verdict.unsealed.rows], [6, 0]);
    },
  );

  test('passes over no late row where another one was late just before', async () => {
    const org = await service.organisation();
    const own = openDatabase(service.databaseUrl, app.log, 2, undefined, onCitus);
    /** Draws a number and commits only when it is told to. */
    const late = async () => {
      const [drawn, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const done = own.transaction(async (tx) => {
        await writes(org, 1, 0, tx);
        drawn.resolve();
        await told.promise;
      });
      await Promise.race([drawn.promise, done]);
      return async () => {
        told.resolve();
        await done;
      };
    };
    /** Seals row by row; between its look and its second block something else happens. */
    const seal = async (meanwhile: () => Promise<void>) => {
      let transactions = 0;
      const db: typeof app.db = {
        ...app.db,
        async transaction(inside, turn) {
          if (++transactions === 2) await meanwhile();
          return app.db.transaction(inside, turn);
        },
      };
      await sealOrganisation({ ...app, db }, org.id, { mostRows: 1 });
    };
    try {
      const commits: (() => Promise<void>)[] = [];
      for (let round = 0; round < 2; round++) {
        await writes(org, 1);
        await seal(async () => {
          commits.push(await late());
          await writes(org, 1);
        });
      }
      for (const commit of commits) {
        await commit();
        await seal(async () => {});
      }
      assert.deepEqual([(await intact(org)).rows, (await intact(org)).unsealed.rows], [6, 0]);
    } finally {
      await own.close();
    }
  });

  test('waits for no organisation that another process is at', async () => {
    const orgs = await Promise.all([service.organisation(), service.organisation()]);
    for (const org of orgs) await writes(org, 1);
    clock.advance(minute);
    await sealAudit(app);
    for (const org of orgs) await writes(org, 1);
    clock.advance(minute);
    const lines = service.logged.length;
    const own = openDatabase(service.databaseUrl, app.log, 1, undefined, onCitus);
    try {
      await own.transaction(async (tx) => {
        await tx.query('update audit_chain set blocks = blocks where organisation_id = $1', [orgs[0]!.id]);
        await sealAudit(app);
        assert.deepEqual(await Promise.all(orgs.map(async (org) => (await blocksOf(org)).length)), [1, 2]);
      });
    } finally {
      await own.close();
    }
    assert.ok(!service.logged.slice(lines).join('').includes('audit.not_sealed'));
    await sealAudit(app);
    assert.equal((await blocksOf(orgs[0]!)).length, 2);
  });
});
