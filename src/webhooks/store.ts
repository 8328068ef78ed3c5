import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';

export type EndpointRow = {
  organisation_id: number; endpoint_id: string; url: string; event_types: string[]; group_ids: string[] | null;
  status: 'active' | 'paused' | 'disabled'; disabled_reason: string | null;
  /** Encrypted; see secret.ts. */
  secret: string; previous_secret: string | null; previous_secret_until: Date | null;
  failing_since: Date | null; created_at: Date; updated_at: Date;
};

const columns = `organisation_id, endpoint_id, url, event_types, group_ids, status, disabled_reason, secret, previous_secret,
  previous_secret_until, failing_since, created_at, updated_at`;

const list = statement('webhook.list', `select ${columns} from webhook_endpoint where organisation_id = $1 order by created_at, endpoint_id`);
const byId = statement('webhook.by_id', `select ${columns} from webhook_endpoint where organisation_id = $1 and endpoint_id = $2`);
const count = statement('webhook.count', 'select count(*) as count from webhook_endpoint where organisation_id = $1');
const insert = statement('webhook.insert', `
  insert into webhook_endpoint (organisation_id, endpoint_id, url, event_types, group_ids, secret, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $7, $7) returning ${columns}`);
const remove = statement('webhook.remove', `
  with gone as (delete from webhook_endpoint where organisation_id = $1 and endpoint_id = $2 returning endpoint_id),
  undelivered as (delete from delivery d using gone where d.organisation_id = $1 and d.endpoint_id = gone.endpoint_id)
  select endpoint_id from gone`);

export function listEndpoints(tx: Tx, organisationId: number): Promise<EndpointRow[]> {
  return tx.query<EndpointRow>(list, [organisationId]);
}

export async function findEndpoint(tx: Tx, organisationId: number, endpointId: string): Promise<EndpointRow | undefined> {
  return (await tx.query<EndpointRow>(byId, [organisationId, endpointId]))[0];
}

export async function countEndpoints(tx: Tx, organisationId: number): Promise<number> {
  return (await tx.query<{ count: number }>(count, [organisationId]))[0]!.count;
}

export async function insertEndpoint(tx: Tx, organisationId: number, row: { endpointId: string; url: string; eventTypes: string[]; groupIds: string[] | null; secret: string; at: Date }): Promise<EndpointRow> {
  return (await tx.query<EndpointRow>(insert, [organisationId, row.endpointId, row.url, row.eventTypes, row.groupIds, row.secret, row.at]))[0]!;
}

/** @returns false when the organisation has no such endpoint */
export async function removeEndpoint(tx: Tx, organisationId: number, endpointId: string): Promise<boolean> {
  return (await tx.query(remove, [organisationId, endpointId])).length === 1;
}
