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

export type StoredProvider = Provider & { changed_at: Date };

const find = statement('sso.find')`
  select s.issuer, s.client_id, s.client_secret, s.tenant, s.changed_at from organisation_sso s join organisation o using (organisation_id)
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
