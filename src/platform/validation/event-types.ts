/**
 * A type of webhook event. If a result is withdrawn or a learner is erased, the events `about` it are emptied. `groups`
 * names the fields of the payload with groups, which endpoints with group_ids are compared with. A payload about a
 * result has the result as `data` and ends with `group_ids`.
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
