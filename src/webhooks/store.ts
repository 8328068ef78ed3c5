import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import { limits } from '../limits.ts';

/** A rotated secret, encrypted, and until when it signs as well (ISO 8601). */
export type EarlierSecret = { secret: string; until: string };

export type EndpointRow = {
  organisation_id: number;
  endpoint_id: string;
  url: string;
  event_types: string[];
  group_ids: string[] | null;
  status: 'active' | 'paused' | 'disabled';
  disabled_reason: string | null;
  /** Encrypted by the keyring, for this endpoint alone (register.ts). */
  secret: string;
  previous_secret: string | null;
  previous_secret_until: Date | null;
  /** Those before it, the newest first. */
  earlier_secrets: EarlierSecret[];
  failing_since: Date | null;
  warned_at: Date | null;
  /** When it was said that it fails. */
  noticed_at: Date | null;
  created_at: Date;
  updated_at: Date;
};

/** An endpoint as it is shown: nothing of its secrets. */
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

export const endpointColumns = `organisation_id, endpoint_id, url, event_types, group_ids, status, disabled_reason, secret, previous_secret,
  previous_secret_until, earlier_secrets, failing_since, warned_at, noticed_at, created_at, updated_at`;

const list = statement(
  'webhook.list',
  `select ${endpointColumns} from webhook_endpoint where organisation_id = $1 order by created_at, endpoint_id`,
);
const byId = statement(
  'webhook.by_id',
  `select ${endpointColumns} from webhook_endpoint where organisation_id = $1 and endpoint_id = $2`,
);
const count = statement('webhook.count', 'select count(*) as count from webhook_endpoint where organisation_id = $1');
const insert = statement(
  'webhook.insert',
  `
  insert into webhook_endpoint (organisation_id, endpoint_id, url, event_types, group_ids, secret, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $7, $7) returning ${endpointColumns}`,
);
const countOf = (status: 'pending' | 'dead') => `(
           select count(*) from (
             select from delivery d
              where d.organisation_id = $1 and d.endpoint_id = w.endpoint_id and d.status = '${status}' limit $3) d) as ${status}`;
const undelivered = statement(
  'webhook.undelivered',
  `
  select w.endpoint_id,
         ${countOf('pending')},
         ${countOf('dead')}
    from webhook_endpoint w where w.organisation_id = $1 and ($2::uuid is null or w.endpoint_id = $2)`,
);

// The newest deliveries that went to where the endpoint is now: of what an address of before took, nothing is known of this one.
const delivered = statement(
  'webhook.delivered',
  `
  select w.endpoint_id, max(d.finished_at) as at
    from webhook_endpoint w
   cross join lateral (
    select delivery_id, status, finished_at from delivery d
     where d.organisation_id = $1 and d.endpoint_id = w.endpoint_id order by d.created_at desc limit ${limits.deliveriesLooked}) d
    join delivery_attempt t on t.organisation_id = $1 and t.delivery_id = d.delivery_id and t.status_code between 200 and 299
   where w.organisation_id = $1 and ($2::uuid is null or w.endpoint_id = $2) and d.status = 'succeeded'
     and starts_with(t.sent, w.url || E'\\n') is not false
   group by w.endpoint_id`,
);

/** When each endpoint, or one, last took a delivery at its present address, as far as its newest deliveries tell. */
export async function lastDelivered(
  tx: Tx,
  organisationId: number,
  endpointId: string | null = null,
): Promise<Map<string, Date>> {
  const rows = await tx.query<{ endpoint_id: string; at: Date }>(delivered, [organisationId, endpointId]);
  return new Map(rows.map((row) => [row.endpoint_id, row.at]));
}

export function listEndpoints(tx: Tx, organisationId: number): Promise<EndpointRow[]> {
  return tx.query<EndpointRow>(list, [organisationId]);
}

export async function findEndpoint(
  tx: Tx,
  organisationId: number,
  endpointId: string,
): Promise<EndpointRow | undefined> {
  return (await tx.query<EndpointRow>(byId, [organisationId, endpointId]))[0];
}

export async function countEndpoints(tx: Tx, organisationId: number): Promise<number> {
  return (await tx.query<{ count: number }>(count, [organisationId]))[0]!.count;
}

export async function insertEndpoint(
  tx: Tx,
  organisationId: number,
  row: { endpointId: string; url: string; eventTypes: string[]; groupIds: string[] | null; secret: string; at: Date },
): Promise<EndpointRow> {
  return (
    await tx.query<EndpointRow>(insert, [
      organisationId,
      row.endpointId,
      row.url,
      row.eventTypes,
      row.groupIds,
      row.secret,
      row.at,
    ])
  )[0]!;
}

/**
 * How many deliveries wait for each endpoint, or for one, and how many have finally failed.
 * @param upTo more than so many aren't counted: a page need not wait for a queue to be counted to its end
 */
export async function countUndelivered(
  tx: Tx,
  organisationId: number,
  { endpointId = null, upTo = null }: { endpointId?: string | null; upTo?: number | null } = {},
): Promise<Map<string, { pending: number; dead: number }>> {
  const rows = await tx.query<{ endpoint_id: string; pending: number; dead: number }>(undelivered, [
    organisationId,
    endpointId,
    upTo,
  ]);
  return new Map(rows.map((row) => [row.endpoint_id, row]));
}
