import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Fastify from 'fastify';
import type { App } from '../platform/app.ts';
import { auditor } from '../platform/audit/audit.ts';
import { refusedCalls } from '../platform/audit/refused.ts';
import { DatabaseUnavailable } from '../platform/db/connection/unavailable.ts';
import { ApiError, errorBody } from '../platform/errors/errors.ts';
import { SetCache } from '../feed/group-sets.ts';
import { Connections } from './http/connections.ts';
import { noSniff } from './http/headers.ts';
import { hostFault } from './http/host.ts';
import type { Recorded } from '../platform/audit/log.ts';
import { jsonType } from './http/route.ts';
import { isSuspended } from '../integrations/access-keys/keys.ts';
import { limits } from '../platform/config/limits.ts';
import { errorFields } from '../platform/observability/log.ts';
import { connections as openConnections } from '../platform/observability/metric-definitions.ts';
import { beforeReading } from '../platform/observability/metrics.ts';
import { uuidAt } from '../platform/crypto/random.ts';
import { apiBase } from '../platform/config/settings.ts';
import type { RequestSpan } from '../platform/observability/tracing.ts';
import { beginRequest, endRequest, tracing, withinRequest } from '../platform/observability/tracing.ts';
import type { Admission } from './admission.ts';
import { admitter, credentialsOf, notLetIn, rateHeaders } from './admission.ts';
import { addressReader, callerAddress } from './caller-address.ts';
import { connectionRefusal, sendError } from './failure.ts';
import { detailOf, handle, unsupported } from './handle.ts';
import type { Refused } from './refused-callers.ts';
import { RefusedCallers } from './refused-callers.ts';
import { KeyUses } from './key-uses.ts';
import type { Admitting } from './conditional-read-cache.ts';
import { answerRepeatedReads, RepeatedReads } from './conditional-read-cache.ts';
import { logAnswer, requestIdHeader } from './request-log.ts';
import { routes } from './route-table.ts';
import { noRoute, plainTarget } from './target.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Admission | null;
    /** Where a call without a caller came from, once it was counted. */
    refused: Refused | null;
    /** Method and route for the audit log and the request's log line. */
    action: string;
    resource: string | null;
    /** Of the error that was answered; empty otherwise. */
    code: string;
    recorded: Recorded | null;
    /** The status that was committed with a change and its audit row; 0 where nothing was changed. */
    committed: number;
    /** The database did not finish something of this call: it may be away, and then no row of it can be written. */
    unavailable: boolean;
    startedMs: number;
    /** Null unless somebody wants spans. */
    span: RequestSpan | null;
  }
  interface FastifyContextConfig {
    action?: string;
    /** Whether a key with bounds may ask it. */
    allowsRestrictedKeys?: boolean;
  }
}

/** Bytes of a request's head: no address that fits into it is too long for the router. */
const headerBytes = 2 * limits.urlBytes;

const noQuery = {};

/** What is answered even while a restored database isn't shown. */
const probes: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz']);

/** A connection on which nothing moves in either direction for so long is ended. */
const stillMs = 120_000;

/** A server that can listen. */
export type HttpServer = {
  fastify: FastifyInstance;
  /** Goes on for the drain's delay, then answers what is under way and takes nothing more, all within the drain time. */
  stop(): Promise<void>;
};

/** Fastify as every request meets it, whatever it asks for: in the one error shape, with its id, and in the log. */
function openFastify(app: App, connections: () => Connections): FastifyInstance {
  const fastify = Fastify({
    logger: false,
    bodyLimit: limits.publicFormBytes,
    // Queries are read through our own table (src/api/http/query.ts) only.
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
    // Fastify's own 503 has another shape; a request that still arrives while the service stops is answered.
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
  fastify.setNotFoundHandler((request, reply) => sendError(app, new ApiError('not_found'), request, reply));
  addHooks(app, fastify, connections);

  // Text stays text until the route reads it, so that credentials and route are checked before the body.
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(/^application\/json\s*(;|$)/i, { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) =>
    done(null, request.is404 ? body : unsupported),
  );
  // Node would answer other expectations than 100-continue with an empty 417; they are ignored instead (RFC 9110,
  // 10.1.1).
  fastify.server.on('checkExpectation', (request, reply) => {
    fastify.server.emit('request', request, reply);
  });
  return fastify;
}

function addHooks(app: App, fastify: FastifyInstance, connections: () => Connections): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    request.startedMs = app.clock.monotonicMs();
    reply.header(requestIdHeader, request.id).headers(noSniff);
    const fault = hostFault(request.raw);
    const refusal =
      fault !== null
        ? new ApiError('bad_request', fault)
        : app.restored.pending && !probes.has(request.routeOptions.url ?? '')
          ? new DatabaseUnavailable({ code: 'RESTORED' })
          : undefined;
    const goOn = () => done(refusal);
    if (!tracing) return goOn();
    request.span = beginRequest(request.raw);
    return withinRequest(request.span, goOn);
  });
  fastify.addHook('onSend', (_request, reply, payload, done) => {
    // Not before the listener has closed: new connections in its queue at that moment would be reset.
    if (connections().ending) reply.header('connection', 'close');
    // Fastify would hang up on a body that is refused: who is still sending it is reset, and may never read the reply.
    // The rest is read and dropped, as long as any request may take.
    else if (reply.hasHeader('connection')) reply.removeHeader('connection');
    done(null, payload);
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const route =
      request.action === '' ? `${request.method} ${request.routeOptions.url ?? '(no page)'}` : request.action;
    if (request.span !== null) endRequest(request.span, route, reply.statusCode, request.id);
    logAnswer(
      app,
      request.startedMs,
      request.id,
      request.action === '' ? `${request.method} (page)` : request.action,
      route,
      reply.statusCode,
      request.caller,
    );
    done();
  });
}

/**
 * Builds the HTTP server; nothing listens yet. Order of every API call: credentials, rate limit, route, shape,
 * existence, rule, conflict, credits, commit, audit, reply.
 * @param pages registers what is served beside the API
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
    reads: new RepeatedReads(),
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
      // Replies that last end by themselves, so that nobody has to be cut off.
      stopping.abort();
      await connections.drain(drainMs - delayMs);
      await admitting.uses.stop();
      await fastify.close();
      stopCounting();
    },
  };
}

function bytesOf(payload: unknown): number {
  return typeof payload === 'string' ? Buffer.byteLength(payload) : payload instanceof Buffer ? payload.length : 0;
}

/** Every call of the API is let in first and audited last, whether its address is one or not. */
function registerApi(app: App, api: FastifyInstance, admitting: Admitting, stopping: AbortSignal): void {
  const refusedCallers = new RefusedCallers(app.clock, app.secrets);
  const refuse = (request: FastifyRequest) =>
    (request.refused ??= refusedCallers.count(callerAddress(request.raw, app.settings.trustedProxies)));
  letIn(app, api, admitting, refuse);
  auditReplies(app, api, refuse);
  const sets = new SetCache();
  for (const route of routes) {
    const wildcard = route.path.includes('{ref}');
    const path = wildcard ? route.path.replace('{ref}', '*') : route.path.replace(/\{(\w+)\}/g, ':$1');
    const methods = route.method === 'GET' ? (['GET', 'HEAD'] as const) : [route.method];
    api.route({
      method: [...methods],
      url: path,
      bodyLimit: limits.bodyBytes,
      config: { action: `${route.method} ${route.path}`, allowsRestrictedKeys: route.allowsRestrictedKeys === true },
      // A promise returned here would make Fastify watch the end of every reply.
      handler: (request, reply) => {
        handle(app, sets, admitting.reads, route, request, reply, stopping).catch((error: unknown) =>
          reply.send(error),
        );
      },
    });
  }
  // Without one of its own, what is unknown under the API's base would pass the hooks above by.
  api.setNotFoundHandler((request, reply) => sendError(app, noRoute(request.raw.url ?? ''), request, reply));
}

/** Told to whoever has the secret, and to nobody else. */
const suspended = 'The organisation of this access key is suspended: ask whoever runs the service.';

function letIn(
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
      const pair = { ...credentialsOf(request.headers), address: addressOf(request.raw) };
      const why = (await isSuspended(app.db, pair, app.clock.nowMs())) ? suspended : undefined;
      throw notLetIn(why);
    }
    request.caller = caller;
    uses.note(caller, addressOf(request.raw), request.headers['user-agent']);
    const [policyName, policy, remainingName, remaining] = rateHeaders(app, caller);
    reply.header(policyName, policy).header(remainingName, remaining);
    if (!caller.granted) throw new ApiError('rate_limited', undefined, { 'retry-after': String(caller.resetSeconds) });
    // Before the body is read: what names nothing is told so, whatever was sent to it.
    const { keyScope } = caller;
    if (request.is404) throw noRoute(request.raw.url ?? '', keyScope !== null);
    if (keyScope !== null && request.routeOptions.config.allowsRestrictedKeys !== true) throw new ApiError('not_found');
  });
}

/** Waits until the row is written, or can't be, or takes too long: the database may be away. */
async function soon(row: Promise<void>): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([row, delay(limits.rowOfUnavailableMs, undefined, { signal: over.signal })]);
  } catch {
    // That the database is away is in the process's log already.
  } finally {
    over.abort();
  }
}

function auditReplies(app: App, api: FastifyInstance, refuse: (request: FastifyRequest) => Refused): void {
  const audit = auditor(app.db.dedicated());
  // A connection of its own: nobody with a key waits behind the refused ones.
  const recordRefused = refusedCalls(app.db.dedicated());
  const record = (request: FastifyRequest, status: number, payload: unknown): Promise<void> => {
    const { caller, id: requestId, action, resource, recorded, code } = request;
    const atMs = app.clock.nowMs();
    if (caller === null)
      return recordRefused({
        atMs,
        requestId,
        action: action || `${request.method} (refused)`,
        status,
        ...refuse(request),
      });
    return audit({
      organisationId: caller.organisationId,
      atMs,
      requestId,
      actor: caller.keyId,
      action,
      resource,
      status,
      detail: detailOf(app, request.startedMs, { recorded, code, bytes: bytesOf(payload) }),
    });
  };
  // Answered means audited: no byte of the reply leaves before its row is committed.
  api.addHook('onSend', async (request, reply, payload) => {
    const { statusCode: status } = reply;
    if (request.committed === status) return payload;
    if (request.unavailable) {
      // Whose call it was is known only where the database was there when it came.
      if (request.caller !== null || request.refused !== null) await soon(record(request, status, payload));
      return payload;
    }
    try {
      await record(request, status, payload);
      return payload;
    } catch (error) {
      app.log.error('audit.failed', errorFields(error));
      for (const name of Object.keys(reply.getHeaders())) if (!name.startsWith('ratelimit')) reply.removeHeader(name);
      const unavailable = new ApiError('service_unavailable');
      reply.code(503).headers({
        ...noSniff,
        [requestIdHeader]: request.id,
        'content-type': jsonType,
        'cache-control': 'no-store',
        'retry-after': '1',
      });
      return errorBody(unavailable.code, unavailable.message);
    }
  });
}
