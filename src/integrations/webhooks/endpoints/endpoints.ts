import { type Tx, statement } from '../../../platform/db/database.ts';
import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { ApiError } from '../../../platform/errors/errors.ts';
import { wakeWorkers } from '../../../feed/events/emit.ts';
import { lockFeed } from '../../../feed/position.ts';
import { knownGroups } from '../../../organisations/groups/groups.ts';
import { limits } from '../../../platform/config/limits.ts';
import { type EarlierSecret, type EndpointSecrets, secretContext } from './secrets.ts';
import { newSecret } from '../http/signing.ts';

export type EndpointRow = EndpointSecrets & {
  url: string;
  event_types: string[];
  group_ids: string[] | null;
  status: 'active' | 'paused' | 'disabled';
  disabled_reason: string | null;
  failing_since: Date | null;
  warned_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

/** An endpoint in responses, without its secrets. */
export function endpointPayload(row: EndpointRow) {
  return {
    id: row.endpoint_id,
    url: row.url,
    event_types: row.event_types,
    group_ids: row.group_ids,
    status: row.status,
    disabled_reason: row.disabled_reason,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

const columns = `organisation_id, endpoint_id, url, event_types, group_ids, status, disabled_reason, secret, previous_secret,
  previous_secret_until, earlier_secrets, failing_since, warned_at, created_at, updated_at`;
const one = `where organisation_id = $1 and endpoint_id = $2`;
const byId = statement('webhook.by_id')`select ${columns} from webhook_endpoint ${one}`;
const locked = statement('webhook.locked')`${byId.text} for update`;
const list = statement('webhook.list')`
  select ${columns} from webhook_endpoint where organisation_id = $1 order by created_at, endpoint_id`;
const insert = statement('webhook.insert')`
  insert into webhook_endpoint (organisation_id, endpoint_id, url, event_types, group_ids, secret, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $7, $7) returning ${columns}`;
const edit = statement('webhook.edit')`
  update webhook_endpoint set url = $3, event_types = $4, group_ids = $5, updated_at = $6,
         failing_since = case when url = $3 then failing_since end, warned_at = case when url = $3 then warned_at end,
         noticed_at = case when url = $3 then noticed_at end
   ${one} returning ${columns}`;
const pause = statement('webhook.pause')`
  update webhook_endpoint set status = 'paused', updated_at = case when status = 'active' then $3 else updated_at end
   ${one} and status in ('active', 'paused') returning ${columns}`;
const resume = statement('webhook.resume')`
  update webhook_endpoint set status = 'active', disabled_reason = null, failing_since = null, warned_at = null, noticed_at = null,
         updated_at = case when status = 'active' then updated_at else $3 end
   ${one} returning ${columns}`;
const rotate = statement('webhook.rotate')`
  update webhook_endpoint set secret = $3, previous_secret = secret, previous_secret_until = $4, updated_at = $5, earlier_secrets = $6
   ${one} returning ${columns}`;
const remove = statement('webhook.remove')`delete from webhook_endpoint ${one} returning endpoint_id`;

export const listEndpoints = (tx: Tx, organisationId: number) => tx.query<EndpointRow>(list, [organisationId]);

export async function findEndpoint(tx: Tx, organisationId: number, endpointId: string) {
  return (await tx.query<EndpointRow>(byId, [organisationId, endpointId]))[0];
}

export type EndpointInput = { url: string; eventTypes: string[]; groupIds: string[] | null };

/**
 * @param groupIds in the order of the request, because the error names the position of the first unknown group
 * @throws ApiError unknown_group
 */
async function refuseUnknownGroups(work: UnitOfWork, organisationId: number, groupIds: string[] | null) {
  if (groupIds === null) return;
  const existing = await knownGroups(work.tx, organisationId, groupIds);
  const at = groupIds.findIndex((id) => !existing.has(id));
  if (at >= 0) throw new ApiError('unknown_group', `group_ids[${at}] is not a known group. Take IDs from GET /groups.`);
}

/**
 * Registers an endpoint. Without the feed's lock, two registrations could exceed the limit together, or one could come
 * between an event and its deliveries.
 * @throws ApiError unknown_group, webhook_limit_exceeded
 */
export async function registerEndpoint(
  work: UnitOfWork,
  organisationId: number,
  { url, eventTypes, groupIds, endpointId = work.uuid() }: EndpointInput & { endpointId?: string },
): Promise<{ row: EndpointRow; secret: string }> {
  await lockFeed(work, organisationId);
  await refuseUnknownGroups(work, organisationId, groupIds);
  if ((await listEndpoints(work.tx, organisationId)).length >= limits.webhooksPerOrganisation)
    throw new ApiError('webhook_limit_exceeded');
  const secret = newSecret(work.random);
  const encrypted = work.keyring.encrypt(secret, secretContext(organisationId, endpointId));
  const groups = groupIds === null ? null : [...new Set(groupIds)];
  const values = [organisationId, endpointId, url, eventTypes, groups, encrypted, new Date(work.nowMs)];
  const [row] = await work.tx.query<EndpointRow>(insert, values);
  return { row: row!, secret };
}

/** Changes an endpoint and wakes the workers. @returns undefined when the organisation has no such endpoint */
async function change(work: UnitOfWork, sql: typeof edit, values: [organisationId: number, ...others: unknown[]]) {
  const [row] = await work.tx.query<EndpointRow>(sql, values);
  if (row !== undefined) wakeWorkers(work, values[0]);
  return row;
}

/**
 * Changes the URL and the events of an endpoint. Waiting deliveries go to the new URL, whose failures are counted from
 * zero.
 *
 * The feed's lock keeps the change from coming between an event and its deliveries.
 * @returns undefined when the organisation has no such endpoint
 * @throws ApiError unknown_group
 */
export async function editEndpoint(
  work: UnitOfWork,
  organisationId: number,
  endpointId: string,
  { url, eventTypes, groupIds }: EndpointInput,
): Promise<EndpointRow | undefined> {
  await lockFeed(work, organisationId);
  await refuseUnknownGroups(work, organisationId, groupIds);
  return change(work, edit, [organisationId, endpointId, url, eventTypes, groupIds, new Date(work.nowMs)]);
}

/**
 * Pauses an endpoint. Existing and new deliveries wait until the endpoint is resumed, but attempts under way are
 * completed.
 * @returns undefined when the organisation has no such endpoint, or the endpoint is disabled
 */
export const pauseEndpoint = (work: UnitOfWork, organisationId: number, endpointId: string) =>
  change(work, pause, [organisationId, endpointId, new Date(work.nowMs)]);

/**
 * Resumes a paused or disabled endpoint and its waiting deliveries. The endpoint's failures are counted from zero.
 * @returns undefined when the organisation has no such endpoint
 */
export const resumeEndpoint = (work: UnitOfWork, organisationId: number, endpointId: string) =>
  change(work, resume, [organisationId, endpointId, new Date(work.nowMs)]);

/**
 * Removes an endpoint. Its deliveries are no longer sent or listed, and retention deletes their rows later.
 * @returns false when the organisation has no such endpoint
 */
export async function removeEndpoint(work: UnitOfWork, organisationId: number, endpointId: string): Promise<boolean> {
  await lockFeed(work, organisationId);
  return (await change(work, remove, [organisationId, endpointId])) !== undefined;
}

/** A rotated secret still signs for this time. */
export const rotationMs = 24 * 3600_000;

const rotatedSecrets = (row: EndpointRow): EarlierSecret[] => {
  const { previous_secret: secret, previous_secret_until: until, earlier_secrets: earlier } = row;
  return secret === null ? earlier : [{ secret, until: until!.toISOString() }, ...earlier];
};

/** When each secret that signs now ends, the current secret first; null: no end. */
export function secretEnds(row: EndpointRow, nowMs: number): (Date | null)[] {
  const ends = rotatedSecrets(row).map(({ until }) => new Date(until));
  return [null, ...ends.filter((end) => end.getTime() > nowMs)];
}

/**
 * Thrown if too many secrets still sign. Their number is limited, because each secret adds a signature to the header.
 */
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
 * Makes a new signing secret. Each earlier secret still signs for 24 hours after its rotation.
 * @returns undefined when the organisation has no such endpoint
 * @throws SecretsHeldError when the maximum number of secrets still sign
 */
export async function rotateSecret(work: UnitOfWork, organisationId: number, endpointId: string) {
  const [held] = await work.tx.query<EndpointRow>(locked, [organisationId, endpointId]);
  if (held === undefined) return undefined;
  const ends = secretEnds(held, work.nowMs);
  if (ends.length >= limits.webhookSecrets) throw new SecretsHeldError(ends.at(-1)!);
  const secret = newSecret(work.random);
  const row = await change(work, rotate, [
    organisationId,
    endpointId,
    work.keyring.encrypt(secret, secretContext(organisationId, endpointId)),
    new Date(work.nowMs + rotationMs),
    new Date(work.nowMs),
    JSON.stringify(rotatedSecrets(held)),
  ]);
  return { row: row!, secret };
}

const countOf = (status: 'pending' | 'dead') => `(
           select count(*) from (
             select from delivery d
              where d.organisation_id = $1 and d.endpoint_id = w.endpoint_id and d.status = '${status}' limit $3) d) as ${status}`;
const undelivered = statement('webhook.undelivered')`
  select w.endpoint_id, ${countOf('pending')}, ${countOf('dead')}
    from webhook_endpoint w where w.organisation_id = $1 and ($2::uuid is null or w.endpoint_id = $2)`;

/**
 * Counts waiting deliveries and dead letters, for one endpoint or for all.
 * @param upTo counting stops at this number, so that a page does not wait for a long queue
 */
export async function countUndelivered(
  tx: Tx,
  organisationId: number,
  { endpointId = null, upTo = null }: { endpointId?: string | null; upTo?: number | null } = {},
): Promise<Map<string, { pending: number; dead: number }>> {
  type Row = { endpoint_id: string; pending: number; dead: number };
  const rows = await tx.query<Row>(undelivered, [organisationId, endpointId, upTo]);
  return new Map(rows.map((row) => [row.endpoint_id, row]));
}

// Deliveries to an earlier URL are ignored, because they say nothing about the present URL.
const delivered = statement('webhook.delivered')`
  select w.endpoint_id, max(d.finished_at) as at
    from webhook_endpoint w
   cross join lateral (
    select delivery_id, status, finished_at from delivery d
     where d.organisation_id = $1 and d.endpoint_id = w.endpoint_id order by d.created_at desc limit ${limits.deliveriesLooked}) d
    join delivery_attempt t on t.organisation_id = $1 and t.delivery_id = d.delivery_id and t.status_code between 200 and 299
   where w.organisation_id = $1 and ($2::uuid is null or w.endpoint_id = $2) and d.status = 'succeeded'
     and starts_with(t.sent, w.url || E'\n') is not false
   group by w.endpoint_id`;

/**
 * The time of the last successful delivery to each present URL, for one endpoint or for all. Only the newest deliveries
 * are read.
 */
export async function lastDelivered(tx: Tx, organisationId: number, endpointId: string | null = null) {
  const rows = await tx.query<{ endpoint_id: string; at: Date }>(delivered, [organisationId, endpointId]);
  return new Map(rows.map((row) => [row.endpoint_id, row.at]));
}
