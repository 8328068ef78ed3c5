import { idIn } from '../../feed/events/about.ts';
import { deliveryIdOf } from '../../feed/events/emit.ts';
import { type Tx, statement } from '../../platform/db/database.ts';
import { reachedBy } from '../../organisations/learner-ref.ts';
import { isUuid } from '../../platform/crypto/random.ts';

export type Match = { kind: 'result' | 'learner' | 'key' | 'delivery' | 'endpoint'; id: string };

// Every kind is searched, so that an unknown ID takes as long as an ID of another organisation (law 6).
const byIdentifier = statement('trace.by_identifier')`
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
    select 7, 'result', ${idIn.result} from event e
     where e.organisation_id = $1 and e.event_id = $2::uuid and e.emptied is null and ${idIn.result} is not null
    union all
    select 8, 'delivery', d.delivery_id::text from event e
      join webhook_endpoint w on w.organisation_id = $1
      join delivery d on d.organisation_id = $1 and d.delivery_id = ${deliveryIdOf('e.event_id', 'w.endpoint_id')}
     where e.organisation_id = $1 and e.event_id = $2::uuid) found
   order by n, id`;

/** @param text an ID or a learner reference. @returns all matches, the most probable kind first */
export function findByIdentifier(tx: Tx, organisationId: number, text: string): Promise<Match[]> {
  return tx.query<Match>(byIdentifier, [organisationId, isUuid(text) ? text.toLowerCase() : null, text]);
}

type LearnerSummary = { learner_id: string; ref: string | null; groups: string[] };

export type ResultSummary = { assessment_id: string; position: number; deleted: boolean; assessed_at: number };

const learner = statement('trace.learner')`
  select l.learner_id, l.ref,
         coalesce((select array_agg(g.type || ' ' || g.ref order by g.type, g.ref)
                     from membership m join learner_group g on g.organisation_id = $1 and g.group_id = m.group_id
                    where m.organisation_id = $1 and m.learner_id = l.learner_id and m.left_position is null), '{}') as groups
    from learner l where l.organisation_id = $1 and l.learner_id = $2 and l.full_name <> ''`;
const results = statement('trace.results_of_learner')`
  select f.assessment_id, f.position, f.deleted, f.assessed_at
    from assessment_feed f where f.organisation_id = $1 and f.learner_id = $2 order by f.position desc limit $3`;

export async function findLearnerSummary(tx: Tx, organisationId: number, learnerId: string, limit: number) {
  if (!isUuid(learnerId)) return undefined;
  const [found] = await tx.query<LearnerSummary>(learner, [organisationId, learnerId]);
  if (found === undefined) return undefined;
  return { learner: found, results: await tx.query<ResultSummary>(results, [organisationId, learnerId, limit]) };
}
