import type { Work } from '../db/work.ts';
import { ApiError } from '../errors.ts';
import { lockFeed } from '../feed/position.ts';
import { knownGroups } from '../groups/groups.ts';
import { limits } from '../limits.ts';
import { newSecret } from './signing.ts';
import type { EndpointRow } from './store.ts';
import { countEndpoints, insertEndpoint } from './store.ts';

/** What an endpoint's secret is encrypted for: it opens nowhere else. */
export function secretContext(organisationId: number, endpointId: string): string {
  return `${organisationId}/${endpointId}`;
}

/**
 * @param groupIds in the order in which they were sent, because the first unknown one is told by its position
 * @throws ApiError unknown_group
 */
export async function refuseUnknownGroups(work: Work, organisationId: number, groupIds: string[] | null) {
  const known = groupIds === null ? null : await knownGroups(work.tx, organisationId, groupIds);
  const at = groupIds?.findIndex((id) => !known!.has(id)) ?? -1;
  if (at >= 0) throw new ApiError('unknown_group', `group_ids[${at}] must be a group of your organisation.`);
}

/**
 * POST /webhooks. The feed's lock keeps two registrations from passing the limit together, and puts the registration
 * before or after every event, never between an event and its fan-out.
 * @throws ApiError unknown_group, webhook_limit_exceeded
 */
export async function registerEndpoint(
  work: Work,
  organisationId: number,
  given: { url: string; eventTypes: string[]; groupIds: string[] | null; endpointId?: string },
): Promise<{ row: EndpointRow; secret: string }> {
  await lockFeed(work, organisationId);
  await refuseUnknownGroups(work, organisationId, given.groupIds);
  if ((await countEndpoints(work.tx, organisationId)) >= limits.webhooksPerOrganisation)
    throw new ApiError('webhook_limit_exceeded');
  const endpointId = given.endpointId ?? work.uuid();
  const secret = newSecret(work.random);
  const row = await insertEndpoint(work.tx, organisationId, {
    ...given,
    groupIds: given.groupIds === null ? null : [...new Set(given.groupIds)],
    endpointId,
    secret: work.keyring.encrypt(secret, secretContext(organisationId, endpointId)),
    at: new Date(work.nowMs),
  });
  return { row, secret };
}
