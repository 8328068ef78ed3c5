import ipaddr from 'ipaddr.js';
import type { App } from '../../platform/app.ts';
import { type Database, type Tx, statement } from '../../platform/db/database.ts';
import { limits } from '../../platform/config/limits.ts';
import { parseIp } from '../../platform/validation/networks.ts';
import { holdsNationalInsuranceNumber } from '../../platform/validation/personal-data.ts';
import { errorFields } from '../../platform/observability/log.ts';

const everyMs = 10_000;
const maxUses = 1000;

type Key = { organisationId: number; keyId: string };
type Use = Key & { address: string | null; client: string | undefined; atMs: number };

/** The bits of an IP address that are stored: enough to recognise a data centre, too few to identify a person. */
const keptBits = { ipv4: 24, ipv6: 48 } as const;

/** The network of an IP address; empty when it is unknown. */
function networkOf(address: string | null): string {
  if (address === null) return '';
  const ip = parseIp(address);
  const length = keptBits[ip.kind()];
  const range = `${ip.toString()}/${length}`;
  const first =
    ip.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(range) : ipaddr.IPv6.networkAddressFromCIDR(range);
  return `${first.toString()}/${length}`;
}

/** The first product in a User-Agent, such as `curl/8.5.0`; empty: there is none. */
function clientOf(userAgent: string | undefined): string {
  const [product = ''] = /^[\w.+-]+(?:\/[\w.+-]+)?/.exec(userAgent ?? '') ?? [];
  const kept = product.slice(0, limits.keyClientChars);
  return holdsNationalInsuranceNumber(kept) ? '' : kept;
}

// Uses of a key that was deleted with its sandbox are dropped. All processes write rows in the same order, so that they
// cannot deadlock.
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

async function recordUses(db: Database, uses: Use[]): Promise<void> {
  await db.query(record, [
    uses.map((use) => use.keyId),
    uses.map((use) => networkOf(use.address)),
    uses.map((use) => clientOf(use.client)),
    uses.map((use) => use.atMs),
  ]);
  await db.query(prune, [
    [...new Set(uses.map((use) => use.organisationId))],
    [...new Set(uses.map((use) => use.keyId))],
  ]);
}

/**
 * Collects the networks and clients that use each key. The first use from a network is written immediately, later uses
 * every few seconds, so a crash can lose only later uses.
 */
export class KeyUses {
  #app: App;
  #uses = new Map<string, Use>();
  /** The last use of each key, because the next use nearly always has the same network and client. */
  #last = new Map<string, Use>();
  #waiting = new Set<Use>();
  #timer: NodeJS.Timeout | null = null;
  #written = Promise.resolve();

  constructor(app: App) {
    this.#app = app;
  }

  note({ organisationId, keyId }: Key, address: string | null, client: string | undefined): void {
    const atMs = this.#app.clock.nowMs();
    let use = this.#last.get(keyId);
    if (use === undefined || use.address !== address || use.client !== client) {
      const name = `${keyId} ${address} ${client}`;
      use = this.#uses.get(name);
      if (use === undefined) {
        if (this.#uses.size >= maxUses) {
          this.#uses.clear();
          this.#last.clear();
        }
        use = { organisationId, keyId, address, client, atMs };
        this.#uses.set(name, use);
        this.#waiting.add(use);
        this.#later(0);
      }
      this.#last.set(keyId, use);
    }
    use.atMs = atMs;
    this.#waiting.add(use);
    if (this.#timer === null) this.#later(everyMs);
  }

  #later(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = null;
      void this.#write();
    }, ms);
    this.#timer.unref();
  }

  /** Writes the waiting uses after the batch that is being written. */
  #write(): Promise<void> {
    this.#written = this.#written.then(async () => {
      if (this.#waiting.size === 0) return;
      const uses = [...this.#waiting];
      this.#waiting.clear();
      await recordUses(this.#app.db, uses).catch((error: unknown) =>
        this.#app.log.error('key_uses.failed', errorFields(error)),
      );
    });
    return this.#written;
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#write();
  }
}

const ofKey = statement('key_use.of_key')`
  select network, client, first_at, last_at from key_use where organisation_id = $1 and key_id = $2
   order by last_at desc, network, client`;

export type StoredUse = { network: string; client: string; first_at: Date; last_at: Date };

export const usesOf = (tx: Tx, organisationId: number, keyId: string) =>
  tx.query<StoredUse>(ofKey, [organisationId, keyId]);
