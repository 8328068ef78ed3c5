import { eventsAbout } from '../../feed/events/about.ts';
import { deliveryIdOf } from '../../feed/events/emit.ts';
import { statement, type Tx } from '../../platform/db/database.ts';
import { refsOf } from '../../organisations/learner-ref.ts';

export type ErasurePreview = {
  learner_id: string;
  ref: string | null;
  full_name: string;
  results: number;
  /** Evidence files, including superseded editions. */
  evidence: number;
  invitations: number;
  open_invitations: number;
  open_sittings: number;
  /** Credits that an erasure returns, because no sitting of the open invitation has begun. */
  credits_returned: number;
  /** Events that name the learner. */
  messages: number;
  waiting: number;
};

const preview = statement('erasure.preview')`
  with results as materialized (
    select f.assessment_id from assessment_feed f where f.organisation_id = $1 and f.learner_id = $2 and not f.deleted),
  messages as materialized (
    ${eventsAbout('result', '= any(array(select assessment_id::text from results))')}
    union all ${eventsAbout('learner', `= any(array(${refsOf('$2')}))`)})
  select l.learner_id, l.ref, l.full_name, (select count(*) from results) as results,
         (select count(*) from results r join evidence e on e.organisation_id = $1 and e.assessment_id = r.assessment_id
           where e.pdf is not null) as evidence,
         (select count(*) from invitation i where i.organisation_id = $1 and i.learner_id = $2) as invitations,
         (select count(*) from invitation i where i.organisation_id = $1 and i.learner_id = $2 and i.status = 'open'
             and i.expires_at > $3) as open_invitations,
         (select count(*) from sitting s where s.organisation_id = $1 and s.learner_id = $2 and s.status = 'open') as open_sittings,
         (select count(*) from invitation i where i.organisation_id = $1 and i.learner_id = $2 and i.status = 'open' and i.credit_spent
             and not exists (select from sitting s where s.organisation_id = $1 and s.learner_id = $2
                                and s.invitation_id = i.invitation_id)) as credits_returned,
         (select count(*) from messages) as messages,
         (select count(*) from delivery d where d.organisation_id = $1 and d.status = 'pending' and d.delivery_id = any(array(
            select ${deliveryIdOf('m.event_id', 'w.endpoint_id')}
              from messages m cross join webhook_endpoint w where w.organisation_id = $1))) as waiting
    from learner l where l.organisation_id = $1 and l.learner_id = $2 and l.full_name <> ''`;

/** @returns undefined if there is no such learner, or the learner is erased */
export async function previewErasure(
  tx: Tx,
  organisationId: number,
  learnerId: string,
  now: Date,
): Promise<ErasurePreview | undefined> {
  return (await tx.query<ErasurePreview>(preview, [organisationId, learnerId, now]))[0];
}

/** `tombstones`: how many deleted results of the learner the feed still contains. */
export type DoneErasure = { at: Date; actor: string; tombstones: number };

const done = statement('erasure.done')`
  select c.at, c.actor, (select count(*) from assessment_feed f
           where f.organisation_id = $1 and f.learner_id = $2 and f.deleted) as tombstones
    from learner_change c where c.organisation_id = $1 and c.learner_id = $2 and c.kind = 'erased' order by c.at limit 1`;

export async function findErasure(tx: Tx, organisationId: number, learnerId: string): Promise<DoneErasure | undefined> {
  return (await tx.query<DoneErasure>(done, [organisationId, learnerId]))[0];
}
