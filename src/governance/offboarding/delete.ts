import { createHash } from 'node:crypto';
import type { App } from '../../platform/app.ts';
import { auditInside } from '../../platform/audit/audit.ts';
import { findAnchor } from '../../platform/audit/verify.ts';
import { statement } from '../../platform/db/database.ts';
import { advisoryLocks } from '../../platform/db/locks.ts';
import { lockErasures } from '../../platform/db/locks.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { appendErasures } from '../../organisations/erasures-list.ts';
import { lockFeed } from '../../feed/position.ts';
import { holdsAnything } from '../legal-holds/holds.ts';
import { endKeys } from '../../integrations/access-keys/keys.ts';
import { limits } from '../../platform/config/limits.ts';
import type { Organisation } from '../../organisations/organisations.ts';
import { findOrganisation } from '../../organisations/organisations.ts';
import type { SandboxState } from '../../organisations/sandboxes.ts';
import { findSandbox } from '../../organisations/sandboxes.ts';
import type { Deletion } from '../../organisations/suspension.ts';
import {
  beginDeletion,
  countDeleted,
  endDeletion,
  findDeletion,
  isReturnedWhole,
} from '../../organisations/suspension.ts';
import { removeEverybody } from '../../organisations/users/members.ts';
import type { Certificate } from './certificate.ts';
import { certificateOf } from './certificate.ts';
import { suspendOrganisation } from './suspend.ts';
import type { OwnTable } from './tables.ts';
import { ownTables } from './tables.ts';

/**
 * Deletes an organisation with everything in it, its sandbox too, and nothing else. It goes in batches, each a transaction
 * with its counts: killed anywhere, the same call goes on. What stays is named in the certificate.
 */

/** Why nothing was deleted; `outdated`: the organisation was still open when it was exported, or has changed since. */
export type NotDeleted = 'open' | 'held' | 'unexported' | 'outdated';

/** The work of one batch: rows of a table along its key. */
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

/** Its feed's lock, also where it is gone already. */
const takeTurn = statement('leaving.take_turn', 'select from feed where organisation_id = $1 for update');

/** Everything but the organisation's own row, batch by batch. */
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
        // Of two who delete it at once each batch is of one: the other would find the same rows gone, and take the table for empty.
        await work.tx.query(takeTurn, [id]);
        const rows = await deleteBatch(work, id, table, limits.deletedAtOnce);
        await counted(work, { [table.name]: rows });
        return rows === limits.deletedAtOnce;
      });
      onProgress(table.name);
    }
    // So that what was deleted is gone from the files, and nothing later steps over it again and again. A table that somebody
    // else vacuums, or builds an index on, is left to autovacuum: they may be at it for longer than a lock is waited for.
    await app.db.query(`vacuum (skip_locked) "${table.name}"`);
  }
}

const isLog = (table: OwnTable) => table.name === 'audit';

/**
 * What came meanwhile, and the organisation itself, in one transaction. Its keys are gone or have ended before: a call that
 * is let in waits for the window of its key, and calls of other organisations in the same statement wait with it.
 */
async function finish(work: UnitOfWork, tables: OwnTable[], organisationId: number): Promise<Record<string, number>> {
  // Whoever still writes for it, or seals its log, waits here, and finds nothing afterwards.
  await work.tx.query(takeTurn, [organisationId]);
  await work.tx.query('select pg_advisory_xact_lock($1)', [advisoryLocks.auditSealing]);
  await removeEverybody(work, organisationId);
  const rows: Record<string, number> = {};
  // The log at the end: by then no call is let in, for want of its key's window and row.
  for (const table of [...tables.filter((one) => !isLog(one)), ...tables.filter(isLog)])
    rows[table.name] = (rows[table.name] ?? 0) + (await deleteBatch(work, organisationId, table, Infinity));
  return rows;
}

/** In the log of what belongs to no organisation. */
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

/** Sandboxes end like this without a certificate: with their organisation, or to be begun anew. */
export async function deleteWithoutTrace(app: App, organisationId: number): Promise<void> {
  await withUnitOfWork(app, null, (work) => endKeys(work, organisationId));
  await deleteLog(app, organisationId);
  const deleteInside = await deleterWithoutTrace(app);
  await withUnitOfWork(app, null, (work) => deleteInside(work, organisationId));
}

/** The log is the largest of a sandbox. In batches, while nothing else is locked. */
export async function deleteLog(app: App, organisationId: number): Promise<void> {
  const log = (await ownTables(app.db)).find(isLog)!;
  const max = limits.deletedAtOnce;
  while ((await withUnitOfWork(app, null, (work) => deleteBatch(work, organisationId, log, max))) === max);
}

/** @returns what deletes a sandbox, whose keys have ended, within a transaction */
export async function deleterWithoutTrace(
  app: App,
): Promise<(work: UnitOfWork, organisationId: number) => Promise<void>> {
  const tables = await ownTables(app.db);
  return async (work, organisationId) => {
    await finish(work, tables, organisationId);
  };
}

/** `withoutExport`: whatever was returned of it. */
type By = { actor: string; requestId: string; withoutExport?: boolean };

/**
 * @param organisation it must be suspended, and exported since, with nothing changed after the export
 * @param by who deletes it, for the certificate and the operator's log
 * @throws the signal's reason when it is broken off
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
    // A hold that is placed at this moment comes before this, and is found.
    await lockFeed(work, id);
    // Gone where another process was at it, too, and was first.
    const now = (await findOrganisation(work.tx, organisation.public_id)) ?? organisation;
    if (now.suspended_at === null) return 'open';
    if (await holdsAnything(work, id)) return 'held';
    const goesOn = (await findDeletion(work.tx, organisation.public_id)) !== undefined;
    if (!goesOn && by.withoutExport !== true) {
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
 * One that was deleted, and that a restore has brought back, no matter whether it was open by then.
 * @param restoredAt when the last restore was found: holds from before it came back with the organisation, and hold nothing
 * @returns `held` where a hold was placed since, or nothing was ever restored and there is one: it stays as it is
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
    // Another process that started after the restore was at it, too, and was first.
    const rows = await work.tx.query(takeTurn, [id]);
    if (rows.length === 0) return 'deleted';
    if (await holdsAnything(work, id, restoredAt)) return 'held';
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
  // Where another process was first nothing is there any more.
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
    await withUnitOfWork(app, null, async (work) => inSandbox(work, await finish(work, tables, sandboxId)));
  }
  await empty(app, organisation, counted, onProgress, signal);
  const tables = await ownTables(app.db);
  return withUnitOfWork(app, null, async (work) => {
    const isWhole = (await isReturnedWhole(work.tx, id)) === true;
    await counted(work, await finish(work, tables, id));
    const deletion = (await findDeletion(work.tx, publicId))!;
    // Another process was at it too, and was first.
    if (deletion.certificate !== null) return JSON.parse(deletion.certificate) as Certificate;
    const certificate = certificateOf(organisation, deletion, { actor: by.actor, nowMs: work.nowMs, isWhole });
    const text = JSON.stringify({ ...certificate, name: null });
    await endDeletion(work, publicId, text);
    const { erasuresFile: path } = work.settings;
    // Written first, as of an erasure: a deletion that is committed is never missing from the list.
    if (path !== null)
      work.beforeCommit(async () => {
        await lockErasures(work.tx);
        await appendErasures(path, [{ organisation_id: publicId, learner_id: null }]);
      });
    await auditDeletion(work, by, `done ${createHash('sha256').update(text).digest('hex')}`, publicId);
    return certificate;
  });
}
