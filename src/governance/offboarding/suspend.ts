import type { Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { findSandbox } from '../../organisations/sandboxes.ts';
import { findDeletion, findSuspension, markResumed, markSuspended } from '../../organisations/suspension.ts';
import { addPausesUntilNow } from '../../sittings/sittings.ts';
import { pauseEndpoint, resumeEndpoint, listEndpoints } from '../../integrations/webhooks/endpoints/endpoints.ts';

/**
 * A suspended organisation is closed but keeps its data (docs/decisions/0013). Its keys are refused as unknown, users
 * cannot open it, learners' links say that it is closed, and webhooks wait.
 */

/** The organisation and its sandbox, which are suspended and resumed together. */
async function withSandbox(tx: Tx, organisationId: number): Promise<number[]> {
  const { organisation_id: sandboxId } = await findSandbox(tx, organisationId);
  return sandboxId === null ? [organisationId] : [organisationId, sandboxId];
}

/** @returns how many endpoints were paused; null if the organisation is already suspended */
export async function suspendOrganisation(
  work: UnitOfWork,
  organisationId: number,
  reason: string,
): Promise<{ pausedEndpoints: number } | null> {
  await lockFeed(work, organisationId);
  if ((await findSuspension(work.tx, organisationId)) !== null) return null;
  const paused: string[] = [];
  for (const id of await withSandbox(work.tx, organisationId)) {
    await addPausesUntilNow(work, id);
    for (const one of await listEndpoints(work.tx, id)) {
      if (one.status !== 'active') continue;
      await pauseEndpoint(work, id, one.endpoint_id);
      paused.push(one.endpoint_id);
    }
  }
  await markSuspended(work, organisationId, { reason, pausedEndpoints: paused });
  return { pausedEndpoints: paused.length };
}

/**
 * @returns how many endpoints were resumed. Null: the organisation is not suspended. `deleting`: its deletion has
 *   begun.
 */
export async function resumeOrganisation(
  work: UnitOfWork,
  organisation: { organisation_id: number; public_id: string },
): Promise<{ resumedEndpoints: number } | 'deleting' | null> {
  const { organisation_id: id } = organisation;
  await lockFeed(work, id);
  const suspension = await findSuspension(work.tx, id);
  if (suspension === null) return null;
  if ((await findDeletion(work.tx, organisation.public_id)) !== undefined) return 'deleting';
  const paused = new Set(suspension.paused_endpoints ?? []);
  let resumedEndpoints = 0;
  for (const one of await withSandbox(work.tx, id))
    for (const { endpoint_id: endpointId, status } of await listEndpoints(work.tx, one)) {
      if (status !== 'paused' || !paused.has(endpointId)) continue;
      await resumeEndpoint(work, one, endpointId);
      resumedEndpoints++;
    }
  await markResumed(work, id);
  return { resumedEndpoints };
}
