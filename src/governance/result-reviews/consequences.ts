import { eventsAbout } from '../../feed/events/about.ts';
import { deliveryIdOf } from '../../feed/events/emit.ts';
import { statement, type Tx } from '../../platform/db/database.ts';

export type Consequences = {
  keys: number;
  editions: number;
  deliveries: number;
  /** Other results of the learner. */
  others: number;
  /** A learner with neither a reference nor an open invitation is forgotten after the last result is withdrawn. */
  has_reference: boolean;
};

const consequences = statement('review.consequences')`
  select (select count(*)::int4 from access_key k where k.organisation_id = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > $3)) as keys,
         (select count(*)::int4 from evidence e where e.organisation_id = $1 and e.assessment_id = $2) as editions,
         (select count(*)::int4 from (${eventsAbout('result', '= $2::text')}) e
            join webhook_endpoint w on w.organisation_id = $1
            join delivery d on d.organisation_id = $1 and d.delivery_id = ${deliveryIdOf('e.event_id', 'w.endpoint_id')} and d.status = 'pending') as deliveries,
         (select count(*)::int4 from assessment_feed f
           where f.organisation_id = $1 and f.learner_id = a.learner_id and not f.deleted and f.assessment_id <> $2::uuid) as others,
         (select l.ref is not null from learner l where l.organisation_id = $1 and l.learner_id = a.learner_id) as has_reference
    from assessment a where a.organisation_id = $1 and a.assessment_id = $2::uuid`;

export async function countConsequences(
  tx: Tx,
  organisationId: number,
  assessmentId: string,
  now: Date,
): Promise<Consequences> {
  return (await tx.query<Consequences>(consequences, [organisationId, assessmentId, now]))[0]!;
}
