import { statement } from '../db/database.ts';
import type { Work } from '../db/work.ts';
import { hashesOfRef } from '../learner-ref.ts';

const since = statement(
  'learner.erased_since',
  `
  select l.ref_hash as hash from learner_feed f join learner l on l.organisation_id = f.organisation_id and l.learner_id = f.learner_id
   where f.organisation_id = $1 and f.position > $2 and f.deleted and l.ref_hash is not null
  union all
  select a.ref_hash from learner_feed f join learner_alias a on a.organisation_id = f.organisation_id and a.learner_id = f.learner_id
   where f.organisation_id = $1 and f.position > $2 and f.deleted and a.ref_hash is not null`,
);

/**
 * For what was looked up before, and is stored now under the feed's lock: an erasure in between has not seen it.
 * @param position of the feed before it was looked up
 * @returns whether a reference was of somebody who was erased since; null where nobody was
 */
export async function findErasedSince(
  work: Work,
  organisationId: number,
  position: number,
): Promise<((ref: string) => boolean) | null> {
  const rows = await work.tx.query<{ hash: Buffer }>(since, [organisationId, position]);
  const hashes = new Set(rows.map(({ hash }) => hash.toString('hex')));
  if (hashes.size === 0) return null;
  return (ref) => hashesOfRef(work.secrets, organisationId, ref).some((hash) => hashes.has(hash.toString('hex')));
}
