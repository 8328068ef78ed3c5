import { sha256Pattern } from '../../platform/validation/fields.ts';
import { limits } from '../../platform/config/limits.ts';
import {
  deliveryIdHeader,
  legacyHeader,
  signatureHeader,
  toleranceSeconds,
} from '../../integrations/webhooks/http/signing.ts';
import { Assessment } from '../../records/results/schema.ts';
import type { Examples } from './examples.ts';
import type { OpenApiOperation, OpenApiParameter } from './openapi-document.ts';
import type { Components } from './openapi-schema.ts';
import {
  type EventType,
  assessmentCompleted,
  eventLabel,
  eventTypes,
  learnerGroupsUpdated,
} from '../../platform/validation/event-types.ts';
import { Type } from '../../platform/validation/type.ts';

const uuids = (description: string) => Type.Array(Type.String({ format: 'uuid' }), { description });
const occurredAt = Type.String({ format: 'date-time', description: 'When the event occurred.' });
const eventType = (type: EventType) => Type.Literal(type, { description: 'Type of the event.' });

export const AssessmentCompleted = Type.Object(
  {
    event: eventType(assessmentCompleted),
    occurred_at: occurredAt,
    data: Assessment,
    group_ids: uuids('Every group of the learner, also archived groups.'),
  },
  { $id: 'AssessmentCompleted', description: 'A learner completed an assessment.' },
);

export const LearnerGroupsUpdated = Type.Object(
  {
    event: eventType(learnerGroupsUpdated),
    learner_ref: Type.String({ description: 'Your own learner reference.' }),
    added: uuids('Groups that the learner joined.'),
    removed: uuids('Groups that the learner left.'),
    occurred_at: occurredAt,
  },
  { $id: 'LearnerGroupsUpdated', description: 'A learner joined or left groups.' },
);

type ExampleAssessment = { groups: { id: string }[]; learner: { ref: string | null } };
type Facts = { at: string; data: ExampleAssessment; ref: string | null; ids: string[] };
type Webhook = { id: string; description: string; schema: object; example(facts: Facts): object };

/** By type of event. docs/engineering/architecture.md names the other files that a new type needs. */
const webhooks: Record<EventType, Webhook> = {
  [assessmentCompleted]: {
    id: 'assessmentCompleted',
    schema: AssessmentCompleted,
    description: 'data contains the result exactly as the API returns the result at that time.',
    example: ({ at, data, ids }) => ({ event: assessmentCompleted, occurred_at: at, data, group_ids: ids }),
  },
  [learnerGroupsUpdated]: {
    id: 'learnerGroupsUpdated',
    schema: LearnerGroupsUpdated,
    description:
      'The service sends one event for each learner. A webhook endpoint with group_ids receives the event if added or removed contains one of these groups.',
    example: ({ at, ref, ids: added }) => ({
      event: learnerGroupsUpdated,
      learner_ref: ref,
      added,
      removed: [],
      occurred_at: at,
    }),
  },
};

export const exampleEvent = (type: EventType, at: string, data: ExampleAssessment): object =>
  webhooks[type].example({ at, data, ref: data.learner.ref, ids: data.groups.map(({ id }) => id) });

const signature: OpenApiParameter[] = [
  {
    name: deliveryIdHeader,
    in: 'header',
    required: true,
    schema: { type: 'string', format: 'uuid' },
    description:
      'ID of the delivery. Retries and replays have the same ID. If you have handled this ID, return 2xx and do nothing.',
  },
  {
    name: signatureHeader,
    in: 'header',
    required: true,
    schema: { type: 'string', pattern: '^t=\\d+(,v1=[0-9a-f]{64})+$' },
    description: `\`t=<unix seconds>,v1=<hex>\`: HMAC-SHA256 over \`<t>.<raw body>\`, keyed with the signing secret as text. During a rotation, the header contains one v1 for each secret. Reject the delivery if its time differs from yours by more than ${toleranceSeconds / 60} minutes.`,
  },
  {
    name: legacyHeader,
    in: 'header',
    required: true,
    schema: { type: 'string', pattern: sha256Pattern },
    description:
      'HMAC-SHA256 over the raw body, in hex. This header does not protect against replay. Use it only in receivers that already read it.',
  },
];

export function webhooksOf(
  components: Components,
  { events }: Examples,
): Record<string, Record<string, OpenApiOperation>> {
  const operations = eventTypes.map((type) => {
    const { id, description, schema } = webhooks[type];
    const { headers, body } = events[type]!;
    const content = { 'application/json': { schema: components.show(schema), example: body } };
    const post: OpenApiOperation = {
      operationId: id,
      tags: ['Webhooks'],
      summary: eventLabel(type),
      description,
      security: [],
      parameters: signature.map((one) => ({ ...one, example: headers[one.name] })),
      requestBody: { required: true, content },
      responses: {
        '2XX': {
          description: `You have received the event. Return 2xx within ${limits.webhookAnswerMs / 1000} seconds.`,
        },
        410: { description: 'You do not want events. The service disables the webhook endpoint.' },
        429: {
          description: 'You are busy. The service retries the delivery after the time in Retry-After, also with 503.',
        },
        default: { description: 'The delivery failed. The service retries the delivery later.' },
      },
    };
    return [type, { post }] as const;
  });
  return Object.fromEntries(operations);
}
