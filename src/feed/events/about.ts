import { eventTypesAbout } from '../../platform/validation/event-types.ts';

/** The ID of the result or the reference of the learner that event `e` is about. */
export const idIn = {
  result: `substring(e.payload from '"assessment_id":"([0-9a-f-]{36})"')`,
  learner: `substring(e.payload from '"learner_ref":"([^"]*)"')`,
};

/**
 * Selects the events about results or learners. The types and `idIn` must equal those of the indexes event_assessment
 * and event_learner. If they differ, PostgreSQL reads all events.
 */
export function eventsAbout(about: keyof typeof idIn, condition: string): string {
  const types = eventTypesAbout(about).map((type) => `'${type}'`);
  return `select e.event_id from event e
     where e.organisation_id = $1 and e.type in (${types.join(', ')}) and e.emptied is null and ${idIn[about]} ${condition}`;
}
