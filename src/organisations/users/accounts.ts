import { type Tx, statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { writeOfChange } from './email-templates.ts';

export type Account = {
  user_id: string;
  email: string;
  full_name: string;
  password: string | null;
  totp_secret: string | null;
  totp_step: number;
  recovery_codes: Buffer[];
};

const columns = 'user_id, email, full_name, password, totp_secret, totp_step, recovery_codes';
const byEmail = statement('user.by_email')`
  select ${columns} from user_account where email = $1 order by created_at, user_id`;
const lock = statement('user.lock')`select ${columns} from user_account where user_id = $1 for update`;
const insert = statement('user.insert')`
  insert into user_account (user_id, email, full_name, password, created_at) values ($1, $2, $3, $4, $5)`;
const setPassword = statement('user.set_password')`
  update user_account set password = $2 where user_id = $1 returning email`;
const removeIfNowhere = statement('user.remove_if_nowhere')`
  delete from user_account u where user_id = $1 and not exists (select from user_membership m where m.user_id = u.user_id)`;

/** The form in which the service stores and finds email addresses. */
export const plainEmail = (email: string): string => email.trim().toLowerCase();

export function findAccounts(tx: Tx, email: string): Promise<Account[]> {
  return tx.query<Account>(byEmail, [plainEmail(email)]);
}

/**
 * The first password hash among the accounts of an address; the other hashes have the same salt. Null if all accounts
 * use single sign-on.
 */
export function saltOf(accounts: readonly Account[]): string | null {
  return accounts.find((one) => one.password !== null)?.password ?? null;
}

/** Locks an account until the transaction ends, so that two requests can't use one second-factor code. */
export async function lockAccount(work: UnitOfWork, userId: string): Promise<Account | undefined> {
  return (await work.tx.query<Account>(lock, [userId]))[0];
}

export async function createAccount(
  work: UnitOfWork,
  { email, fullName, password }: { email: string; fullName: string; password: string | null },
): Promise<string> {
  const userId = work.uuid();
  await work.tx.query(insert, [userId, plainEmail(email), fullName, password, new Date(work.nowMs)]);
  return userId;
}

export async function changePassword(work: UnitOfWork, userId: string, password: string): Promise<void> {
  const [account] = await work.tx.query<{ email: string }>(setPassword, [userId, password]);
  if (account !== undefined) await writeOfChange(work, account, 'password');
}

/** Deletes an account that belongs to no organisation any more. The caller has ended the account's sessions. */
export async function removeAccountIfNowhere(work: UnitOfWork, userId: string): Promise<void> {
  await work.tx.query(removeIfNowhere, [userId]);
}
