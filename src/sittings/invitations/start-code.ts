import { statement, type Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { limits } from '../../platform/config/limits.ts';

/**
 * Sittings may need a start code of six digits. A signed-in supervisor releases the code when the learner is present.
 * A code expires soon, works once and allows few attempts. A new code replaces the old code. The database stores only a
 * keyed hash.
 */

const release = statement('start_code.release')`
  insert into start_code (organisation_id, invitation_id, code_mac, released_by, released_at, expires_at)
  select $1, invitation_id, $3, $4, $5, $6 from invitation
   where organisation_id = $1 and invitation_id = $2 and status = 'open' and start_code
  on conflict (organisation_id, invitation_id) do update
     set code_mac = excluded.code_mac, released_by = excluded.released_by, released_at = excluded.released_at,
         expires_at = excluded.expires_at, tries = 0, used_at = null
  returning invitation_id`;
// The attempt is counted before the code is compared, so that parallel attempts cannot exceed the limit.
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

export async function requireStartCode(tx: Tx, organisationId: number, ids: readonly string[], on: boolean) {
  if (ids.length > 0) await tx.query(require, [organisationId, ids, on]);
}

/** Makes a new code, which replaces the last code. @returns null if the invitation needs no code or is not open */
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

/** The release of a code. `by`: the name of the person who released the code. */
export type Release = { by: string; at: Date };

/**
 * Uses a code. A wrong code counts as an attempt, so the caller must commit the unit of work even then.
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
  return { by: person?.full_name ?? 'a person who has left', at: row.released_at };
}
