import { type Tx, statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { Keyring } from '../../platform/crypto/keyring.ts';

/** An identity provider of an organisation (OpenID Connect). */
export type Provider = {
  issuer: string;
  client_id: string;
  client_secret: string;
  /** The value that an ID token must have as `tid` or `hd`; null if only this organisation uses the issuer. */
  tenant: string | null;
};

/** `required`: people of the organisation, except its emergency owner, sign in only there. */
export type StoredProvider = Provider & { changed_at: Date; required: boolean };

const find = statement('sso.find')`
  select s.issuer, s.client_id, s.client_secret, s.tenant, s.changed_at, s.required from organisation_sso s join organisation o using (organisation_id)
   where s.organisation_id = $1 and o.suspended_at is null`;
const hold = statement('sso.hold')`
  select issuer from organisation_sso where organisation_id = $1 and issuer = $2 and changed_at = $3 for share`;
const put = statement('sso.put')`
  insert into organisation_sso (organisation_id, issuer, client_id, client_secret, tenant, changed_at)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (organisation_id) do update
     set issuer = excluded.issuer, client_id = excluded.client_id, client_secret = excluded.client_secret,
         tenant = excluded.tenant, changed_at = excluded.changed_at`;
const drop = statement('sso.drop')`delete from organisation_sso where organisation_id = $1`;
const endSessions = statement('sso.end_sessions')`delete from user_session where sso_organisation_id = $1`;
const identity = statement('sso.identity')`
  select i.user_id from user_identity i join user_membership m using (organisation_id, user_id)
   where i.organisation_id = $1 and i.issuer = $2 and i.subject = $3`;
const count = statement('sso.count_identities')`
  select count(*) as count from user_identity i join user_membership m using (organisation_id, user_id)
   where i.organisation_id = $1 and i.issuer = $2`;
const connect = statement('sso.connect')`
  insert into user_identity (organisation_id, issuer, subject, user_id, created_at) values ($1, $2, $3, $4, $5)
  on conflict (organisation_id, issuer, subject) do nothing returning user_id`;
const disconnect = statement('sso.disconnect')`delete from user_identity where organisation_id = $1 and user_id = $2`;

const require = statement('sso.require')`
  update organisation_sso set required = true where organisation_id = $1 and not required returning issuer`;
const candidate = (user: string) =>
  `m.role = 'owner' and ${user}.password is not null and ${user}.totp_secret is not null`;
const candidates = statement('sso.candidates')`
  select m.user_id, u.full_name from user_membership m join user_account u using (user_id)
   where m.organisation_id = $1 and ${candidate('u')} order by u.full_name, m.user_id`;
const closeToPasswords = statement('sso.close_to_passwords')`
  update user_membership set sso_only = user_id <> $2 where organisation_id = $1`;
const endPasswordSessions = statement('sso.end_password_sessions')`
  delete from user_session s using user_membership m
   where m.organisation_id = $1 and m.sso_only and m.user_id = s.user_id and s.sso_organisation_id is null`;
const dropPasswords = statement('sso.drop_passwords')`
  update user_account u set password = null, totp_secret = null, totp_step = 0, recovery_codes = '{}'
   where u.user_id in (select user_id from user_membership where organisation_id = $1)
     and not exists (select from user_membership m where m.user_id = u.user_id and not m.sso_only)`;
const lift = statement('sso.lift')`
  update organisation_sso set required = false where organisation_id = $1 and required returning issuer`;
const isRequired = statement('sso.is_required')`
  select required from organisation_sso where organisation_id = $1 for share`;
const unconnected = statement('sso.unconnected')`
  select count(*) as count from user_membership m where m.organisation_id = $1 and not exists (
    select from user_identity i where i.organisation_id = m.organisation_id and i.user_id = m.user_id and i.issuer = $2)`;

const contextOf = (organisationId: number) => `sso ${organisationId}`;

export async function findProvider(
  tx: Tx,
  keyring: Keyring,
  organisationId: number,
): Promise<StoredProvider | undefined> {
  const [row] = await tx.query<StoredProvider>(find, [organisationId]);
  return row === undefined
    ? undefined
    : { ...row, client_secret: keyring.decrypt(row.client_secret, contextOf(organisationId)) };
}

/**
 * Locks the provider until this transaction ends. A change of the provider waits for the lock, and then ends the
 * session that this transaction opens.
 * @returns whether the provider is still current
 */
export async function holdProvider(
  work: UnitOfWork,
  organisationId: number,
  provider: StoredProvider,
): Promise<boolean> {
  return (await work.tx.query(hold, [organisationId, provider.issuer, provider.changed_at])).length > 0;
}

/** Sets the provider, and ends the sessions that began at the previous provider. */
export async function setProvider(work: UnitOfWork, organisationId: number, provider: Provider): Promise<void> {
  const { issuer, client_id, client_secret, tenant } = provider;
  const encrypted = work.keyring.encrypt(client_secret, contextOf(organisationId));
  await work.tx.query(put, [organisationId, issuer, client_id, encrypted, tenant, new Date(work.nowMs)]);
  await work.tx.query(endSessions, [organisationId]);
}

export async function dropProvider(work: UnitOfWork, organisationId: number): Promise<void> {
  await work.tx.query(drop, [organisationId]);
  await work.tx.query(endSessions, [organisationId]);
}

export type Candidate = { user_id: string; full_name: string };

/** The owners who can be the emergency owner: they have a password and a second factor. */
export function listCandidates(tx: Tx, organisationId: number): Promise<Candidate[]> {
  return tx.query<Candidate>(candidates, [organisationId]);
}

/** Counts the members who have not signed in at the issuer. */
export async function countUnconnected(tx: Tx, organisationId: number, issuer: string): Promise<number> {
  return (await tx.query<{ count: number }>(unconnected, [organisationId, issuer]))[0]!.count;
}

/**
 * Closes the organisation to passwords, except the emergency owner's. Sessions that began with a password end. An
 * account that no other organisation opens by password loses its password and second factor.
 * @returns false if this is required already, or the person can't be the emergency owner any more
 */
export async function requireProvider(work: UnitOfWork, organisationId: number, emergency: string): Promise<boolean> {
  const isCandidate = (await listCandidates(work.tx, organisationId)).some((one) => one.user_id === emergency);
  if (!isCandidate || (await work.tx.query(require, [organisationId])).length === 0) return false;
  await work.tx.query(closeToPasswords, [organisationId, emergency]);
  await work.tx.query(endPasswordSessions, [organisationId]);
  await work.tx.query(dropPasswords, [organisationId]);
  return true;
}

/**
 * Stops requiring the identity provider. Old passwords do not work again: each person needs a new link.
 * @returns false if it was not required
 */
export async function liftRequirement(work: UnitOfWork, organisationId: number): Promise<boolean> {
  return (await work.tx.query(lift, [organisationId])).length === 1;
}

/** Whether new members sign in at the identity provider only. The answer stays true until the transaction ends. */
export async function isProviderRequired(work: UnitOfWork, organisationId: number): Promise<boolean> {
  return (await work.tx.query<{ required: boolean }>(isRequired, [organisationId]))[0]?.required ?? false;
}

/** SQL: whether the membership `m` is the emergency owner's, who keeps a password while the provider is required. */
export const isEmergency = `not m.sso_only and exists (
    select from organisation_sso s where s.organisation_id = m.organisation_id and s.required)`;

/** @returns undefined if the identity is unknown or the person is no longer a member */
export async function findByIdentity(
  tx: Tx,
  organisationId: number,
  issuer: string,
  subject: string,
): Promise<string | undefined> {
  return (await tx.query<{ user_id: string }>(identity, [organisationId, issuer, subject]))[0]?.user_id;
}

export async function countIdentities(tx: Tx, organisationId: number, issuer: string): Promise<number> {
  return (await tx.query<{ count: number }>(count, [organisationId, issuer]))[0]!.count;
}

/** @returns false if the identity belongs to another person */
export async function connectIdentity(
  work: UnitOfWork,
  organisationId: number,
  { issuer, subject, userId }: { issuer: string; subject: string; userId: string },
): Promise<boolean> {
  await disconnectIdentity(work, organisationId, userId);
  const values = [organisationId, issuer, subject, userId, new Date(work.nowMs)];
  return (await work.tx.query(connect, values)).length === 1;
}

export async function disconnectIdentity(work: UnitOfWork, organisationId: number, userId: string): Promise<void> {
  await work.tx.query(disconnect, [organisationId, userId]);
}
