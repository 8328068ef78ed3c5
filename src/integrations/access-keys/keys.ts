import { hash } from 'node:crypto';
import { type Tx, statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { Random } from '../../platform/crypto/random.ts';
import type { KeyDescription } from './description.ts';
import { writeOfNewKey } from './email-templates.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

function base62(bytes: Buffer, length: number): string {
  let value = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (let i = 0; i < length; i++) {
    text = alphabet[Number(value % 62n)] + text;
    value /= 62n;
  }
  return text;
}

/** `ars_live_` or `ars_test_`, 256 random bits in base 62, and a check sum by which scanners find leaked secrets. */
function makeSecret(random: Random, kind: 'live' | 'test'): string {
  const text = `ars_${kind}_${base62(random.bytes(32), 43)}`;
  return text + base62(hash('sha256', text, 'buffer').subarray(0, 5), 6);
}

/** SHA-256 is enough, because a secret with 256 random bits cannot be guessed. */
export const hashSecret = (secret: string): Buffer => hash('sha256', secret, 'buffer');

/**
 * SQL: the stored hash of the secret of a key `k`. The secret of a restricted key is hashed twice, so that the key
 * stops working if its restrictions are removed from the row.
 */
const storedHash = (secretHash: string) =>
  `case when k.networks is null and k.group_ids is null and k.subjects is null then ${secretHash} else sha256(${secretHash}) end`;

export type AccessKey = {
  key_id: string;
  label: string | null;
  purpose: string | null;
  contact: string | null;
  /** In this field and the next two, null means no restriction. */
  networks: string[] | null;
  group_ids: string[] | null;
  subjects: string[] | null;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  replaces: string | null;
  replaced_by: string | null;
  last_used_ms: number | null;
  last_network: string | null;
  last_client: string | null;
};

const insert = statement('key.insert')`
  with made as (
    insert into access_key as k (key_id, organisation_id, label, secret_sha256, created_at, expires_at,
                                 purpose, contact, networks, group_ids, subjects, replaces)
    select k.key_id, $2, $3, ${storedHash('$4')}, $5, $6, $7, $8, k.networks, k.group_ids, k.subjects, $12
      from (select $1::text as key_id, $9::cidr[] as networks, $10::uuid[] as group_ids, $11::text[] as subjects) k
    returning key_id)
  insert into rate_window (key_id, organisation_id) select key_id, $2 from made`;
const columns = `
  k.key_id, k.label, k.purpose, k.contact, k.networks::text[], k.group_ids, k.subjects, k.created_at, k.expires_at,
  k.revoked_at, k.replaces, n.key_id as replaced_by, nullif(w.last_ms, 0) as last_used_ms, u.network as last_network,
  u.client as last_client`;
const joins = `
  left join rate_window w on w.organisation_id = $1 and w.key_id = k.key_id
  left join lateral (
    select r.key_id from access_key r where r.organisation_id = $1 and r.replaces = k.key_id and r.revoked_at is null
     order by r.created_at desc limit 1) n on true
  left join lateral (
    select u.network, u.client from key_use u where u.organisation_id = $1 and u.key_id = k.key_id
     order by u.last_at desc limit 1) u on true`;
const list = statement('key.list')`
  select ${columns} from access_key k ${joins} where k.organisation_id = $1 order by k.created_at, k.key_id`;
const labels = statement('key.labels')`select key_id, label from access_key where organisation_id = $1`;
const one = statement('key.one')`
  select ${columns} from access_key k ${joins} where k.organisation_id = $1 and k.key_id = $2`;
const lock = statement('key.lock')`
  select key_id from access_key where organisation_id = $1 and key_id = $2 for update`;
const revoke = statement('key.revoke')`
  update access_key set revoked_at = coalesce(revoked_at, $3) where organisation_id = $1 and key_id = $2 returning key_id`;
const revokeAll = statement('key.revoke_all')`
  update access_key set revoked_at = $2 where organisation_id = $1 and revoked_at is null`;
const end = statement('key.end')`
  update access_key set expires_at = least(expires_at, $3) where organisation_id = $1 and key_id = $2`;

const good = statement('key.good')`
  select from access_key
   where organisation_id = $1 and key_id = $2 and revoked_at is null and (expires_at is null or expires_at > $3)
     and exists (select from feed f where f.organisation_id = $1 and not f.suspended)`;
/** SQL: whether the secret of a key `k` is right, the key has not ended, and its networks contain the IP address. */
export const isValid = (secret: string, now: string, address: string): string =>
  `k.secret_sha256 = ${storedHash(secret)} and k.revoked_at is null and (k.expires_at is null or k.expires_at > ${now})
   and (k.networks is null or ${address} <<= any(k.networks))`;

const belongsTo = statement('key.belongs_to')`
  select k.organisation_id from access_key k where k.key_id = $1 and ${isValid('$2', '$3', '$4::inet')}`;
const suspended = statement('key.suspended')`select from feed where organisation_id = $1 and suspended`;

/** Whether credentials are refused only because their organisation is suspended. */
export async function isSuspended(
  tx: Tx,
  { keyId, secret, address }: { keyId: string; secret: string; address: string | null },
  nowMs: number,
): Promise<boolean> {
  const values = [keyId, hashSecret(secret), new Date(nowMs), address];
  const [key] = await tx.query<{ organisation_id: number }>(belongsTo, values);
  return key !== undefined && (await tx.query(suspended, [key.organisation_id])).length > 0;
}

/** Whether a key is still valid. Long responses and delayed changes check this again. */
export async function isKeyGood(tx: Tx, organisationId: number, keyId: string, nowMs: number): Promise<boolean> {
  return (await tx.query(good, [organisationId, keyId, new Date(nowMs)])).length > 0;
}

export type KeyPair = { access_key_id: string; secret_access_key: string };

type NewKey = { label: string | null; kind: 'live' | 'test' } & Partial<KeyDescription> & {
    /** A form that may be sent twice sets the ID, so that both requests name the same key. */
    keyId?: string;
    replaces?: string;
  };

export const keyIdFrom = (bytes: Buffer) => `ARSK${base62(bytes, 16).toUpperCase()}`;

/** Makes an access key. The secret is returned only here, because the database stores only its hash. */
export async function createKey(work: UnitOfWork, organisationId: number, input: NewKey): Promise<KeyPair> {
  const keyId = input.keyId ?? keyIdFrom(work.random.bytes(12));
  const secret = makeSecret(work.random, input.kind);
  const some = (values: readonly string[] | undefined) => (values === undefined || values.length === 0 ? null : values);
  await work.tx.query(insert, [
    keyId,
    organisationId,
    input.label,
    hashSecret(secret),
    new Date(work.nowMs),
    input.expiresAt ?? null,
    input.purpose ?? null,
    input.contact ?? null,
    some(input.networks),
    some(input.groupIds),
    some(input.subjects),
    input.replaces ?? null,
  ]);
  await writeOfNewKey(work, organisationId, { key_id: keyId, label: input.label, replaces: input.replaces ?? null });
  return { access_key_id: keyId, secret_access_key: secret };
}

export const listKeys = (tx: Tx, organisationId: number) => tx.query<AccessKey>(list, [organisationId]);

export const labelsOfKeys = (tx: Tx, organisationId: number) =>
  tx.query<Pick<AccessKey, 'key_id' | 'label'>>(labels, [organisationId]);

export async function findKey(tx: Tx, organisationId: number, keyId: string): Promise<AccessKey | undefined> {
  return (await tx.query<AccessKey>(one, [organisationId, keyId]))[0];
}

export function statusOf(key: AccessKey, nowMs: number) {
  if (key.revoked_at !== null) return 'revoked';
  return key.expires_at !== null && key.expires_at.getTime() <= nowMs ? 'expired' : 'active';
}

/** Revokes a key, so that its next request is refused. @returns false when the organisation has no such key */
export async function revokeKey(work: UnitOfWork, organisationId: number, keyId: string): Promise<boolean> {
  return (await work.tx.query(revoke, [organisationId, keyId, new Date(work.nowMs)])).length === 1;
}

/** Revokes all keys before an organisation is deleted, so that no call waits for rows that are being deleted. */
export async function endKeys(work: UnitOfWork, organisationId: number): Promise<void> {
  await work.tx.query(revokeAll, [organisationId, new Date(work.nowMs)]);
}

/**
 * Makes a key with the description of another key. Both keys work until `until`, when the old key ends at the latest.
 * @param options `expiresAt`: the end of the new key; by default the end of the old key
 * @returns why the key was not rotated, or the new key and the old key
 */
export async function rollKey(
  work: UnitOfWork,
  organisationId: number,
  keyId: string,
  options: { until: Date; kind: 'live' | 'test'; expiresAt?: Date | null },
): Promise<{ pair: KeyPair; old: AccessKey } | 'unknown' | 'ended' | 'rolled'> {
  // If two rotations run at the same time, the second waits here and returns `rolled`.
  await work.tx.query(lock, [organisationId, keyId]);
  const before = await findKey(work.tx, organisationId, keyId);
  if (before === undefined) return 'unknown';
  if (statusOf(before, work.nowMs) !== 'active') return 'ended';
  if (before.replaced_by !== null) return 'rolled';
  const pair = await createKey(work, organisationId, {
    label: before.label,
    kind: options.kind,
    purpose: before.purpose,
    contact: before.contact,
    expiresAt: options.expiresAt === undefined ? before.expires_at : options.expiresAt,
    networks: before.networks ?? [],
    groupIds: before.group_ids ?? [],
    subjects: before.subjects ?? [],
    replaces: keyId,
  });
  await work.tx.query(end, [organisationId, keyId, options.until]);
  return { pair, old: (await findKey(work.tx, organisationId, keyId))! };
}
