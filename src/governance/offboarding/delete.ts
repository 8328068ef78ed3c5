import { createHash } from 'node:crypto';
import type { App } from '../../platform/app.ts';
import { auditInside } from '../../platform/audit/audit.ts';
import { findAnchor } from '../../platform/audit/verify.ts';
import { statement } from '../../platform/db/database.ts';
import { advisoryLocks, lockErasures } from '../../platform/db/locks.ts';
import { feedQueue, type UnitOfWork, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { appendErasures } from '../../organisations/erasures-list.ts';
import { lockFeed } from '../../feed/position.ts';
import { holdOn } from '../legal-holds/holds.ts';
import { endKeys } from '../../integrations/access-keys/keys.ts';
import { limits } from '../../platform/config/limits.ts';
import { findOrganisation, type Organisation } from '../../organisations/organisations.ts';
import { findSandbox, type SandboxState } from '../../organisations/sandboxes.ts';
import {
  beginDeletion,
  countDeleted,
  type Deletion,
  endDeletion,
  findDeletion,
  isReturnedWhole,
} from '../../organisations/suspension.ts';
import { removeEverybody } from '../../organisations/users/members.ts';
import { type Certificate, certificateOf } from './certificate.ts';
import { suspendOrganisation } from './suspend.ts';
import { type OwnTable, ownTables } from './tables.ts';

/**
 * Deletes an organisation and its sandbox in batches. Each batch is one transaction, which also stores the counts of
 * deleted rows. After a crash, a second call continues the deletion.
 */

/** `outdated`: the organisation was not suspended when it was exported, or has changed since the export. */
export type NotDeleted = 'open' | 'held' | 'unexported' | 'outdated';

async function deleteBatch(work: UnitOfWork, organisationId: number, table: OwnTable, max: number): Promise<number> {
  const key = table.key.map((column) => `"${column}"`).join(', ');
  const some =
    table.refersToItself || max === Infinity
      ? 'organisation_id = $1'
      : `(${key}) in (select ${key} from "${table.name}" where organisation_id = $1 order by ${key} limit ${max}) and organisation_id = $1`;
  const [row] = await work.tx.query<{ count: number }>(
    `with gone as (delete from "${table.name}" where ${some} returning 1) select count(*) as count from gone`,
    [organisationId],
  );
  return row!.count;
}

/** Locks the feed's row. Finding no row is not an error: another process may have deleted the row. */
const takeTurn = statement('leaving.take_turn')`select from feed where organisation_id = $1 for update`;

/** Deletes all rows of an organisation, except those in `organisation` and `feed`. */
async function empty(
  app: App,
  { organisation_id: id }: { organisation_id: number },
  counted: (work: UnitOfWork, rows: Record<string, number>) => Promise<void>,
  onProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  await withUnitOfWork(app, null, (work) => removeEverybody(work, id));
  for (const table of await ownTables(app.db)) {
    if (table.name === 'organisation' || table.name === 'feed') continue;
    for (let more = true; more;) {
      signal.throwIfAborted();
      more = await withUnitOfWork(app, null, async (work) => {
        // Two processes may delete the same organisation. Without the lock, the second process would find its batch
        // already deleted, and conclude that the table is empty.
        await work.tx.query(takeTurn, [id]);
        const rows = await deleteBatch(work, id, table, limits.deletedAtOnce);
        await counted(work, { [table.name]: rows });
        return rows === limits.deletedAtOnce;
      });
      onProgress(table.name);
    }
    // Vacuum frees the space of the deleted rows. It skips locked tables, because another vacuum or an index build may
    // last longer than the lock timeout. Autovacuum frees their space later.
    await app.db.query(`vacuum (skip_locked) "${table.name}"`);
  }
}

const isLog = (table: OwnTable) => table.name === 'audit';

/**
 * Deletes the remaining rows and the organisation in one transaction. The caller must revoke the organisation's keys
 * first. Otherwise a request with a valid key waits for its rate-limit row, and delays requests of other organisations.
 */
export async function deleteRemaining(
  work: UnitOfWork,
  tables: OwnTable[],
  organisationId: number,
): Promise<Record<string, number>> {
  // Because of these locks, writers and the sealing of the audit log wait until the organisation is deleted.
  await work.tx.query(takeTurn, [organisationId]);
  await work.tx.query('select pg_advisory_xact_lock($1)', [advisoryLocks.auditSealing]);
  await removeEverybody(work, organisationId);
  const rows: Record<string, number> = {};
  // The audit log is deleted last: once the keys are deleted, no request can add to the log.
  for (const table of [...tables.filter((one) => !isLog(one)), ...tables.filter(isLog)])
    rows[table.name] = (rows[table.name] ?? 0) + (await deleteBatch(work, organisationId, table, Infinity));
  return rows;
}

/** Writes to the operator's audit log (organisation 0), because the organisation's own log is deleted. */
function auditDeletion(work: UnitOfWork, by: { actor: string; requestId: string }, what: string, publicId: string) {
  return auditInside(work.tx, {
    organisationId: 0,
    atMs: work.nowMs,
    requestId: by.requestId,
    actor: by.actor,
    action: 'organisation delete',
    resource: `${publicId} ${what}`,
    status: null,
  });
}

/** Deletes a sandbox, without a certificate. */
export async function deleteWithoutTrace(app: App, organisationId: number): Promise<void> {
  await withUnitOfWork(app, null, (work) => endKeys(work, organisationId));
  await deleteLog(app, organisationId);
  const tables = await ownTables(app.db);
  await withUnitOfWork(app, null, (work) => deleteRemaining(work, tables, organisationId));
}

/** Deletes a sandbox's audit log in batches, because it is the largest table. No other table is locked. */
export async function deleteLog(app: App, organisationId: number): Promise<void> {
  const log = (await ownTables(app.db)).find(isLog)!;
  const max = limits.deletedAtOnce;
  while ((await withUnitOfWork(app, null, (work) => deleteBatch(work, organisationId, log, max))) === max);
}

type By = { actor: string; requestId: string; withoutExport?: boolean };

/**
 * @param organisation must be suspended, exported after the suspension, and unchanged since the export
 * @throws the reason of `signal` if it aborts
 */
export async function deleteOrganisation(
  app: App,
  organisation: Organisation,
  by: By,
  onProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<Certificate | NotDeleted> {
  const { organisation_id: id } = organisation;
  const anchor = await findAnchor(app.db, id);
  const begun = await withUnitOfWork(app, feedQueue(id), async (work): Promise<Organisation | NotDeleted> => {
    // Placing a hold takes the same lock, so no hold can be placed between the check and the start of the deletion.
    await lockFeed(work, id);
    // If another process has already deleted the organisation, the call continues and returns the stored certificate.
    const now = (await findOrganisation(work.tx, organisation.public_id)) ?? organisation;
    if (now.suspended_at === null) return 'open';
    if ((await holdOn(work.tx, id, null, new Date(work.nowMs))) !== undefined) return 'held';
    const hasBegun = (await findDeletion(work.tx, organisation.public_id)) !== undefined;
    if (!hasBegun && by.withoutExport !== true) {
      const isWhole = await isReturnedWhole(work.tx, id);
      if (isWhole === null) return 'unexported';
      if (!isWhole) return 'outdated';
    }
    await begin(work, now, anchor, by);
    return now;
  });
  return typeof begun === 'string' ? begun : carryOut(app, begun, by, onProgress, signal);
}

/**
 * Deletes an organisation that a restore has brought back. The organisation need not be suspended.
 * @param restoredAt when the last restore was found. Older holds came back with the restore and do not count.
 * @returns `held` if a hold forbids the deletion
 */
export async function deleteOrganisationAgain(
  app: App,
  organisation: Organisation,
  restoredAt: Date | null,
): Promise<'deleted' | 'held'> {
  const { organisation_id: id } = organisation;
  const by = { actor: 'service', requestId: app.random.uuid() };
  const anchor = await findAnchor(app.db, id);
  const found = await withUnitOfWork(app, feedQueue(id), async (work): Promise<'deleted' | 'held' | 'begun'> => {
    const rows = await work.tx.query(takeTurn, [id]);
    if (rows.length === 0) return 'deleted';
    if ((await holdOn(work.tx, id, null, new Date(work.nowMs), restoredAt)) !== undefined) return 'held';
    await suspendOrganisation(work, id, 'It was deleted, and a restore has brought it back');
    await begin(work, organisation, anchor, by);
    return 'begun';
  });
  if (found !== 'begun') return found;
  await carryOut(app, organisation, by, () => {}, new AbortController().signal);
  return 'deleted';
}

async function begin(
  work: UnitOfWork,
  organisation: Organisation,
  anchor: Deletion['audit_end'],
  by: By,
): Promise<void> {
  if ((await findDeletion(work.tx, organisation.public_id)) !== undefined) return;
  await beginDeletion(work, organisation, anchor);
  await auditDeletion(work, by, 'begun', organisation.public_id);
}

async function carryOut(
  app: App,
  organisation: Organisation,
  by: By,
  onProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<Certificate> {
  const { organisation_id: id, public_id: publicId } = organisation;
  const counted = (work: UnitOfWork, rows: Record<string, number>) => countDeleted(work, publicId, rows);
  // Undefined if another process has deleted the organisation.
  const sandbox: SandboxState | undefined = await findSandbox(app.db, id);
  const sandboxId = sandbox?.organisation_id ?? null;
  if (sandboxId !== null) {
    const inSandbox = (work: UnitOfWork, rows: Record<string, number>) =>
      countDeleted(
        work,
        publicId,
        Object.fromEntries(Object.entries(rows).map(([table, n]) => [`sandbox ${table}`, n])),
      );
    await empty(app, { organisation_id: sandboxId }, inSandbox, onProgress, signal);
    const tables = await ownTables(app.db);
    await withUnitOfWork(app, null, async (work) => inSandbox(work, await deleteRemaining(work, tables, sandboxId)));
  }
  await empty(app, organisation, counted, onProgress, signal);
  const tables = await ownTables(app.db);
  return withUnitOfWork(app, null, async (work) => {
    const isWhole = (await isReturnedWhole(work.tx, id)) === true;
    await counted(work, await deleteRemaining(work, tables, id));
    const deletion = (await findDeletion(work.tx, publicId))!;
    if (deletion.certificate !== null) return JSON.parse(deletion.certificate) as Certificate;
    const certificate = certificateOf(organisation, deletion, { actor: by.actor, nowMs: work.nowMs, isWhole });
    const text = JSON.stringify({ ...certificate, name: null });
    await endDeletion(work, publicId, text);
    const { erasuresFile: path } = work.settings;
    // The list of erasures is written before the commit, so that it contains every committed deletion.
    if (path !== null)
      work.beforeCommit(async () => {
        await lockErasures(work.tx);
        await appendErasures(path, [{ organisation_id: publicId, learner_id: null }]);
      });
    await auditDeletion(work, by, `done ${createHash('sha256').update(text).digest('hex')}`, publicId);
    return certificate;
  });
}
