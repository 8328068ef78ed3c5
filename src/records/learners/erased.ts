import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { hashesOfRef } from '../../organisations/learner-ref.ts';
import type { ErasureGuard, GuardedPerson } from './erasure-guard.ts';

const since = statement('learner.erased_since')`
  select l.learner_id, l.ref_hash as hash from learner_feed f join learner l on l.organisation_id = f.organisation_id and l.learner_id = f.learner_id
   where f.organisation_id = $1 and f.position > $2 and f.deleted
     and exists (select from learner_change c where c.organisation_id = $1 and c.learner_id = f.learner_id and c.kind = 'erased')
  union all
  select a.learner_id, a.ref_hash from learner_feed f join learner_alias a on a.organisation_id = f.organisation_id and a.learner_id = f.learner_id
   where f.organisation_id = $1 and f.position > $2 and f.deleted and a.ref_hash is not null`;

/**
 * Erased learners. `hadRef`: whether an erased learner had this reference. `persons`: for lines without a reference,
 * the erased learners whose names may match.
 */
export type ErasedLearners = { hadRef(ref: string): boolean; persons: readonly GuardedPerson[] };

/**
 * Finds learners that were erased after a file was checked. Store the file's lines and lock the feed first, so that a
 * later erasure finds the lines.
 * @returns null if no learner was erased
 */
export async function findErasedSince(
  work: UnitOfWork,
  organisationId: number,
  { position, candidates }: ErasureGuard,
): Promise<ErasedLearners | null> {
  const rows = await work.tx.query<{ learner_id: string; hash: Buffer | null }>(since, [organisationId, position]);
  if (rows.length === 0) return null;
  const ids = new Set(rows.map((row) => row.learner_id));
  const hashes = new Set(rows.map(({ hash }) => hash?.toString('hex')));
  return {
    hadRef: (ref) => hashesOfRef(work.secrets, organisationId, ref).some((hash) => hashes.has(hash.toString('hex'))),
    persons: candidates.filter((one) => ids.has(one.learner_id)),
  };
}

export const isSame = (one: string | null | undefined, other: string | null): boolean =>
  one != null && other !== null && one.toLowerCase() === other.toLowerCase();
