import type { App } from '../../platform/app.ts';
import { auditAct } from '../../platform/audit/act.ts';
import { type Database, statement, type Tx } from '../../platform/db/database.ts';
import { advisoryLocks } from '../../platform/db/locks.ts';
import { type UnitOfWork, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { beginFeedsAgain } from '../../feed/restored.ts';

/**
 * A restore changes the identity of the database: a new cluster has another system identifier, a loaded dump another
 * database ID, and point-in-time recovery another timeline.
 * The identity stays if the files of a stopped server are restored, so the operator must declare that restore. On
 * Citus, each worker has its own identity.
 */

const identityHere = `
  select concat_ws(' ', (select system_identifier from pg_control_system()),
                   ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int4, d.oid) as identity
    from pg_database d where d.datname = current_database()`;

/** The statement fails on a standby, or if the database user lacks the privilege to read the identity. */
const identity = statement('lineage.identity', identityHere);

/** The identity of each Citus worker, by group. A standby that replaces a worker has the group of that worker. */
const workers = `
  select n.groupid::text as node, r.result as identity
    from run_command_on_workers($$${identityHere}$$) r join pg_dist_node n using (nodename, nodeport) where r.success`;

const stored = statement('lineage.known')`select identity, restores, since, erased_through, mark, nodes from lineage`;
const lock = statement('lineage.lock')`select pg_advisory_xact_lock(${advisoryLocks.lineage})`;
const keep = statement('lineage.keep')`
  insert into lineage (identity, restores, since, mark, nodes) values ($1, $2, $3, $4, $5::jsonb)
  on conflict (one) do update set identity = excluded.identity, restores = excluded.restores, mark = excluded.mark, nodes = excluded.nodes,
    since = case when excluded.restores > lineage.restores then excluded.since else lineage.since end`;
// The statement changes no row if another restore was found after the lineage was read. Two restores can have the same
// number, so `since` is compared too.
const erased = statement('lineage.erased')`update lineage set erased_through = $1 where restores = $1 and since = $2`;

/** `identity` is empty if PostgreSQL does not return it. `nodes` lacks workers that do not answer. */
type Identity = { identity: string; nodes: Record<string, string> };

/** `since`: when the service detected the last restore. `mark`: the mark in the backup that was restored last. */
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

export async function findLineage(tx: Tx): Promise<Lineage | undefined> {
  return (await tx.query<Lineage>(stored))[0];
}

/** Whether the database or a worker was replaced. An added or a removed worker does not count as a restore. */
const isOther = (before: Identity, now: Identity): boolean =>
  (before.identity !== '' && now.identity !== '' && before.identity !== now.identity) ||
  Object.entries(now.nodes).some(([node, one]) => (before.nodes[node] ?? one) !== one);

const isKnown = (before: Identity, now: Identity): boolean =>
  ['', before.identity].includes(now.identity) &&
  Object.entries(now.nodes).every(([node, one]) => before.nodes[node] === one);

/**
 * Whether the stored lineage is older than a restore that this process has seen. A replaced server that answers again
 * still has the known identity, so only this check detects it.
 */
const hasGoneBack = (lastSince: Date | null, { since }: Lineage): boolean => lastSince !== null && since < lastSince;

/**
 * Checks whether the database was restored since the last check, and restarts its feeds if so (docs/decisions/0014). If
 * several processes call this function, only one restarts the feeds.
 * @param by the actor who declares a restore; null if no restore is declared
 * @param mark the mark of the restored backup. A second declaration with this mark changes nothing.
 * @param shownMs the highest position that clients have seen, in milliseconds since 1970
 * @returns how many feeds were restarted; null without a restore
 */
export async function takeUpRestore(
  app: App,
  by: string | null = null,
  mark: string | null = null,
  shownMs = 0,
): Promise<number | null> {
  const now = await identityOf(app.db);
  const before = await findLineage(app.db);
  const { since } = app.restored;
  if (by === null && before !== undefined && isKnown(before, now) && !hasGoneBack(since, before)) {
    app.restored.since = before.since;
    return null;
  }
  const begun = await withUnitOfWork(app, null, (work) => takeUp(work, now, since, by, mark, shownMs));
  if (begun !== null) {
    app.restored.since = (await findLineage(app.db))?.since ?? null;
    app.log.error('database.restored', { organisations: begun, declared: by !== null });
  }
  return begun;
}

async function takeUp(
  work: UnitOfWork,
  now: Identity,
  lastSince: Date | null,
  by: string | null,
  mark: string | null,
  shownMs: number,
): Promise<number | null> {
  await work.tx.query(lock);
  const before = await findLineage(work.tx);
  const declared = by !== null && (mark === null || before?.mark !== mark);
  const restored = declared || (before !== undefined && (isOther(before, now) || hasGoneBack(lastSince, before)));
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

export async function keepErased(tx: Tx, { restores, since }: Lineage): Promise<void> {
  await tx.query(erased, [restores, since]);
}
