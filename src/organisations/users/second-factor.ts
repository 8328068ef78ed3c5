import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { Keyring } from '../../platform/crypto/keyring.ts';
import { lockAccount, storeRecoveryHashes, storeSecondFactor, storeUsedStep } from './accounts.ts';
import { writeOfChange } from './email-templates.ts';
import { makeRecoveryCodes, makeTotpSecret, recoveryHash, totpStep } from './totp.ts';

/** A person's second factor: codes of an authenticator app, and recovery codes for when it is lost. */

const contextOf = (userId: string) => `totp ${userId}`;

/** A new secret, and what the session keeps of it until a first code shows that the app has it. */
export function proposeSecondFactor(work: UnitOfWork, userId: string): { secret: string; encrypted: string } {
  const secret = makeTotpSecret(work.random);
  return { secret, encrypted: work.keyring.encrypt(secret, contextOf(userId)) };
}

export function pendingSecret(keyring: Keyring, userId: string, encrypted: string): string {
  return keyring.decrypt(encrypted, contextOf(userId));
}

/**
 * Takes a proposed secret on, with a first code that proves it, and makes recovery codes anew.
 * @returns the recovery codes, which are shown this once; null when the code isn't right
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
  await storeSecondFactor(work, userId, { encrypted, step, recoveryHashes: codes.map((one) => recoveryHash(one)!) });
  await writeOfChange(work, account, 'second_factor');
  return codes;
}

/** Whether a code of the app, or a recovery code, is the person's. Either is good once. */
export async function useSecondFactor(work: UnitOfWork, userId: string, given: string): Promise<boolean> {
  const account = await lockAccount(work, userId);
  if (account === undefined || account.totp_secret === null) return false;
  const secret = work.keyring.decrypt(account.totp_secret, contextOf(userId));
  const step = totpStep(secret, given.replace(/\s/g, ''), work.nowMs, account.totp_step);
  if (step !== null) {
    // Encrypted anew after a change of the service's secret, so that the old one can be forgotten one day.
    const encrypted = work.keyring.isCurrent(account.totp_secret)
      ? account.totp_secret
      : work.keyring.encrypt(secret, contextOf(userId));
    await storeUsedStep(work, userId, step, encrypted);
    return true;
  }
  const hash = recoveryHash(given);
  if (hash === null) return false;
  const left = account.recovery_codes.filter((one) => !one.equals(hash));
  if (left.length === account.recovery_codes.length) return false;
  await storeRecoveryHashes(work, userId, left);
  await writeOfChange(work, account, 'recovery_code', [
    left.length === 0
      ? 'None is left: set the second factor up anew to get others.'
      : `${left.length === 1 ? 'One is' : `${left.length} are`} left.`,
  ]);
  return true;
}

/** For the sandbox, whose owner's app is the command line. */
export async function giveSecondFactor(work: UnitOfWork, userId: string, secret: string): Promise<void> {
  await storeSecondFactor(work, userId, {
    encrypted: work.keyring.encrypt(secret, contextOf(userId)),
    step: 0,
    recoveryHashes: [],
  });
}
