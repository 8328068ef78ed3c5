import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { dropAuditMonths, makeAuditMonths } from '../../src/audit/months.ts';
import { sealAudit, sealOrganisation } from '../../src/audit/seal.ts';
import { manualClock } from '../../src/clock.ts';
import type { Tx } from '../../src/db/database.ts';
import { openDatabase } from '../../src/db/database.ts';
import { startHousekeeping } from '../../src/housekeeping.ts';
import { findOrganisation } from '../../src/organisations/organisations.ts';
import { grantSandbox, resetOwnSandbox } from '../../src/sandbox/own.ts';
import { waitForTable } from '../postgres.ts';
import { withService } from '../service.ts';
import { sealedLog } from './sealed.ts';

/** Months of the log are made and dropped whatever else goes on. */

async function withMonths() {
  const clock = manualClock(Date.UTC(2026, 0, 31, 9));
  const service = await withService({ clock, settings: { ARS_AUDIT_MONTHS: '3' } });
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
  const [begun] = await app.db.query<{ months_from: Date }>('select months_from from audit_begun');
  const monthAt = (n: number) =>
    Date.UTC(begun!.months_from.getUTCFullYear(), begun!.months_from.getUTCMonth() + n, 10);
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
    await sealOrganisation(app, org.id);
    await sealAudit(app);
    await dropAuditMonths(app);
    assert.ok(!(await parts()).includes(nameOf(0)));
  });
});

suite('a month of the log is made', () => {
  test('while a backup reads, sealing goes on, and the month comes after it', async () => {
    const { clock, service, app, parts, writes, monthAt, nameOf } = await withMonths();
    const org = await service.organisation();
    const own = openDatabase(service.databaseUrl, app.log, 2);
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
    const own = openDatabase(service.databaseUrl, app.log, 4);
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
