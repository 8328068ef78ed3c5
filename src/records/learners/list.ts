import { lastAssessedOf } from '../results/last-assessed.ts';
import { type Tx, statement } from '../../platform/db/database.ts';
import { payloadVersionAt } from '../../platform/db/payload-version.ts';
import type { LearnerColumns } from './schema.ts';

export type LearnerEntry = LearnerColumns & { deleted: boolean; group_set_id: string };

const page = statement('learner.page')`
  select v.groups_version, ${payloadVersionAt('c.position')} as shape, c.position, c.deleted, c.learner_id, c.group_set_id, r.last_assessed_at, r.last_ids, r.last_bodies, l.ref, l.full_name
    from (select * from learner_feed f where f.organisation_id = $1 and f.position >= $2 order by f.position limit $3) c
    join feed v on v.organisation_id = $1
    left join learner l on l.organisation_id = $1 and l.learner_id = c.learner_id
    left join lateral ${lastAssessedOf} r on not c.deleted
   order by c.position`;

/** Reads a page of learners in feed order. `groupsVersion` is read in the same snapshot. */
export async function listLearners(tx: Tx, organisationId: number, fromPosition: number, limit: number) {
  const rows = await tx.query<LearnerEntry & { groups_version: number }>(page, [organisationId, fromPosition, limit]);
  return { rows: rows as LearnerEntry[], groupsVersion: rows[0]?.groups_version ?? 0 };
}
