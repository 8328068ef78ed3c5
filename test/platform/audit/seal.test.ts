import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { exportedBlock, exportedRow, proofLines, verifyExport } from '../../../src/platform/audit/export.ts';
import { dropAuditMonths, makeAuditMonths } from '../../../src/platform/audit/months.ts';
import { foldRefused } from '../../../src/platform/audit/refused.ts';
import { sealAudit } from '../../../src/platform/audit/seal.ts';
import { sealNow } from './sealed.ts';
import { readBlockRows, readBlocks, readUnsealed, verifyAudit } from '../../../src/platform/audit/verify.ts';
import { manualClock } from '../time/manual-clock.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { takeUpRestore } from '../../../src/governance/restore/lineage.ts';
import { client } from '../../contract/support/client.ts';
import { onCitus } from '../../support/postgres.ts';
import type { TestOrganisation, TestService } from '../../support/service.ts';
import { withService } from '../../support/service.ts';
import { firstMonth, sealedLog } from './sealed.ts';

/** The audit log is sealed after its rows' commit, and whatever is changed later shows. */

const start = Date.UTC(2026, 0, 31, 9);
const clock = manualClock(start);
const service = await withService({ own: 'Moves the clock.', clock });
const { app } = service;
const minute = 60_000;

const { writes, blocksOf, intact } = sealedLog(service, clock);

async function faultsOf(org: { id: number }, change: string, values: unknown[] = []): Promise<string> {
  await app.db.query(change, values);
  return (await verifyAudit(app, org.id)).faults.join(' ');
}

async function sealedOrganisation(rows = 4): Promise<TestOrganisation> {
  const org = await service.organisation();
  await writes(org, rows, 40_000);
  await sealNow(app);
  return org;
}

suite('sealing', () => {
  test('puts rows into blocks of at most a minute, each with the hash of the one before; what came later is the tail', async () => {
    const org = await service.organisation();
    await writes(org, 7, 25_000);
    assert.equal((await intact(org)).unsealed.rows, 7);
    await sealNow(app);
    const blocks = await blocksOf(org);
    assert.deepEqual(
      blocks.map(({ rows }) => rows),
      [3, 3, 1],
    );
    for (const { first_at: first, last_at: last } of blocks) assert.ok(last.getTime() - first.getTime() <= minute);
    await writes(org, 2);
    const verdict = await intact(org);
    assert.deepEqual([verdict.blocks, verdict.rows, verdict.unsealed.rows], [3, 7, 2]);
    assert.deepEqual(verdict.head, { block: 3, hash: blocks.at(-1)!.hash.toString('hex') });
  });

  test('leaves the last moments to the next block, and a clock that was ahead keeps nothing waiting', async () => {
    const org = await service.organisation();
    await writes(org, 1);
    await sealAudit(app);
    assert.equal((await blocksOf(org)).length, 0);
    clock.advance(-5 * minute);
    await sealAudit(app);
    assert.equal((await blocksOf(org)).length, 1);
    clock.advance(5 * minute);
  });

  test('seals calls as they are answered', async () => {
    const org = await service.organisation();
    const etag = (await org.get('/groups?limit=3')).headers.etag!;
    for (let i = 0; i < 4; i++) await org.get('/groups?limit=3', { 'if-none-match': etag });
    await org.get('/groups?cursor=x');
    await org.post('/groups', { type: 'cohort', ref: 'Ä-1', name: 'Ünïcode \u001f?' });
    await sealNow(app);
    assert.equal((await intact(org)).rows, 7);
  });

  test('that is killed in the middle leaves whole blocks, and the next one goes on', async () => {
    const org = await service.organisation();
    await writes(org, 6, 61_000);
    const own = openDatabase(service.databaseUrl, app.log, 2, undefined, onCitus);
    try {
      await own.transaction(async (tx) => {
        await tx.query(`insert into audit_hour values ($1, $2, 'ARSKTEST', 'GET /groups', 200, '', 0, $2, 0, 0, 0)`, [
          org.id,
          new Date(Math.floor((clock.nowMs() - minute) / 3600_000) * 3600_000),
        ]);
        let outcome = '';
        const sealing = sealNow(app).then(
          () => (outcome = 'sealed'),
          () => (outcome = 'killed'),
        );
        // It waits for the row that was put in its way; then its connection goes.
        let waiting: { pid: number }[] = [];
        while (waiting.length === 0 && outcome === '')
          // Not in the transaction, which would see the same moment each time.
          waiting = await app.db.query<{ pid: number }>(
            `select pid from pg_stat_activity where ${onCitus ? "state = 'active'" : "wait_event_type = 'Lock'"}
                and query like '%insert into audit_hour as h%' and pid <> pg_backend_pid() and datname = current_database()`,
          );
        assert.equal(outcome, '');
        // Until the process has ended it is the sealer, though its caller has heard of the end.
        await tx.query('select pg_terminate_backend($1::int4, 10000)', [waiting[0]!.pid]);
        assert.equal(await sealing, 'killed');
        await tx.query('delete from audit_hour where organisation_id = $1', [org.id]);
      });
    } finally {
      await own.close();
    }
    const before = await intact(org);
    assert.equal(before.unsealed.rows, 6 - before.rows);
    await sealNow(app);
    assert.deepEqual([(await intact(org)).rows, (await blocksOf(org)).length], [6, 6]);
    const [counted] = await app.db.query<{ calls: number }>(
      'select sum(calls)::int8 as calls from audit_hour where organisation_id = $1',
      [org.id],
    );
    assert.equal(counted!.calls, 6);
  });

  test('keeps to a minute and a month whatever the clock does', async () => {
    const org = await service.organisation();
    const jumps = [
      '2026-01-31T23:59:50Z',
      '2026-02-01T00:00:05Z',
      '2026-01-31T22:00:00Z',
      '2031-07-01T00:00:00Z',
      '2026-02-01T00:00:30Z',
    ];
    for (const at of jumps) {
      clock.set(Date.parse(at));
      await writes(org, 2, 1000);
    }
    await sealNow(app);
    assert.deepEqual(
      (await blocksOf(org)).map(({ rows }) => rows),
      [2, 2, 2, 2, 2],
    );
    await intact(org);
    // The month that was far ahead gets its partition once it is near, with the rows that it has already.
    clock.set(Date.parse('2031-05-20T00:00:00Z'));
    await makeAuditMonths(app);
    const parts = await app.db.query<{ part: string }>(
      'select distinct tableoid::regclass::text as part from audit where organisation_id = $1 and at > $2',
      [org.id, new Date(Date.UTC(2031))],
    );
    // On a cluster it is a shard's.
    assert.deepEqual(
      parts.map(({ part }) => part.replace(/(?<=_07)_\d+$/, '')),
      ['audit_2031_07'],
    );
    await intact(org);
    clock.set(start);
  });
});

suite('verification shows', () => {
  const second = 'audit_id = (select min(audit_id) + 1 from audit where organisation_id = $1)';

  test('a row that was changed, in any column', async () => {
    for (const change of [
      "actor = 'somebody'",
      "action = 'GET /x'",
      'status = 201',
      "resource = 'x'",
      'detail = null',
      `at = '2026-01-31T09:00:01.001Z'`,
      `request_id = '00000000-0000-4000-8000-000000000000'`,
      `address = '\\x01'`,
    ]) {
      const org = await sealedOrganisation(3);
      const found = await faultsOf(org, `update audit set ${change} where organisation_id = $1 and ${second}`, [
        org.id,
      ]);
      assert.match(found, /is not what was sealed|lacks rows/, change);
    }
  });

  test('a row that was taken out, and one that was put in below', async () => {
    const org = await sealedOrganisation();
    assert.match(
      await faultsOf(org, `delete from audit where organisation_id = $1 and ${second}`, [org.id]),
      /lacks rows that were sealed: \d+\./,
    );
    const other = await sealedOrganisation();
    for (let round = 0; round < 3; round++) {
      await writes(other, 1, 61_000);
      await sealNow(app);
    }
    const added = `insert into audit select organisation_id, -1, at, request_id, actor, action, resource, status, address, detail
                     from audit where organisation_id = $1 limit 1`;
    assert.match(await faultsOf(other, added, [other.id]), /added below what is sealed: -1/);
  });

  test('a block that was taken out, or whose rows were', async () => {
    const org = await sealedOrganisation(6);
    assert.match(
      await faultsOf(org, 'delete from audit_block where organisation_id = $1 and number = 2', [org.id]),
      /Blocks 2 to 2 are missing/,
    );
    const other = await sealedOrganisation();
    assert.match(
      await faultsOf(other, 'update audit_block set ids = null where organisation_id = $1 and number = 1', [other.id]),
      /its month was not dropped/,
    );
  });

  test('an end that was cut off, or a chain that was computed anew, by the anchors kept elsewhere', async () => {
    const org = await sealedOrganisation();
    const anchors = (await blocksOf(org)).map(({ number, hash }) => ({ block: number, hash: hash.toString('hex') }));
    assert.deepEqual((await verifyAudit(app, org.id, { anchors })).faults, []);
    // Everything is taken back to before, and sealed again without the last row.
    await app.db.query(
      'delete from audit where organisation_id = $1 and audit_id = (select max(audit_id) from audit where organisation_id = $1)',
      [org.id],
    );
    for (const table of ['audit_block', 'audit_chain', 'audit_hour'])
      await app.db.query(`delete from ${table} where organisation_id = $1`, [org.id]);
    await app.db.query("update audit set actor = 'forged' where organisation_id = $1", [org.id]);
    await sealNow(app);
    await intact(org);
    const { faults } = await verifyAudit(app, org.id, { anchors });
    assert.match(faults.join(' '), /another hash than the anchor/);
    assert.doesNotMatch(faults.join(' '), /A backup was restored/);
    await takeUpRestore(app, 'operator');
    const told = (await verifyAudit(app, org.id, { anchors })).faults;
    assert.deepEqual(told.slice(0, -1), faults);
    assert.match(told.at(-1)!, /^A backup was restored at \d{4}-/);
    assert.deepEqual((await verifyAudit(app, org.id)).faults, []);
    const forged = { block: 1, hash: '0'.repeat(64) };
    assert.match((await verifyAudit(app, 0, { anchors: [forged] })).faults.at(-1)!, /^A backup was restored/);
  });
});

async function exported(svc: TestService, organisationId: number, withBlocks: boolean) {
  const lines: any[] = [];
  let previous: Buffer = Buffer.alloc(0);
  for await (const block of readBlocks(svc.app, organisationId)) {
    if (withBlocks) lines.push(exportedBlock(block, previous));
    previous = block.hash;
    for (const row of await readBlockRows(svc.app, organisationId, block)) lines.push(exportedRow(row));
  }
  for (const row of await readUnsealed(svc.app, organisationId)) lines.push(exportedRow(row));
  // As a file gives it back.
  return lines.map((line) => JSON.parse(JSON.stringify(line)));
}

async function* each<T>(items: T[]): AsyncGenerator<T> {
  yield* items;
}

suite('months that go', async () => {
  const own = manualClock(start);
  const kept = await withService({ own: 'Moves the clock.', clock: own, settings: { ARS_AUDIT_MONTHS: '3' } });
  const org = await kept.organisation();
  const first = await firstMonth(kept.app.db);
  for (let month = 0; month < 8; month++) {
    own.set(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + month, 10));
    await makeAuditMonths(kept.app);
    for (let i = 0; i < 3; i++) {
      await org.get('/groups');
      own.advance(61_000);
    }
    await sealAudit(kept.app);
  }
  const lines = await exported(kept, org.id, true);
  const plain = await exported(kept, org.id, false);
  const anchors = lines.filter((line) => 'block' in line);

  test('take their rows, and leave hashes to which an export leads', async () => {
    const verifyLines = (given: any[]) => verifyExport(kept.app, org.id, each(given));
    assert.deepEqual((await verifyLines(lines)).faults, []);
    // Nothing goes that isn't sealed.
    await kept.app.db.query('update audit_chain set sealed_id = 0 where organisation_id = $1', [org.id]);
    await dropAuditMonths(kept.app);
    const count = async () =>
      (
        await kept.app.db.query<{ n: number }>('select count(*) as n from audit where organisation_id = $1', [org.id])
      )[0]!.n;
    assert.equal(await count(), 24);
    await kept.app.db.query(
      'update audit_chain set sealed_id = (select max(audit_id) from audit) where organisation_id = $1',
      [org.id],
    );
    await dropAuditMonths(kept.app);
    assert.equal(await count(), 4 * 3);
    const verdict = await verifyAudit(kept.app, org.id, { anchors });
    assert.deepEqual([verdict.faults, verdict.rows, verdict.dropped], [[], 12, 1]);
    const { covered, ...whole } = await verifyLines(lines);
    assert.deepEqual(whole, { faults: [], rows: 24, blocks: 24, unknown: 0 });
    const ofBlocks = lines.filter((line) => 'block' in line);
    assert.deepEqual(covered, { first: 1, last: 24, from: ofBlocks[0].first_at, to: ofBlocks.at(-1).last_at });
    const forged = structuredClone(lines);
    forged[1].actor = 'somebody';
    assert.match((await verifyLines(forged)).faults.join(), /Block 1 of the file was changed/);
    assert.match((await verifyLines(lines.slice(0, 6))).faults.join(), /Nothing in the log confirms blocks 1 to 3/);
    assert.match((await verifyLines(lines.slice(2))).faults.join(), /^$/);
  });

  test('an export without a proof still verifies, as far as its rows are kept', async () => {
    const verdict = await verifyExport(kept.app, org.id, each(plain));
    assert.deepEqual([verdict.faults, verdict.unknown], [[], 12]);
    plain.at(-1).status = 304;
    assert.match((await verifyExport(kept.app, org.id, each(plain))).faults.join(), /is not what the log has/);
  });
});

suite('an export with its proof', () => {
  test('of which blocks were cut out in the middle is not valid, in whatever order the others stand', async () => {
    const org = await service.organisation();
    await writes(org, 6, 61_000);
    await sealNow(app);
    const lines = await exported(service, org.id, true);
    const verify = async (given: any[]) => (await verifyExport(app, org.id, each(given))).faults.join(' ');
    assert.equal(await verify(lines), '');
    const without = lines.filter((_, i) => i < 4 || i > 7);
    assert.match(await verify(without), /lacks blocks that the log has between those of the file: 3, 4\.$/);
    assert.match(await verify([...without.slice(4), ...without.slice(0, 4)]), /: 3, 4\.$/);
    const shrunk = structuredClone(without).map((line) =>
      'block' in line ? { ...line, first_at: line.last_at } : line,
    );
    assert.match(await verify(shrunk), /: 3, 4\.$/);
  });

  test('of a period lacks blocks of other times, which were sealed between its own', async () => {
    const org = await service.organisation();
    const at = clock.nowMs();
    for (const ms of [at, at - 3 * 3600_000, at + minute * 2]) {
      clock.set(ms);
      await writes(org, 2, 1000);
      await sealNow(app);
    }
    assert.equal((await blocksOf(org)).length, 3);
    const lines: any[] = [];
    const period = { from: new Date(at - minute), to: new Date(at + 10 * minute) };
    for await (const line of proofLines(app, org.id, period)) lines.push(JSON.parse(JSON.stringify(line)));
    assert.deepEqual(
      lines.flatMap(({ block }) => block ?? []),
      [1, 3],
    );
    assert.deepEqual((await verifyExport(app, org.id, each(lines))).faults, []);
  });
});

suite('counts of refused callers', async () => {
  const own = manualClock(start);
  const knocked = await withService({ own: 'Moves the clock.', clock: own });
  const nobody = client(knocked.url, null);
  const knock = async (times: number) => {
    for (let i = 0; i < times; i++) await nobody.get('/health');
  };
  const seal = () => sealNow(knocked.app);
  const verify = () => verifyAudit(knocked.app, 0);

  test('become rows once their minute is over, again when some come late, and stay so when they are folded', async () => {
    const counted = () =>
      knocked.app.db.query<{ at: Date; detail: string }>(
        "select at, detail from audit where organisation_id = 0 and action = 'refused calls' order by audit_id",
      );
    await knock(30);
    own.advance(2 * minute);
    await knock(70);
    await foldRefused(knocked.app);
    assert.deepEqual(await counted(), []);
    own.advance(3 * minute);
    await foldRefused(knocked.app);
    const at = new Date(start + 2 * minute);
    assert.deepEqual(await counted(), [{ at, detail: '{"calls":10}' }]);
    await knocked.app.db.query(`insert into refused_calls (minute, address, calls) values ($1, '\\x01', 3)`, [at]);
    await foldRefused(knocked.app);
    assert.deepEqual(
      (await counted()).map(({ detail }) => detail),
      ['{"calls":10}', '{"calls":3}'],
    );
    await seal();
    await foldRefused(knocked.app, undefined, 3);
    const verdict = await verify();
    assert.deepEqual([verdict.faults, verdict.rows, verdict.unsealed.rows], [[], 62, 0]);
    own.advance(minute);
    await knock(4);
    await seal();
    await foldRefused(knocked.app, undefined, 3);
    assert.deepEqual([(await verify()).faults, (await verify()).rows], [[], 4]);
    const days = await knocked.app.db.query('select minute, calls from refused_calls');
    assert.deepEqual(days, [{ minute: new Date(Date.UTC(2026, 0, 31)), calls: 30 + 60 + 10 + 3 }]);
  });

  test('that were lowered show', async () => {
    await knock(70);
    own.advance(3 * minute);
    await foldRefused(knocked.app);
    await seal();
    await knocked.app.db.query(`update audit set detail = '{"calls":1}' where action = 'refused calls'`);
    assert.match((await verify()).faults.join(), /is not what was sealed/);
  });
});
