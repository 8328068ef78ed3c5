import { type Tx, statement } from '../platform/db/database.ts';
import { limits } from '../platform/config/limits.ts';

/** Counts of webhook endpoints, deliveries and keys that need attention, for the dashboard. */

const dayMs = 24 * 3600_000;

const integration = statement('today.integration')`
  select (select count(*)::int4 from (select from delivery d where d.organisation_id = $1 and d.status = 'dead' limit $2) c) as dead,
         (select count(*)::int4 from webhook_endpoint w where w.organisation_id = $1 and w.status = 'active' and w.failing_since is not null) as failing,
         (select count(*)::int4 from webhook_endpoint w where w.organisation_id = $1 and w.status = 'disabled') as disabled,
         (select count(*)::int4 from access_key k
           where k.organisation_id = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > $3) and k.created_at < $4
             and not exists (select from key_use u where u.organisation_id = $1 and u.key_id = k.key_id and u.last_at >= $4)) as unused,
         (select count(*)::int4 from access_key k
           where k.organisation_id = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > $3)
             and exists (
               select from key_use u
                where u.organisation_id = $1 and u.key_id = k.key_id and u.first_at >= $5 and u.first_at > k.created_at + interval '1 day'
                  and not exists (
                    select from key_use o
                     where o.organisation_id = $1 and o.key_id = k.key_id and o.network = u.network and o.first_at < u.first_at))) as elsewhere`;

type Integration = { dead: number; failing: number; disabled: number; unused: number; elsewhere: number };

export async function countIntegration(tx: Tx, organisationId: number, nowMs: number): Promise<Integration> {
  const at = (days: number) => new Date(nowMs - days * dayMs);
  const values = [organisationId, limits.maxCounted + 1, at(0), at(limits.keyUnusedDays), at(limits.newNetworkDays)];
  return (await tx.query<Integration>(integration, values))[0]!;
}
