import { ApiError } from '../errors.ts';
import { readBody } from '../http/body.ts';
import { isUuid } from '../uuid.ts';
import type { Route } from '../http/route.ts';
import { json } from '../http/route.ts';
import { cacheHeaders } from '../http/list-reply.ts';
import { PaginationSchema } from '../http/pagination.ts';
import { limits } from '../limits.ts';
import { formatPosition } from '../feed/time.ts';
import { RegisteredWebhookEndpoint, WebhookEndpoint, WebhookInput, asUri, defaultEventTypes } from './schema.ts';
import { removeEndpoint } from './manage.ts';
import { endpointPayload, listEndpoints } from './store.ts';
import { registerEndpoint } from './manage.ts';
import type { Parameter } from '../http/query.ts';
import { groupIds, readQuery, someOf } from '../http/query.ts';
import { listen, readPlace } from './listen.ts';
import { Type } from '../type.ts';
import { assessmentCompleted, eventTypes, learnerGroupsUpdated } from '../event-types.ts';

const endpointExample = {
  id: '0b9f2f0e-4c7e-4f0a-9d0c-3f6f2f5f1a11',
  url: 'https://portfolio.example.org/hooks/ars',
  event_types: [assessmentCompleted],
  group_ids: null,
  status: 'active',
  disabled_reason: null,
  created_at: '2026-01-31T09:00:00.000Z',
  updated_at: '2026-01-31T09:00:00.000Z',
};

/** Every endpoint fits on the one page. */
const pagination = { limit: limits.pageDefault, has_more: false, next: null };

const examplePlace = '1769850012345.5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d';

const after: Parameter<ReturnType<typeof readPlace>> = {
  name: 'after',
  code: 'invalid_after',
  description:
    'The after of the last line that you took: what has happened since then comes first. Without it: from now on.',
  list: false,
  schema: { type: 'string', examples: [examplePlace] },
  parse: (values) => {
    const place = values.length === 1 ? readPlace(values[0]!) : null;
    return place === null ? undefined : { value: place, canonical: values[0]! };
  },
};

const listenQuery = [
  someOf(
    'event_types',
    'invalid_event_types',
    'Types of events; without it every type that the key may see.',
    eventTypes,
  ),
  {
    ...groupIds(),
    description: `At most ${limits.filterGroups} group ids: events of their members, as for an endpoint's group_ids.`,
  },
  after,
] as const;

const place = Type.String({ description: 'Where to go on after an interruption.' });

const DeliveryHeaders = Type.Unsafe<Record<string, string>>(
  Type.Object(
    {},
    { $id: 'DeliveryHeaders', additionalProperties: Type.String(), description: 'The headers that an endpoint gets.' },
  ),
);

const EventLine = Type.Object(
  {
    type: Type.String({ description: 'Open enum: open, delivery, heartbeat, end. Pass over others.' }),
    after: place,
    secret: Type.Optional(
      Type.String({ description: 'Of open: what deliveries are signed with, the same whenever this key listens.' }),
    ),
    heartbeat_seconds: Type.Optional(Type.Integer({ description: 'Of open: how often a line comes at least.' })),
    event: Type.Optional(Type.String({ description: 'Of delivery: the type of the event.' })),
    delivery_id: Type.Optional(
      Type.String({ format: 'uuid', description: 'Of delivery: the same for the same event, however often it comes.' }),
    ),
    headers: Type.Optional(DeliveryHeaders),
    body: Type.Optional(Type.String({ description: 'Of delivery: the bytes that an endpoint gets, as text.' })),
    reason: Type.Optional(Type.String({ description: 'Of end: stopping (connect again), key_gone, or another.' })),
  },
  { $id: 'EventLine', description: 'A line of GET /events.' },
);

export const webhookRoutes: Route[] = [
  {
    method: 'GET',
    path: '/webhooks',
    id: 'listWebhooks',
    tag: 'Webhooks',
    summary: 'List the registered endpoints',
    query: [],
    codes: ['unknown_parameter'],
    description: 'Every endpoint of the organisation, oldest first. Secrets are never returned.',
    answers: {
      200: {
        description: 'The endpoints.',
        schema: Type.Object({ data: Type.Array(WebhookEndpoint), pagination: PaginationSchema }),
        example: { data: [endpointExample], pagination },
      },
    },
    handle: async (call) => {
      const rows = await listEndpoints(call.app.db, call.caller.organisationId);
      return {
        status: 200,
        body: JSON.stringify({ data: rows.map(endpointPayload), pagination }),
        headers: { ...cacheHeaders, 'x-sync-through': formatPosition(call.caller.feed.position) },
      };
    },
  },
  {
    method: 'POST',
    path: '/webhooks',
    id: 'registerWebhook',
    tag: 'Webhooks',
    summary: 'Register an endpoint',
    description: 'The reply holds the signing secret, this once only.',
    body: WebhookInput,
    bodyExample: {
      url: 'https://portfolio.example.org/hooks/ars',
      event_types: [assessmentCompleted, learnerGroupsUpdated],
    },
    codes: [
      'invalid_url',
      'invalid_event_types',
      'invalid_group_ids',
      'unknown_field',
      'unknown_group',
      'webhook_limit_exceeded',
    ],
    answers: {
      201: {
        description: 'Registered.',
        headers: ['Cache-Control'],
        schema: Type.Object({ data: RegisteredWebhookEndpoint }),
        example: { data: { ...endpointExample, secret: 'whsec_ZXhhbXBsZS1vZi1hLXNlY3JldC1vZi0zMi1ieXRlcy4uLg' } },
      },
    },
    handle: async (call) => {
      const { url, event_types = defaultEventTypes, group_ids } = readBody(WebhookInput, call);
      return call.change(async (work) => {
        const { row, secret } = await registerEndpoint(work, call.caller.organisationId, {
          url: asUri(url),
          eventTypes: event_types,
          // As they were sent, repeated ones too: positions count from there.
          groupIds: group_ids === undefined ? null : (call.body.group_ids as string[]).map((id) => id.toLowerCase()),
        });
        return json(
          201,
          { ...endpointPayload(row), secret },
          { resource: row.endpoint_id, headers: { 'cache-control': 'no-store' } },
        );
      });
    },
  },
  {
    method: 'DELETE',
    path: '/webhooks/{id}',
    id: 'removeWebhook',
    tag: 'Webhooks',
    summary: 'Remove an endpoint',
    description: 'Deliveries that still wait for it are dropped.',
    params: {
      id: {
        description: "The endpoint's id.",
        schema: { type: 'string', format: 'uuid' },
        example: endpointExample.id,
      },
    },
    codes: ['not_found'],
    answers: { 204: { description: 'Removed.' } },
    handle: async (call) => {
      const id = call.params.id!;
      if (!isUuid(id)) throw new ApiError('not_found');
      return call.change(async (work) => {
        if (!(await removeEndpoint(work, call.caller.organisationId, id))) throw new ApiError('not_found');
        return { status: 204, body: null, resource: id };
      });
    },
  },
  {
    method: 'GET',
    path: '/events',
    id: 'listenToEvents',
    tag: 'Webhooks',
    summary: 'Listen to events (for development)',
    description: `A tool for development, which \`ars listen --api\` uses: production registers an endpoint. The reply lasts, and brings a line of JSON for each event, signed as a delivery to an endpoint is. Nothing is kept of it: connect again with the \`after\` of the last line. An organisation may have ${limits.listenersPerOrganisation} at once.`,
    query: listenQuery,
    bounded: true,
    codes: [
      'unknown_parameter',
      'invalid_event_types',
      'invalid_group_id',
      'too_many_groups',
      'invalid_after',
      'listener_limit_exceeded',
    ],
    answers: {
      200: {
        description: 'Lines, until one of both sides ends it.',
        type: 'application/x-ndjson',
        schema: EventLine,
        headers: ['Cache-Control'],
        example: { type: 'heartbeat', after: examplePlace },
      },
    },
    handle: async (call) => {
      const { values } = readQuery(call.rawQuery, listenQuery, { paged: false });
      const asked = {
        types: values.event_types ?? null,
        groupIds: values.group_id ?? null,
        after: values.after ?? null,
      };
      return {
        status: 200,
        body: null,
        stream: await listen(call.app, call.caller, asked, call.over),
        headers: {
          'content-type': 'application/x-ndjson; charset=utf-8',
          // Nothing between may keep lines back until there are more of them.
          'cache-control': 'no-store, no-transform',
          'x-accel-buffering': 'no',
        },
      };
    },
  },
];
