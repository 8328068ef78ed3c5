import { eventsAbout } from './about.ts';
import { uuidArray } from '../../platform/db/arrays.ts';
import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { wakeWorkers, deliveryIdOf } from './emit.ts';

export type Emptied = 'withdrawn' | 'erased';

export const emptiedWords: Record<Emptied, string> = {
  withdrawn: 'the result was withdrawn',
  erased: 'the learner was erased',
};

// The IDs are arrays, because the generic plan of a join would read every event.
const empty = statement('event.empty')`
  with found as (
    ${eventsAbout('result', '= any($2::text[])')}
    union all ${eventsAbout('learner', '= any($3::text[])')}),
  locked as (
    select e.event_id from event e where e.organisation_id = $1 and e.event_id = any(array(select event_id from found))
     order by e.event_id for update)
  update event e set payload = '', emptied = $4 where e.organisation_id = $1 and e.event_id = any(array(select event_id from locked))
  returning e.event_id`;
// A delivery's ID is computed from its event and endpoint, so this statement finds deliveries by ID. `not in` stops the
// planner from using the index of due deliveries.
const cancel = statement('event.cancel_deliveries')`
  with locked as (
    select d.delivery_id from delivery d
     where d.organisation_id = $1 and d.status not in ('succeeded', 'dead', 'cancelled') and d.delivery_id = any(array(
       select ${deliveryIdOf('event_id', 'w.endpoint_id')}
         from unnest($2::uuid[]) as e(event_id) cross join webhook_endpoint w where w.organisation_id = $1))
     order by d.delivery_id for update)
  update delivery d set status = 'cancelled', next_attempt_at = null, finished_at = $3
   where d.organisation_id = $1 and d.delivery_id = any(array(select delivery_id from locked))`;

/**
 * Empties events of withdrawn results or erased learners, and cancels the events' deliveries. Call this under the
 * feed's lock, in the transaction that withdraws or erases. A resend locks its events first (webhooks/resend.ts), so
 * its deliveries are either cancelled here or never created.
 */
export async function cancelEvents(
  work: UnitOfWork,
  organisationId: number,
  gone: { assessmentIds?: string[]; learnerRefs?: string[] },
  why: Emptied,
): Promise<void> {
  const emptied = await work.tx.query<{ event_id: string }>(empty, [
    organisationId,
    gone.assessmentIds ?? [],
    gone.learnerRefs ?? [],
    why,
  ]);
  if (emptied.length === 0) return;
  // This statement is separate, so that its snapshot contains deliveries that others created while the first statement
  // waited.
  await work.tx.query(cancel, [organisationId, uuidArray(emptied.map((row) => row.event_id)), new Date(work.nowMs)]);
  wakeWorkers(work, organisationId);
}
