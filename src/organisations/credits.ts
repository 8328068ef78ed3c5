import { type Tx, statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { lockFeed } from '../feed/position.ts';

/**
 * The credits of an organisation: a balance, and a ledger of every change. Writers hold the feed's lock, so entry
 * numbers have no gaps and the amounts add up to the balance (docs/decisions/0025).
 */

/** Whether an invitation costs a credit under this plan. */
export const hasCountedCredits = (plan: string): boolean => plan === 'standard';

export type CreditEntry = {
  entry_no: number;
  at: Date;
  kind: 'opening' | 'grant' | 'use' | 'return' | 'correction';
  amount: number;
  balance: number;
  actor: string;
  invitation_id: string | null;
  reason: string | null;
};

export type CreditCause = { actor: string; invitationId?: string; reason?: string };

const change = statement('credits.change')`
  update organisation set credits = credits + $2 where organisation_id = $1 and credits + $2 >= 0 returning credits`;
const record = statement('credits.record')`
  insert into credit_entry (organisation_id, entry_no, at, kind, amount, balance, actor, invitation_id, reason)
  select $1, coalesce(max(entry_no), 0) + 1, $2, $3, $4, $5, $6, $7, $8 from credit_entry where organisation_id = $1`;
const recordUses = statement('credits.record_uses')`
  with last as (select coalesce(max(entry_no), 0) as entry_no from credit_entry where organisation_id = $1)
  insert into credit_entry (organisation_id, entry_no, at, kind, amount, balance, actor, invitation_id)
  select $1, last.entry_no + u.n, $2, 'use', -1, $3::int8 - u.n, $4, u.invitation_id
    from last, unnest($5::uuid[]) with ordinality as u(invitation_id, n)`;
const forget = statement('credits.forget_reasons')`
  update credit_entry set reason = null where organisation_id = $1 and invitation_id = any($2) and reason is not null`;
const page = statement('credits.page')`
  select entry_no, at, kind, amount, balance, actor, invitation_id, reason from credit_entry
   where organisation_id = $1 and entry_no < $2 order by entry_no desc limit $3`;

const balancesAt = statement('credits.balances')`
  select coalesce(e.balance, 0) as balance from unnest($2::timestamptz[]) with ordinality as t(at, n)
    left join lateral (
      select c.balance from credit_entry c where c.organisation_id = $1 and c.at <= t.at
       order by c.at desc, c.entry_no desc limit 1) e on true
   order by t.n`;
const added = statement('credits.added')`
  select coalesce(sum(amount), 0)::int8 as n,
         (select f.at from credit_entry f where f.organisation_id = $1 order by f.at, f.entry_no limit 1) as first_at
    from credit_entry where organisation_id = $1 and kind not in ('use', 'return') and at > $2`;

/** @returns the new balance; undefined, without a change, if the balance would fall below zero */
async function changeCredits(
  work: UnitOfWork,
  organisationId: number,
  input: Pick<CreditEntry, 'kind' | 'amount'> & CreditCause,
): Promise<number | undefined> {
  const { kind, amount, actor, invitationId = null, reason = null } = input;
  await lockFeed(work, organisationId);
  const [row] = await work.tx.query<{ credits: number }>(change, [organisationId, amount]);
  if (row === undefined || amount === 0) return row?.credits;
  const at = new Date(work.nowMs);
  await work.tx.query(record, [organisationId, at, kind, amount, row.credits, actor, invitationId, reason]);
  return row.credits;
}

export async function openLedger(
  work: UnitOfWork,
  { organisation_id, credits }: { organisation_id: number; credits: number },
): Promise<void> {
  if (credits === 0) return;
  const at = new Date(work.nowMs);
  await work.tx.query(record, [organisation_id, at, 'opening', credits, credits, 'service', null, null]);
}

/**
 * Grants credits. A negative amount is a correction.
 * @returns the new balance; undefined, without a change, if the balance would fall below zero
 */
export function grantCredits(
  work: UnitOfWork,
  organisationId: number,
  amount: number,
  cause: CreditCause,
): Promise<number | undefined> {
  return changeCredits(work, organisationId, { kind: amount < 0 ? 'correction' : 'grant', amount, ...cause });
}

/**
 * If the plan uses credits, spends a credit for each invitation. If the balance is too low for all of them, spends
 * none.
 * @returns true if the credits were spent, false if the plan uses none, null if the balance is too low
 */
export async function spendCredits(
  work: UnitOfWork,
  { organisation_id: id, plan }: { organisation_id: number; plan: 'standard' | 'education' | 'unlimited' },
  invitationIds: readonly string[],
  actor: string,
): Promise<boolean | null> {
  if (!hasCountedCredits(plan)) return false;
  if (invitationIds.length === 0) return true;
  await lockFeed(work, id);
  const [row] = await work.tx.query<{ credits: number }>(change, [id, -invitationIds.length]);
  if (row === undefined) return null;
  const before = row.credits + invitationIds.length;
  await work.tx.query(recordUses, [id, new Date(work.nowMs), before, actor, invitationIds]);
  return true;
}

/** Returns the credit of an invitation under which no sitting has begun. */
export async function returnCredit(work: UnitOfWork, organisationId: number, cause: CreditCause): Promise<void> {
  await changeCredits(work, organisationId, { kind: 'return', amount: 1, ...cause });
}

/** Removes the reasons of entries about these invitations, because reasons are free text and may name a person. */
export async function forgetCreditReasons(tx: Tx, organisationId: number, invitationIds: string[]): Promise<void> {
  await tx.query(forget, [organisationId, invitationIds]);
}

export function listCreditEntries(
  tx: Tx,
  organisationId: number,
  { before, limit }: { before: number | null; limit: number },
): Promise<CreditEntry[]> {
  return tx.query<CreditEntry>(page, [organisationId, before ?? Number.MAX_SAFE_INTEGER, limit]);
}

const weekMs = 7 * 24 * 3600_000;
/** An estimate rests on the use of this many weeks. With less than one week, there is none. */
export const creditWeeks = 4;

export type CreditOutlook = {
  /** The balance at the end of each week, the last one now. */
  balances: { at: Date; balance: number }[];
  /** Credits used, less those returned, in the last `creditWeeks` weeks. */
  used: number;
  /** When the balance is used up if the use stays as in these weeks; null without an estimate. */
  endsAt: Date | null;
};

export async function readCreditOutlook(
  tx: Tx,
  organisationId: number,
  nowMs: number,
  weeks: number,
): Promise<CreditOutlook> {
  const ats = Array.from({ length: weeks + 1 }, (_, i) => new Date(nowMs - (weeks - i) * weekMs));
  const since = ats.at(-1 - creditWeeks)!;
  const [found, [sum]] = await Promise.all([
    tx.query<{ balance: number }>(balancesAt, [organisationId, ats.map((at) => at.toISOString())]),
    tx.query<{ n: number; first_at: Date | null }>(added, [organisationId, since]),
  ]);
  const balances = ats.map((at, i) => ({ at, balance: found[i]!.balance }));
  const { balance } = balances.at(-1)!;
  const used = balances.at(-1 - creditWeeks)!.balance + sum!.n - balance;
  const ms = nowMs - Math.max(since.getTime(), sum!.first_at?.getTime() ?? nowMs);
  const isKnown = used > 0 && ms >= weekMs;
  return { balances, used, endsAt: isKnown ? new Date(nowMs + (balance / used) * ms) : null };
}
