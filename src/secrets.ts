import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Random } from './random.ts';

/** What keys are derived for; each purpose has its own key (HKDF, RFC 5869), so that one use can't be turned into another. */
export type Purpose = 'cursor' | 'invitation' | 'idempotency' | 'session';

export type Secrets = {
  /** HMAC-SHA256 of the text, cut to `bytes`. */
  mac(purpose: Purpose, text: string, bytes?: number): Buffer;
  /** True when the MAC is the text's, in constant time. */
  check(purpose: Purpose, text: string, mac: Buffer): boolean;
  /** AES-256-GCM: 12 bytes of nonce, 16 of tag, then the text. */
  seal(purpose: Purpose, text: string, random: Random): Buffer;
  /** The sealed text; throws when it was sealed under another secret or changed. */
  open(purpose: Purpose, sealed: Buffer): string;
};

/** Derives the service's keys from its one secret (ARS_SECRET). */
export function deriveSecrets(secret: string): Secrets {
  const keys = new Map<Purpose, Buffer>();
  const key = (purpose: Purpose): Buffer => {
    let found = keys.get(purpose);
    if (found === undefined) {
      found = Buffer.from(hkdfSync('sha256', secret, 'assessment-results-service', purpose, 32));
      keys.set(purpose, found);
    }
    return found;
  };
  const mac = (purpose: Purpose, text: string, bytes = 32) =>
    createHmac('sha256', key(purpose)).update(text).digest().subarray(0, bytes);
  return {
    mac,
    check: (purpose, text, given) =>
      given.length >= 12 && given.length <= 32 && timingSafeEqual(mac(purpose, text, given.length), given),
    seal: (purpose, text, random) => {
      const nonce = random.bytes(12);
      const cipher = createCipheriv('aes-256-gcm', key(purpose), nonce);
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
    },
    open: (purpose, sealed) => {
      const decipher = createDecipheriv('aes-256-gcm', key(purpose), sealed.subarray(0, 12));
      decipher.setAuthTag(sealed.subarray(12, 28));
      return decipher.update(sealed.subarray(28), undefined, 'utf8') + decipher.final('utf8');
    },
  };
}
