import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { sealAudit } from '../../../src/platform/audit/seal.ts';
import { sealNow } from './sealed.ts';
import { manualClock } from '../time/manual-clock.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { advisoryLocks } from '../../../src/platform/db/locks.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { onCitus } from '../../support/postgres.ts';
import { withService } from '../../support/service.ts';
import { sealedLog } from './sealed.ts';

/** Several processes that seal, several organisations together, and transactions that commit in any order. */

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ own: 'Moves the clock.', clock });
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
      await sealNow(app);
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
      .match(/"organisation_id":"[^"]*"/g);
    assert.deepEqual(logged, [`"organisation_id":"${orgs[1]!.publicId}"`]);
    await chain(2);
    await sealAudit(app);
    for (const org of orgs) assert.equal((await intact(org)).unsealed.rows, 0);
  });

  test('makes of each the blocks of a minute and a month that its rows in their order fit into', async () => {
    const orgs = await Promise.all(Array.from({ length: 8 }, () => service.organisation()));
    const start = clock.nowMs();
    const days = 35 * 24 * 60 * minute;
    const offset = fc.oneof(fc.integer({ min: 0, max: 3 * minute }), fc.integer({ min: -days, max: days }));
    const times = fc.sample(fc.array(offset, { minLength: 1, maxLength: 12 }), orgs.length);
    for (const [i, offsets] of times.entries())
      for (const ms of offsets) {
        clock.set(start + ms);
        await writes(orgs[i]!, 1);
      }
    await sealNow(app);
    for (const [i, offsets] of times.entries()) {
      const expected: number[][] = [];
      for (const ms of offsets.map((one) => start + one)) {
        const together = [...(expected.at(-1) ?? []), ms];
        const [first, last] = [Math.min(...together), Math.max(...together)];
        const month = (atMs: number) => new Date(atMs).toISOString().slice(0, 7);
        if (expected.length > 0 && last - first <= minute && month(first) === month(last)) expected.at(-1)!.push(ms);
        else expected.push([ms]);
      }
      const blocks = await blocksOf(orgs[i]!);
      assert.deepEqual(
        blocks.map(({ first_at: first, last_at: last, rows }) => [first.getTime(), last.getTime(), rows]),
        expected.map((rows) => [Math.min(...rows), Math.max(...rows), rows.length]),
      );
      assert.equal((await intact(orgs[i]!)).unsealed.rows, 0);
      const [hours] = await app.db.query<{ calls: number }>(
        'select sum(calls)::int8 as calls from audit_hour where organisation_id = $1',
        [orgs[i]!.id],
      );
      assert.equal(hours!.calls, offsets.length);
    }
    clock.set(start + 2 * days);
  });

  test('puts no more rows into a block than the limit', async () => {
    const org = await service.organisation();
    await app.db.query(
      `insert into audit (organisation_id, at, request_id, actor, action, status)
       select $1, $2, gen_random_uuid(), 'ARSKTEST', 'GET /groups', 200 from generate_series(1, $3)`,
      [org.id, new Date(clock.nowMs()), limits.auditBlockRows + 7],
    );
    await sealNow(app);
    assert.deepEqual(
      (await blocksOf(org)).map((block) => block.rows),
      [limits.auditBlockRows, 7],
    );
    await intact(org);
  });

  test('while transactions write rows and commit in any order puts each row into one block, in the order of numbers', async () => {
    const orgs = await Promise.all(Array.from({ length: 3 }, () => service.organisation()));
    const own = openDatabase(service.databaseUrl, app.log, 8, undefined, onCitus);
    const other = await service.sibling({ role: 'web' });
    let isWriting = true;
    const writer = async (number: number) => {
      for (let i = 0; i < 12; i++)
        await own.transaction(async (tx) => {
          await writes(orgs[(number + i) % 3]!, 2, 0, tx);
          await delay((number * 7 + i * 13) % 40);
          await writes(orgs[(number + i) % 3]!, 1, 0, tx);
        });
    };
    const sealer = async (one: typeof app) => {
      while (isWriting) await sealNow(one);
    };
    const sealing = [sealer(app), sealer(other.app)];
    try {
      await Promise.all(Array.from({ length: 8 }, (_, number) => writer(number)));
    } finally {
      isWriting = false;
      await Promise.all(sealing);
      await own.close();
    }
    await sealNow(app);
    for (const org of orgs) {
      const verdict = await intact(org);
      assert.deepEqual([verdict.rows, verdict.unsealed.rows], [96, 0]);
      const ids = (await blocksOf(org)).flatMap((block) => block.ids ?? []);
      assert.deepEqual(
        ids,
        ids.toSorted((a, b) => a - b),
      );
    }
  });

  test('passes over a transaction that stays open: what was written before it or after it waits for it', async () => {
    const orgs = await Promise.all([service.organisation(), service.organisation()]);
    const own = openDatabase(service.databaseUrl, app.log, 1, undefined, onCitus);
    try {
      await own.transaction(async (tx) => {
        await writes(orgs[0]!, 1, 0, tx);
        for (const org of orgs) await writes(org, 1);
        await sealNow(app);
        assert.deepEqual(await Promise.all(orgs.map(blocksOf)), [[], []]);
        for (const org of orgs) assert.equal((await intact(org)).unsealed.rows, 1);
      });
    } finally {
      await own.close();
    }
    await sealNow(app);
    for (const [i, org] of orgs.entries()) assert.equal((await intact(org)).rows, 2 - i);
  });

  test('leaves the round to the process that is at it', async () => {
    const org = await service.organisation();
    await writes(org, 1);
    const own = openDatabase(service.databaseUrl, app.log, 1, undefined, onCitus);
    try {
      await own.transaction(async (tx) => {
        await tx.query('select pg_advisory_xact_lock($1)', [advisoryLocks.auditSealing]);
        await sealNow(app);
        assert.deepEqual(await blocksOf(org), []);
      });
    } finally {
      await own.close();
    }
    await sealNow(app);
    assert.equal((await blocksOf(org)).length, 1);
  });
});
