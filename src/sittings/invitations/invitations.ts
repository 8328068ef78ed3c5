import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { limits } from '../../platform/config/limits.ts';
import { linkToken, readLinkToken } from '../../platform/crypto/link-token.ts';
import type { Secrets } from '../../platform/crypto/secrets.ts';
import { nilUuid } from '../../platform/crypto/random.ts';

/** What an invitation is for, in the order of a learner's time with a provider. */
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
  /** Per cent beyond the usual time limit. */
  extra_time_pct: number;
  /** How the sittings are supervised, in the provider's words, for the evidence. */
  supervision: string;
  /** Who supervises the sittings, by name, where it is known; for the evidence. */
  supervisor: string | null;
  /** Null where nobody said. */
  purpose: Purpose | null;
  /** Why it was made within the gap between two assessments. */
  retake_reason: string | null;
  mailed_at: Date | null;
  /** Sittings begin with a code that a supervisor releases (start-code.ts). */
  start_code: boolean;
};

const columns =
  'organisation_id, invitation_id, learner_id, subjects, credit_spent, status, created_at, expires_at, extra_time_pct, supervision, supervisor, purpose, retake_reason, mailed_at, start_code';
const open = statement(
  'invitation.open',
  `
  select ${columns} from invitation
   where organisation_id = $1 and learner_id = $2 and status = 'open' and expires_at > $3 order by created_at desc limit 1`,
);
const openOf = statement(
  'invitation.open_of',
  `
  select ${columns} from invitation
   where organisation_id = $1 and learner_id = any($2) and status = 'open' and expires_at > $3
   order by created_at desc, invitation_id desc`,
);
const insert = statement(
  'invitation.insert',
  `
  insert into invitation (organisation_id, invitation_id, learner_id, subjects, credit_spent, created_at, expires_at,
                          extra_time_pct, supervision, supervisor, purpose, retake_reason)
  select $1, invitation_id, learner_id, string_to_array(subjects, ','), $5, $6, coalesce(expires_at, $7),
         coalesce(extra_time_pct, 0), coalesce(supervision, 'Not supervised'), supervisor, purpose, retake_reason
    from unnest($2::uuid[], $3::uuid[], $4::text[], $8::timestamptz[], $9::int2[], $10::text[], $11::text[], $12::text[], $13::text[])
         as i(invitation_id, learner_id, subjects, expires_at, extra_time_pct, supervision, supervisor, purpose, retake_reason)
  returning ${columns}`,
);
const byId = statement(
  'invitation.by_id',
  `
  select ${columns} from invitation where organisation_id = $1 and invitation_id = $2`,
);
const adjust = statement(
  'invitation.adjust',
  `
  update invitation
     set extra_time_pct = coalesce($3, extra_time_pct), supervision = coalesce($4, supervision),
         supervisor = case when $5 then $6 else supervisor end, purpose = case when $7 then $8 else purpose end,
         expires_at = coalesce($9, expires_at), retake_reason = coalesce($10, retake_reason)
   where organisation_id = $1 and invitation_id = $2 and status <> 'withdrawn' returning ${columns}`,
);
const use = statement(
  'invitation.use',
  `
  update invitation set status = 'used' where organisation_id = $1 and invitation_id = $2 and status = 'open'
  returning invitation_id, mailed_at`,
);
const extend = statement(
  'invitation.extend',
  `
  update invitation set expires_at = greatest(expires_at, $3) where organisation_id = $1 and invitation_id = $2 and status = 'open'`,
);

const lock = statement(
  'invitation.lock',
  `
  select ${columns} from invitation where organisation_id = $1 and invitation_id = $2 for update`,
);
const cancel = statement(
  'invitation.cancel',
  `
  update invitation set status = 'withdrawn' where organisation_id = $1 and invitation_id = $2`,
);
const setEnd = statement(
  'invitation.set_end',
  `
  update invitation set expires_at = $3, retake_reason = coalesce($4, retake_reason)
   where organisation_id = $1 and invitation_id = $2 and status = 'open' returning ${columns}`,
);
const list = statement(
  'invitation.list',
  `
  select ${columns} from invitation
   where organisation_id = $1 and (created_at, invitation_id) < ($2, $3) order by created_at desc, invitation_id desc limit $4`,
);
const withdraw = statement(
  'invitation.withdraw',
  `
  update invitation set status = 'withdrawn' where organisation_id = $1 and learner_id = any($2) and status = 'open'`,
);

const emptyOf = statement(
  'invitation.empty_of_learner',
  `
  with before as (
    select invitation_id, status = 'open' and credit_spent as is_paid from invitation
     where organisation_id = $1 and learner_id = $2 order by invitation_id for update)
  update invitation i
     set status = case when i.status = 'open' then 'withdrawn' else i.status end, supervision = '', supervisor = null, retake_reason = null
    from before b where i.organisation_id = $1 and i.invitation_id = b.invitation_id
  returning i.invitation_id, i.mailed_at, b.is_paid`,
);

const hold = statement(
  'invitation.hold',
  `
  select ${columns} from invitation where organisation_id = $1 and invitation_id = $2 for share`,
);
const lockOf = statement(
  'invitation.lock_of_learners',
  `
  select invitation_id from invitation where organisation_id = $1 and learner_id = any($2) order by invitation_id for update`,
);
const pass = statement(
  'invitation.pass',
  'update invitation set learner_id = $3 where organisation_id = $1 and learner_id = $2 returning status',
);

/** The invitation as it is; it stays that learner's until the end of this unit of work. */
export async function holdInvitation(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
): Promise<Invitation | undefined> {
  return (await work.tx.query<Invitation>(hold, [organisationId, invitationId]))[0];
}

/** Nobody begins a sitting of these learners until the end of this unit of work. */
export async function lockInvitationsOf(tx: Tx, organisationId: number, learnerIds: string[]): Promise<void> {
  await tx.query(lockOf, [organisationId, learnerIds]);
}

/** One learner's invitations are another's; their addresses stay as they are. @returns how many */
export async function passInvitations(tx: Tx, organisationId: number, from: string, to: string): Promise<number> {
  return (await tx.query(pass, [organisationId, from, to])).length;
}

/**
 * Ends a learner's invitations, and takes away what was written about them.
 * @returns all of them; `is_paid`: it was open, and a credit went into it
 */
export function redactInvitations(
  tx: Tx,
  organisationId: number,
  learnerId: string,
): Promise<(Pick<Invitation, 'invitation_id' | 'mailed_at'> & { is_paid: boolean })[]> {
  return tx.query(emptyOf, [organisationId, learnerId]);
}

/** Ends the learners' invitations: their addresses lead nowhere any more. */
export async function withdrawInvitations(tx: Tx, organisationId: number, learnerIds: string[]): Promise<void> {
  await tx.query(withdraw, [organisationId, learnerIds]);
}

export async function findOpenInvitation(
  work: UnitOfWork,
  organisationId: number,
  learnerId: string,
): Promise<Invitation | undefined> {
  return (await work.tx.query<Invitation>(open, [organisationId, learnerId, new Date(work.nowMs)]))[0];
}

/** The open ones of some learners, the newest first. */
export function findOpenInvitations(
  tx: Tx,
  organisationId: number,
  learnerIds: string[],
  now: Date,
): Promise<Invitation[]> {
  return tx.query<Invitation>(openOf, [organisationId, learnerIds, now]);
}

/** What a new invitation is; what is left out is as usual. */
export type NewInvitation = Pick<Invitation, 'invitation_id' | 'learner_id' | 'subjects'> &
  Partial<{
    expires_at: string | null;
    extra_time_pct: number | null;
    supervision: string | null;
    supervisor: string | null;
    purpose: Purpose | null;
    retake_reason: string | null;
  }>;

/** @param creditSpent whether each of them cost a credit */
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

export async function createInvitation(
  work: UnitOfWork,
  organisationId: number,
  given: { invitationId: string; learnerId: string; subjects: string[]; creditSpent: boolean },
): Promise<Invitation> {
  const row = { invitation_id: given.invitationId, learner_id: given.learnerId, subjects: given.subjects };
  return (await createInvitations(work, organisationId, [row], given.creditSpent))[0]!;
}

/** The invitation as it is, and stays until the end of this unit of work. */
export async function lockInvitation(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
): Promise<Invitation | undefined> {
  return (await work.tx.query<Invitation>(lock, [organisationId, invitationId]))[0];
}

/** Its address leads nowhere any more. */
export async function markInvitationWithdrawn(tx: Tx, organisationId: number, invitationId: string): Promise<void> {
  await tx.query(cancel, [organisationId, invitationId]);
}

/** Whether it may last that long is asked by extend.ts. @returns undefined where there is none that could be used again */
export async function setInvitationEnd(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
  { end, retakeReason }: { end: Date; retakeReason: string | null },
): Promise<Invitation | undefined> {
  return (await work.tx.query<Invitation>(setEnd, [organisationId, invitationId, end, retakeReason]))[0];
}

/** The newest first, those made before `before`. */
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

export async function findInvitation(
  tx: Tx,
  organisationId: number,
  invitationId: string,
): Promise<Invitation | undefined> {
  return (await tx.query<Invitation>(byId, [organisationId, invitationId]))[0];
}

/** What of an invitation is to be otherwise; what is left out, or undefined, stays as it is by then. */
export type Adjustment = Partial<{
  extra_time_pct: number;
  supervision: string;
  supervisor: string | null;
  purpose: Purpose | null;
  expires_at: Date;
  retake_reason: string;
}>;

/**
 * What the provider decides about an invitation; sittings that have begun keep their time limit.
 * @returns undefined where it was cancelled, or its learner erased: nothing is written about it any more
 */
export async function adjustInvitation(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
  given: Adjustment,
): Promise<Invitation | undefined> {
  const rows = await work.tx.query<Invitation>(adjust, [
    organisationId,
    invitationId,
    given.extra_time_pct ?? null,
    given.supervision ?? null,
    given.supervisor !== undefined,
    given.supervisor ?? null,
    given.purpose !== undefined,
    given.purpose ?? null,
    given.expires_at ?? null,
    given.retake_reason ?? null,
  ]);
  return rows[0];
}

/** @returns the invitation where it was open; a letter of it that waits is for the caller to cancel */
export async function markInvitationUsed(
  tx: Tx,
  organisationId: number,
  invitationId: string,
): Promise<Pick<Invitation, 'invitation_id' | 'mailed_at'> | undefined> {
  return (await tx.query<Pick<Invitation, 'invitation_id' | 'mailed_at'>>(use, [organisationId, invitationId]))[0];
}

/** A sitting came to nothing: the learner can start again with the same link, however late it was. */
export async function reopenInvitation(work: UnitOfWork, organisationId: number, invitationId: string): Promise<void> {
  await work.tx.query(extend, [organisationId, invitationId, new Date(work.nowMs + limits.invitationMs)]);
}

export function invitationToken(secrets: Secrets, organisationId: number, invitationId: string): string {
  return linkToken(secrets, 'invitation', organisationId, invitationId);
}

/** @returns null for anything that this service didn't write */
export function readInvitationToken(
  secrets: Secrets,
  token: string,
): { organisationId: number; invitationId: string } | null {
  const named = readLinkToken(secrets, 'invitation', token);
  return named === null ? null : { organisationId: named.organisationId, invitationId: named.id };
}

/** Where the learner sits the assessment. */
export function assessmentUrl(baseUrl: string, secrets: Secrets, invitation: Invitation): string {
  return `${baseUrl}/a/${invitationToken(secrets, invitation.organisation_id, invitation.invitation_id)}`;
}
