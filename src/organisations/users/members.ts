import { type Tx, statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { cancelReportLetters } from '../scheduled-reports/scheduled-reports.ts';
import { removeAccountIfNowhere } from './accounts.ts';
import { type Role, mayGive } from './roles.ts';
import { disconnectIdentity, isEmergency } from './single-sign-on.ts';
import { type Membership, belonging, endSessions } from './sessions.ts';

export type Member = {
  user_id: string;
  email: string;
  full_name: string;
  role: Role;
  created_at: Date;
  has_second_factor: boolean;
  /** When the person last opened a page of this organisation or its sandbox. */
  last_used_at: Date | null;
};

const columns = `m.user_id, u.email, u.full_name, m.role, m.created_at, u.totp_secret is not null as has_second_factor,
         m.last_used_at`;
const list = statement('member.list')`
  select ${columns} from user_membership m join user_account u using (user_id)
   where m.organisation_id = $1 order by u.full_name, u.email, m.user_id`;
const byId = statement('member.by_id')`
  select ${columns} from user_membership m join user_account u using (user_id)
   where m.organisation_id = $1 and m.user_id = $2`;
// Locks all members in the order of their IDs, so that two transactions can't each remove one of the last two owners.
const lockAll = statement('member.lock_all')`
  select m.user_id, m.role, ${isEmergency} as is_emergency from user_membership m where m.organisation_id = $1
   order by m.user_id for update of m`;
const insert = statement('member.insert')`
  insert into user_membership (organisation_id, user_id, role, created_at, sso_only) values ($1, $2, $3, $4, $5)
  on conflict (organisation_id, user_id) do update set role = excluded.role, sso_only = excluded.sso_only`;
const setRole = statement('member.set_role')`
  update user_membership set role = $3 where organisation_id = $1 and user_id = $2`;
const hold = statement('member.hold')`
  select role from user_membership where organisation_id = $1 and user_id = $2 for key share`;
const remove = statement('member.remove')`delete from user_membership where organisation_id = $1 and user_id = $2`;

const ofUser = statement('member.of_user')`
  select o.organisation_id, o.public_id, o.name, o.time_zone, o.sandbox as is_test, o.sandbox_of is not null as is_sandbox,
         o.second_factor_for_all, m.role
    from (${belonging}) m join organisation o using (organisation_id) where m.user_id = $1 and not m.sso_only order by o.name, o.public_id`;

/** The memberships that a session opens which began with a password. */
export function listMemberships(tx: Tx, userId: string): Promise<Membership[]> {
  return tx.query<Membership>(ofUser, [userId]);
}

export function listMembers(tx: Tx, organisationId: number): Promise<Member[]> {
  return tx.query<Member>(list, [organisationId]);
}

export async function findMember(tx: Tx, organisationId: number, userId: string): Promise<Member | undefined> {
  return (await tx.query<Member>(byId, [organisationId, userId]))[0];
}

/** @param ssoOnly passwords do not open the organisation for the member */
export async function addMember(
  work: UnitOfWork,
  organisationId: number,
  userId: string,
  role: Role,
  ssoOnly = false,
): Promise<void> {
  await work.tx.query(insert, [organisationId, userId, role, new Date(work.nowMs), ssoOnly]);
}

/**
 * `refused`: the role of the person who asks is too low. `last_owner`: the member is the only owner, and an
 * organisation must keep an owner. `emergency_owner`: the member keeps the way in without the identity provider.
 */
export type MemberChange = 'done' | 'unknown' | 'refused' | 'last_owner' | 'emergency_owner';

async function membersOf(work: UnitOfWork, organisationId: number) {
  return work.tx.query<{ user_id: string; role: Role; is_emergency: boolean }>(lockAll, [organisationId]);
}

/**
 * Changes a member's role or removes the member, and ends the person's sessions.
 * @param to null: the member is removed
 * @param by the role of the person who asks
 */
export async function changeMember(
  work: UnitOfWork,
  organisationId: number,
  userId: string,
  { to, by }: { to: Role | null; by: Role },
): Promise<MemberChange> {
  const members = await membersOf(work, organisationId);
  const member = members.find((one) => one.user_id === userId);
  if (member === undefined) return 'unknown';
  const { role } = member;
  // The role may have changed since the person opened the page, so it is checked under the lock.
  if (!mayGive(by, role) || (to !== null && !mayGive(by, to))) return 'refused';
  if (role === to) return 'done';
  if (member.is_emergency) return 'emergency_owner';
  const isOtherOwner = (one: { user_id: string; role: Role }) => one.role === 'owner' && one.user_id !== userId;
  if (role === 'owner' && !members.some(isOtherOwner)) return 'last_owner';
  if (to === null) {
    await leave(work, organisationId, userId);
  } else {
    await work.tx.query(setRole, [organisationId, userId, to]);
    await endSessions(work, userId);
    await cancelReportLetters(work, organisationId, userId);
  }
  return 'done';
}

/**
 * Locks a membership, so that no other transaction can remove the member before this transaction ends.
 * @returns whether the person is a member
 */
export async function holdMembership(work: UnitOfWork, organisationId: number, userId: string): Promise<boolean> {
  return (await work.tx.query(hold, [organisationId, userId])).length > 0;
}

/** Removes a member. The caller makes sure that the organisation keeps an owner. */
export async function leave(work: UnitOfWork, organisationId: number, userId: string): Promise<void> {
  await endSessions(work, userId);
  await disconnectIdentity(work, organisationId, userId);
  await work.tx.query(remove, [organisationId, userId]);
  // Only now: a worker that is writing to the person has locked the report, and the removal waited for it.
  await cancelReportLetters(work, organisationId, userId);
  await removeAccountIfNowhere(work, userId);
}

const roleHere = statement('member.role_here')`
  select m.role from organisation o join user_membership m on m.organisation_id in (o.organisation_id, o.sandbox_of)
   where o.organisation_id = $1 and m.user_id::text = $2`;

/**
 * The person's role in the organisation. For a sandbox, this is the role in the sandbox's organisation. Suspended
 * organisations are included.
 */
export async function roleOf(tx: Tx, organisationId: number, userId: string): Promise<Role | null> {
  return (await tx.query<{ role: Role }>(roleHere, [organisationId, userId]))[0]?.role ?? null;
}

export async function removeEverybody(work: UnitOfWork, organisationId: number): Promise<void> {
  for (const { user_id } of await membersOf(work, organisationId)) await leave(work, organisationId, user_id);
}

const use = statement('member.use')`
  update user_membership set last_used_at = $3 where organisation_id = $1 and user_id = $2`;

/** Records that the person has opened a page of the organisation or of its sandbox. */
export async function useMembership(work: UnitOfWork, organisationId: number, userId: string): Promise<void> {
  await work.tx.query(use, [organisationId, userId, new Date(work.nowMs)]);
}
