import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';
import { wakeWorkers } from '../events/emit.ts';
import { lockFeed } from '../feed/position.ts';
import { refuseUnknownGroups } from './register.ts';
import type { EndpointRow } from './store.ts';
import { endpointColumns } from './store.ts';

const edit = statement(
  'webhook.edit',
  `
  update webhook_endpoint set url = $3, event_types = $4, group_ids = $5, updated_at = $6,
         failing_since = case when url = $3 then failing_since end, warned_at = case when url = $3 then warned_at end,
         noticed_at = case when url = $3 then noticed_at end
   where organisation_id = $1 and endpoint_id = $2 returning ${endpointColumns}`,
);

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
