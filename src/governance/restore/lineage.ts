import type { App } from '../../platform/app.ts';
import { auditAct } from '../../platform/audit/act.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import { advisoryLocks } from '../../platform/db/locks.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { beginFeedsAgain } from '../../feed/restored.ts';

/**
 * Which database this is, and whether it is another than the one that served last. A backup that is restored into another
 * cluster has another system identifier, a dump another database, and recovery to a moment another timeline. A copy of the
 * files of a stopped server that is put back looks as before: there the restore has to be declared. On a cluster each worker
 * has a history of its own.
 */

const identityHere = `
  select concat_ws(' ', (select system_identifier from pg_control_system()),
                   ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int4, d.oid) as identity
    from pg_database d where d.datname = current_database()`;

/** As PostgreSQL calls it. On a standby, and where it is told to superusers only, the statement fails. */
const identity = statement('lineage.identity', identityHere);

/** The same of the workers, by their groups: a standby that takes a worker's place is in its group. */
const workers = `
  select n.groupid::text as node, r.result as identity
    from run_command_on_workers($$${identityHere}$$) r join pg_dist_node n using (nodename, nodeport) where r.success`;

const known = statement('lineage.known', 'select identity, restores, since, erased_through, mark, nodes from lineage');
const lock = statement('lineage.lock', `select pg_advisory_xact_lock(${advisoryLocks.lineage})`);
const keep = statement(
  'lineage.keep',
  `
  insert into lineage (identity, restores, since, mark, nodes) values ($1, $2, $3, $4, $5::jsonb)
  on conflict (one) do update set identity = excluded.identity, restores = excluded.restores, mark = excluded.mark, nodes = excluded.nodes,
    since = case when excluded.restores > lineage.restores then excluded.since else lineage.since end`,
);
// Nothing where the database was restored again meanwhile: that is another restore, even if it bears the same number.
const erased = statement('lineage.erased', 'update lineage set erased_through = $1 where restores = $1 and since = $2');

/** What a database is; `identity` is empty where PostgreSQL doesn't tell, and `nodes` lacks workers that don't. */
type Identity = { identity: string; nodes: Record<string, string> };

/** `since`: when the last restore was found; `mark`: of the last backup that was put in place. */
export type Lineage = Identity & {
  restores: number;
  since: Date;
  erased_through: number | null;
  mark: string | null;
};

async function identityOf(db: Database): Promise<Identity> {
  const rows = await db.query<{ identity: string }>(identity).catch((error: { code?: string }) => {
    // insufficient_privilege, object_not_in_prerequisite_state, undefined_function
    if (['42501', '55000', '42883'].includes(error.code ?? '')) return [];
    throw error;
  });
  const nodes = db.distributed === true ? await db.query<{ node: string; identity: string }>(workers) : [];
  return { identity: rows[0]?.identity ?? '', nodes: Object.fromEntries(nodes.map((one) => [one.node, one.identity])) };
}

export async function knownLineage(tx: Tx): Promise<Lineage | undefined> {
  return (await tx.query<Lineage>(known))[0];
}

/** Whether it is another database, or a worker is. One that came or went, as with a rebalance, is no restore. */
const isOther = (before: Identity, now: Identity): boolean =>
  (before.identity !== '' && now.identity !== '' && before.identity !== now.identity) ||
  Object.entries(now.nodes).some(([node, one]) => (before.nodes[node] ?? one) !== one);

/** Whether there is nothing to remember. */
const isKnown = (before: Identity, now: Identity): boolean =>
  ['', before.identity].includes(now.identity) &&
  Object.entries(now.nodes).every(([node, one]) => before.nodes[node] === one);

/**
 * Whether it has forgotten a restore that was found while this process ran: a server that another one had replaced serves again,
 * and nothing about it is another than it was.
 */
const hasGoneBack = (knownSince: Date | null, { since }: Lineage): boolean => knownSince !== null && since < knownSince;

/**
 * Looks whether the database was restored since it last served, and if so begins its feeds again (docs/decisions/0014). Of
 * processes that look at once, one does it.
 * @param by who declares a restore that nothing shows
 * @param mark of a backup that was put in place: that is declared once, whoever finds it
 * @param shownMs what was shown stood no higher, as whoever declares it knows
 * @returns the number of organisations whose feeds began again; null when there was no restore
 */
export async function takeUpRestore(
  app: App,
  by: string | null = null,
  mark: string | null = null,
  shownMs = 0,
): Promise<number | null> {
  const now = await identityOf(app.db);
  const before = await knownLineage(app.db);
  const { since } = app.restored;
  if (by === null && before !== undefined && isKnown(before, now) && !hasGoneBack(since, before)) {
    app.restored.since = before.since;
    return null;
  }
  const begun = await withUnitOfWork(app, null, (work) => takeUp(work, now, since, by, mark, shownMs));
  if (begun !== null) {
    app.restored.since = (await knownLineage(app.db))?.since ?? null;
    app.log.error('database.restored', { organisations: begun, declared: by !== null });
  }
  return begun;
}

async function takeUp(
  work: UnitOfWork,
  now: Identity,
  knownSince: Date | null,
  by: string | null,
  mark: string | null,
  shownMs: number,
): Promise<number | null> {
  await work.tx.query(lock);
  const before = await knownLineage(work.tx);
  const declared = by !== null && (mark === null || before?.mark !== mark);
  const restored = declared || (before !== undefined && (isOther(before, now) || hasGoneBack(knownSince, before)));
  if (!restored && before !== undefined && isKnown(before, now)) return null;
  const restores = (before?.restores ?? 0) + (restored ? 1 : 0);
  await work.tx.query(keep, [
    now.identity === '' ? (before?.identity ?? '') : now.identity,
    restores,
    new Date(work.nowMs),
    mark ?? before?.mark ?? null,
    JSON.stringify({ ...before?.nodes, ...now.nodes }),
  ]);
  if (!restored) return null;
  const ids = await beginFeedsAgain(work, Math.max(shownMs, work.nowMs));
  for (const organisationId of ids)
    await auditAct(work, organisationId, {
      actor: by ?? 'service',
      action: by === null ? 'restore found' : 'restore declare',
      resource: null,
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
