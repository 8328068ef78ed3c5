import { hash } from 'node:crypto';
import { type Tx, statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { limits } from '../../platform/config/limits.ts';
import { cancelLetter, postLetter } from '../../platform/mail/outbox.ts';
import { handOverTeams, joinTeam } from '../teams.ts';
import { createAccount, plainEmail } from './accounts.ts';
import { invitationLetter, writeOfChange } from './email-templates.ts';
import { addMember, leave } from './members.ts';
import { type Role, mayGive, roles } from './roles.ts';
import { isEmergency, isProviderRequired } from './single-sign-on.ts';

export type UserInvitation = {
  organisation_id: number;
  organisation_name: string;
  invitation_id: string;
  email: string;
  role: Role;
  created_at: Date;
  expires_at: Date;
  /** The team that the person joins as staff. */
  team_id: string | null;
};

const columns = `i.organisation_id, o.name as organisation_name, i.invitation_id, i.email, i.role, i.created_at, i.expires_at, i.team_id`;
const byToken = statement('user_invitation.by_token')`
  select ${columns} from user_invitation i join organisation o using (organisation_id)
   where i.token_sha256 = $1 and i.expires_at > $2 and o.suspended_at is null`;
const take = statement('user_invitation.take')`
  delete from user_invitation i where token_sha256 = $1 and expires_at > $2
      and exists (select from organisation o where o.organisation_id = i.organisation_id and o.suspended_at is null)
   returning organisation_id, invitation_id, email, role, team_id`;
const list = statement('user_invitation.list')`
  select ${columns} from user_invitation i join organisation o using (organisation_id)
   where i.organisation_id = $1 and i.expires_at > $2 order by i.created_at, i.invitation_id`;
const insert = statement('user_invitation.insert')`
  insert into user_invitation (organisation_id, invitation_id, token_sha256, email, role, invited_by, created_at, expires_at, team_id)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;
const dropForEmail = statement('user_invitation.drop_for_email')`
  delete from user_invitation where organisation_id = $1 and email = $2 returning invitation_id`;
const drop = statement('user_invitation.drop')`
  delete from user_invitation where organisation_id = $1 and invitation_id = $2 and role = any($3) returning role`;
const dropBy = statement('user_invitation.drop_by')`
  delete from user_invitation where organisation_id = $1 and invited_by = $2 and role <> all($3) returning invitation_id`;
const handOver = statement('user_invitation.hand_over')`
  update user_invitation set invited_by = $3 where organisation_id = $1 and invited_by = $2`;
const outranking = statement('user_invitation.outranking')`
  select role from user_invitation where organisation_id = $1 and email = $2 and expires_at > $3 and role <> all($4)`;
const prune = statement('user_invitation.prune')`delete from user_invitation where expires_at <= $1`;
const people = statement('user_invitation.people')`
  select (select count(*) from user_membership where organisation_id = $1)
       + (select count(*) from user_invitation where organisation_id = $1 and email <> $2) as count`;
const membersOfEmail = statement('user_invitation.members_of_email')`
  select m.user_id, m.role, ${isEmergency} as is_emergency from user_membership m join user_account u using (user_id)
   where m.organisation_id = $1 and u.email = $2 order by m.user_id for update of m`;

type MemberOfEmail = { user_id: string; role: Role; is_emergency: boolean };

const hashOf = (token: string) => hash('sha256', token, 'buffer');

const givableBy = (giver: Role | null): Role[] => roles.filter((role) => giver !== null && mayGive(giver, role));

const causeOf = (invitationId: string) => `invitation ${invitationId}`;

/**
 * `member`: the address belongs to a member who can't be invited again. `outranked`: the address has an open invitation
 * to a role that the inviting person may not give. `emergency_owner`: a new account could not take the member's place.
 */
export type Invited =
  { token: string; invitationId: string; mailed: boolean } | 'member' | 'outranked' | 'full' | 'emergency_owner';

/**
 * Creates a link that works once, and ends an open invitation for the address. `again`: if a member has lost a password
 * or second factor, a new account in the same role replaces the old account.
 * @param input `mailFrom`: the organisation's name, if the link is sent by email too. `teamId`: the team to join
 */
export async function inviteUser(
  work: UnitOfWork,
  organisationId: number,
  input: {
    email: string;
    role: Role;
    invitedBy: { userId: string; role: Role } | 'operator';
    again: boolean;
    mailFrom?: string;
    teamId?: string | null;
  },
): Promise<Invited> {
  const { role, invitedBy, again, mailFrom, teamId = null } = input;
  const email = plainEmail(input.email);
  const members = await work.tx.query<MemberOfEmail>(membersOfEmail, [organisationId, email]);
  if (members.length > 0 && !(again && members.every((one) => one.role === role))) return 'member';
  if (members.some((one) => one.is_emergency)) return 'emergency_owner';
  const by = invitedBy === 'operator' ? { userId: 'operator', role: 'owner' as const } : invitedBy;
  const now = new Date(work.nowMs);
  const higher = await work.tx.query(outranking, [organisationId, email, now, givableBy(by.role)]);
  if (higher.length > 0) return 'outranked';
  // An account that replaces another account adds no person, so the limit does not apply.
  if (members.length === 0) {
    const [{ count } = { count: 0 }] = await work.tx.query<{ count: number }>(people, [organisationId, email]);
    if (count >= limits.usersPerOrganisation) return 'full';
  }
  await cancelLetters(work, await work.tx.query<Dropped>(dropForEmail, [organisationId, email]));
  const token = work.random.bytes(32).toString('base64url');
  const invitationId = work.uuid();
  const expiresMs = work.nowMs + limits.userInvitationMs;
  const invitation = [hashOf(token), email, role, by.userId, now, new Date(expiresMs), teamId];
  await work.tx.query(insert, [organisationId, invitationId, ...invitation]);
  const cause = causeOf(invitationId);
  const mailed =
    mailFrom !== undefined &&
    (await postLetter(work, {
      ...{ organisationId, cause, expiresMs, address: email },
      letter: invitationLetter(mailFrom, role, token, limits.userInvitationMs / 86_400_000),
    }));
  return { token, invitationId, mailed };
}

export async function findUserInvitation(tx: Tx, token: string, nowMs: number): Promise<UserInvitation | undefined> {
  return (await tx.query<UserInvitation>(byToken, [hashOf(token), new Date(nowMs)]))[0];
}

export function listUserInvitations(tx: Tx, organisationId: number, nowMs: number): Promise<UserInvitation[]> {
  return tx.query<UserInvitation>(list, [organisationId, new Date(nowMs)]);
}

/** @returns false if the organisation has no such invitation */
export async function withdrawUserInvitation(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
  by: Role,
): Promise<boolean> {
  if ((await work.tx.query(drop, [organisationId, invitationId, givableBy(by)])).length === 0) return false;
  await cancelLetter(work, causeOf(invitationId));
  return true;
}

type Dropped = { invitation_id: string };

async function cancelLetters(work: UnitOfWork, dropped: Dropped[]): Promise<void> {
  for (const one of dropped) await cancelLetter(work, causeOf(one.invitation_id));
}

/**
 * Ends the open invitations for a person whose role has changed. Also ends invitations that the person sent for roles
 * that the person may no longer give.
 * @param now the new role; null: the person was removed
 */
export async function dropInvitationsOf(
  work: UnitOfWork,
  organisationId: number,
  { user_id: userId, email }: { user_id: string; email: string },
  now: Role | null,
): Promise<void> {
  await cancelLetters(work, await work.tx.query<Dropped>(dropForEmail, [organisationId, email]));
  await cancelLetters(work, await work.tx.query<Dropped>(dropBy, [organisationId, userId, givableBy(now)]));
}

export type Accepting = { userId: string; email: string } | { fullName: string; password: string | null };

/**
 * Accepts an invitation, which then can't be used again.
 * @returns the new member, and the accounts that the new member replaces. Null: the invitation was used or withdrawn,
 * has expired or is for another address, or an account to replace has another role than the invitation or is the
 * emergency owner's. Null too if the organisation requires its identity provider and the person has a password.
 */
export async function acceptInvitation(
  work: UnitOfWork,
  token: string,
  accepting: Accepting,
): Promise<{ userId: string; organisationId: number; replaced: string[] } | null> {
  const [invitation] = await work.tx.query<
    Pick<UserInvitation, 'organisation_id' | 'invitation_id' | 'email' | 'role' | 'team_id'>
  >(take, [hashOf(token), new Date(work.nowMs)]);
  if (invitation === undefined) return null;
  await cancelLetter(work, causeOf(invitation.invitation_id));
  const { organisation_id: organisationId, email, role } = invitation;
  if ('userId' in accepting && accepting.email !== email) return null;
  const isRequired = await isProviderRequired(work, organisationId);
  if (isRequired && ('userId' in accepting || accepting.password !== null)) return null;
  const replaced = await work.tx.query<MemberOfEmail>(membersOfEmail, [organisationId, email]);
  if (replaced.some((one) => one.role !== role || one.is_emergency)) return null;
  const userId = 'userId' in accepting ? accepting.userId : await createAccount(work, { ...accepting, email });
  await addMember(work, organisationId, userId, role, isRequired);
  if (invitation.team_id !== null) await joinTeam(work, organisationId, invitation.team_id, userId);
  const others = replaced.filter((one) => one.user_id !== userId);
  for (const { user_id } of others) {
    await handOverTeams(work, organisationId, { from: user_id, to: userId });
    await work.tx.query(handOver, [organisationId, user_id, userId]);
    await leave(work, organisationId, user_id);
  }
  if (others.length > 0) await writeOfChange(work, { email }, 'replaced');
  return { userId, organisationId, replaced: others.map((one) => one.user_id) };
}

export async function pruneUserInvitations(work: UnitOfWork): Promise<void> {
  await work.tx.query(prune, [new Date(work.nowMs)]);
}
