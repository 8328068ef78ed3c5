import { statement, type Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { limits } from '../../platform/config/limits.ts';

/**
 * A sitting may need a code of six digits. A signed-in supervisor releases the code when the learner is there. A code
 * expires soon, works once and allows few tries. A new code replaces it. The database stores a keyed hash.
 */

const release = statement('start_code.release')`
  insert into start_code (organisation_id, invitation_id, code_mac, released_by, released_at, expires_at)
  select $1, invitation_id, $3, $4, $5, $6 from invitation
   where organisation_id = $1 and invitation_id = $2 and status = 'open' and start_code
  on conflict (organisation_id, invitation_id) do update
     set code_mac = excluded.code_mac, released_by = excluded.released_by, released_at = excluded.released_at,
         expires_at = excluded.expires_at, tries = 0, used_at = null
  returning invitation_id`;
// A try is counted before it is compared, so that parallel tries can't exceed the limit.
const attempt = statement('start_code.attempt')`
  update start_code set tries = tries + 1
   where organisation_id = $1 and invitation_id = $2 and used_at is null and expires_at > $3 and tries < ${limits.startCodeTries}
  returning code_mac, released_by, released_at`;
const use = statement('start_code.use')`
  update start_code set used_at = $3 where organisation_id = $1 and invitation_id = $2`;
const nameOf = statement('start_code.name_of')`select full_name from user_account where user_id = $1`;
const require = statement('start_code.require')`
  update invitation set start_code = $3 where organisation_id = $1 and invitation_id = any($2)`;

const macText = (organisationId: number, invitationId: string, code: string) =>
  `${organisationId}:${invitationId}:${code}`;

/** Sets whether sittings of these invitations need a code. */
export async function requireStartCode(tx: Tx, organisationId: number, ids: readonly string[], on: boolean) {
  if (ids.length > 0) await tx.query(require, [organisationId, ids, on]);
}

/** Makes a code, which replaces the last one. @returns null if the invitation needs no code or isn't open */
export async function releaseStartCode(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
  by: string,
): Promise<{ code: string; expiresAt: Date } | null> {
  const code = String(work.random.bytes(6).readUIntBE(0, 6) % 1_000_000).padStart(6, '0');
  const expiresAt = new Date(work.nowMs + limits.startCodeMs);
  const rows = await work.tx.query(release, [
    organisationId,
    invitationId,
    work.secrets.mac('start_code', macText(organisationId, invitationId, code)),
    by,
    new Date(work.nowMs),
    expiresAt,
  ]);
  return rows.length === 0 ? null : { code, expiresAt };
}

/** The name of the person who released a code. */
export type Release = { by: string; at: Date };

/**
 * Uses a code. A wrong code is counted, so the unit of work must be committed either way.
 * @returns null if the code is wrong or has expired
 */
export async function takeStartCode(
  work: UnitOfWork,
  organisationId: number,
  invitationId: string,
  entered: string,
): Promise<Release | null> {
  const code = entered.replace(/\s/g, '');
  if (!/^\d{6}$/.test(code)) return null;
  const now = new Date(work.nowMs);
  type Row = { code_mac: Buffer; released_by: string; released_at: Date };
  const [row] = await work.tx.query<Row>(attempt, [organisationId, invitationId, now]);
  if (row === undefined) return null;
  if (!work.secrets.check('start_code', macText(organisationId, invitationId, code), row.code_mac)) return null;
  await work.tx.query(use, [organisationId, invitationId, now]);
  const [person] = await work.tx.query<{ full_name: string }>(nameOf, [row.released_by]);
  return { by: person?.full_name ?? 'somebody who has left', at: row.released_at };
}
