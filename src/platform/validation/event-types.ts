/**
 * A type of webhook event. `about`: the event is emptied when this result is withdrawn or this learner is erased.
 * `groups`: the fields of the payload with group IDs, which the service compares with an endpoint's `group_ids`. A
 * payload about a result has the result as `data` and ends with `group_ids`.
 */
type EventRow = { label: string; about: 'result' | 'learner' | 'group'; groups: readonly string[] };

const table = {
  'assessment.completed': { label: 'A result is completed', about: 'result', groups: ['group_ids'] },
  'learner.groups.updated': {
    label: 'A learner joins or leaves groups',
    about: 'learner',
    groups: ['added', 'removed'],
  },
} satisfies Record<string, EventRow>;

export type EventType = keyof typeof table;

export const eventTable: Readonly<Record<EventType, EventRow>> = table;
export const eventTypes = Object.keys(table) as EventType[];
export const eventTypesAbout = (about: EventRow['about']) =>
  eventTypes.filter((type) => eventTable[type].about === about);
export const assessmentCompleted = 'assessment.completed' satisfies EventType;
export const learnerGroupsUpdated = 'learner.groups.updated' satisfies EventType;

/** The name of a type in documents and in the console. The database may have types of a later version. */
export const eventLabel = (type: string): string => eventTable[type as EventType]?.label ?? type;
