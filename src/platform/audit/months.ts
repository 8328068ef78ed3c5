import type { App } from '../app.ts';
import { statement } from '../db/database.ts';
import { advisoryLocks } from '../db/locks.ts';
import type { ByMonths } from '../db/months.ts';
import { changeMonths, makeMonths, monthsBefore } from '../db/months.ts';

/** The log by months. */
const ofAudit: ByMonths = {
  table: 'audit',
  make: 'make_audit_month',
  lock: advisoryLocks.auditMonths,
  ahead: 2,
};

export const makeAuditMonths = (app: App): Promise<void> => makeMonths(app, ofAudit);

/** @returns the first instant that is kept: the beginning of the month so many months back */
function keptFrom(nowMs: number, months: number): Date {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months));
}

// Calls that were under way while their organisation was deleted may leave rows that nobody seals: these go with their month.
const unsealedIn = (name: string) =>
  statement(`audit.unsealed_in_${name}`)`
  select p.organisation_id from ${name} p
    left join audit_chain c using (organisation_id) left join organisation o using (organisation_id)
   where p.at < $1 and p.audit_id > coalesce(c.sealed_id, 0) and (p.organisation_id = 0 or o.organisation_id is not null) limit 1`;

/** What the log keeps beside its rows goes with the month that it is of, or says that the month is gone. */
const withMonth = [
  // A sealer holds some of the same rows for as long as it writes their blocks, and waits for none that somebody else holds.
  statement('audit.forget_chains')`update audit_chain set dropped_before = greatest(dropped_before, $1::timestamptz)`,
  statement('audit.forget_blocks')`update audit_block set ids = null where last_at < $1 and ids is not null`,
  statement('audit.forget_hours')`delete from audit_hour where hour < $1`,
  statement('audit.forget_undated')`delete from audit_default where at < $1`,
];
const forgetLinks = statement('audit.forget_links')`
  delete from audit_block b where b.ids is null
     and exists (select from audit_block n
                  where n.organisation_id = b.organisation_id and n.number = b.number + 1 and n.ids is null)`;

/**
 * Drops the months that are older than the setting keeps, once all their rows are sealed. The hashes of their blocks
 * stay: the last of each run of blocks, from which the chain goes on and to which an export of the month leads.
 */
export async function dropAuditMonths(app: App): Promise<void> {
  const months = app.settings.auditMonths;
  if (months === null) return;
  const old = await monthsBefore(app.db, ofAudit, keptFrom(app.clock.nowMs(), months));
  for (const { name, until } of old) {
    // What a clock that was behind has dated goes with the month, too.
    for (const part of [name, 'audit_default']) {
      const [unsealed] = await app.db.query<{ organisation_id: number }>(unsealedIn(part), [until]);
      if (unsealed === undefined) continue;
      app.log.error('audit.month_kept', { name, organisation_id: unsealed.organisation_id });
      // The next month's rows may be in blocks that lead to this one's.
      return;
    }
    await changeMonths(app.db, ofAudit, async (tx) => {
      if ((await tx.query('select from pg_class where oid = to_regclass($1)', [name])).length === 0) return;
      for (const part of withMonth) await tx.query(part, [until]);
      await tx.query(forgetLinks);
      await tx.query(`drop table ${name}`);
    });
  }
}
