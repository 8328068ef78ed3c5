import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Fastify from 'fastify';
import type { App } from '../platform/app.ts';
import { auditor } from '../platform/audit/audit.ts';
import { refusedCalls } from '../platform/audit/refused.ts';
import { DatabaseUnavailable } from '../platform/db/connection/unavailable.ts';
import { ApiError, errorBody, helpLink } from '../platform/errors/errors.ts';
import { SetCache } from '../feed/group-sets.ts';
import { Connections } from './http/connections.ts';
import { onEveryResponse } from './http/headers.ts';
import type { Recorded } from '../platform/audit/log.ts';
import { jsonType } from './http/route.ts';
import { isSuspended } from '../integrations/access-keys/keys.ts';
import { limits } from '../platform/config/limits.ts';
import { errorFields } from '../platform/observability/log.ts';
import { connections as openConnections } from '../platform/observability/metric-definitions.ts';
import { beforeReading } from '../platform/observability/metrics.ts';
import { uuidAt } from '../platform/crypto/random.ts';
import { apiBase } from '../platform/config/settings.ts';
import {
  type RequestSpan,
  beginRequest,
  endRequest,
  tracing,
  withinRequest,
} from '../platform/observability/tracing.ts';
import { type Admission, admitter, credentialsOf, invalidCredentials, rateHeaders } from './admission.ts';
import { addressReader, callerAddress } from './caller-address.ts';
import { connectionRefusal, sendError } from './failure.ts';
import { detailOf, handle, unsupported } from './handle.ts';
import { type Refused, RefusedCallers } from './address-windows.ts';
import { KeyUses } from '../integrations/access-keys/key-uses.ts';
import { type Admitting, answerRepeatedReads, ConditionalReadCache } from './conditional-read-cache.ts';
import { logAnswer, requestIdHeader, probePaths } from './request-log.ts';
import { routes } from './route-table.ts';
import { hostFault, noEndpoint, noPage, noRoute, plainTarget } from './target.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Admission | null;
    /** The count of refused calls from the caller's IP address; null: the call has valid credentials. */
    refused: Refused | null;
    action: string;
    resource: string | null;
    /** The code of the error response; empty: no error. */
    code: string;
    recorded: Recorded | null;
    /** The status that was committed with the change and its audit row; 0: no change was committed. */
    committed: number;
    /** If the database failed during this call, the response waits only a limited time for its audit row. */
    unavailable: boolean;
    startedMs: number;
    /** Null if tracing is off. */
    span: RequestSpan | null;
  }
  interface FastifyContextConfig {
    action?: string;
    allowsRestrictedKeys?: boolean;
  }
}

/** The maximum size in bytes of a request's head, and of a path parameter, so that the router accepts every URL. */
const headerBytes = 2 * limits.urlBytes;

const noQuery = {};

/** A connection is closed after this time without traffic. */
const stillMs = 120_000;

export type HttpServer = {
  fastify: FastifyInstance;
  /**
   * Accepts requests until the drain delay is over. Then completes the requests under way, and aborts those that are
   * left when the drain time ends.
   */
  stop(): Promise<void>;
};

function openFastify(app: App, connections: () => Connections): FastifyInstance {
  const fastify = Fastify({
    logger: false,
    bodyLimit: limits.publicFormBytes,
    // src/api/http/query.ts parses queries, so Fastify does not.
    routerOptions: {
      maxParamLength: headerBytes,
      ignoreTrailingSlash: false,
      caseSensitive: true,
      querystringParser: () => noQuery,
    },
    http: { maxHeaderSize: headerBytes, requireHostHeader: false },
    keepAliveTimeout: 75_000,
    requestTimeout: 60_000,
    connectionTimeout: stillMs,
    forceCloseConnections: false,
    // Requests that arrive while the service stops are answered, because Fastify's 503 lacks our error format.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    genReqId: () => uuidAt(app.random, app.clock.nowMs()),
    frameworkErrors: (error, request, reply) => sendError(app, error, request, reply),
    rewriteUrl: (request) => plainTarget(request.url ?? '/'),
    clientErrorHandler: (error, socket) => connections().refuse(error as NodeJS.ErrnoException, socket),
  });
  fastify.decorateRequest('caller', null);
  fastify.decorateRequest('refused', null);
  fastify.decorateRequest('action', '');
  fastify.decorateRequest('resource', null);
  fastify.decorateRequest('code', '');
  fastify.decorateRequest('recorded', null);
  fastify.decorateRequest('committed', 0);
  fastify.decorateRequest('unavailable', false);
  fastify.decorateRequest('startedMs', 0);
  fastify.decorateRequest('span', null);
  fastify.setErrorHandler((error, request, reply) => sendError(app, error, request, reply));
  fastify.setNotFoundHandler((request, reply) => sendError(app, noPage(), request, reply));
  addHooks(app, fastify, connections);

  // Bodies are parsed only after credentials and route have been checked.
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(/^application\/json\s*(;|$)/i, { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) =>
    done(null, request.is404 ? body : unsupported),
  );
  // Without this listener, Node answers an unknown Expect header with an empty 417. A server may ignore the header (RFC
  // 9110, 10.1.1).
  fastify.server.on('checkExpectation', (request, reply) => {
    fastify.server.emit('request', request, reply);
  });
  return fastify;
}

function addHooks(app: App, fastify: FastifyInstance, connections: () => Connections): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    request.startedMs = app.clock.monotonicMs();
    reply.header(requestIdHeader, request.id).headers(onEveryResponse);
    const fault = hostFault(request.raw);
    const refusal =
      fault !== null
        ? new ApiError('bad_request', fault)
        : app.restored.pending && !probePaths.has(request.routeOptions.url ?? '')
          ? new DatabaseUnavailable({ code: 'RESTORED' })
          : undefined;
    if (!tracing) return done(refusal);
    request.span = beginRequest(request.raw);
    return withinRequest(request.span, () => done(refusal));
  });
  fastify.addHook('onSend', (_request, reply, payload, done) => {
    // Connections close only after the listener. Otherwise clients would reconnect to it and might be reset.
    if (connections().ending) reply.header('connection', 'close');
    // If Fastify closed the connection on a refused body, a client that is still sending would never read the response.
    else if (reply.hasHeader('connection')) reply.removeHeader('connection');
    done(null, payload);
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const route = request.action || `${request.method} ${request.routeOptions.url ?? '(no page)'}`;
    const action = request.action || `${request.method} (page)`;
    if (request.span !== null) endRequest(request.span, route, reply.statusCode, request.id);
    logAnswer(app, request.startedMs, request.id, action, route, reply.statusCode, request.caller);
    done();
  });
}

/**
 * Builds the HTTP server, which does not listen yet. Every API call has this order: credentials, rate limit, route,
 * shape, existence, rule, conflict, credits, commit, audit, response.
 * @param pages registers everything that is not part of the API
 */
export async function buildServer(
  app: App,
  pages: (fastify: FastifyInstance) => void | Promise<void>,
): Promise<HttpServer> {
  const fastify = openFastify(app, () => connections);
  const stopping = new AbortController();
  const admitting: Admitting = {
    admit: admitter(app, app.db.dedicated({ synchronousCommit: false }), app.db.dedicated()),
    admissions: new WeakMap(),
    cache: new ConditionalReadCache(),
    addressOf: addressReader(app.settings.trustedProxies),
    uses: new KeyUses(app),
  };
  await fastify.register(async (api) => registerApi(app, api, admitting, stopping.signal), { prefix: apiBase });
  await pages(fastify);
  answerRepeatedReads(app, fastify.server, admitting, () => connections.stopping);
  const connections = new Connections(fastify.server, (code) => connectionRefusal(app, code));
  const stopCounting = beforeReading(() => openConnections.set(connections.open));
  return {
    fastify,
    async stop() {
      const { drainMs, drainDelayMs } = app.settings;
      const delayMs = connections.listening ? Math.min(drainDelayMs, drainMs / 2) : 0;
      connections.announceEnd();
      if (delayMs > 0) await delay(delayMs);
      // Streamed responses, such as GET /events, end now.
      stopping.abort();
      await connections.drain(drainMs - delayMs);
      await admitting.uses.stop();
      await fastify.close();
      stopCounting();
    },
  };
}

/** Admits each call before its route runs and audits the call afterwards, even if no route has the path. */
function registerApi(app: App, api: FastifyInstance, admitting: Admitting, stopping: AbortSignal): void {
  const refusedCallers = new RefusedCallers(app.clock, app.secrets);
  const refuse = (request: FastifyRequest) =>
    (request.refused ??= refusedCallers.count(callerAddress(request.raw, app.settings.trustedProxies)));
  admitCalls(app, api, admitting, refuse);
  auditReplies(app, api, refuse);
  const handling = { app, sets: new SetCache(), cache: admitting.cache, stopping };
  for (const route of routes) {
    const wildcard = route.path.includes('{ref}');
    const path = wildcard ? route.path.replace('{ref}', '*') : route.path.replace(/\{(\w+)\}/g, ':$1');
    const methods = route.method === 'GET' ? (['GET', 'HEAD'] as const) : [route.method];
    api.route({
      method: [...methods],
      url: path,
      bodyLimit: limits.bodyBytes,
      config: { action: `${route.method} ${route.path}`, allowsRestrictedKeys: route.allowsRestrictedKeys === true },
      // The handler returns no promise, because Fastify would then watch the end of every response.
      handler: (request, reply) => {
        handle(handling, route, request, reply).catch((error: unknown) => reply.send(error));
      },
    });
  }
  // Without this handler, an unknown path under the API's base would skip the hooks above.
  api.setNotFoundHandler((request, reply) => sendError(app, noRoute(request.raw.url ?? ''), request, reply));
}

/** The message is sent only to a caller who has the secret. */
const suspended = 'The organisation of this access key is suspended. Ask the operator of the service.';

function admitCalls(
  app: App,
  api: FastifyInstance,
  { admit, admissions, addressOf, uses }: Admitting,
  refuse: (request: FastifyRequest) => Refused,
): void {
  api.addHook('onRequest', async (request, reply) => {
    request.action = request.routeOptions.config.action ?? `${request.method} (no route)`;
    const caller = await (admissions.get(request.raw) ??
      admit({ ...credentialsOf(request.headers), address: addressOf(request.raw), read: null }));
    if (caller === null) {
      const { waitSeconds } = refuse(request);
      if (waitSeconds > 0) throw new ApiError('rate_limited', undefined, { 'retry-after': String(waitSeconds) });
      const credentials = { ...credentialsOf(request.headers), address: addressOf(request.raw) };
      throw invalidCredentials((await isSuspended(app.db, credentials, app.clock.nowMs())) ? suspended : undefined);
    }
    request.caller = caller;
    uses.note(caller, addressOf(request.raw), request.headers['user-agent']);
    const [policyName, policy, remainingName, remaining] = rateHeaders(app, caller);
    reply.header(policyName, policy).header(remainingName, remaining);
    if (!caller.granted) throw new ApiError('rate_limited', undefined, { 'retry-after': String(caller.resetSeconds) });
    // An unknown path is refused before its body is read.
    const { keyScope } = caller;
    if (request.is404) throw noRoute(request.raw.url ?? '', keyScope !== null);
    if (keyScope !== null && request.routeOptions.config.allowsRestrictedKeys !== true) throw noEndpoint();
  });
}

/**
 * Waits a limited time for the audit row. Errors are ignored, because the log already says that the database is
 * unavailable.
 */
async function writtenSoon(row: Promise<void>): Promise<void> {
  const over = new AbortController();
  const tooLate = delay(limits.rowOfUnavailableMs, undefined, { signal: over.signal });
  await Promise.race([row, tooLate]).catch(() => {});
  over.abort();
}

function auditReplies(app: App, api: FastifyInstance, refuse: (request: FastifyRequest) => Refused): void {
  const audit = auditor(app.db.dedicated());
  // Refused calls have their own connection, so that callers with a key never wait behind them.
  const recordRefused = refusedCalls(app.db.dedicated());
  const record = (request: FastifyRequest, status: number, payload: unknown): Promise<void> => {
    const { caller, id: requestId, action, resource, recorded, code } = request;
    const atMs = app.clock.nowMs();
    if (caller === null) {
      const named = action || `${request.method} (refused)`;
      return recordRefused({ atMs, requestId, action: named, status, ...refuse(request) });
    }
    const bytes = typeof payload === 'string' || payload instanceof Buffer ? Buffer.byteLength(payload) : 0;
    const detail = detailOf(app, request.startedMs, { recorded, code, bytes });
    const { organisationId, keyId: actor } = caller;
    return audit({ organisationId, atMs, requestId, actor, action, resource, status, detail });
  };
  // No byte of the response is sent before its audit row is committed (law 5).
  api.addHook('onSend', async (request, reply, payload) => {
    const { statusCode: status } = reply;
    if (request.committed === status) return payload;
    if (request.unavailable) {
      if (request.caller !== null || request.refused !== null) await writtenSoon(record(request, status, payload));
      return payload;
    }
    try {
      await record(request, status, payload);
      return payload;
    } catch (error) {
      app.log.error('audit.failed', errorFields(error));
      for (const name of Object.keys(reply.getHeaders())) if (!name.startsWith('ratelimit')) reply.removeHeader(name);
      const { status: unavailable, code, message } = new ApiError('service_unavailable');
      reply.code(unavailable).headers({
        ...onEveryResponse,
        [requestIdHeader]: request.id,
        'content-type': jsonType,
        'cache-control': 'no-store',
        'retry-after': '1',
        ...helpLink(app.settings.baseUrl, code),
      });
      return errorBody(code, message);
    }
  });
}
