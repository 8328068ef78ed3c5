/** Types of webhook events, with what documents and the console call them. */
export const eventNames = {
  'assessment.completed': 'A result is completed',
  'learner.groups.updated': 'A learner joins or leaves groups',
} as const;

export type EventType = keyof typeof eventNames;

export const eventTypes = Object.keys(eventNames) as EventType[];
export const assessmentCompleted = 'assessment.completed' satisfies EventType;
export const learnerGroupsUpdated = 'learner.groups.updated' satisfies EventType;
