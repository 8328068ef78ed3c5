import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Random } from './random.ts';

/**
 * A keyring encrypts webhook secrets with AES-256-GCM (NIST SP 800-38D). HKDF-SHA256 (RFC 5869) derives its keys from
 * the service's secrets.
 */

export type Keyring = {
  /** `context` identifies the row that stores the encrypted text. Decryption needs the same context. */
  encrypt(plain: string, context: string): string;
  /** @throws SecretUnreadableError if the key is unknown, the text was altered, or the context differs */
  decrypt(encrypted: string, context: string): string;
  /** False if an older key encrypted the text. */
  isCurrent(encrypted: string): boolean;
  knows(keyId: string): boolean;
};

export class SecretUnreadableError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SecretUnreadableError';
  }
}

type Key = { id: string; bytes: Uint8Array };

function deriveKey(serviceSecret: string): Key {
  const derive = (purpose: string, length: number): Buffer =>
    Buffer.from(
      hkdfSync('sha256', serviceSecret, '', `assessment-results-service/webhook-secret/${purpose}/1`, length),
    );
  return { id: derive('key-id', 6).toString('base64url'), bytes: derive('key', 32) };
}

const form = /^1\.([\w-]{8})\.([\w-]{16})\.([\w-]{22,})$/;
const tagBytes = 16;

/**
 * The first secret encrypts, and every secret decrypts. An encrypted text is `1.<key ID>.<nonce>.<ciphertext and tag>`,
 * and its last three parts are in base64url.
 */
export function createKeyring(serviceSecrets: readonly string[], random: Random): Keyring {
  const keys = serviceSecrets.map(deriveKey);
  const current = keys[0];
  if (current === undefined || serviceSecrets.some((secret) => secret === '')) {
    throw new RangeError('A keyring needs at least one service secret, and none may be empty.');
  }
  // The context is authenticated, so a ciphertext is valid only in its own row.
  const bound = (keyId: string, context: string): Buffer => Buffer.from(`1.${keyId}.${context}`);
  const parse = (encrypted: string): { keyId: string; nonce: Buffer; sealed: Buffer } => {
    const match = form.exec(encrypted);
    if (match === null)
      throw new SecretUnreadableError('The stored webhook secret does not have the form of an encrypted secret.');
    return {
      keyId: match[1]!,
      nonce: Buffer.from(match[2]!, 'base64url'),
      sealed: Buffer.from(match[3]!, 'base64url'),
    };
  };
  return {
    encrypt(plain, context) {
      const nonce = random.bytes(12);
      const cipher = createCipheriv('aes-256-gcm', current.bytes, nonce, { authTagLength: tagBytes });
      cipher.setAAD(bound(current.id, context));
      const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `1.${current.id}.${nonce.toString('base64url')}.${sealed.toString('base64url')}`;
    },
    decrypt(encrypted, context) {
      const { keyId, nonce, sealed } = parse(encrypted);
      const key = keys.find((candidate) => candidate.id === keyId);
      if (key === undefined) {
        throw new SecretUnreadableError(
          `A webhook secret was encrypted under another service secret (key ${keyId}): restore that ARS_SECRET, or rotate the endpoint's secret.`,
        );
      }
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, nonce, { authTagLength: tagBytes });
      decipher.setAAD(bound(keyId, context));
      decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
      try {
        return Buffer.concat([
          decipher.update(sealed.subarray(0, sealed.length - tagBytes)),
          decipher.final(),
        ]).toString('utf8');
      } catch {
        throw new SecretUnreadableError('A stored webhook secret was altered, or moved from another endpoint.');
      }
    },
    knows: (keyId) => keys.some((key) => key.id === keyId),
    isCurrent: (encrypted) => parse(encrypted).keyId === current.id,
  };
}
