import { Assessment } from '../../records/results/schema.ts';
import { Type } from '../../platform/validation/type.ts';
import { assessmentCompleted, learnerGroupsUpdated } from '../../platform/validation/event-types.ts';

const uuids = (description: string) => Type.Array(Type.String({ format: 'uuid' }), { description });
const occurredAt = Type.String({ format: 'date-time' });

export const AssessmentCompleted = Type.Object(
  {
    event: Type.Literal(assessmentCompleted),
    occurred_at: occurredAt,
    data: Assessment,
    group_ids: uuids('Every group of the learner, archived ones included.'),
  },
  { $id: 'AssessmentCompleted' },
);

export const LearnerGroupsUpdated = Type.Object(
  {
    event: Type.Literal(learnerGroupsUpdated),
    learner_ref: Type.String({ description: 'Your own learner reference.' }),
    added: uuids('Groups that the learner joined.'),
    removed: uuids('Groups that the learner left.'),
    occurred_at: occurredAt,
  },
  { $id: 'LearnerGroupsUpdated' },
);
