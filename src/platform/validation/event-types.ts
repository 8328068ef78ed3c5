/** What subscribers can be notified of (the specification, Event types). */
export const eventTypes = ['assessment.completed', 'learner.groups.updated'] as const;
export const [assessmentCompleted, learnerGroupsUpdated] = eventTypes;

export type EventType = (typeof eventTypes)[number];
