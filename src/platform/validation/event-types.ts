export const eventTypes = ['assessment.completed', 'learner.groups.updated'] as const;
export const [assessmentCompleted, learnerGroupsUpdated] = eventTypes;

export type EventType = (typeof eventTypes)[number];
