import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { App } from '../../platform/app.ts';
import type { Tx } from '../../platform/db/database.ts';
import { lockErasures } from '../../platform/db/locks.ts';
import { missingMigrations } from '../../platform/db/migrate.ts';
import { feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { appendErasures, type ListedErasure, proveWritable, readErasures } from '../../organisations/erasures-list.ts';
import { UnderHold } from '../legal-holds/holds.ts';
import { importRuns } from '../../records/import/run.ts';
import { invitationRuns } from '../../sittings/invitations/runs/run.ts';
import { findLearnersByIds, listErasures } from '../../records/learners/learners.ts';
import { deleteOrganisationAgain } from '../offboarding/delete.ts';
import { errorFields } from '../../platform/observability/log.ts';
import { findOrganisation, type Organisation } from '../../organisations/organisations.ts';
import { listDeletions } from '../../organisations/suspension.ts';
import { SettingsError } from '../../platform/config/settings.ts';
import { eraseLearner, isErased } from '../erasure/erase.ts';
import { keepErased, findLineage, type Lineage, takeUpRestore } from './lineage.ts';

const atOnce = 1000;

const keyOf = ({ organisation_id, learner_id }: ListedErasure) => `${organisation_id} ${learner_id}`;

/**
 * Erases learners and deletes organisations that a restore has brought back, before the service answers requests.
 * Erasures that only the database knows are added to the list.
 * @returns how many learners were erased again
 * @throws SettingsError if the database was restored and there is no list
 */
export async function applyErasures(app: App): Promise<number> {
  const { erasuresFile: path } = app.settings;
  if (path === null) return 0;
  // The lineage is read before the list, so that the list is applied again if a restore is found after this read.
  const lineage = await findLineage(app.db);
  const restoredAt = lineage !== undefined && lineage.restores > 0 ? lineage.since : null;
  const listed = await readErasures(path);
  if (listed === null) {
    if (lineage !== undefined && lineage.restores > 0)
      throw new SettingsError(
        'The file of ARS_ERASURES_FILE is missing, and the database was restored from a backup. The backup may contain erased learners. Put the list back, or make an empty file if no learner was erased.',
      );
    await access(dirname(path), constants.W_OK).catch((error: NodeJS.ErrnoException) => {
      throw new SettingsError(`ARS_ERASURES_FILE must stand in a folder that can be written to (${error.code}).`);
    });
  } else await proveWritable(path);
  const listedKeys = new Set((listed ?? []).map(keyOf));
  const done = [...(await listErasures(app.db)), ...(await listDeletions(app.db))];
  const missing = done.filter((one) => !listedKeys.has(keyOf(one)));
  if (missing.length > 0 || listed === null)
    await withUnitOfWork(app, null, async ({ tx }) => {
      await lockErasures(tx);
      await appendErasures(path, missing);
    });
  const ofOrganisation = Map.groupBy(listed ?? [], (one) => one.organisation_id);
  let [erased, deleted] = [0, 0];
  for (const [publicId, all] of ofOrganisation) {
    const organisation = await findOrganisation(app.db, publicId);
    if (organisation === undefined) continue;
    if (all.some((one) => one.learner_id === null)) {
      if ((await deleteOrganisationAgain(app, organisation, restoredAt)) === 'deleted') {
        deleted++;
        continue;
      }
      app.log.error('erasures.held', { organisation: publicId, learner: null });
    }
    const ids = [...new Set(all.flatMap((one) => one.learner_id ?? []))];
    const again = await eraseAgain(app, organisation, ids, restoredAt);
    erased += again.erased;
    if (again.found < ids.length && restoredAt !== null) await endWaiting(app, organisation, restoredAt);
  }
  if (erased + deleted > 0) app.log.error('erasures.applied', { learners: erased, organisations: deleted });
  if (lineage !== undefined) {
    await keepErased(app.db, lineage);
    app.restored.applied = nameOf(lineage);
  }
  return erased;
}

/**
 * Whether the service must still reject requests. A process with a list waits until it has applied its own list,
 * because lists of other machines may be incomplete.
 * If any process ever had a list, a process without a list waits until another process has applied one.
 */
export async function isPending(app: App, tx: Tx = app.db): Promise<boolean> {
  const lineage = await findLineage(tx);
  const applied = app.settings.erasuresFile === null ? isErasedByAny(lineage) : isErasedBy(app, lineage);
  return (app.restored.pending = app.restored.older || !applied);
}

/**
 * Whether the database lacks migrations of this version, for example after the restore of an older backup. The service
 * then rejects all requests until a process has migrated the database and handled the restore.
 */
export async function isOlder(app: App, tx: Tx = app.db): Promise<boolean> {
  const older = (await missingMigrations(tx)).length > 0;
  if (older) app.restored.older = app.restored.pending = true;
  return older;
}

const isErasedBy = ({ restored }: App, lineage?: Lineage) =>
  lineage === undefined || restored.applied === nameOf(lineage);

const isErasedByAny = (lineage?: Lineage) =>
  lineage === undefined || lineage.erased_through === null || lineage.erased_through >= lineage.restores;

/** Identifies a restore. The number is not enough, because the restore of an older backup also resets the number. */
const nameOf = ({ restores, since }: Lineage): string => `${restores} ${since.getTime()}`;

/**
 * Detects a restore while the process runs, and applies the list of erasures. The caller repeats the call until it
 * succeeds.
 */
export async function followRestores(app: App): Promise<void> {
  if (await isOlder(app)) {
    const advice =
      'The database lacks migrations of this version, as after the restore of an older backup. Requests get 503. Run ars migrate, or restart a process.';
    return app.log.error('database.older', { advice });
  }
  await takeUpRestore(app);
  app.restored.older = false;
  if (!(await isPending(app))) return;
  const why = await applyErasures(app).then(
    () => null,
    (error: unknown) => error,
  );
  if (!(await isPending(app))) return;
  const advice =
    why instanceof SettingsError
      ? why.message
      : 'The database was restored, and nothing is served until a process with ARS_ERASURES_FILE has applied its list.';
  app.log.error('erasures.not_applied', { ...(why === null ? {} : errorFields(why)), advice });
}

/**
 * Erases listed learners again. A legal hold still prevents an erasure, because the list may contain a learner whose
 * erasure failed at the commit.
 */
async function eraseAgain(
  app: App,
  { organisation_id: organisationId, public_id }: Organisation,
  ids: readonly string[],
  restoredAt: Date | null,
): Promise<{ found: number; erased: number }> {
  let [total, erased] = [0, 0];
  for (let from = 0; from < ids.length; from += atOnce) {
    const found = await findLearnersByIds(app.db, organisationId, ids.slice(from, from + atOnce));
    total += found.length;
    for (const learner of found) {
      if (isErased(learner)) continue;
      const done = await withUnitOfWork(app, feedQueue(organisationId), (work) =>
        eraseLearner(work, organisationId, learner.learner_id, { actor: 'service', restoredAt }),
      ).catch((error: unknown) => {
        if (!(error instanceof UnderHold)) throw error;
        app.log.error('erasures.held', { organisation: public_id, learner: learner.learner_id });
        return null;
      });
      if (done !== null) erased++;
    }
  }
  return { found: total, erased };
}

/**
 * Cancels imports and invitation runs from before the restore, because they may create a listed learner again. The
 * backup may be older than the learner, so the database does not know which rows of a run are about the learner.
 */
async function endWaiting(
  app: App,
  { organisation_id: organisationId, public_id }: Organisation,
  restoredAt: Date,
): Promise<void> {
  const ended = await withUnitOfWork(app, feedQueue(organisationId), async (work) => ({
    invitations: await invitationRuns.cancelRestored(work, organisationId, restoredAt),
    imports: await importRuns.cancelRestored(work, organisationId, restoredAt),
  }));
  if (ended.invitations + ended.imports > 0)
    app.log.error('erasures.runs_ended', { organisation: public_id, ...ended });
}
