import Type from 'typebox';
import { eventTypes } from '../events/emit.ts';
import type { Parameter } from '../http/query.ts';
import { groupIds, readQuery, someOf } from '../http/query.ts';
import type { Route } from '../http/route.ts';
import { limits } from '../limits.ts';
import { listen, readPlace } from './listen.ts';

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

const query = [
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

const Line = Type.Union([
  Type.Object({
    type: Type.Literal('open'),
    after: place,
    secret: Type.String({ description: 'What the deliveries are signed with: the same whenever this key listens.' }),
    heartbeat_seconds: Type.Integer({ description: 'How often a line comes at least.' }),
  }),
  Type.Object({
    type: Type.Literal('delivery'),
    after: place,
    event: Type.String(),
    delivery_id: Type.String({ format: 'uuid', description: 'The same for the same event, however often it comes.' }),
    headers: Type.Object({}, { additionalProperties: Type.String(), description: 'Those that an endpoint gets.' }),
    body: Type.String({ description: 'The bytes that an endpoint gets, as text.' }),
  }),
  Type.Object({ type: Type.Literal('heartbeat'), after: place }),
  Type.Object({
    type: Type.Literal('end'),
    after: place,
    reason: Type.String({ description: 'Open enum: stopping (connect again), key_gone.' }),
  }),
]);

export const listenRoutes: Route[] = [
  {
    method: 'GET',
    path: '/events',
    id: 'listenToEvents',
    tag: 'Webhooks',
    summary: 'Listen to events (for development)',
    description: `A tool for development, which \`ars listen --api\` uses: production registers an endpoint. The reply lasts, and brings a line of JSON for each event, signed as a delivery to an endpoint is. Nothing is kept of it: connect again with the \`after\` of the last line. An organisation may have ${limits.listenersPerOrganisation} at once.`,
    query,
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
        schema: Line,
        headers: ['Cache-Control'],
        example: { type: 'heartbeat', after: examplePlace },
      },
    },
    handle: async (call) => {
      const { values } = readQuery(call.rawQuery, query, { paged: false });
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
