import type { App } from '../../platform/app.ts';
import { limits } from '../../platform/config/limits.ts';
import { withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { postLetter } from '../../platform/mail/outbox.ts';
import { errorFields } from '../../platform/observability/log.ts';
import { type Account, findAccounts } from './accounts.ts';
import { addDevice, makeDevice } from './devices.ts';
import { attemptsLetter } from './email-templates.ts';
import { matching } from './password.ts';
import { useSecondFactor } from './second-factor.ts';
import { auditFailure } from './sign-in-failures.ts';
import { type Guess, type Subject, countAttempt, countGuess, uncountAttempt } from './throttle.ts';
import { recoveryHash } from './totp.ts';

/** Proofs of a person by password or code, with the throttle and the audit row of each failure. */

/** The request. `action`: the name in the audit log. `device`: the browser's device cookie. */
type Caller = { app: App; requestId: string; address: string; device: string | null; action: string };

/** `seconds`: how long the person must wait. */
export type Refusal = { fault: string; seconds: number };

/** `subjects`: what a caller that opens a session takes off the counts. */
type Proved = { accounts: Account[]; subjects: Subject[] };

export function waitFault(seconds: number, app?: App): string {
  const [count, unit] = seconds > 7200 ? [Math.ceil(seconds / 3600), 'hour'] : [Math.ceil(seconds / 60), 'minute'];
  const wait = `There were too many attempts. Wait for ${count === 1 ? `a ${unit}` : `${count} ${unit}s`}`;
  return app === undefined || app.settings.mailServer === null
    ? `${wait}, and try again.`
    : `${wait}, or open the link that we sent to your email address, and try again.`;
}

const wrongPassword = 'The email address or the password is wrong. Check both, and try again.';
const wrongCode = 'The code is wrong or was used before. Enter the next code.';

async function begin(caller: Caller, guess: Omit<Guess, 'address' | 'device'>) {
  const { app, address, device } = caller;
  const counted = await withUnitOfWork(app, null, (work) => countGuess(work, { ...guess, address, device }));
  // The email is written after the response, so that the time does not show whether the account exists.
  if (counted.isMany && app.settings.mailServer !== null)
    setImmediate(
      () =>
        void warn(app, guess).catch((error: unknown) => app.log.error('sign_in.warning_failed', errorFields(error))),
    );
  if (counted.seconds > 0) await auditFailure({ ...caller, email: guess.email }, 'too_many_attempts');
  return counted;
}

/** Writes to the person at most once a day. The link makes a new browser a known one. */
function warn(app: App, { of, email }: Pick<Guess, 'of' | 'email'>): Promise<void> {
  return withUnitOfWork(app, null, async (work) => {
    if ((await countAttempt(work, [{ kind: 'warning', value: email }])).seconds > 0) return;
    const accounts = (await findAccounts(work.tx, email)).filter((one) => one.password !== null);
    if (accounts.length === 0) return;
    const expiresMs = work.nowMs + limits.signInDayMs;
    const letter = attemptsLetter(of !== 'password', makeDevice(work, accounts, expiresMs));
    const cause = `sign_in_attempts ${work.uuid()}`;
    await postLetter(work, { organisationId: null, cause, address: email, letter, expiresMs });
  });
}

/**
 * Checks a password. An unknown email address costs the same work as a known one.
 * @param userId the only account that counts, for a person who is signed in
 */
export async function checkPassword(
  caller: Caller,
  email: string,
  password: string,
  userId?: string,
): Promise<Refusal | Proved> {
  const { app } = caller;
  const all = await findAccounts(app.db, email);
  const accounts = all.filter((one) => userId === undefined || one.user_id === userId);
  const tried = await begin(caller, { of: 'password', email, accounts });
  if (tried.seconds > 0) return { fault: waitFault(tried.seconds, app), seconds: tried.seconds };
  const passwords = tried.accounts.map((account) => account.password);
  const right = await matching(password.slice(0, 2000), passwords);
  const found = tried.accounts.filter((_, i) => right[i]);
  if (found.length > 0) return { accounts: found, subjects: tried.subjects };
  await auditFailure({ ...caller, email }, all.length === 0 ? 'unknown_account' : 'wrong_password');
  return { fault: wrongPassword, seconds: 0 };
}

/** Refuses an account that another request has changed since the check. */
export async function refuseChanged(caller: Caller, email: string): Promise<Refusal> {
  await auditFailure({ ...caller, email }, 'wrong_password');
  return { fault: wrongPassword, seconds: 0 };
}

/** Checks a code of the second factor or a recovery code, which then can't be used again. */
export async function checkCode(
  caller: Caller,
  { user_id: userId, email }: { user_id: string; email: string },
  code: string,
): Promise<Refusal | Account> {
  const { app } = caller;
  const account = (await findAccounts(app.db, email)).find((one) => one.user_id === userId);
  if (account === undefined) return { fault: wrongCode, seconds: 0 };
  const of = recoveryHash(code) === null ? 'code' : 'recovery';
  const tried = await begin(caller, { of, email, accounts: [account] });
  if (tried.seconds > 0) return { fault: waitFault(tried.seconds, app), seconds: tried.seconds };
  const isRight = await withUnitOfWork(app, null, async (work) => {
    const isUsed = await useSecondFactor(work, userId, code);
    if (isUsed) await uncountAttempt(work, tried.subjects);
    return isUsed;
  });
  if (isRight) return account;
  await auditFailure({ ...caller, email }, 'wrong_code');
  return { fault: wrongCode, seconds: 0 };
}

/** The device cookie after a sign-in. */
export function knownDevice(
  { app, device }: Pick<Caller, 'app' | 'device'>,
  account: Pick<Account, 'user_id' | 'password'>,
) {
  return addDevice(app, device, makeDevice(app, [account], app.clock.nowMs() + limits.deviceMs));
}
