import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Random } from './random.ts';
import { dashed } from './random.ts';

/** Each purpose has its own key (HKDF, RFC 5869), so a MAC of one purpose is invalid for another. */
export type Purpose =
  | 'address'
  | 'cursor'
  | 'device'
  | 'form'
  | 'invitation'
  | 'idempotency'
  | 'key_link'
  | 'learner_ref'
  | 'listening'
  | 'mail'
  | 'place'
  | 'result'
  | 'session'
  | 'sign-in'
  | 'start_code';

export type Secrets = {
  /** HMAC-SHA256 of the text, cut to `bytes`. */
  mac(purpose: Purpose, text: string, bytes?: number): Buffer;
  macs(purpose: Purpose, text: string): Buffer[];
  /** Whether the MAC is valid under the current secret or a previous one. Comparisons take constant time. */
  check(purpose: Purpose, text: string, mac: Buffer): boolean;
  /** Encrypts with AES-256-GCM. The result contains 12 bytes of nonce, 16 bytes of tag, and the ciphertext. */
  seal(purpose: Purpose, text: string, random: Random): Buffer;
  /** Null if the text was changed, or its secret is no longer listed. */
  open(purpose: Purpose, sealed: Buffer): string | null;
};

function derive(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, 'assessment-results-service', purpose, 32));
}

/**
 * Identifies the service's secret in the database. The fingerprint is derived and shortened, so it does not reveal the
 * secret.
 */
export function secretFingerprint(secret: string): string {
  return derive(secret, 'fingerprint').toString('base64url', 0, 12);
}

const nonceBytes = 12;
const tagBytes = 16;

function openWith(key: Buffer, sealed: Buffer): string | null {
  if (sealed.length < nonceBytes + tagBytes) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  try {
    return decipher.update(sealed.subarray(nonceBytes + tagBytes), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}

/**
 * Derives keys from ARS_SECRET and ARS_PREVIOUS_SECRETS. Only the current secret signs and seals; all secrets check and
 * open.
 */
export function deriveSecrets(current: string, previous: readonly string[] = []): Secrets {
  const keys = new Map<Purpose, [Buffer, ...Buffer[]]>();
  const keysOf = (purpose: Purpose): [Buffer, ...Buffer[]] => {
    let found = keys.get(purpose);
    if (found === undefined) {
      found = [derive(current, purpose), ...previous.map((secret) => derive(secret, purpose))];
      keys.set(purpose, found);
    }
    return found;
  };
  const macWith = (key: Buffer, text: string, bytes: number) =>
    createHmac('sha256', key).update(text).digest().subarray(0, bytes);
  return {
    mac: (purpose, text, bytes = 32) => macWith(keysOf(purpose)[0], text, bytes),
    macs: (purpose, text) => keysOf(purpose).map((key) => macWith(key, text, 32)),
    check: (purpose, text, mac) =>
      mac.length >= 12 &&
      mac.length <= 32 &&
      keysOf(purpose).some((key) => timingSafeEqual(macWith(key, text, mac.length), mac)),
    seal: (purpose, text, random) => {
      const nonce = random.bytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', keysOf(purpose)[0], nonce, { authTagLength: tagBytes });
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
    },
    open: (purpose, sealed) => {
      for (const key of keysOf(purpose)) {
        const text = openWith(key, sealed);
        if (text !== null) return text;
      }
      return null;
    },
  };
}

/** A token in a URL gives access to one object. Its MAC ensures that only the service can make tokens. */

const macBytes = 24;

export function linkToken(secrets: Secrets, purpose: Purpose, organisationId: number, id: string): string {
  const organisation = Buffer.alloc(6);
  organisation.writeUIntBE(organisationId, 0, 6);
  return Buffer.concat([
    organisation,
    Buffer.from(id.replaceAll('-', ''), 'hex'),
    secrets.mac(purpose, `${organisationId}:${id}`, macBytes),
  ]).toString('base64url');
}

/** @returns null if this service did not make the token for this purpose */
export function readLinkToken(
  secrets: Secrets,
  purpose: Purpose,
  token: string,
): { organisationId: number; id: string } | null {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length !== 6 + 16 + macBytes || bytes.toString('base64url') !== token) return null;
  const organisationId = bytes.readUIntBE(0, 6);
  const id = dashed(bytes.toString('hex', 6, 22));
  return secrets.check(purpose, `${organisationId}:${id}`, bytes.subarray(22)) ? { organisationId, id } : null;
}
