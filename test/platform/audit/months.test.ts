import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { dropAuditMonths, makeAuditMonths } from '../../../src/platform/audit/months.ts';
import type { App } from '../../../src/platform/app.ts';
import { MonthGone, readAudit } from '../../../src/platform/audit/read.ts';
import { proofLines } from '../../../src/platform/audit/export.ts';
import { sealAudit } from '../../../src/platform/audit/seal.ts';
import { sealNow } from './sealed.ts';
import { verifyAudit } from '../../../src/platform/audit/verify.ts';
import { manualClock } from '../time/manual-clock.ts';
import type { Tx } from '../../../src/platform/db/database.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { startHousekeeping } from '../../../src/server/housekeeping.ts';
import { findOrganisation } from '../../../src/organisations/organisations.ts';
import { grantSandbox, resetOwnSandbox } from '../../../src/sandbox/own.ts';
import { onCitus, waitForTable } from '../../support/postgres.ts';
import { withService } from '../../support/service.ts';
import { firstMonth, sealedLog } from './sealed.ts';

/** Months of the log are made and dropped whatever else goes on. */

async function withMonths() {
  const clock = manualClock(Date.UTC(2026, 0, 31, 9));
  const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_AUDIT_MONTHS: '3' } });
  const { app } = service;
  const parts = async () =>
    (
      await app.db.query<{ name: string }>(
        "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'audit'::regclass order by 1",
      )
    ).map(({ name }) => name);
  const log = sealedLog(service, clock);
  const writes = (id: number, tx: Tx = app.db) => log.writes({ id }, 1, 0, tx);
  // The months begin where the migrations were made, on the system's clock.
  const first = await firstMonth(app.db);
  const monthAt = (n: number) => Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + n, 10);
  const nameOf = (n: number) => `audit_${new Date(monthAt(n)).toISOString().slice(0, 7).replace('-', '_')}`;
  clock.set(monthAt(0));
  return { clock, service, app, parts, writes, monthAt, nameOf };
}

suite('a month of the log goes', () => {
  test('whatever calls left behind that were under way while their sandbox began anew, and not while a row is unsealed', async () => {
    const { clock, service, app, parts, writes, monthAt, nameOf } = await withMonths();
    const org = await service.organisation();
    const organisation = (await findOrganisation(app.db, org.publicId))!;
    const by = { actor: 'operator', action: 'sandbox reset', requestId: app.random.uuid() };
    const sandbox = (await findOrganisation(app.db, await grantSandbox(app, organisation, by)))!;
    await resetOwnSandbox(app, organisation, by);
    // As the reply of a call does that was let in before.
    await writes(sandbox.organisation_id);
    clock.set(monthAt(5));
    await makeAuditMonths(app);
    await dropAuditMonths(app);
    assert.ok((await parts()).includes(nameOf(0)), 'a row of the organisation that there is waits for the sealer');
    assert.ok(service.logged.some((line) => line.includes('"event":"audit.month_kept"') && line.includes(nameOf(0))));
    await sealNow(app);
    await sealAudit(app);
    await dropAuditMonths(app);
    assert.ok(!(await parts()).includes(nameOf(0)));
  });
});

suite('a month of the log stays', () => {
  test('while a row of its time is unsealed that a clock far behind has dated', async () => {
    const { clock, service, app, parts, writes, monthAt, nameOf } = await withMonths();
    const org = await service.organisation();
    clock.set(monthAt(5));
    await makeAuditMonths(app);
    await sealAudit(app);
    await dropAuditMonths(app);
    assert.ok(!(await parts()).includes(nameOf(0)));
    clock.set(monthAt(0));
    await writes(org.id);
    for (const month of [6, 7]) {
      clock.set(monthAt(month));
      await makeAuditMonths(app);
    }
    clock.set(monthAt(9));
    const dated = () => app.db.query('select from audit_default');
    await dropAuditMonths(app);
    assert.ok((await parts()).includes(nameOf(5)));
    assert.equal((await dated()).length, 1);
    await sealAudit(app);
    await dropAuditMonths(app);
    assert.ok(!(await parts()).includes(nameOf(5)));
    assert.equal((await dated()).length, 0);
    await sealedLog(service, clock).intact(org);
  });
});

suite('while a month of the log goes', () => {
  test('the log is compared with what was sealed, and an export of it says that it is not whole', async () => {
    const { clock, service, app, writes, monthAt } = await withMonths();
    const org = await service.organisation();
    const fill = async () => {
      for (let block = 0; block < 60; block++) {
        await writes(org.id);
        clock.advance(120_000);
      }
      await sealNow(app);
    };
    /** The app of a command that has come to a statement when the oldest month goes. */
    const whenItGoes = (at: string, month: number): App => {
      let rest = true;
      const query: App['db']['query'] = async (sql, values) => {
        if (rest && typeof sql !== 'string' && sql.name === at) {
          rest = false;
          clock.set(monthAt(month));
          await sealAudit(app);
          await dropAuditMonths(app);
        }
        return app.db.query(sql, values);
      };
      return { ...app, db: { ...app.db, query } };
    };
    const everything = { from: null, to: null };
    for (const [month, at] of ['audit.rows_of_block', 'audit.blocks', 'audit.page'].entries()) {
      clock.set(monthAt(month));
      await makeAuditMonths(app);
      await fill();
      await fill();
      const command = whenItGoes(at, month + 4);
      if (month < 2) assert.deepEqual((await verifyAudit(command, org.id)).faults, []);
      else await assert.rejects(Array.fromAsync(readAudit(command, org.id, null, null)), MonthGone);
      clock.set(monthAt(month + 4));
      await makeAuditMonths(app);
    }
    await fill();
    const period = { from: new Date(monthAt(6)), to: null };
    await Array.fromAsync(proofLines(app, org.id, period));
    await Array.fromAsync(proofLines(whenItGoes('audit.rows_of_block', 9), org.id, period));
    await assert.rejects(
      Array.fromAsync(proofLines(whenItGoes('audit.rows_of_block', 11), org.id, everything)),
      MonthGone,
    );
  });
});

suite('a month of the log is made', () => {
  test('while a backup reads, sealing goes on, and the month comes after it', async () => {
    const { clock, service, app, parts, writes, monthAt, nameOf } = await withMonths();
    const org = await service.organisation();
    const own = openDatabase(service.databaseUrl, app.log, 2, undefined, onCitus);
    const backup = Promise.withResolvers<void>();
    const reads = Promise.withResolvers<void>();
    const reading = own.transaction(async (tx) => {
      await tx.query('lock table audit_default in access share mode');
      reads.resolve();
      await backup.promise;
    });
    await reads.promise;
    clock.set(monthAt(4));
    await writes(org.id);
    clock.advance(120_000);
    const housekeeping = startHousekeeping(app, 40);
    try {
      const sealed = 'select from audit_block where organisation_id = $1';
      while ((await app.db.query(sealed, [org.id])).length === 0) await delay(5);
      const failed = /"housekeeping.failed".*"chore":"audit_months"/;
      while (!service.logged.some((line) => failed.test(line))) await delay(5);
      assert.ok(!(await parts()).includes(nameOf(4)));
      backup.resolve();
      await reading;
      while (!(await parts()).includes(nameOf(4))) await delay(5);
    } finally {
      backup.resolve();
      await reading;
      await housekeeping.stop();
      await own.close();
    }
  });

  test('with rows that are committed for it at this moment', async () => {
    const { clock, service, app, writes, monthAt, nameOf } = await withMonths();
    const org = await service.organisation();
    clock.set(monthAt(6));
    await writes(org.id);
    const own = openDatabase(service.databaseUrl, app.log, 4, undefined, onCitus);
    try {
      const [commit, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const late = own.transaction(async (tx) => {
        await writes(org.id, tx);
        written.resolve();
        await commit.promise;
      });
      await written.promise;
      const first = new Date(monthAt(6)).toISOString().slice(0, 7);
      const making = own.query(`select make_audit_month('${first}-01T00:00:00Z')`);
      while ((await own.query(waitForTable('audit_default'))).length === 0) await delay(5);
      commit.resolve();
      await late;
      await making;
      const [row] = await app.db.query<{ n: number }>(`select count(*) as n from ${nameOf(6)}`);
      assert.equal(row!.n, 2);
    } finally {
      await own.close();
    }
  });
});
