import { hash } from 'node:crypto';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';
import type { Random } from '../random.ts';

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

/** The check sum that lets scanners tell a leaked secret from a look-alike: 6 characters over everything before it. */
function checkSum(text: string): string {
  return base62(hash('sha256', text, 'buffer').subarray(0, 5), 6);
}

/** `ars_live_` or `ars_test_`, 256 random bits in base 62, and a check sum. */
export function makeSecret(random: Random, kind: 'live' | 'test'): string {
  const text = `ars_${kind}_${base62(random.bytes(32), 43)}`;
  return text + checkSum(text);
}

/** SHA-256: the secret has 256 random bits, so a slow hash would protect nothing more. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

export type AccessKey = {
  key_id: string;
  label: string | null;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
};

const insert = statement(
  'key.insert',
  `
  with made as (
    insert into access_key (key_id, organisation_id, label, secret_sha256, created_at, expires_at) values ($1, $2, $3, $4, $5, $6) returning key_id)
  insert into rate_window (key_id) select key_id from made`,
);
const list = statement(
  'key.list',
  `
  select key_id, label, created_at, expires_at, revoked_at from access_key where organisation_id = $1 order by created_at, key_id`,
);
const revoke = statement(
  'key.revoke',
  `
  update access_key set revoked_at = coalesce(revoked_at, $3) where organisation_id = $1 and key_id = $2 returning key_id`,
);

/** Makes a key pair; the secret is returned this once, only its hash is kept. */
export async function createKey(
  work: Work,
  organisationId: number,
  given: { label: string | null; kind: 'live' | 'test'; expiresAt?: Date | null; random?: Random },
) {
  const random = given.random ?? work.random;
  const keyId = `ARSK${base62(random.bytes(12), 16).toUpperCase()}`;
  const secret = makeSecret(random, given.kind);
  await work.tx.query(insert, [
    keyId,
    organisationId,
    given.label,
    hashSecret(secret),
    new Date(work.nowMs),
    given.expiresAt ?? null,
  ]);
  return { access_key_id: keyId, secret_access_key: secret };
}

export function listKeys(tx: Tx, organisationId: number): Promise<AccessKey[]> {
  return tx.query<AccessKey>(list, [organisationId]);
}

/** Effective with the next request: nothing remembers keys. @returns false when the organisation has no such key */
export async function revokeKey(work: Work, organisationId: number, keyId: string): Promise<boolean> {
  return (await work.tx.query(revoke, [organisationId, keyId, new Date(work.nowMs)])).length === 1;
}
