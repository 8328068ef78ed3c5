import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { Keyring } from '../../platform/crypto/keyring.ts';
import { lockAccount } from './accounts.ts';
import { writeOfChange } from './email-templates.ts';
import { makeRecoveryCodes, makeTotpSecret, recoveryHash, totpStep } from './totp.ts';

/** A person's second factor: codes of an authenticator app, and recovery codes. */

const setFactor = statement('user.set_second_factor')`
  update user_account set totp_secret = $2, totp_step = $3, recovery_codes = $4 where user_id = $1`;
const useStep = statement('user.use_step')`update user_account set totp_step = $2, totp_secret = $3 where user_id = $1`;
const setRecoveryCodes = statement('user.set_recovery_codes')`
  update user_account set recovery_codes = $2 where user_id = $1`;

const contextOf = (userId: string) => `totp ${userId}`;

/**
 * Makes a new secret. The session stores the secret encrypted until a first code proves that the app has the secret.
 */
export function proposeSecondFactor(work: UnitOfWork, userId: string): { secret: string; encrypted: string } {
  const secret = makeTotpSecret(work.random);
  return { secret, encrypted: work.keyring.encrypt(secret, contextOf(userId)) };
}

export function pendingSecret(keyring: Keyring, userId: string, encrypted: string): string {
  return keyring.decrypt(encrypted, contextOf(userId));
}

/**
 * Stores the proposed secret and new recovery codes, if the first code of the app is right.
 * @returns the recovery codes, which are shown only once; null if the code is wrong
 */
export async function setSecondFactor(
  work: UnitOfWork,
  userId: string,
  encrypted: string,
  code: string,
): Promise<string[] | null> {
  const account = await lockAccount(work, userId);
  if (account === undefined) return null;
  const secret = work.keyring.decrypt(encrypted, contextOf(userId));
  const step = totpStep(secret, code, work.nowMs, 0);
  if (step === null) return null;
  const codes = makeRecoveryCodes(work.random);
  const hashes = codes.map((one) => recoveryHash(one)!);
  await work.tx.query(setFactor, [userId, encrypted, step, hashes]);
  await writeOfChange(work, account, 'second_factor');
  return codes;
}

/** Whether the text is a current code of the person's app or a recovery code. Each code works once. */
export async function useSecondFactor(work: UnitOfWork, userId: string, code: string): Promise<boolean> {
  const account = await lockAccount(work, userId);
  if (account === undefined || account.totp_secret === null) return false;
  const secret = work.keyring.decrypt(account.totp_secret, contextOf(userId));
  const step = totpStep(secret, code.replace(/\s/g, ''), work.nowMs, account.totp_step);
  if (step !== null) {
    // After a change of ARS_SECRET, the TOTP secret is encrypted again, so that the operator can remove the old
    // ARS_SECRET.
    const encrypted = work.keyring.isCurrent(account.totp_secret)
      ? account.totp_secret
      : work.keyring.encrypt(secret, contextOf(userId));
    await work.tx.query(useStep, [userId, step, encrypted]);
    return true;
  }
  const hash = recoveryHash(code);
  if (hash === null) return false;
  const left = account.recovery_codes.filter((one) => !one.equals(hash));
  if (left.length === account.recovery_codes.length) return false;
  await work.tx.query(setRecoveryCodes, [userId, left]);
  await writeOfChange(work, account, 'recovery_code', [
    left.length === 0
      ? 'None is left. Replace the second factor to get new recovery codes.'
      : `${left.length === 1 ? 'One is' : `${left.length} are`} left.`,
  ]);
  return true;
}

/** Sets the second factor of the sandbox's owner, who reads codes from the command line. */
export async function giveSecondFactor(work: UnitOfWork, userId: string, secret: string): Promise<void> {
  await work.tx.query(setFactor, [userId, work.keyring.encrypt(secret, contextOf(userId)), 0, []]);
}
