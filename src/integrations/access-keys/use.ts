import ipaddr from 'ipaddr.js';
import { type Database, type Tx, statement } from '../../platform/db/database.ts';
import { limits } from '../../platform/config/limits.ts';
import { parseIp } from '../../platform/validation/networks.ts';
import { holdsNationalInsuranceNumber } from '../../platform/validation/personal-data.ts';

type KeyUse = { organisationId: number; keyId: string; network: string; client: string; atMs: number };

/** Bits of an IP address that are kept: enough to recognise a data centre, too few for a person. */
const keptBits = { ipv4: 24, ipv6: 48 } as const;

/** The network of an IP address; empty when it is unknown. */
export function networkOf(address: string | null): string {
  if (address === null) return '';
  const ip = parseIp(address);
  const length = keptBits[ip.kind()];
  const range = `${ip.toString()}/${length}`;
  const first =
    ip.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(range) : ipaddr.IPv6.networkAddressFromCIDR(range);
  return `${first.toString()}/${length}`;
}

/** The first product of a User-Agent, such as `curl/8.5.0`; empty without one. */
export function clientOf(userAgent: string | undefined): string {
  const [product = ''] = /^[\w.+-]+(?:\/[\w.+-]+)?/.exec(userAgent ?? '') ?? [];
  const kept = product.slice(0, limits.keyClientChars);
  return holdsNationalInsuranceNumber(kept) ? '' : kept;
}

// The key may have been deleted with its sandbox. All processes write rows in the same order, so that they cannot deadlock.
const record = statement('key_use.record')`
  insert into key_use (organisation_id, key_id, network, client, first_at, last_at)
  select k.organisation_id, k.key_id, g.network, g.client, to_timestamp(min(g.ms) / 1000.0::float8), to_timestamp(max(g.ms) / 1000.0::float8)
    from unnest($1::text[], $2::text[], $3::text[], $4::int8[]) as g(key_id, network, client, ms)
    join access_key k on k.key_id = g.key_id
   group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (organisation_id, key_id, network, client) do update set last_at = greatest(key_use.last_at, excluded.last_at)`;
const prune = statement('key_use.prune')`
  delete from key_use u
   using (select organisation_id, key_id, network, client,
                 row_number() over (partition by organisation_id, key_id order by last_at desc, network, client) as n
            from key_use where organisation_id = any($1) and key_id = any($2)) old
   where old.n > ${limits.keyUses} and u.organisation_id = old.organisation_id and u.key_id = old.key_id
     and u.network = old.network and u.client = old.client`;

/** Records uses, and deletes all but the latest of each key. */
export async function recordUses(db: Database, uses: KeyUse[]): Promise<void> {
  await db.query(record, [
    uses.map((use) => use.keyId),
    uses.map((use) => use.network),
    uses.map((use) => use.client),
    uses.map((use) => use.atMs),
  ]);
  await db.query(prune, [
    [...new Set(uses.map((use) => use.organisationId))],
    [...new Set(uses.map((use) => use.keyId))],
  ]);
}

const ofKey = statement('key_use.of_key')`
  select network, client, first_at, last_at from key_use where organisation_id = $1 and key_id = $2
   order by last_at desc, network, client`;

export type StoredUse = { network: string; client: string; first_at: Date; last_at: Date };

/** The networks and clients of a key's uses, the latest first. */
export const usesOf = (tx: Tx, organisationId: number, keyId: string) =>
  tx.query<StoredUse>(ofKey, [organisationId, keyId]);
