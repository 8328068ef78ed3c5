import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { removeAccountIfNowhere } from './accounts.ts';
import type { Role } from './roles.ts';
import { mayGive } from './roles.ts';
import { disconnectIdentity } from './single-sign-on.ts';
import type { Membership } from './sessions.ts';
import { belonging, endSessions } from './sessions.ts';

/** Somebody who belongs to an organisation. */
export type Member = {
  user_id: string;
  email: string;
  full_name: string;
  role: Role;
  created_at: Date;
  has_second_factor: boolean;
  /** When they last opened a page of this organisation or its sandbox: what they do elsewhere is nobody's business here. */
  last_used_at: Date | null;
};

const columns = `m.user_id, u.email, u.full_name, m.role, m.created_at, u.totp_secret is not null as has_second_factor,
         m.last_used_at`;
const list = statement(
  'member.list',
  `
  select ${columns} from user_membership m join user_account u using (user_id)
   where m.organisation_id = $1 order by u.full_name, u.email, m.user_id`,
);
const byId = statement(
  'member.by_id',
  `
  select ${columns} from user_membership m join user_account u using (user_id)
   where m.organisation_id = $1 and m.user_id = $2`,
);
// All of them, in one order: who counts owners must know that nobody else takes one away meanwhile.
const lockAll = statement(
  'member.lock_all',
  `
  select user_id, role from user_membership where organisation_id = $1 order by user_id for update`,
);
const insert = statement(
  'member.insert',
  `
  insert into user_membership (organisation_id, user_id, role, created_at) values ($1, $2, $3, $4)
  on conflict (organisation_id, user_id) do update set role = excluded.role`,
);
const setRole = statement(
  'member.set_role',
  `update user_membership set role = $3 where organisation_id = $1 and user_id = $2`,
);
const hold = statement(
  'member.hold',
  `select role from user_membership where organisation_id = $1 and user_id = $2 for key share`,
);
const remove = statement('member.remove', `delete from user_membership where organisation_id = $1 and user_id = $2`);

const ofUser = statement(
  'member.of_user',
  `
  select o.organisation_id, o.public_id, o.name, o.time_zone, o.sandbox as is_test, o.sandbox_of is not null as is_sandbox, m.role
    from (${belonging}) m join organisation o using (organisation_id) where m.user_id = $1 order by o.name, o.public_id`,
);

/** Where a person belongs. */
export function listMemberships(tx: Tx, userId: string): Promise<Membership[]> {
  return tx.query<Membership>(ofUser, [userId]);
}

export function listMembers(tx: Tx, organisationId: number): Promise<Member[]> {
  return tx.query<Member>(list, [organisationId]);
}

export async function findMember(tx: Tx, organisationId: number, userId: string): Promise<Member | undefined> {
  return (await tx.query<Member>(byId, [organisationId, userId]))[0];
}

export async function addMember(work: UnitOfWork, organisationId: number, userId: string, role: Role): Promise<void> {
  await work.tx.query(insert, [organisationId, userId, role, new Date(work.nowMs)]);
}

/**
 * What became of a change: `refused` means that it is not for whoever asks, `last_owner` that nobody would be left who may
 * do everything.
 */
export type Changed = 'done' | 'unknown' | 'refused' | 'last_owner';

async function membersOf(work: UnitOfWork, organisationId: number) {
  return work.tx.query<{ user_id: string; role: Role }>(lockAll, [organisationId]);
}

const isLastOwner = (members: { user_id: string; role: Role }[], userId: string) =>
  members.every((one) => (one.role === 'owner') === (one.user_id === userId));

/** A new role begins with a new sign-in: the person's sessions end. */
export async function changeRole(
  work: UnitOfWork,
  organisationId: number,
  userId: string,
  { to: role, by }: { to: Role; by: Role },
): Promise<Changed> {
  const members = await membersOf(work, organisationId);
  const member = members.find((one) => one.user_id === userId);
  if (member === undefined) return 'unknown';
  // Under the lock: they may have been made an owner since the page was read.
  if (!mayGive(by, member.role) || !mayGive(by, role)) return 'refused';
  if (member.role === role) return 'done';
  if (member.role === 'owner' && isLastOwner(members, userId)) return 'last_owner';
  await work.tx.query(setRole, [organisationId, userId, role]);
  await endSessions(work, userId);
  return 'done';
}

/** Their sessions end at once; of somebody who belongs nowhere else nothing is kept. */
export async function removeMember(
  work: UnitOfWork,
  organisationId: number,
  userId: string,
  { by }: { by: Role },
): Promise<Changed> {
  const members = await membersOf(work, organisationId);
  const member = members.find((one) => one.user_id === userId);
  if (member === undefined) return 'unknown';
  if (!mayGive(by, member.role)) return 'refused';
  if (member.role === 'owner' && isLastOwner(members, userId)) return 'last_owner';
  await leave(work, organisationId, userId);
  return 'done';
}

/** @returns whether they belong to the organisation; whoever removes them waits until the transaction is over */
export async function holdMembership(work: UnitOfWork, organisationId: number, userId: string): Promise<boolean> {
  return (await work.tx.query(hold, [organisationId, userId])).length > 0;
}

/** The membership alone: whoever calls sees to it that an owner is left. */
export async function leave(work: UnitOfWork, organisationId: number, userId: string): Promise<void> {
  await endSessions(work, userId);
  await disconnectIdentity(work, organisationId, userId);
  await work.tx.query(remove, [organisationId, userId]);
  await removeAccountIfNowhere(work, userId);
}

const roleHere = statement(
  'member.role_here',
  `
  select m.role from organisation o join user_membership m on m.organisation_id in (o.organisation_id, o.sandbox_of)
   where o.organisation_id = $1 and m.user_id::text = $2`,
);

/** The role of somebody in the organisation, or in that whose sandbox it is, suspended or not; null for who belongs to neither. */
export async function roleOf(tx: Tx, organisationId: number, userId: string): Promise<Role | null> {
  return (await tx.query<{ role: Role }>(roleHere, [organisationId, userId]))[0]?.role ?? null;
}

/** For an organisation that goes away with everything in it. */
export async function removeEverybody(work: UnitOfWork, organisationId: number): Promise<void> {
  for (const { user_id } of await membersOf(work, organisationId)) await leave(work, organisationId, user_id);
}

const use = statement(
  'member.use',
  `update user_membership set last_used_at = $3 where organisation_id = $1 and user_id = $2`,
);

/** They opened a page of the organisation, or of its sandbox. */
export async function useMembership(work: UnitOfWork, organisationId: number, userId: string): Promise<void> {
  await work.tx.query(use, [organisationId, userId, new Date(work.nowMs)]);
}
