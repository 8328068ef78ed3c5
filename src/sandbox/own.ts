import type { App } from '../platform/app.ts';
import { auditInside } from '../platform/audit/audit.ts';
import { formatMs } from '../platform/time/clock.ts';
import { statement } from '../platform/db/database.ts';
import { advisoryLocks } from '../platform/db/locks.ts';
import { type UnitOfWork, withUnitOfWork } from '../platform/db/unit-of-work.ts';
import { deleteLog, deleteRemaining } from '../governance/offboarding/delete.ts';
import { ownTables } from '../governance/offboarding/tables.ts';
import { importRecords } from '../records/import/import.ts';
import { readyRecord } from '../records/import/record.ts';
import { endKeys } from '../integrations/access-keys/keys.ts';
import { findLearnersByIds } from '../records/learners/learners.ts';
import { limits } from '../platform/config/limits.ts';
import { createOrganisation, type Organisation, readOrganisation } from '../organisations/organisations.ts';
import { findSandbox, markSandbox, type SandboxState } from '../organisations/sandboxes.ts';
import type { Subject } from '../engine/scoring/levels.ts';
import { planSandbox } from './data/plan.ts';
import { normal, outcomeAt } from './data/results.ts';
import { seedOrganisation } from './seed.ts';

/** Enough learners to fill several pages if a client asks for small pages. */
const learners = 50;

/** Who makes or resets the sandbox, for the organisation's audit log. */
export type By = { actor: string; action: string; requestId: string };

type Guard = (work: UnitOfWork) => Promise<void>;
const anybody: Guard = async () => {};

/** The sandbox exists, but some of its learners are missing. */
export class NotSeeded extends Error {}

// Only one process at a time makes or resets an organisation's sandbox. Other changes of the organisation do not wait.
const lock = statement('sandbox.lock')`
  select pg_advisory_xact_lock(${advisoryLocks.sandboxes}, ($1::int8 % 2147483647)::int4)`;

type Made = { organisation_id: number; public_id: string };

async function make(work: UnitOfWork, organisation: Organisation, by: By): Promise<Made> {
  const { organisation_id: id } = organisation;
  const name = `${[...organisation.name].slice(0, limits.organisationNameChars - 12).join('')} (sandbox)`;
  const sandbox = await createOrganisation(work, { name, plan: 'unlimited', credits: 0, groupAutocreate: true });
  await markSandbox(work, sandbox.organisation_id, id);
  await auditInside(work.tx, {
    organisationId: id,
    atMs: work.nowMs,
    ...by,
    resource: sandbox.public_id,
    status: null,
  });
  return sandbox;
}

/**
 * Adds the learners of a new sandbox. If a crash interrupts this, learners are missing until the user resets the
 * sandbox.
 * @returns the public ID of the sandbox, which another process may have reset meanwhile
 */
async function seed(app: App, organisation: Organisation, sandbox: Made): Promise<string> {
  const plan = planSandbox({ seed: `sandbox of ${organisation.public_id}`, learners, nowMs: app.clock.nowMs() });
  try {
    for await (const _ of seedOrganisation(app, sandbox, plan, 0));
    return sandbox.public_id;
  } catch (error) {
    const { public_id: now } = await findSandbox(app.db, organisation.organisation_id);
    if (now === null || now === sandbox.public_id)
      throw new NotSeeded(
        'The sandbox is incomplete: some of its learners are missing. Reset it on the dashboard of the organisation.',
        { cause: error },
      );
    return now;
  }
}

async function holdSandbox(work: UnitOfWork, organisationId: number, guard: Guard): Promise<SandboxState> {
  await guard(work);
  await work.tx.query(lock, [organisationId]);
  return findSandbox(work.tx, organisationId);
}

/**
 * Makes and seeds an organisation's sandbox, unless it already exists.
 * @returns the sandbox's public ID
 * @throws NotSeeded
 */
export async function grantSandbox(
  app: App,
  organisation: Organisation,
  by: By,
  guard: Guard = anybody,
): Promise<string> {
  const { organisation_id: id } = organisation;
  const { made, sandbox } = await withUnitOfWork(app, null, async (work) => {
    const { organisation_id: there } = await holdSandbox(work, id, guard);
    if (there !== null) return { made: false, sandbox: await readOrganisation(work.tx, there) };
    return { made: true, sandbox: await make(work, organisation, by) };
  });
  return made ? seed(app, organisation, sandbox) : sandbox.public_id;
}

/**
 * Revokes the sandbox's keys and deletes its audit log in batches. Then one transaction deletes the sandbox and makes a
 * new one. After a crash before that transaction, the old sandbox remains, with no valid keys and an incomplete log
 * (docs/decisions/0010).
 * @returns the new sandbox's public ID
 * @throws NotSeeded
 */
export async function resetOwnSandbox(
  app: App,
  organisation: Organisation,
  by: By,
  guard: Guard = anybody,
): Promise<string> {
  const { organisation_id: id } = organisation;
  const closed = await withUnitOfWork(app, null, async (work) => {
    const { organisation_id: old, public_id: publicId } = await holdSandbox(work, id, guard);
    if (old === null) return null;
    await endKeys(work, old);
    await auditInside(work.tx, {
      organisationId: id,
      atMs: work.nowMs,
      ...by,
      resource: `${publicId!} keys end`,
      status: null,
    });
    return old;
  });
  if (closed !== null) await deleteLog(app, closed);
  const tables = await ownTables(app.db);
  const sandbox = await withUnitOfWork(app, null, async (work) => {
    const { organisation_id: old } = await holdSandbox(work, id, guard);
    if (old !== null) await deleteRemaining(work, tables, old);
    return make(work, organisation, by);
  });
  return seed(app, organisation, sandbox);
}

/**
 * Makes a result of a test learner, and the result's events.
 * @returns the result's ID; null if the learner does not exist or has no reference
 */
export async function makeTestResult(
  work: UnitOfWork,
  sandbox: { organisation_id: number; public_id: string },
  options: { learnerId: string; subject: Subject; actor: string },
): Promise<string | null> {
  const [learner] = await findLearnersByIds(work.tx, sandbox.organisation_id, [options.learnerId]);
  if (learner?.ref == null) return null;
  const assessmentId = work.uuid();
  const record = {
    assessment_id: assessmentId,
    learner: { ref: learner.ref, full_name: learner.full_name },
    assessed_at: formatMs(work.nowMs),
    ...outcomeAt(options.subject, normal(work.random), work.random.float()),
  };
  await importRecords(work, sandbox.organisation_id, [readyRecord(record, sandbox.public_id, work.nowMs)], {
    events: true,
    actor: options.actor,
  });
  return assessmentId;
}
