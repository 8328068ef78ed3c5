import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { limits } from '../../platform/config/limits.ts';
import type { Account } from './accounts.ts';
import { deviceOf } from './devices.ts';

/**
 * Failures are counted by account and IP address (`account`, `code`), by IP address (`address`, or `return` when an
 * identity provider sends the person back), and by the browser if the person has signed in there before (`device`).
 * Over a day, guesses at an account from all other browsers are counted together (`everywhere`, `code_everywhere`).
 * Only keyed hashes are stored.
 */
export type Subject = { kind: keyof typeof counts; value: string };

const day = limits.signInDayMs;
const short = limits.signInFailuresMs;
const perAccount = limits.signInFailuresPerAccount;
/** `clears`: a success clears the count, because only the person themselves can have one. */
const counts = {
  account: { max: perAccount, ms: short },
  code: { max: perAccount, ms: short, clears: true },
  device: { max: perAccount, ms: short, clears: true },
  address: { max: limits.signInFailuresPerAddress, ms: short },
  return: { max: limits.signInReturnsPerAddress, ms: short },
  everywhere: { max: limits.signInFailuresPerDay, ms: day },
  code_everywhere: { max: limits.signInFailuresPerDay, ms: day },
  recovery: { max: limits.signInFailuresPerDay, ms: day, clears: true },
  warning: { max: 1, ms: day },
} satisfies Record<string, { max: number; ms: number; clears?: true }>;

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
 * Without a mail server, a person who signs in from a new browser has no other way in. Passwords are then bounded by IP
 * address only.
 */
const maxOf = ({ settings }: UnitOfWork, kind: Subject['kind']) =>
  kind === 'everywhere' && settings.mailServer === null ? Infinity : counts[kind].max;

type Counted = { seconds: number; mostInDay: number };

/**
 * Counts an attempt as failed before it is made, so that concurrent attempts can't exceed the limit. The counts of a
 * day contain only attempts that the short counts allow.
 * @returns `seconds`: whole seconds to wait; 0 allows the attempt
 */
export async function countAttempt(work: UnitOfWork, subjects: readonly Subject[]): Promise<Counted> {
  let mostInDay = 0;
  for (const ms of [short, day]) {
    const counted = subjects.filter(({ kind }) => counts[kind].ms === ms);
    if (counted.length === 0) continue;
    const hashes = counted.map((subject) => hashOf(work, subject));
    const since = [work.nowMs, work.nowMs - ms].map((at) => new Date(at));
    const rows = await work.tx.query<{ subject: Buffer; failures: number; since: Date }>(count, [hashes, ...since]);
    const waits = rows.map(({ subject, failures, since: begun }) => {
      const { kind } = counted[hashes.findIndex((hash) => hash.equals(subject))]!;
      if (ms === day) mostInDay = Math.max(mostInDay, failures);
      return failures <= maxOf(work, kind) ? 0 : Math.ceil((begun.getTime() + ms - work.nowMs) / 1000);
    });
    const seconds = Math.max(0, ...waits);
    if (seconds > 0) return { seconds, mostInDay };
  }
  return { seconds: 0, mostInDay };
}

/**
 * After a success, clears the counts that belong to the account alone, and subtracts 1 from the other counts. If all
 * counts were cleared, an attacker could sign in to their own account between guesses.
 */
export async function uncountAttempt(work: UnitOfWork, subjects: readonly Subject[]): Promise<void> {
  const [own, shared] = [true, false].map((isOwn) =>
    subjects.filter(({ kind }) => 'clears' in counts[kind] === isOwn).map((subject) => hashOf(work, subject)),
  );
  await work.tx.query(forget, [own]);
  await work.tx.query(uncount, [shared]);
}

/** `recovery`: the text can only be a recovery code, which is too long to guess. */
export type Guess = {
  of: 'password' | 'code' | 'recovery';
  email: string;
  /** The accounts of the address; for a code the only account. */
  accounts: readonly Account[];
  address: string;
  /** The browser's device cookie. */
  device: string | null;
};

function elsewhere({ of, email, accounts, address }: Guess): Subject[] {
  const [name, all] =
    of === 'password' ? [email, 'everywhere' as const] : [accounts[0]!.user_id, 'code_everywhere' as const];
  const byAddress: Subject = { kind: 'address', value: address };
  const here = `${name} ${address}`;
  if (of === 'recovery') return [byAddress, { kind: 'recovery', value: here }];
  return [byAddress, { kind: of === 'code' ? 'code' : 'account', value: here }, { kind: all, value: name }];
}

/**
 * Counts a guess as failed. Accounts that know the browser have a count of their own; the others share a count.
 * @returns the accounts whose password or code may be tried, and `isMany`: the person should hear of the guesses
 */
export async function countGuess(work: UnitOfWork, guess: Guess) {
  const named = guess.accounts.map((one) => ({ one, nonce: deviceOf(work, guess.device, one, work.nowMs) }));
  const others = named.filter(({ nonce }) => nonce === undefined);
  const tries = named.flatMap(({ one, nonce }): { accounts: Account[]; subjects: Subject[]; isKnown: boolean }[] =>
    nonce === undefined
      ? []
      : [{ accounts: [one], subjects: [{ kind: 'device', value: `${guess.of} ${nonce}` }], isKnown: true }],
  );
  if (others.length > 0 || tries.length === 0)
    tries.push({ accounts: others.map(({ one }) => one), subjects: elsewhere(guess), isKnown: false });
  const waits: number[] = [];
  const allowed: { accounts: Account[]; subjects: Subject[] } = { accounts: [], subjects: [] };
  let isMany = false;
  for (const { accounts, subjects, isKnown } of tries) {
    const { seconds, mostInDay } = await countAttempt(work, subjects);
    waits.push(seconds);
    isMany ||= !isKnown && (seconds > 0 || mostInDay >= perAccount);
    if (seconds > 0) continue;
    allowed.accounts.push(...accounts);
    allowed.subjects.push(...subjects);
  }
  return { ...allowed, isMany, seconds: Math.min(...waits) };
}

export async function pruneAttempts(work: UnitOfWork): Promise<void> {
  await work.tx.query(prune, [new Date(work.nowMs - day)]);
}
