import { statement, type Tx } from '../db/database.ts';
import type { UnitOfWork } from '../db/unit-of-work.ts';
import { isEmailAddress } from '../validation/email.ts';
import type { Clock } from '../time/clock.ts';
import { limits } from '../config/limits.ts';
import { nilUuid } from '../crypto/random.ts';
import type { Letter } from './template.ts';

export const longestWaitMs = 4 * 3600_000;

/**
 * An email is stored in the transaction of the change that causes it, so a rolled-back change sends no email. A worker
 * sends the stored emails.
 */

const insert = statement('mail.insert')`
  insert into mail (mail_id, organisation_id, cause, sealed, status, next_attempt_at, created_at, expires_at)
  values ($1, $2, $3, $4, 'waiting', $5, $5, $6) on conflict (cause) do nothing returning mail_id`;
const overdue = statement('mail.overdue')`
  update mail set expires_at = created_at where cause = $1 and status in ('waiting', 'sending')`;
const cancel = statement('mail.cancel')`delete from mail where cause = $1 and status = 'waiting'`;
const cancelSome = statement('mail.cancel_some')`
  with ended as (
    update mail set expires_at = created_at where organisation_id = $1 and starts_with(cause, $2) and status = 'sending')
  delete from mail where organisation_id = $1 and starts_with(cause, $2) and status = 'waiting'`;

// If a worker stopped while sending, the mail server may have the email, so the service does not send it again.
const lose = statement('mail.lose')`
  update mail set status = 'unknown', sealed = null, held_by = null, next_attempt_at = null, finished_at = $1
   where status = 'sending' and next_attempt_at <= $1 returning mail_id`;
const expire = statement('mail.expire')`
  update mail set status = 'expired', sealed = null, held_by = null, next_attempt_at = null, finished_at = $1
   where status = 'waiting' and next_attempt_at <= $1 and expires_at <= $1 returning mail_id`;
// The emails of a suspended organisation wait, because all pages that they link to are closed (decision 0013).
const notClosed = (mail: string) =>
  `not exists (select from organisation o where o.organisation_id = ${mail}.organisation_id and o.suspended_at is not null)`;
const take = statement('mail.take')`
  with due as (
    select mail_id from mail w where status = 'waiting' and next_attempt_at <= $1 and ${notClosed('w')}
     order by next_attempt_at, mail_id limit $4 for update skip locked)
  update mail m set held_by = $2, next_attempt_at = $3 from due where m.mail_id = due.mail_id
  returning m.mail_id, m.cause, m.sealed, m.attempts, m.created_at`;
const begin = statement('mail.begin')`
  update mail set status = 'sending', attempts = attempts + 1
   where mail_id = $1 and held_by = $2 and status = 'waiting' and next_attempt_at > $3 returning mail_id`;
const finish = statement('mail.finish')`
  update mail set status = $3, sealed = null, held_by = null, next_attempt_at = null, finished_at = $4
   where mail_id = $1 and held_by = $2`;
const putOff = statement('mail.put_off')`
  update mail set held_by = null, status = case when expires_at > $3 then 'waiting' else 'expired' end,
         sealed = case when expires_at > $3 then sealed end, next_attempt_at = case when expires_at > $3 then $4::timestamptz end,
         finished_at = case when expires_at > $3 then null else $3::timestamptz end
   where mail_id = $1 and held_by = $2`;
const list = statement('mail.list')`
  select mail_id, cause, status, attempts, created_at, finished_at, next_attempt_at from mail
   where organisation_id = $1 and (created_at, mail_id) < ($2::timestamptz, $3::uuid)
   order by created_at desc, mail_id desc limit $4`;
const prune = statement('mail.prune')`delete from mail where finished_at < $1`;

type Sealed = Letter & { address: string };

/**
 * Queues an email if a mail server is configured. `cause` identifies the occasion and the person by IDs, so that each
 * email is queued only once.
 * @returns false if nothing is queued: no server, no valid email address, or the cause was used before
 */
export async function postLetter(
  work: UnitOfWork,
  input: { organisationId: number | null; cause: string; address: string; letter: Letter; expiresMs?: number },
): Promise<boolean> {
  if (work.settings.mailServer === null || !isEmailAddress(input.address)) return false;
  const sealed: Sealed = { ...input.letter, address: input.address };
  const rows = await work.tx.query(insert, [
    work.uuid(),
    input.organisationId,
    input.cause,
    work.secrets.seal('mail', JSON.stringify(sealed), work.random),
    new Date(work.nowMs),
    new Date(input.expiresMs ?? work.nowMs + limits.mailMs),
  ]);
  return rows.length === 1;
}

/** Cancels an email because its cause was withdrawn. An email that is being sent is not retried. */
export async function cancelLetter(work: UnitOfWork, cause: string): Promise<void> {
  await work.tx.query(overdue, [cause]);
  await work.tx.query(cancel, [cause]);
}

/** Cancels all emails of an organisation whose cause begins so. */
export async function cancelLetters(work: UnitOfWork, organisationId: number, cause: string): Promise<void> {
  await work.tx.query(cancelSome, [organisationId, cause]);
}

export type HeldMail = { mail_id: string; cause: string; sealed: Buffer; attempts: number; created_at: Date };

/** Ends expired emails, and emails whose worker stopped while sending. */
export async function endOverdue(tx: Tx, nowMs: number): Promise<{ lost: number; expired: number }> {
  const lost = await tx.query(lose, [new Date(nowMs)]);
  const expired = await tx.query(expire, [new Date(nowMs)]);
  return { lost: lost.length, expired: expired.length };
}

/** The operations of one worker on the emails that it has leased. */
export function mailsHeldBy(worker: string, tx: Tx, clock: Clock) {
  const after = (ms: number) => new Date(clock.nowMs() + ms);
  return {
    /** Leases due emails to the worker. Emails of suspended organisations wait. */
    take: (holdMs: number, max: number) => tx.query<HeldMail>(take, [after(0), worker, after(holdMs), max]),
    /**
     * Marks an email as possibly sent. Call this before sending the email.
     * @returns false if another worker has the lease, or the email was withdrawn
     */
    begin: async (mailId: string) => (await tx.query(begin, [mailId, worker, after(0)])).length === 1,
    finish: (mailId: string, status: 'sent' | 'refused' | 'unknown') =>
      tx.query(finish, [mailId, worker, status, after(0)]),
    /**
     * Schedules another attempt, because the mail server did not accept the email. If the email was withdrawn or has
     * expired, it ends instead.
     */
    putOff: (mailId: string, waitMs: number) => tx.query(putOff, [mailId, worker, after(0), after(waitMs)]),
  };
}

export async function pruneMails(work: UnitOfWork): Promise<void> {
  await work.tx.query(prune, [new Date(work.nowMs - limits.mailKeptMs)]);
}

export type ListedMail = {
  mail_id: string;
  cause: string;
  status: 'waiting' | 'sending' | 'sent' | 'refused' | 'expired' | 'unknown';
  attempts: number;
  created_at: Date;
  finished_at: Date | null;
  next_attempt_at: Date | null;
};

export type MailPlace = { createdAt: Date; mailId: string };

/** Lists the emails of an organisation, the newest first. Emails to people about their own accounts are not listed. */
export function listMails(
  tx: Tx,
  organisationId: number,
  { after, limit }: { after: MailPlace | null; limit: number },
): Promise<ListedMail[]> {
  return tx.query<ListedMail>(list, [organisationId, after?.createdAt ?? 'infinity', after?.mailId ?? nilUuid, limit]);
}

const backlog = statement('mail.standing')`
  select count(*) as count, min(created_at) as oldest,
         case when count(*) > 0 then greatest(min(created_at), (
           select finished_at from mail where status = 'sent' and finished_at is not null order by finished_at desc limit 1)) end as stuck
    from (select created_at from mail w where status in ('waiting', 'sending') and ${notClosed('w')} limit ${limits.rowsCounted}) m`;

/**
 * Counts waiting emails, except those of suspended organisations. `oldestMs`: when the oldest was written. `stuckMs`:
 * the time of the last sent email, or `oldestMs` if that is later. One full mailbox, which may delay its email for
 * days, does not affect `stuckMs`.
 */
export async function outboxBacklog(
  tx: Tx,
): Promise<{ count: number; oldestMs: number | null; stuckMs: number | null }> {
  const [row] = await tx.query<{ count: number; oldest: Date | null; stuck: Date | null }>(backlog);
  const { count, oldest, stuck } = row!;
  return { count, oldestMs: oldest?.getTime() ?? null, stuckMs: stuck?.getTime() ?? null };
}
