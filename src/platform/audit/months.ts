import type { App } from '../app.ts';
import { statement } from '../db/database.ts';
import { publicIdOf } from '../db/public-ids.ts';
import { advisoryLocks } from '../db/locks.ts';
import { type ByMonths, changeMonths, makeMonths, monthsBefore } from '../db/months.ts';

const ofAudit: ByMonths = {
  table: 'audit',
  make: 'make_audit_month',
  lock: advisoryLocks.auditMonths,
  ahead: 2,
};

export const makeAuditMonths = (app: App): Promise<void> => makeMonths(app, ofAudit);

/** @returns the beginning of the month that is `months` back */
function keptFrom(nowMs: number, months: number): Date {
  const now = new Date(nowMs);
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months));
}

// Rows of deleted organisations are ignored, because calls during the deletion may leave rows that are never sealed.
const unsealedIn = (name: string) =>
  statement(`audit.unsealed_in_${name}`)`
  select p.organisation_id from ${name} p
    left join audit_chain c using (organisation_id) left join organisation o using (organisation_id)
   where p.at < $1 and p.audit_id > coalesce(c.sealed_id, 0) and (p.organisation_id = 0 or o.organisation_id is not null) limit 1`;

const withMonth = [
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
 * Drops old months whose rows are all sealed. The last hash of each run of dropped blocks stays, so that the chain can
 * still be verified.
 */
export async function dropAuditMonths(app: App): Promise<void> {
  const months = app.settings.auditMonths;
  if (months === null) return;
  const old = await monthsBefore(app.db, ofAudit, keptFrom(app.clock.nowMs(), months));
  for (const { name, until } of old) {
    // The default partition contains rows that a slow clock dated into a dropped month.
    for (const part of [name, 'audit_default']) {
      const [unsealed] = await app.db.query<{ organisation_id: number }>(unsealedIn(part), [until]);
      if (unsealed === undefined) continue;
      const organisation_id = await publicIdOf(app, unsealed.organisation_id);
      app.log.error('audit.month_kept', { name, organisation_id });
      // Later months stay as well, because dropping a month also forgets the blocks of all earlier months.
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
