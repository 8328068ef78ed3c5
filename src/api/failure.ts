import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../platform/app.ts';
import { DatabaseUnavailable } from '../platform/db/connection/unavailable.ts';
import { publicIdOf } from '../platform/db/public-ids.ts';
import { WriteQueueRefusal } from '../platform/db/write-queue.ts';
import { ApiError, errorBody, helpLink } from '../platform/errors/errors.ts';
import { noProxy } from './http/connections.ts';
import { onEveryResponse } from './http/headers.ts';
import { jsonType } from './http/route.ts';
import { limits } from '../platform/config/limits.ts';
import { apiBase } from '../platform/config/settings.ts';
import { errorFields } from '../platform/observability/log.ts';
import { logAnswer, requestIdHeader } from './request-log.ts';
import { noPage } from './target.ts';

type Failure = Error & { statusCode?: number; code?: string };

/**
 * Sends an error in the API's error format. The response contains only our own sentences, never the text of an
 * unexpected error.
 */
export function sendError(app: App, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const answer = asApiError(app, error as Failure, request);
  request.code = answer.code;
  // Caches may keep a 404 without no-store (RFC 9111, 4.2.2), although the object may be created a moment later.
  reply
    .code(answer.status)
    .headers({ ...onEveryResponse, ...answer.headers, 'content-type': jsonType, 'cache-control': 'no-store' });
  if (request.url.startsWith(apiBase)) reply.headers(helpLink(app.settings.baseUrl, answer.code));
  return reply.send(request.method === 'HEAD' ? undefined : errorBody(answer.code, answer.message));
}

async function logRefusal(app: App, request: FastifyRequest, why: string): Promise<void> {
  const organisation_id = request.caller ? await publicIdOf(app, request.caller.organisationId) : undefined;
  app.log.error('change.refused', { request_id: request.id, organisation_id, why });
}

function asApiError(app: App, error: Failure, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof WriteQueueRefusal) {
    void logRefusal(app, request, error.why);
    return new ApiError('service_unavailable', error.message, { 'retry-after': String(limits.changeRetrySeconds) });
  }
  if (error instanceof DatabaseUnavailable) {
    request.unavailable = true;
    app.log.error('database.unavailable', { request_id: request.id, ...errorFields(error) });
    return new ApiError('service_unavailable', undefined, { 'retry-after': '1' });
  }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new ApiError('payload_too_large');
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' || error.statusCode === 415)
    return new ApiError('unsupported_media_type');
  if (error.code === 'FST_ERR_BAD_URL') return noPage();
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return new ApiError('bad_request');
  app.log.error('request.failed', { request_id: request.id, action: request.action, ...errorFields(error) });
  return new ApiError('internal_error');
}

const unreadable: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The headers of the request are too large. Send fewer or shorter headers.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time. Send it again.',
  [noProxy]: 'The service is no proxy. Send requests to its own URL.',
};

/** Logs an unreadable request. @returns the bytes of the error response */
export function connectionRefusal(app: App, code: string | undefined): string {
  const refusal = new ApiError('bad_request', unreadable[code ?? '']);
  const requestId = app.random.uuid();
  const body = errorBody(refusal.code, refusal.message);
  const head = [
    'HTTP/1.1 400 Bad Request',
    `${requestIdHeader}: ${requestId}`,
    `Content-Type: ${jsonType}`,
    'Cache-Control: no-store',
    ...Object.entries({ ...onEveryResponse, ...helpLink(app.settings.baseUrl, refusal.code) }).map((pair) =>
      pair.join(': '),
    ),
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ].join('\r\n');
  logAnswer(app, app.clock.monotonicMs(), requestId, '(not HTTP)', '(not HTTP)', refusal.status, null);
  return `${head}\r\n\r\n${body}`;
}
