import type { TArrayOptions, TStringOptions } from 'typebox';
import { type Beside, type Meaning, nullable } from '../../platform/validation/fields.ts';
import { faults } from '../../platform/validation/faults.ts';
import { holdsNationalInsuranceNumber } from '../../platform/validation/personal-data.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { checkUrl } from '../../platform/validation/networks.ts';
import { limits } from '../../platform/config/limits.ts';
import { Type } from '../../platform/validation/type.ts';
import { type EventType, assessmentCompleted, eventTypes } from '../../platform/validation/event-types.ts';

const endpointProperties = {
  id: Type.String({ format: 'uuid', description: 'ID of the webhook endpoint.' }),
  url: Type.String({ format: 'uri', description: 'URL that receives the events.' }),
  event_types: Type.Array(Type.Enum([...eventTypes]), {
    description: 'Types of events that the webhook endpoint receives.',
  }),
  group_ids: nullable(
    Type.Array(Type.String({ format: 'uuid' }), {
      description: 'Groups whose events the webhook endpoint receives. Null: all groups.',
    }),
  ),
  status: Type.Enum(['active', 'paused', 'disabled'], {
    description: 'The service delivers to active webhook endpoints only.',
  }),
  disabled_reason: nullable(
    Type.String({ description: 'Why the service disabled the webhook endpoint. Null: not disabled.' }),
  ),
  created_at: Type.String({ format: 'date-time', description: 'When the webhook endpoint was registered.' }),
  updated_at: Type.String({ format: 'date-time', description: 'When the webhook endpoint last changed.' }),
};

export const WebhookEndpoint = Type.Object(endpointProperties, {
  $id: 'WebhookEndpoint',
  description: 'A webhook endpoint.',
});

export const RegisteredWebhookEndpoint = Type.Object(
  {
    ...endpointProperties,
    secret: Type.String({ pattern: '^whsec_', description: 'Signing secret. Only this response shows the secret.' }),
  },
  { $id: 'RegisteredWebhookEndpoint', description: 'A new webhook endpoint with its signing secret.' },
);

const expectedUrl = `an https URL that the public internet can reach, without credentials or fragment, of at most ${limits.webhookUrlChars} characters`;

export const defaultEventTypes: EventType[] = [assessmentCompleted];

export const WebhookInput = Type.Object(
  {
    url: Type.String({
      maxLength: limits.webhookUrlChars,
      description: 'HTTPS URL that the public internet can reach, without credentials or fragment.',
      expected: expectedUrl,
      also: isRightUrl,
      shown: { format: 'uri' },
    } satisfies Meaning & TStringOptions),
    event_types: Type.Optional(
      // The schema has no `default`, because type generators make a property with a default required.
      Type.Array(Type.Enum([...eventTypes], { expected: `one of ${eventTypes.join(', ')}` } satisfies Meaning), {
        minItems: 1,
        description: `Types of events to receive. Default: ${defaultEventTypes.join(', ')}.`,
        expected: `a list of 1 to ${eventTypes.length} of ${eventTypes.join(', ')}`,
      } satisfies Meaning & TArrayOptions),
    ),
    group_ids: Type.Optional(
      Type.Array(
        Type.String({ format: 'uuid', expected: "a group's UUID", also: isUuid } satisfies Meaning & TStringOptions),
        {
          minItems: 1,
          maxItems: limits.webhookGroups,
          description: 'Groups whose events to receive. Default: all groups.',
          expected: `a list of 1 to ${limits.webhookGroups} group UUIDs`,
        } satisfies Meaning & TArrayOptions,
      ),
    ),
  },
  { additionalProperties: false, $id: 'WebhookInput', description: 'The webhook endpoint to register.' },
);

function isRightUrl(url: string, { app }: Beside): boolean | string {
  if (holdsNationalInsuranceNumber(url)) return faults.number;
  const verdict = checkUrl(url, { allowNetworks: app.settings.webhookAllowNetworks });
  if (!verdict.ok) return `is ${URL.canParse(url) ? 'not allowed' : 'malformed'}: ${verdict.reason}`;
  return asUri(url).length <= limits.webhookUrlChars;
}

const notInUri = /[^\w.~:/?#[\]@!$&'()*+,;=%-]/g;

/** The URL as a URI: characters that a URI cannot contain (RFC 3986) are percent-encoded. */
export function asUri(url: string): string {
  return url.search(notInUri) < 0 ? url : new URL(url).href.replace(notInUri, encodeURIComponent);
}
