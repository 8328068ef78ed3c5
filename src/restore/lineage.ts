import type { App } from '../app.ts';
import { auditInside } from '../audit/audit.ts';
import type { Database, Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { advisoryLocks } from '../db/locks.ts';
import type { Work } from '../db/work.ts';
import { inWork } from '../db/work.ts';
import { beginFeedsAgain } from '../feed/restored.ts';

/**
 * Which database this is, and whether it is another than the one that served last. A backup that is restored into another
 * cluster has another system identifier, a dump another database, and recovery to a moment another timeline. A copy of the
 * files of a stopped server that is put back looks as before: there the restore has to be declared.
 */

/** As PostgreSQL calls it. On a standby, and where it is told to superusers only, the statement fails. */
const identity = statement(
  'lineage.identity',
  `
  select concat_ws(' ', (select system_identifier from pg_control_system()),
                   ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int4, d.oid) as identity
    from pg_database d where d.datname = current_database()`,
);
const known = statement('lineage.known', 'select identity, restores, since, erased_through from lineage');
const lock = statement('lineage.lock', `select pg_advisory_xact_lock(${advisoryLocks.lineage})`);
const keep = statement(
  'lineage.keep',
  `
  insert into lineage (identity, restores, since) values ($1, $2, $3)
  on conflict (one) do update set identity = excluded.identity, restores = excluded.restores,
    since = case when excluded.restores > lineage.restores then excluded.since else lineage.since end`,
);
// Nothing where the database was restored again meanwhile: that is another restore, even if it bears the same number.
const erased = statement('lineage.erased', 'update lineage set erased_through = $1 where restores = $1 and since = $2');

/** `since`: when the last restore was found. */
export type Lineage = { identity: string; restores: number; since: Date; erased_through: number | null };

/** Empty where PostgreSQL doesn't tell. */
async function identityOf(db: Database): Promise<string> {
  const rows = await db.query<{ identity: string }>(identity).catch((error: { code?: string }) => {
    // insufficient_privilege, object_not_in_prerequisite_state, undefined_function
    if (['42501', '55000', '42883'].includes(error.code ?? '')) return [];
    throw error;
  });
  return rows[0]?.identity ?? '';
}

export async function knownLineage(tx: Tx): Promise<Lineage | undefined> {
  return (await tx.query<Lineage>(known))[0];
}

const isOther = (before: Lineage, now: string): boolean =>
  before.identity !== '' && now !== '' && before.identity !== now;

/**
 * Looks whether the database was restored since it last served, and if so begins its feeds again (docs/decisions/0098). Of
 * processes that look at once, one does it.
 * @param by who declares a restore that nothing shows
 * @returns the number of organisations whose feeds began again; null when there was no restore
 */
export async function takeUpRestore(app: App, by: string | null = null): Promise<number | null> {
  const now = await identityOf(app.db);
  const before = await knownLineage(app.db);
  if (by === null && before?.identity === now) return null;
  const begun = await inWork(app, null, (work) => takeUp(work, now, by));
  if (begun !== null) app.log.error('database.restored', { organisations: begun, declared: by !== null });
  return begun;
}

async function takeUp(work: Work, now: string, by: string | null): Promise<number | null> {
  await work.tx.query(lock);
  const before = await knownLineage(work.tx);
  const restored = by !== null || (before !== undefined && isOther(before, now));
  if (!restored && before !== undefined && (now === '' || before.identity === now)) return null;
  const restores = (before?.restores ?? 0) + (restored ? 1 : 0);
  await work.tx.query(keep, [now === '' ? (before?.identity ?? '') : now, restores, new Date(work.nowMs)]);
  if (!restored) return null;
  const ids = await beginFeedsAgain(work);
  for (const organisationId of ids)
    await auditInside(work.tx, {
      organisationId,
      atMs: work.nowMs,
      requestId: work.uuid(),
      actor: by ?? 'service',
      action: by === null ? 'restore found' : 'restore declare',
      resource: null,
      status: null,
    });
  return ids.length;
}

/** A list of erasures was applied after this restore. */
export async function keepErased(tx: Tx, { restores, since }: Lineage): Promise<void> {
  await tx.query(erased, [restores, since]);
}

/** How often the database was restored, as far as the service knows. */
export async function countRestores(tx: Tx): Promise<number> {
  return (await knownLineage(tx))?.restores ?? 0;
}
