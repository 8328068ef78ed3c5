import { sha256Pattern } from '../../platform/validation/fields.ts';
import { limits } from '../../platform/config/limits.ts';
import { AssessmentCompleted, LearnerGroupsUpdated } from './event-schema.ts';
import {
  deliveryIdHeader,
  legacyHeader,
  signatureHeader,
  toleranceSeconds,
} from '../../integrations/webhooks/http/signing.ts';
import { routes } from '../route-table.ts';
import type { OpenApiOperation, OpenApiParameter } from './openapi-document.ts';
import type { Components } from './openapi-schema.ts';
import { assessmentCompleted, learnerGroupsUpdated } from '../../platform/validation/event-types.ts';

const signature: OpenApiParameter[] = [
  {
    name: deliveryIdHeader,
    in: 'header',
    required: true,
    schema: { type: 'string', format: 'uuid' },
    example: '3c9e6679-7425-40de-944b-e07fc1f90ae7',
    description:
      'The same over retries and replays of a delivery: what you have handled under this id, answer with 2xx and pass over.',
  },
  {
    name: signatureHeader,
    in: 'header',
    required: true,
    schema: { type: 'string', pattern: '^t=\\d+(,v1=[0-9a-f]{64})+$' },
    description: `\`t=<unix seconds>,v1=<hex>\`: HMAC-SHA256 over \`<t>.<raw body>\`, keyed with the signing secret as text. There is one v1 for each secret that signs: during a rotation several. Refuse times more than ${toleranceSeconds / 60} minutes away.`,
  },
  {
    name: legacyHeader,
    in: 'header',
    required: true,
    schema: { type: 'string', pattern: sha256Pattern },
    description:
      'HMAC-SHA256 over the raw body, in hex. For receivers that already read it: it gives no protection against replay.',
  },
];

function webhookOf(
  given: { id: string; summary: string; description: string; schema: object; example: unknown },
  components: Components,
): Record<string, OpenApiOperation> {
  return {
    post: {
      operationId: given.id,
      tags: ['Webhooks'],
      summary: given.summary,
      description: given.description,
      security: [],
      parameters: signature,
      requestBody: {
        required: true,
        content: { 'application/json': { schema: components.show(given.schema), example: given.example } },
      },
      responses: {
        '2XX': { description: `Received. Answer within ${limits.webhookAnswerMs / 1000} seconds.` },
        410: { description: 'The endpoint is gone for good: it is disabled.' },
        429: { description: 'Not now. Retry-After is honoured, as with 503.' },
        default: { description: 'Anything else is a failure: the delivery is tried again later.' },
      },
    },
  };
}

/** The payload that both examples are about. */
function exampleAssessment() {
  const answer = routes.find((route) => route.id === 'getAssessment')!.answers[200]!;
  return (answer.example as { data: { groups: { id: string }[] } }).data;
}

/** What the service sends to endpoints, by the type of the event. */
export function webhooksOf(components: Components): Record<string, Record<string, OpenApiOperation>> {
  const assessment = exampleAssessment();
  const groupIds = assessment.groups.map((group) => group.id);
  return {
    [assessmentCompleted]: webhookOf(
      {
        id: 'assessmentCompleted',
        summary: 'A result is completed',
        schema: AssessmentCompleted,
        description: 'data is byte for byte what GET /assessments/{id} gives at that moment.',
        example: {
          event: assessmentCompleted,
          occurred_at: '2026-01-31T09:40:12.345Z',
          data: assessment,
          group_ids: groupIds,
        },
      },
      components,
    ),
    [learnerGroupsUpdated]: webhookOf(
      {
        id: 'learnerGroupsUpdated',
        summary: 'A learner joined or left groups',
        schema: LearnerGroupsUpdated,
        description:
          'One event for each learner that a change touches. An endpoint scoped by group_ids is told when an added or a removed group is among them.',
        example: {
          event: learnerGroupsUpdated,
          learner_ref: 'LRN-000017',
          added: groupIds,
          removed: [],
          occurred_at: '2026-01-31T09:40:12.345Z',
        },
      },
      components,
    ),
  };
}
