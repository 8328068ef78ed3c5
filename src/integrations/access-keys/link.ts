import { type Tx, statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { linkToken, readLinkToken } from '../../platform/crypto/secrets.ts';
import { cancelLetter, postLetter } from '../../platform/mail/outbox.ts';
import { withSandbox } from '../../organisations/sandboxes.ts';
import type { Secrets } from '../../platform/crypto/secrets.ts';
import { type Role, integrators } from '../../organisations/users/roles.ts';
import type { KeyDescription } from './description.ts';
import { type KeyPair, createKey } from './keys.ts';
import { linkLetter } from './email-templates.ts';

/**
 * A set-up link. A vendor without an account uses the link once, before it ends, to make the described key and see its
 * secret.
 */
export type KeyLink = {
  organisation_id: number;
  link_id: string;
  description: KeyDescription;
  created_by: string;
  created_at: Date;
  expires_at: Date;
  revoked_at: Date | null;
  used_at: Date | null;
  key_id: string | null;
};

export type LinkStatus = 'open' | 'used' | 'revoked' | 'expired';

const columns =
  'organisation_id, link_id, description, created_by, created_at, expires_at, revoked_at, used_at, key_id';
const insert = statement('key_link.insert')`
  insert into key_link (organisation_id, link_id, description, created_by, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)`;
const byId = statement('key_link.by_id')`select ${columns} from key_link where organisation_id = $1 and link_id = $2`;
const openById = statement('key_link.open_by_id')`
  select ${columns} from key_link where organisation_id = $1 and link_id = $2
     and exists (select from feed f where f.organisation_id = $1 and not f.suspended)`;
const lock = statement('key_link.lock')`
  select ${columns} from key_link where organisation_id = $1 and link_id = $2
     and exists (select from feed f where f.organisation_id = $1 and not f.suspended) for update`;
const list = statement('key_link.list')`
  select ${columns} from key_link where organisation_id = $1 order by created_at desc, link_id limit $2`;
const use = statement('key_link.use')`
  update key_link set used_at = $3, key_id = $4 where organisation_id = $1 and link_id = $2`;
const revoke = statement('key_link.revoke')`
  update key_link set revoked_at = coalesce(revoked_at, $3) where organisation_id = $1 and link_id = $2 returning link_id`;

const openOf = statement('key_link.open_of')`
  select link_id from key_link
   where organisation_id = $1 and created_by = $2 and used_at is null and revoked_at is null and expires_at > $3`;

const handOver = statement('key_link.hand_over')`
  update key_link set created_by = $3 where organisation_id = $1 and created_by = $2`;

type StoredLink = Omit<KeyLink, 'description'> & {
  description: Omit<KeyDescription, 'expiresAt'> & { expiresAt: string | null };
};

function read(row: StoredLink | undefined): KeyLink | undefined {
  if (row === undefined) return undefined;
  const { expiresAt, ...description } = row.description;
  return { ...row, description: { ...description, expiresAt: expiresAt === null ? null : new Date(expiresAt) } };
}

export function linkStatus(link: KeyLink, nowMs: number): LinkStatus {
  if (link.used_at !== null) return 'used';
  if (link.revoked_at !== null) return 'revoked';
  const keyEnds = link.description.expiresAt?.getTime() ?? Infinity;
  return Math.min(link.expires_at.getTime(), keyEnds) <= nowMs ? 'expired' : 'open';
}

/** Makes a set-up link. @returns its ID */
export async function offerKey(
  work: UnitOfWork,
  organisationId: number,
  description: KeyDescription,
  { createdBy, lastsMs, linkId = work.uuid() }: { createdBy: string; lastsMs: number; linkId?: string },
): Promise<string> {
  const [now, end] = [new Date(work.nowMs), new Date(work.nowMs + lastsMs)];
  await work.tx.query(insert, [organisationId, linkId, JSON.stringify(description), createdBy, now, end]);
  return linkId;
}

const linkPath = (secrets: Secrets, organisationId: number, linkId: string) =>
  `/setup/${linkToken(secrets, 'key_link', organisationId, linkId)}` as const;

export const linkUrl = (baseUrl: string, secrets: Secrets, organisationId: number, linkId: string) =>
  baseUrl + linkPath(secrets, organisationId, linkId);

const causeOf = (linkId: string) => `key_link ${linkId}`;

/** @returns false if no mail server is set */
export async function mailLink(
  work: UnitOfWork,
  organisationId: number,
  input: { linkId: string; address: string; organisation: string; expiresMs: number },
): Promise<boolean> {
  const { linkId, address, organisation, expiresMs } = input;
  const letter = linkLetter(organisation, linkPath(work.secrets, organisationId, linkId), expiresMs);
  return postLetter(work, { organisationId, cause: causeOf(linkId), address, letter, expiresMs });
}

/** @returns undefined if the token is not valid, or the link's organisation is suspended or deleted */
export async function openLink(tx: Tx, secrets: Secrets, token: string): Promise<KeyLink | undefined> {
  const link = readLinkToken(secrets, 'key_link', token);
  return link === null ? undefined : read((await tx.query<StoredLink>(openById, [link.organisationId, link.id]))[0]);
}

export async function findLink(tx: Tx, organisationId: number, linkId: string): Promise<KeyLink | undefined> {
  return read((await tx.query<StoredLink>(byId, [organisationId, linkId]))[0]);
}

/** The organisation's latest links. */
export async function listLinks(tx: Tx, organisationId: number, max: number): Promise<KeyLink[]> {
  return (await tx.query<StoredLink>(list, [organisationId, max])).map((row) => read(row)!);
}

/** @returns false when the organisation has no such link */
export async function revokeLink(work: UnitOfWork, organisationId: number, linkId: string): Promise<boolean> {
  if ((await work.tx.query(revoke, [organisationId, linkId, new Date(work.nowMs)])).length === 0) return false;
  await cancelLetter(work, causeOf(linkId));
  return true;
}

/**
 * Revokes a member's links, also in the sandbox, unless the member's new role may still make keys.
 * @param now the new role; null: the member was removed
 */
export async function revokeLinksOf(work: UnitOfWork, organisationId: number, userId: string, now: Role | null) {
  if (now !== null && integrators.includes(now)) return;
  for (const id of await withSandbox(work, organisationId)) {
    const values = [id, userId, new Date(work.nowMs)];
    for (const { link_id: linkId } of await work.tx.query<{ link_id: string }>(openOf, values))
      await revokeLink(work, id, linkId);
  }
}

/** Gives the links of an old account to the new account that has replaced it. */
export async function handOverLinks(
  work: UnitOfWork,
  organisationId: number,
  { from, to }: { from: string; to: string },
): Promise<void> {
  for (const id of await withSandbox(work, organisationId)) await work.tx.query(handOver, [id, from, to]);
}

/** Makes the key of a link, once. @returns null when the link is no longer open */
export async function takeKey(work: UnitOfWork, organisationId: number, linkId: string): Promise<KeyPair | null> {
  const link = read((await work.tx.query<StoredLink>(lock, [organisationId, linkId]))[0]);
  if (link === undefined || linkStatus(link, work.nowMs) !== 'open') return null;
  const pair = await createKey(work, organisationId, link.description);
  await cancelLetter(work, causeOf(linkId));
  await work.tx.query(use, [organisationId, linkId, new Date(work.nowMs), pair.access_key_id]);
  return pair;
}
