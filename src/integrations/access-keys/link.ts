import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { linkToken, readLinkToken } from '../../platform/crypto/link-token.ts';
import { cancelLetter, postLetter } from '../../platform/mail/outbox.ts';
import { withSandbox } from '../../organisations/sandboxes.ts';
import type { Secrets } from '../../platform/crypto/secrets.ts';
import type { Role } from '../../organisations/users/roles.ts';
import { integrators } from '../../organisations/users/roles.ts';
import type { KeyDescription } from './description.ts';
import type { KeyPair } from './keys.ts';
import { createKey } from './keys.ts';
import { linkLetter } from './email-templates.ts';

/**
 * Set-up links: whoever holds one makes the key that was described with it, once, within minutes, and alone sees its
 * secret. It needs no account and opens nothing else.
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
const insert = statement(
  'key_link.insert',
  `
  insert into key_link (organisation_id, link_id, description, created_by, created_at, expires_at) values ($1, $2, $3, $4, $5, $6)`,
);
const byId = statement('key_link.by_id', `select ${columns} from key_link where organisation_id = $1 and link_id = $2`);
const openById = statement(
  'key_link.open_by_id',
  `
  select ${columns} from key_link where organisation_id = $1 and link_id = $2
     and exists (select from feed f where f.organisation_id = $1 and not f.suspended)`,
);
const lock = statement(
  'key_link.lock',
  `
  select ${columns} from key_link where organisation_id = $1 and link_id = $2
     and exists (select from feed f where f.organisation_id = $1 and not f.suspended) for update`,
);
const list = statement(
  'key_link.list',
  `select ${columns} from key_link where organisation_id = $1 order by created_at desc, link_id limit $2`,
);
const use = statement(
  'key_link.use',
  'update key_link set used_at = $3, key_id = $4 where organisation_id = $1 and link_id = $2',
);
const revoke = statement(
  'key_link.revoke',
  `
  update key_link set revoked_at = coalesce(revoked_at, $3) where organisation_id = $1 and link_id = $2 returning link_id`,
);

const openOf = statement(
  'key_link.open_of',
  `
  select link_id from key_link
   where organisation_id = $1 and created_by = $2 and used_at is null and revoked_at is null and expires_at > $3`,
);

const handOver = statement(
  'key_link.hand_over',
  'update key_link set created_by = $3 where organisation_id = $1 and created_by = $2',
);

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

/** Offers a key by a link. @returns the link's id */
export async function offerKey(
  work: UnitOfWork,
  organisationId: number,
  description: KeyDescription,
  given: { createdBy: string; lastsMs: number; linkId?: string },
): Promise<string> {
  const linkId = given.linkId ?? work.uuid();
  await work.tx.query(insert, [
    organisationId,
    linkId,
    JSON.stringify(description),
    given.createdBy,
    new Date(work.nowMs),
    new Date(work.nowMs + given.lastsMs),
  ]);
  return linkId;
}

export function linkUrl(baseUrl: string, secrets: Secrets, organisationId: number, linkId: string): string {
  return baseUrl + linkPath(secrets, organisationId, linkId);
}

function linkPath(secrets: Secrets, organisationId: number, linkId: string): `/${string}` {
  return `/setup/${linkToken(secrets, 'key_link', organisationId, linkId)}`;
}

const causeOf = (linkId: string) => `key_link ${linkId}`;

/** @returns false when it isn't mailed, because there is no mail server */
export async function mailLink(
  work: UnitOfWork,
  organisationId: number,
  given: { linkId: string; address: string; organisation: string; expiresMs: number },
): Promise<boolean> {
  return postLetter(work, {
    organisationId,
    cause: causeOf(given.linkId),
    address: given.address,
    letter: linkLetter(given.organisation, linkPath(work.secrets, organisationId, given.linkId), given.expiresMs),
    expiresMs: given.expiresMs,
  });
}

/** @returns undefined for a link that this service didn't make, or whose organisation is suspended or gone */
export async function openLink(tx: Tx, secrets: Secrets, token: string): Promise<KeyLink | undefined> {
  const named = readLinkToken(secrets, 'key_link', token);
  return named === null ? undefined : read((await tx.query<StoredLink>(openById, [named.organisationId, named.id]))[0]);
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
 * After a change of somebody's role: links that they made, also in the sandbox, offer nothing more, unless they may still
 * make keys.
 * @param now their role from now on, or null for who is removed
 */
export async function revokeLinksOf(
  work: UnitOfWork,
  organisationId: number,
  userId: string,
  now: Role | null,
): Promise<void> {
  if (now !== null && integrators.includes(now)) return;
  for (const id of await withSandbox(work, organisationId)) {
    const values = [id, userId, new Date(work.nowMs)];
    for (const { link_id: linkId } of await work.tx.query<{ link_id: string }>(openOf, values))
      await revokeLink(work, id, linkId);
  }
}

/** A new account takes the place of another one: its links are the new one's, and end with the role of that. */
export async function handOverLinks(
  work: UnitOfWork,
  organisationId: number,
  { from, to }: { from: string; to: string },
): Promise<void> {
  for (const id of await withSandbox(work, organisationId)) await work.tx.query(handOver, [id, from, to]);
}

/**
 * Makes the key that a link offers; of several who try at once, for one.
 * @returns null when the link offers nothing (more)
 */
export async function takeKey(work: UnitOfWork, organisationId: number, linkId: string): Promise<KeyPair | null> {
  const link = read((await work.tx.query<StoredLink>(lock, [organisationId, linkId]))[0]);
  if (link === undefined || linkStatus(link, work.nowMs) !== 'open') return null;
  const pair = await createKey(work, organisationId, link.description);
  await cancelLetter(work, causeOf(linkId));
  await work.tx.query(use, [organisationId, linkId, new Date(work.nowMs), pair.access_key_id]);
  return pair;
}
