import { deliveryIdOf } from '../../feed/events/ids.ts';
import type { Tx } from '../../platform/db/database.ts';
import { statement } from '../../platform/db/database.ts';
import { reachedBy } from '../../organisations/learner-ref.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { assessmentCompleted } from '../../platform/validation/event-types.ts';

/** What an id or a reference names within an organisation. */

export type Named = { kind: 'result' | 'learner' | 'key' | 'delivery' | 'endpoint'; id: string };

// All are looked for, whatever is found: what is unknown and what is somebody else's take the same time (law 6).
const named = statement(
  'trace.named',
  `
  select kind, id from (
    select 1 as n, 'result' as kind, assessment_id::text as id from assessment where organisation_id = $1 and assessment_id = $2::uuid
    union all
    select 2, 'learner', r.learner_id::text from ${reachedBy('array[$3::text]')} r
    union all
    select 3, 'learner', s.learner_id::text from learner l
      join learner s on s.organisation_id = $1 and s.learner_id = coalesce(l.merged_into, l.learner_id)
     where l.organisation_id = $1 and l.learner_id = $2::uuid and s.full_name <> ''
    union all
    select 4, 'key', key_id from access_key where organisation_id = $1 and key_id = upper($3)
    union all
    select 5, 'delivery', delivery_id::text from delivery where organisation_id = $1 and delivery_id = $2::uuid
    union all
    select 6, 'endpoint', endpoint_id::text from webhook_endpoint where organisation_id = $1 and endpoint_id = $2::uuid
    union all
    select 7, 'result', substring(e.payload from '"assessment_id":"([0-9a-f-]{36})"') from event e
     where e.organisation_id = $1 and e.event_id = $2::uuid and e.type = '${assessmentCompleted}' and e.emptied is null
    union all
    select 8, 'delivery', d.delivery_id::text from event e
      join webhook_endpoint w on w.organisation_id = $1
      join delivery d on d.organisation_id = $1 and d.delivery_id = ${deliveryIdOf('e.event_id', 'w.endpoint_id')}
     where e.organisation_id = $1 and e.event_id = $2::uuid) found
   order by n, id`,
);

/** @param text an id or a learner's reference. @returns all that it names, the likeliest first */
export function findNamed(tx: Tx, organisationId: number, text: string): Promise<Named[]> {
  return tx.query<Named>(named, [organisationId, isUuid(text) ? text.toLowerCase() : null, text]);
}

export type LearnerSeen = { learner_id: string; ref: string | null; groups: string[] };

export type ResultSeen = {
  assessment_id: string;
  position: number;
  deleted: boolean;
  assessed_at: number;
};

const learner = statement(
  'trace.learner',
  `
  select l.learner_id, l.ref,
         coalesce((select array_agg(g.type || ' ' || g.ref order by g.type, g.ref)
                     from membership m join learner_group g on g.organisation_id = $1 and g.group_id = m.group_id
                    where m.organisation_id = $1 and m.learner_id = l.learner_id and m.left_position is null), '{}') as groups
    from learner l where l.organisation_id = $1 and l.learner_id = $2 and l.full_name <> ''`,
);
const results = statement(
  'trace.results_of_learner',
  `
  select f.assessment_id, f.position, f.deleted, f.assessed_at
    from assessment_feed f where f.organisation_id = $1 and f.learner_id = $2 order by f.position desc limit $3`,
);

/** A learner with the newest of their results, withdrawn ones too. */
export async function findLearnerSeen(
  tx: Tx,
  organisationId: number,
  learnerId: string,
  limit: number,
): Promise<{ learner: LearnerSeen; results: ResultSeen[] } | undefined> {
  if (!isUuid(learnerId)) return undefined;
  const [found] = await tx.query<LearnerSeen>(learner, [organisationId, learnerId]);
  if (found === undefined) return undefined;
  return { learner: found, results: await tx.query<ResultSeen>(results, [organisationId, learnerId, limit]) };
}
