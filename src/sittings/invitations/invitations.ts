import { statement, type Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { limits } from '../../platform/config/limits.ts';
import { linkToken, readLinkToken } from '../../platform/crypto/secrets.ts';
import type { Secrets } from '../../platform/crypto/secrets.ts';
import { nilUuid } from '../../platform/crypto/random.ts';

export const purposes = ['initial', 'progress', 'end'] as const;
export type Purpose = (typeof purposes)[number];

export type Invitation = {
  organisation_id: number;
  invitation_id: string;
  learner_id: string;
  subjects: string[];
  credit_spent: boolean;
  status: 'open' | 'used' | 'withdrawn';
  created_at: Date;
  expires_at: Date;
  /** Extra time, in percent of the usual time limit. */
  extra_time_pct: number;
  /** How the sittings are supervised, in the training provider's words. The evidence shows the text. */
  supervision: string;
  supervisor: string | null;
  purpose: Purpose | null;
  /** Why the learner is invited again before the gap between two assessments has passed. */
  retake_reason: string | null;
  mailed_at: Date | null;
  reminded_at: Date | null;
  /** Whether a sitting begins only with a code that a supervisor releases. */
  start_code: boolean;
};

const columns =
  'organisation_id, invitation_id, learner_id, subjects, credit_spent, status, created_at, expires_at, extra_time_pct, supervision, supervisor, purpose, retake_reason, mailed_at, reminded_at, start_code';
const openOf = statement('invitation.open_of')`
  select ${columns} from invitation
   where organisation_id = $1 and learner_id = any($2) and status = 'open' and expires_at > $3
   order by created_at desc, invitation_id desc`;
const insert = statement('invitation.insert')`
  insert into invitation (organisation_id, invitation_id, learner_id, subjects, credit_spent, created_at, expires_at,
                          extra_time_pct, supervision, supervisor, purpose, retake_reason)
  select $1, invitation_id, learner_id, string_to_array(subjects, ','), $5, $6, coalesce(expires_at, $7),
         coalesce(extra_time_pct, 0), coalesce(supervision, 'Not supervised'), supervisor, purpose, retake_reason
    from unnest($2::uuid[], $3::uuid[], $4::text[], $8::timestamptz[], $9::int2[], $10::text[], $11::text[], $12::text[], $13::text[])
         as i(invitation_id, learner_id, subjects, expires_at, extra_time_pct, supervision, supervisor, purpose, retake_reason)
  returning ${columns}`;
const byId = statement('invitation.by_id')`
  select ${columns} from invitation where organisation_id = $1 and invitation_id = $2`;
const adjust = statement('invitation.adjust')`
  update invitation
     set extra_time_pct = coalesce($3, extra_time_pct), supervision = coalesce($4, supervision),
         supervisor = case when $5 then $6 else supervisor end, purpose = case when $7 then $8 else purpose end,
         expires_at = coalesce($9, expires_at), retake_reason = coalesce($10, retake_reason)
   where organisation_id = $1 and invitation_id = $2 and status <> 'withdrawn' returning ${columns}`;
const use = statement('invitation.use')`
  update invitation set status = 'used' where organisation_id = $1 and invitation_id = $2 and status = 'open'
  returning invitation_id, mailed_at`;
const extend = statement('invitation.extend')`
  update invitation set expires_at = greatest(expires_at, $3) where organisation_id = $1 and invitation_id = $2 and status = 'open'`;

const locked = statement('invitation.lock')`${byId.text} for update`;
const held = statement('invitation.hold')`${byId.text} for share`;
const cancel = statement('invitation.cancel')`
  update invitation set status = 'withdrawn' where organisation_id = $1 and invitation_id = $2`;
const list = statement('invitation.list')`
  select ${columns} from invitation
   where organisation_id = $1 and (created_at, invitation_id) < ($2, $3) order by created_at desc, invitation_id desc limit $4`;
const withdraw = statement('invitation.withdraw')`
  update invitation set status = 'withdrawn' where organisation_id = $1 and learner_id = any($2) and status = 'open'`;

const emptyOf = statement('invitation.empty_of_learner')`
  with before as (
    select invitation_id, status = 'open' and credit_spent as is_paid from invitation
     where organisation_id = $1 and learner_id = $2 order by invitation_id for update)
  update invitation i
     set status = case when i.status = 'open' then 'withdrawn' else i.status end, supervision = '', supervisor = null, retake_reason = null
    from before b where i.organisation_id = $1 and i.invitation_id = b.invitation_id
  returning i.invitation_id, i.mailed_at, b.is_paid`;

const lockOf = statement('invitation.lock_of_learners')`
  select invitation_id from invitation where organisation_id = $1 and learner_id = any($2) order by invitation_id for update`;
const reassign = statement('invitation.pass')`
  update invitation set learner_id = $3 where organisation_id = $1 and learner_id = $2 returning status`;

/**
 * @param lock what stays unchanged until the end of the unit of work. `share`: the learner of the invitation. `update`:
 *   the full invitation.
 */
export async function findInvitation(
  tx: Tx,
  organisationId: number,
  invitationId: string,
  lock: 'none' | 'share' | 'update' = 'none',
): Promise<Invitation | undefined> {
  const found = { none: byId, share: held, update: locked }[lock];
  return (await tx.query<Invitation>(found, [organisationId, invitationId]))[0];
}

/** Locks the invitations, so that these learners cannot begin a sitting until the end of this unit of work. */
export async function lockInvitationsOf(tx: Tx, organisationId: number, learnerIds: string[]): Promise<void> {
  await tx.query(lockOf, [organisationId, learnerIds]);
}

/** Moves the invitations of one learner to another learner; their URLs stay the same. @returns how many invitations */
export async function reassignInvitations(tx: Tx, organisationId: number, from: string, to: string): Promise<number> {
  return (await tx.query(reassign, [organisationId, from, to])).length;
}

/**
 * Ends a learner's invitations and removes their free text.
 * @returns all invitations of the learner. `is_paid`: the invitation was open and had cost a credit.
 */
export function redactInvitations(
  tx: Tx,
  organisationId: number,
  learnerId: string,
): Promise<(Pick<Invitation, 'invitation_id' | 'mailed_at'> & { is_paid: boolean })[]> {
  return tx.query(emptyOf, [organisationId, learnerId]);
}

export async function withdrawInvitations(tx: Tx, organisationId: number, learnerIds: string[]): Promise<void> {
  await tx.query(withdraw, [organisationId, learnerIds]);
}

/** The open invitations of these learners, newest first. */
export function findOpenInvitations(
  tx: Tx,
  organisationId: number,
  learnerIds: string[],
  now: Date,
): Promise<Invitation[]> {
  return tx.query<Invitation>(openOf, [organisationId, learnerIds, now]);
}

type NewInvitation = Pick<Invitation, 'invitation_id' | 'learner_id' | 'subjects'> &
  Partial<{
    expires_at: string | null;
    extra_time_pct: number | null;
    supervision: string | null;
    supervisor: string | null;
    purpose: Purpose | null;
    retake_reason: string | null;
  }>;

/** @param creditSpent whether each new invitation cost a credit */
export function createInvitations(
  work: UnitOfWork,
  organisationId: number,
  rows: readonly NewInvitation[],
  creditSpent: boolean,
): Promise<Invitation[]> {
  return work.tx.query<Invitation>(insert, [
    organisationId,
    rows.map((row) => row.invitation_id),
    rows.map((row) => row.learner_id),
    rows.map((row) => row.subjects.join()),
    creditSpent,
    new Date(work.nowMs),
    new Date(work.nowMs + limits.invitationMs),
    rows.map((row) => row.expires_at ?? null),
    rows.map((row) => row.extra_time_pct ?? null),
    rows.map((row) => row.supervision ?? null),
    rows.map((row) => row.supervisor ?? null),
    rows.map((row) => row.purpose ?? null),
    rows.map((row) => row.retake_reason ?? null),
  ]);
}

export async function markInvitationWithdrawn(tx: Tx, organisationId: number, invitationId: string): Promise<void> {
  await tx.query(cancel, [organisationId, invitationId]);
}

/** Lists invitations, newest first, after the invitation `before`. */
export function listInvitations(
  tx: Tx,
  organisationId: number,
  { before, limit }: { before: Pick<Invitation, 'created_at' | 'invitation_id'> | null; limit: number },
): Promise<Invitation[]> {
  return tx.query<Invitation>(list, [
    organisationId,
    before?.created_at ?? 'infinity',
    before?.invitation_id ?? nilUuid,
    limit,
  ]);
}

/** Changes to an invitation. Missing and undefined values are not changed. */
export type Adjustment = Partial<{
  extra_time_pct: number;
  supervision: string;
  supervisor: string | null;
  purpose: Purpose | null;
  expires_at: Date;
  retake_reason: string;
}>;

/**
 * Changes an invitation. Sittings that have already begun keep their time limit.
 * @returns undefined if the invitation was cancelled or its learner erased
 */
export async function adjustInvitation(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
  adjustment: Adjustment,
): Promise<Invitation | undefined> {
  const rows = await work.tx.query<Invitation>(adjust, [
    organisationId,
    invitationId,
    adjustment.extra_time_pct ?? null,
    adjustment.supervision ?? null,
    adjustment.supervisor !== undefined,
    adjustment.supervisor ?? null,
    adjustment.purpose !== undefined,
    adjustment.purpose ?? null,
    adjustment.expires_at ?? null,
    adjustment.retake_reason ?? null,
  ]);
  return rows[0];
}

/** @returns the invitation if it was open. The caller must cancel its email. */
export async function markInvitationUsed(
  tx: Tx,
  organisationId: number,
  invitationId: string,
): Promise<Pick<Invitation, 'invitation_id' | 'mailed_at'> | undefined> {
  return (await tx.query<Pick<Invitation, 'invitation_id' | 'mailed_at'>>(use, [organisationId, invitationId]))[0];
}

/**
 * Extends the invitation after a sitting became void, so that the learner can start again with the same link, even if
 * the link had expired.
 */
export async function reopenInvitation(work: UnitOfWork, organisationId: number, invitationId: string): Promise<void> {
  await work.tx.query(extend, [organisationId, invitationId, new Date(work.nowMs + limits.invitationMs)]);
}

export function invitationToken(secrets: Secrets, organisationId: number, invitationId: string): string {
  return linkToken(secrets, 'invitation', organisationId, invitationId);
}

/** @returns null if this service did not make the token */
export function readInvitationToken(
  secrets: Secrets,
  token: string,
): { organisationId: number; invitationId: string } | null {
  const found = readLinkToken(secrets, 'invitation', token);
  return found && { organisationId: found.organisationId, invitationId: found.id };
}

export function assessmentUrl(baseUrl: string, secrets: Secrets, invitation: Invitation): string {
  return `${baseUrl}/a/${invitationToken(secrets, invitation.organisation_id, invitation.invitation_id)}`;
}
