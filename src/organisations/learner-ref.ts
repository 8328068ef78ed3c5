import type { Secrets } from '../platform/crypto/secrets.ts';

/**
 * Hashes a reference with a key. The service keeps only hashes of an erased learner's references, and searches for them
 * by hash.
 */
export function hashOfRef(secrets: Secrets, organisationId: number, ref: string): Buffer {
  return secrets.mac('learner_ref', `${organisationId}\n${ref}`);
}

/** The hash under each secret that is configured, the current secret first. */
export function hashesOfRef(secrets: Secrets, organisationId: number, ref: string): Buffer[] {
  return secrets.macs('learner_ref', `${organisationId}\n${ref}`);
}

/**
 * SQL that finds learners by current or previous references (docs/decisions/0015). Column `asked` is the reference that
 * found the learner `l`.
 * @param refs a parameter that holds a list of texts
 */
export function reachedBy(refs: string, columns = 'l.learner_id'): string {
  return `(
    select l.ref as asked, ${columns} from learner l where l.organisation_id = $1 and l.ref = any(${refs})
    union all
    select a.ref, ${columns} from learner_alias a
      join learner l on l.organisation_id = a.organisation_id and l.learner_id = a.learner_id
     where a.organisation_id = $1 and a.ref = any(${refs}))`;
}

/** SQL: the current and previous references of a learner. */
export const refsOf = (learnerId: string): string => `
  select l.ref from learner l where l.organisation_id = $1 and l.learner_id = ${learnerId} and l.ref is not null
  union all
  select a.ref from learner_alias a where a.organisation_id = $1 and a.learner_id = ${learnerId} and a.ref is not null`;

/** SQL: the IDs of a learner and of the learners merged into it. */
export const idsOf = (learnerId: string): string =>
  `select l.learner_id from learner l where l.organisation_id = $1 and (l.learner_id = ${learnerId} or l.merged_into = ${learnerId})`;
