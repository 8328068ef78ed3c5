import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { App } from '../platform/app.ts';
import { findLiveInScope } from '../records/results/results.ts';
import { intersectScope } from '../organisations/key-scope.ts';
import { DatabaseUnavailable } from '../platform/db/connection/unavailable.ts';
import { ApiError } from '../platform/errors/errors.ts';
import {
  type FollowedEvent,
  createEventPoller,
  followEvents,
  isStored,
  newestEvent,
  numberAt,
} from '../feed/events/follow.ts';
import { among, groupIds, one, some } from './http/query.ts';
import type { Caller, Route } from './http/route.ts';
import { isKeyGood } from '../integrations/access-keys/keys.ts';
import { limits } from '../platform/config/limits.ts';
import { errorFields } from '../platform/observability/log.ts';
import { uuidOf, isUuid, nilUuid } from '../platform/crypto/random.ts';
import { Type } from '../platform/validation/type.ts';
import { deliveryHeaders } from '../integrations/webhooks/http/signing.ts';
import { type EventType, eventTable, eventTypes, eventTypesAbout } from '../platform/validation/event-types.ts';

/**
 * Streams events to a developer's machine, to which the service can't send deliveries
 * (docs/decisions/0008-send-to-checked-addresses.md). Each line is JSON with the headers and body of a delivery. The
 * client stores the position `after`, because the service stores none.
 */

/** The last event that a listener has received. If the event was deleted or lost in a restore, the time is used. */
type Position = { atMs: number; eventId: string };

function readPosition(text: string): Position | null {
  const [, at, eventId = ''] = /^(\d{1,15})\.(.{36})$/.exec(text) ?? [];
  return at !== undefined && isUuid(eventId) ? { atMs: Number(at), eventId } : null;
}

const positionText = ({ atMs, eventId }: Position): string => `${atMs}.${eventId}`;

type ListenOptions = {
  types: readonly EventType[] | null;
  groupIds: readonly string[] | null;
  after: Position | null;
};

/** The number of listeners in this process, by organisation. */
const listeners = new Map<number, number>();

/** @throws ApiError listener_limit_exceeded */
function takeSeat(organisationId: number, over: AbortSignal): void {
  const taken = listeners.get(organisationId) ?? 0;
  if (taken >= limits.listenersPerOrganisation) throw new ApiError('listener_limit_exceeded');
  listeners.set(organisationId, taken + 1);
  const leave = () => {
    const left = listeners.get(organisationId)! - 1;
    if (left === 0) listeners.delete(organisationId);
    else listeners.set(organisationId, left);
  };
  if (over.aborted) leave();
  else over.addEventListener('abort', leave, { once: true });
}

/** All listeners of a process share a poller. */
const pollers = new WeakMap<App['db'], ReturnType<typeof createEventPoller>>();

function pollerOf({ db }: App): ReturnType<typeof createEventPoller> {
  let poller = pollers.get(db);
  if (poller === undefined) pollers.set(db, (poller = createEventPoller(db)));
  return poller;
}

/**
 * The signing secret for a key's listeners, which signs nothing else. The secret never changes, so a client is set up
 * only once.
 */
function listeningSecret(app: App, { organisationId, keyId }: Caller): string {
  return `whsec_${app.secrets.mac('listening', `${organisationId}/${keyId}`).toString('base64url')}`;
}

/**
 * Opens a stream of lines, which ends when the client disconnects, the service stops or the key ends.
 * @param over aborted when the response is over or the service stops
 * @throws ApiError invalid_event_types, listener_limit_exceeded
 */
async function listen(app: App, caller: Caller, options: ListenOptions, over: AbortSignal): Promise<Readable> {
  // A restricted key may not see every learner, so such a key gets no events about group changes.
  const shown = caller.keyScope === null ? eventTypes : eventTypesAbout('result');
  const types = options.types ?? shown;
  if (!types.every((type) => shown.includes(type)))
    throw new ApiError('invalid_event_types', `event_types is beyond a restricted key. Send ${shown.join(', ')}.`);
  takeSeat(caller.organisationId, over);
  const { organisationId, keyScope } = caller;
  const newest = options.after === null ? await newestEvent(app.db, organisationId) : null;
  const from = newest?.number ?? (options.after === null ? 0 : await numberAt(app.db, organisationId, options.after));
  const position = options.after ?? { atMs: newest?.occurred_at.getTime() ?? 0, eventId: newest?.event_id ?? nilUuid };
  const groupIds = intersectScope(options.groupIds, keyScope?.groupIds ?? null);
  // A line is made only when the client reads it, so a slow client keeps only one page of events in memory.
  return Readable.from(lines(app, caller, { types, groupIds, from, position }, over), {
    objectMode: false,
    highWaterMark: 1,
  });
}

type Stream = { types: readonly EventType[]; groupIds: readonly string[] | null; from: number; position: Position };

const line = (value: Record<string, unknown>) => `${JSON.stringify(value)}\n`;

async function* lines(
  app: App,
  caller: Caller,
  { types, groupIds, from, position }: Stream,
  over: AbortSignal,
): AsyncGenerator<string> {
  const { organisationId, keyId } = caller;
  const secret = listeningSecret(app, caller);
  const ended = new AbortController();
  const until = AbortSignal.any([over, ended.signal]);
  const events = followEvents(app.db, organisationId, from, eventTypes, until, pollerOf(app));
  let after = positionText(position);
  let checkedMs = app.clock.monotonicMs();
  try {
    yield line({ type: 'open', after, secret, heartbeat_seconds: limits.listenerHeartbeatMs / 1000 });
    let next = events.next();
    for (;;) {
      const resting = new AbortController();
      const beat = wait(limits.listenerHeartbeatMs, null, { signal: resting.signal }).catch(() => null);
      const found = await Promise.race([next, beat]);
      resting.abort();
      if (over.aborted || found?.done === true || app.restored.pending) break;
      if (app.clock.monotonicMs() - checkedMs >= limits.listenerHeartbeatMs) {
        checkedMs = app.clock.monotonicMs();
        if (!(await isKeyGood(app.db, organisationId, keyId, app.clock.nowMs()))) {
          yield line({ type: 'end', after, reason: 'key_gone' });
          return;
        }
      }
      if (found === null) {
        yield line({ type: 'heartbeat', after });
        continue;
      }
      const event = found.value;
      after = positionText({ atMs: event.occurred_at.getTime(), eventId: event.event_id });
      const body = await bodyFor(app, caller, event, types, groupIds);
      if (body !== null) {
        const deliveryId = uuidOf('listen', event.event_id);
        const headers = deliveryHeaders({ deliveryId, secrets: [secret], body, nowMs: app.clock.nowMs() });
        yield line({ type: 'delivery', after, event: event.type, delivery_id: deliveryId, headers, body });
      }
      next = events.next();
    }
    yield line({ type: 'end', after, reason: 'stopping' });
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) app.log.error('listening.failed', errorFields(error));
    throw error;
  } finally {
    ended.abort();
  }
}

/** The body of an event as this listener receives it; null: the listener does not receive the event. */
async function bodyFor(
  app: App,
  { organisationId, keyScope }: Caller,
  { event_id, type, payload }: FollowedEvent,
  types: readonly EventType[],
  groupIds: readonly string[] | null,
): Promise<string | null> {
  if (!types.includes(type as EventType)) return null;
  const event = JSON.parse(payload) as Record<string, string[]> & { data?: { assessment_id: string } };
  const groups = eventTable[type as EventType].groups.flatMap((field) => event[field]!);
  if (groupIds !== null && !groups.some((id) => groupIds.includes(id))) return null;
  // The result may have been withdrawn since the event was read, because a client can read slowly or reconnect later.
  if (!(await isStored(app.db, organisationId, event_id))) return null;
  if (keyScope === null) return payload;
  // The result must be inside the key's scope now. The scope at the time of the event does not count.
  if ((await findLiveInScope(app.db, organisationId, event.data!.assessment_id, keyScope)) === undefined) return null;
  const ofKey = groups.filter((id) => keyScope.groupIds === null || keyScope.groupIds.includes(id));
  return `${payload.slice(0, payload.lastIndexOf('"group_ids":'))}"group_ids":${JSON.stringify(ofKey)}}`;
}

const exampleAfter = '1769850012345.5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d';

const listenQuery = [
  some(
    'event_types',
    'Types of events to receive. Default: every type that the access key may see.',
    among(eventTypes),
  ),
  {
    ...groupIds,
    description: `At most ${limits.filterGroups} group IDs, like group_ids of a webhook endpoint. Default: all groups.`,
  },
  one(
    'after',
    'The after of the last line that you handled. The response begins with later events. Default: new events only.',
    {
      schema: { type: 'string', examples: [exampleAfter] },
      expected: 'the after of a line',
      read: (text) => (readPosition(text) === null ? undefined : text),
    },
  ),
];

const afterField = Type.String({ description: 'Send this value after an interruption.' });

const DeliveryHeaders = Type.Unsafe<Record<string, string>>(
  Type.Object(
    {},
    {
      $id: 'DeliveryHeaders',
      additionalProperties: Type.String(),
      description: 'In a delivery line: the headers of a delivery.',
    },
  ),
);

const EventLine = Type.Object(
  {
    type: Type.String({ description: 'Open enum: open, delivery, heartbeat, end. Ignore other values.' }),
    after: afterField,
    secret: Type.Optional(
      Type.String({
        description: 'In an open line: the signing secret of this access key for GET /events. It does not change.',
      }),
    ),
    heartbeat_seconds: Type.Optional(
      Type.Integer({ description: 'In an open line: the longest time between 2 lines.' }),
    ),
    event: Type.Optional(Type.String({ description: 'In a delivery line: the type of the event.' })),
    delivery_id: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'In a delivery line: the ID of the delivery. A repeat of the event has the same ID.',
      }),
    ),
    headers: Type.Optional(DeliveryHeaders),
    body: Type.Optional(Type.String({ description: 'In a delivery line: the body of a delivery, as text.' })),
    reason: Type.Optional(
      Type.String({ description: 'In an end line: stopping (connect again), key_gone or another reason.' }),
    ),
  },
  { $id: 'EventLine', description: 'A line of GET /events.' },
);

export const listenRoute: Route = {
  method: 'GET',
  path: '/events',
  id: 'listenToEvents',
  tag: 'Webhooks',
  summary: 'Listen to events (for development)',
  description: `For development: \`ars listen --api\` uses this endpoint. In production, register a webhook endpoint. The response stays open. It contains one line of JSON for each event, signed like a delivery. The service does not store these deliveries. After an interruption, connect again with the \`after\` of the last line. An organisation can have ${limits.listenersPerOrganisation} open responses.`,
  query: listenQuery,
  allowsRestrictedKeys: true,
  codes: ['listener_limit_exceeded'],
  answers: {
    200: {
      description: 'Lines of JSON until the client or the service ends the response.',
      type: 'application/x-ndjson',
      schema: EventLine,
      headers: ['Cache-Control'],
    },
  },
  handle: async (call) => {
    const { event_types: types = null, group_id: groups = null, after } = call.query.values;
    const options = { types, groupIds: groups, after: after === undefined ? null : readPosition(after) };
    return {
      status: 200,
      body: null,
      stream: await listen(call.app, call.caller, options, call.over),
      headers: {
        'content-type': 'application/x-ndjson; charset=utf-8',
        // Proxies must not buffer lines.
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
      },
    };
  },
};
