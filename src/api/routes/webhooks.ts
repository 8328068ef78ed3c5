import { ApiError } from '../../platform/errors/errors.ts';
import { readBody } from '../http/body.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { type Route, json } from '../http/route.ts';
import { PaginationSchema, cacheHeaders } from '../http/list-reply.ts';
import { limits } from '../../platform/config/limits.ts';
import { formatPosition } from '../../feed/time.ts';
import {
  RegisteredWebhookEndpoint,
  WebhookEndpoint,
  WebhookInput,
  asUri,
  defaultEventTypes,
} from '../../integrations/webhooks/schema.ts';
import {
  removeEndpoint,
  endpointPayload,
  listEndpoints,
  registerEndpoint,
} from '../../integrations/webhooks/endpoints/endpoints.ts';
import { Type } from '../../platform/validation/type.ts';
import { assessmentCompleted, learnerGroupsUpdated } from '../../platform/validation/event-types.ts';

/** All endpoints fit on one page. */
const pagination = { limit: limits.pageDefault, has_more: false, next: null };

export const webhookRoutes: Route[] = [
  {
    method: 'GET',
    path: '/webhooks',
    id: 'listWebhooks',
    tag: 'Webhooks',
    summary: 'List webhook endpoints',
    query: [],
    description: 'Returns every webhook endpoint of the organisation, oldest first, without secrets.',
    answers: {
      200: {
        description: 'The webhook endpoints.',
        schema: Type.Object({
          data: Type.Array(WebhookEndpoint, { description: 'The webhook endpoints.' }),
          pagination: PaginationSchema,
        }),
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
    summary: 'Register a webhook endpoint',
    description: 'Only this response contains the signing secret. Store it.',
    body: WebhookInput,
    bodyExample: {
      url: 'https://portfolio.example.org/hooks/ars',
      event_types: [assessmentCompleted, learnerGroupsUpdated],
    },
    codes: ['unknown_group', 'webhook_limit_exceeded'],
    answers: {
      201: {
        description: 'The webhook endpoint is registered.',
        headers: ['Cache-Control'],
        schema: Type.Object({ data: RegisteredWebhookEndpoint }),
      },
    },
    handle: async (call) => {
      const { url, event_types = defaultEventTypes, group_ids } = readBody(WebhookInput, call);
      return call.change(async (work) => {
        const { row, secret } = await registerEndpoint(work, call.caller.organisationId, {
          url: asUri(url),
          eventTypes: event_types,
          // Repeated IDs stay in the list, because an error names the position in the request.
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
    summary: 'Remove a webhook endpoint',
    description: 'The service also drops deliveries that wait for the webhook endpoint.',
    params: {
      id: {
        description: 'ID of the webhook endpoint.',
        schema: { type: 'string', format: 'uuid' },
      },
    },
    answers: { 204: { description: 'The webhook endpoint is removed.' } },
    handle: async (call) => {
      const id = call.params.id!;
      if (!isUuid(id)) throw new ApiError('not_found');
      return call.change(async (work) => {
        if (!(await removeEndpoint(work, call.caller.organisationId, id))) throw new ApiError('not_found');
        return { status: 204, body: null, resource: id };
      });
    },
  },
];
