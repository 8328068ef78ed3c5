import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { Random } from '../../platform/crypto/random.ts';

/** Codes of authenticator apps: TOTP (RFC 6238) with SHA-1, 6 digits and 30 seconds, which all apps support. */

const stepMs = 30_000;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[parseInt(five.padEnd(5, '0'), 2)]).join('');
}

function bytesOf(text: string): Buffer {
  const bits = [...text].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
}

/** A secret of 160 bits, as long as the hash (RFC 4226, 4). */
export const makeTotpSecret = (random: Random): string => base32(random.bytes(20));

function codeAt(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', bytesOf(secret)).update(counter).digest();
  const at = mac[19]! & 15;
  return String((mac.readUInt32BE(at) & 0x7fff_ffff) % 1_000_000).padStart(6, '0');
}

export const totpCode = (secret: string, nowMs: number): string => codeAt(secret, Math.floor(nowMs / stepMs));

/**
 * Finds the time step of a code: the current step, or a neighbour in case clocks differ.
 * @param after the last used step; codes of this step and of earlier steps no longer work
 */
export function totpStep(secret: string, code: string, nowMs: number, after: number): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const now = Math.floor(nowMs / stepMs);
  return (
    [now - 1, now, now + 1].find(
      (step) => step > after && timingSafeEqual(Buffer.from(codeAt(secret, step)), Buffer.from(code)),
    ) ?? null
  );
}

export function totpAddress(secret: string, account: string, issuer: string): string {
  return `otpauth://totp/${encodeURIComponent(`${issuer}:${account}`)}?secret=${secret}&issuer=${encodeURIComponent(issuer)}`;
}

const recoveryCodes = 8;

/** Each code has 120 random bits, so a fast hash such as SHA-256 protects the codes well enough (OWASP ASVS V6.5.2). */
export function makeRecoveryCodes(random: Random): string[] {
  return Array.from({ length: recoveryCodes }, () =>
    base32(random.bytes(15))
      .toLowerCase()
      .replace(/.{4}(?=.)/g, '$&-'),
  );
}

/** Codes of release 1.0.0 have 16 letters. @returns null for text that can't be a recovery code */
export function recoveryHash(code: string): Buffer | null {
  const letters = code.toLowerCase().replace(/[^a-z2-7]/g, '');
  return letters.length === 24 || letters.length === 16 ? hash('sha256', letters, 'buffer') : null;
}
