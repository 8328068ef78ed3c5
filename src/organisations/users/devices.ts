import { hash } from 'node:crypto';
import type { Random } from '../../platform/crypto/random.ts';
import type { Secrets } from '../../platform/crypto/secrets.ts';
import type { Account } from './accounts.ts';

/**
 * Browsers in which a person has signed in (device cookies, as OWASP advises). Their wrong passwords are counted
 * separately, so guesses from elsewhere keep no person out of them.
 */

/** `password`: a fingerprint of the stored hash, so that a new password ends the trust in all browsers. */
type Device = { userId: string; password: string; nonce: string; untilMs: number };
type Sealing = { secrets: Secrets; random: Random };
type Owner = Pick<Account, 'user_id' | 'password'>;

/** Several people may share a browser. */
const maxInCookie = 8;

const fingerprint = (password: string | null) => hash('sha256', password ?? '', 'base64url').slice(0, 16);

function read({ secrets }: { secrets: Secrets }, sealed: string | null): Device[] {
  const text = sealed === null ? null : secrets.open('device', Buffer.from(sealed, 'base64url'));
  return text === null ? [] : (JSON.parse(text) as Device[]);
}

function seal({ secrets, random }: Sealing, devices: Device[]): string {
  return secrets.seal('device', JSON.stringify(devices), random).toString('base64url');
}

/** Seals the trust in a new browser for accounts of one person. */
export function makeDevice(sealing: Sealing, owners: readonly Owner[], untilMs: number): string {
  const nonce = sealing.random.bytes(12).toString('base64url');
  const made = owners.map((one) => ({ userId: one.user_id, password: fingerprint(one.password), nonce, untilMs }));
  return seal(sealing, made.slice(0, maxInCookie));
}

/** Whether a link's seal is ours, and has not expired. */
export const isDevice = (sealing: { secrets: Secrets }, sealed: string, nowMs: number): boolean =>
  read(sealing, sealed).some(({ untilMs }) => untilMs > nowMs);

/** Adds the trust to what the browser's cookie contains. */
export function addDevice(sealing: Sealing, cookie: string | null, added: string): string {
  const made = read(sealing, added);
  const others = read(sealing, cookie).filter((one) => !made.some(({ userId }) => userId === one.userId));
  return seal(sealing, [...made, ...others].slice(0, maxInCookie));
}

/** @returns the random name of the browser; undefined if the account's person has not signed in there */
export function deviceOf(
  sealing: { secrets: Secrets },
  cookie: string | null,
  owner: Owner,
  nowMs: number,
): string | undefined {
  const print = fingerprint(owner.password);
  return read(sealing, cookie).find(
    (one) => one.userId === owner.user_id && one.password === print && one.untilMs > nowMs,
  )?.nonce;
}
