import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { limits } from '../../platform/config/limits.ts';

/**
 * Failures are counted by email address (`account`), by account (`code`), or by IP address (`address`, or `return` when
 * an identity provider sends the person back). Only keyed hashes are stored.
 */
export type Subject = { kind: 'account' | 'address' | 'code' | 'return'; value: string };

const max: Record<Subject['kind'], number> = {
  account: limits.signInFailuresPerAccount,
  code: limits.signInFailuresPerAccount,
  address: limits.signInFailuresPerAddress,
  return: limits.signInReturnsPerAddress,
};

// Rows are locked in the order of subjects, so that two sign-ins can't deadlock. If a fast clock has set `since` in the
// future, `since` becomes the present and the count stays.
const count = statement('sign_in.count')`
  insert into sign_in_attempts as a (subject, failures, since)
  select subject, 1, $2 from unnest($1::bytea[]) as s(subject) order by subject
  on conflict (subject) do update
     set failures = case when a.since <= $3 then 1 else a.failures + 1 end,
         since = case when a.since <= $3 then $2 else least(a.since, $2) end
  returning subject, failures, since`;
const forget = statement('sign_in.forget')`delete from sign_in_attempts where subject = any($1::bytea[])`;
const uncount = statement('sign_in.uncount')`
  update sign_in_attempts a set failures = greatest(failures - 1, 0)
    from (select subject from sign_in_attempts where subject = any($1::bytea[]) order by subject for update) s
   where a.subject = s.subject`;
const prune = statement('sign_in.prune')`delete from sign_in_attempts where since < $1`;

const hashOf = ({ secrets }: UnitOfWork, { kind, value }: Subject) => secrets.mac('sign-in', `${kind} ${value}`, 16);

/**
 * Counts an attempt as failed before it is made, so that concurrent attempts can't exceed the limit.
 * @returns whole seconds to wait; 0 allows the attempt
 */
export async function countAttempt(work: UnitOfWork, subjects: readonly Subject[]): Promise<number> {
  const hashes = subjects.map((subject) => hashOf(work, subject));
  const rows = await work.tx.query<{ subject: Buffer; failures: number; since: Date }>(count, [
    hashes,
    new Date(work.nowMs),
    new Date(work.nowMs - limits.signInFailuresMs),
  ]);
  const waits = rows.map(({ subject, failures, since }) => {
    const { kind } = subjects[hashes.findIndex((hash) => hash.equals(subject))]!;
    return failures <= max[kind] ? 0 : Math.ceil((since.getTime() + limits.signInFailuresMs - work.nowMs) / 1000);
  });
  return Math.max(0, ...waits);
}

/**
 * After a success, clears the failures of the account's code, and subtracts 1 from the other counts. If all counts were
 * cleared, an attacker could sign in to their own account between guesses.
 */
export async function uncountAttempt(work: UnitOfWork, subjects: readonly Subject[]): Promise<void> {
  const [own, shared] = [true, false].map((isOwn) =>
    subjects.filter(({ kind }) => (kind === 'code') === isOwn).map((subject) => hashOf(work, subject)),
  );
  await work.tx.query(forget, [own]);
  await work.tx.query(uncount, [shared]);
}

export async function pruneAttempts(work: UnitOfWork): Promise<void> {
  await work.tx.query(prune, [new Date(work.nowMs - limits.signInFailuresMs)]);
}
