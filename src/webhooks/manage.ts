import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';
import { ApiError } from '../errors.ts';
import { wakeWorkers } from '../events/emit.ts';
import { lockFeed } from '../feed/position.ts';
import { knownGroups } from '../groups/groups.ts';
import { limits } from '../limits.ts';
import { secretContext } from './secrets.ts';
import { newSecret } from './signing.ts';
import type { EndpointRow } from './store.ts';
import { countEndpoints, endpointColumns, insertEndpoint } from './store.ts';

/** How long a rotated secret signs as well. */
export const rotationMs = 24 * 3600_000;

const pause = statement(
  'webhook.pause',
  `
  update webhook_endpoint set status = 'paused', updated_at = case when status = 'active' then $3 else updated_at end
   where organisation_id = $1 and endpoint_id = $2 and status in ('active', 'paused') returning ${endpointColumns}`,
);
const resume = statement(
  'webhook.resume',
  `
  update webhook_endpoint set status = 'active', disabled_reason = null, failing_since = null, warned_at = null, noticed_at = null,
         updated_at = case when status = 'active' then updated_at else $3 end
   where organisation_id = $1 and endpoint_id = $2 returning ${endpointColumns}`,
);
type HeldSecrets = Pick<EndpointRow, 'previous_secret_until' | 'earlier_secrets'>;
const hold = statement(
  'webhook.hold',
  `
  select previous_secret, previous_secret_until, earlier_secrets from webhook_endpoint
   where organisation_id = $1 and endpoint_id = $2 for update`,
);
const rotate = statement(
  'webhook.rotate',
  `
  update webhook_endpoint set secret = $3, previous_secret = secret, previous_secret_until = $4, updated_at = $5, earlier_secrets = $6
   where organisation_id = $1 and endpoint_id = $2 returning ${endpointColumns}`,
);

const remove = statement(
  'webhook.remove',
  'delete from webhook_endpoint where organisation_id = $1 and endpoint_id = $2 returning endpoint_id',
);

const edit = statement(
  'webhook.edit',
  `
  update webhook_endpoint set url = $3, event_types = $4, group_ids = $5, updated_at = $6,
         failing_since = case when url = $3 then failing_since end, warned_at = case when url = $3 then warned_at end,
         noticed_at = case when url = $3 then noticed_at end
   where organisation_id = $1 and endpoint_id = $2 returning ${endpointColumns}`,
);

/**
 * @param groupIds in the order in which they were sent, because the first unknown one is told by its position
 * @throws ApiError unknown_group
 */
async function refuseUnknownGroups(work: Work, organisationId: number, groupIds: string[] | null) {
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

/**
 * Changes where an endpoint is and what it is told of. What waits for it goes to the new address; another address starts
 * its record of failures anew. The feed's lock puts the change before or after every event, as a registration.
 * @returns undefined when the organisation has no such endpoint
 * @throws ApiError unknown_group
 */
export async function editEndpoint(
  work: Work,
  organisationId: number,
  endpointId: string,
  given: { url: string; eventTypes: string[]; groupIds: string[] | null },
): Promise<EndpointRow | undefined> {
  await lockFeed(work, organisationId);
  await refuseUnknownGroups(work, organisationId, given.groupIds);
  const [row] = await work.tx.query<EndpointRow>(edit, [
    organisationId,
    endpointId,
    given.url,
    given.eventTypes,
    given.groupIds,
    new Date(work.nowMs),
  ]);
  wakeWorkers(work, organisationId);
  return row;
}

/**
 * Holds an endpoint's deliveries back: they wait, and more are added. Attempts under way end as they would have.
 * @returns undefined when the organisation has no such endpoint, or it is disabled and so holds them back already
 */
export async function pauseEndpoint(
  work: Work,
  organisationId: number,
  endpointId: string,
): Promise<EndpointRow | undefined> {
  const [row] = await work.tx.query<EndpointRow>(pause, [organisationId, endpointId, new Date(work.nowMs)]);
  wakeWorkers(work, organisationId);
  return row;
}

/**
 * Lets a paused or disabled endpoint's waiting deliveries go, as far as they are due; its record of failures starts anew.
 * @returns undefined when the organisation has no such endpoint
 */
export async function resumeEndpoint(
  work: Work,
  organisationId: number,
  endpointId: string,
): Promise<EndpointRow | undefined> {
  const [row] = await work.tx.query<EndpointRow>(resume, [organisationId, endpointId, new Date(work.nowMs)]);
  wakeWorkers(work, organisationId);
  return row;
}

/** When each secret of an endpoint ends, the current one first, which has no end. None of them is shown. */
export function secretEnds(row: HeldSecrets, nowMs: number): (Date | null)[] {
  const { previous_secret_until: previous, earlier_secrets: earlier } = row;
  const ends = [...(previous === null ? [] : [previous]), ...earlier.map((one) => new Date(one.until))];
  return [null, ...ends.filter((end) => end.getTime() > nowMs)];
}

/** So many secrets sign already that one more would only make the header longer: no rotation needs it. */
export class SecretsHeldError extends Error {
  constructor(firstEnds: Date) {
    super(
      `The endpoint's deliveries are signed with ${limits.webhookSecrets} secrets already, the most there may be: ` +
        `the next rotation is possible from ${firstEnds.toISOString()}, when the oldest ends.`,
    );
    this.name = 'SecretsHeldError';
  }
}

/**
 * Makes a new signing secret; each one before signs beside it until its day is over.
 * @returns undefined when the organisation has no such endpoint
 * @throws SecretsHeldError when as many as may be still sign
 */
export async function rotateSecret(
  work: Work,
  organisationId: number,
  endpointId: string,
): Promise<{ row: EndpointRow; secret: string } | undefined> {
  const [held] = await work.tx.query<HeldSecrets & Pick<EndpointRow, 'previous_secret'>>(hold, [
    organisationId,
    endpointId,
  ]);
  if (held === undefined) return undefined;
  const ends = [held.previous_secret_until?.getTime() ?? 0, ...held.earlier_secrets.map((one) => Date.parse(one.until))]
    .filter((endMs) => endMs > work.nowMs)
    .toSorted((a, b) => a - b);
  if (1 + ends.length >= limits.webhookSecrets) throw new SecretsHeldError(new Date(ends[0]!));
  const secret = newSecret(work.random);
  const encrypted = work.keyring.encrypt(secret, secretContext(organisationId, endpointId));
  const [row] = await work.tx.query<EndpointRow>(rotate, [
    organisationId,
    endpointId,
    encrypted,
    new Date(work.nowMs + rotationMs),
    new Date(work.nowMs),
    JSON.stringify(
      held.previous_secret === null
        ? held.earlier_secrets
        : [{ secret: held.previous_secret, until: held.previous_secret_until!.toISOString() }, ...held.earlier_secrets],
    ),
  ]);
  wakeWorkers(work, organisationId);
  return { row: row!, secret };
}

/**
 * Removes an endpoint. Its deliveries are no longer sent or listed from here on; the workers remove them (prune.ts).
 * @returns false when the organisation has no such endpoint
 */
export async function removeEndpoint(work: Work, organisationId: number, endpointId: string): Promise<boolean> {
  await lockFeed(work, organisationId);
  const removed = await work.tx.query(remove, [organisationId, endpointId]);
  if (removed.length === 0) return false;
  // Whoever is sending to it learns that it is gone.
  wakeWorkers(work, organisationId);
  return true;
}
