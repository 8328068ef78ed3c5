import Type from 'typebox';
import { limits } from '../limits.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** What an endpoint can subscribe to. */
export const eventTypes = ['assessment.completed', 'learner.groups.updated'] as const;

const endpointProperties = {
  id: Type.String({ format: 'uuid' }),
  url: Type.String({ format: 'uri' }),
  event_types: Type.Array(Type.Enum([...eventTypes])),
  group_ids: nullable(Type.Array(Type.String({ format: 'uuid' }), { description: 'Null: all groups.' })),
  status: Type.Enum(['active', 'paused', 'disabled']),
  disabled_reason: nullable(Type.String()),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
};

export const WebhookEndpoint = Type.Object(endpointProperties, { $id: 'WebhookEndpoint' });

export const RegisteredWebhookEndpoint = Type.Object(
  {
    ...endpointProperties,
    secret: Type.String({ pattern: '^whsec_', description: 'Signing secret: shown this once only.' }),
  },
  { $id: 'RegisteredWebhookEndpoint' },
);

export const WebhookInput = Type.Object(
  {
    url: Type.String({
      format: 'uri',
      maxLength: limits.webhookUrlChars,
      description: 'An https address that the public internet can reach, without credentials or fragment.',
    }),
    event_types: Type.Optional(
      // Not as `default`: generators of types take a property with one for required.
      Type.Array(Type.Enum([...eventTypes]), { minItems: 1, description: 'Omitted: assessment.completed.' }),
    ),
    group_ids: Type.Optional(
      Type.Array(Type.String({ format: 'uuid' }), {
        minItems: 1,
        maxItems: limits.webhookGroups,
        description: 'Omitted: all groups.',
      }),
    ),
  },
  { additionalProperties: false, $id: 'WebhookInput' },
);
