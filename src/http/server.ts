import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Fastify from 'fastify';
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { App } from '../app.ts';
import { DatabaseUnavailable } from '../db/database.ts';
import { ApiError, errorBody } from '../errors.ts';
import { SetCache } from '../groups/sets.ts';
import { limits } from '../limits.ts';
import { errorFields } from '../log.ts';
import { holdsNationalInsuranceNumber } from '../personal-data.ts';
import type { Admission, Admit } from './admission.ts';
import { admitter } from './admission.ts';
import type { Audit } from '../audit/audit.ts';
import { auditor } from '../audit/audit.ts';
import { Body } from './body.ts';
import { FailedAttempts } from './failed-attempts.ts';
import type { Claim, KeptReply } from './idempotency.ts';
import { claimKey } from './idempotency.ts';
import { readJsonObject } from './json.ts';
import type { Parameter } from './query.ts';
import { readQuery } from './query.ts';
import { RepeatedReads } from './repeated-reads.ts';
import type { Call, Reply, Route } from './route.ts';
import { changer, jsonType } from './route.ts';
import { routes } from './routes.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Admission | null;
    /** Method and route for the audit log and the request's log line. */
    action: string;
    resource: string | null;
    startedMs: number;
  }
  interface FastifyContextConfig {
    action?: string;
  }
}

/** Where the API is. */
export const apiBase = '/api/v1';

/** Bytes of a request's head: no address that fits into it is too long for the router. */
const headerBytes = 2 * limits.urlBytes;

const noQuery = {};

/** A server that can listen. */
export type HttpServer = { fastify: FastifyInstance };

/**
 * Builds the HTTP server; nothing listens yet. Order of every API call: credentials, rate limit, route, shape, existence,
 * rule, conflict, credits, commit, audit, reply.
 * @param pages registers what is served beside the API
 */
export async function buildServer(
  app: App,
  pages: (fastify: FastifyInstance) => void | Promise<void>,
): Promise<HttpServer> {
  const fastify = Fastify({
    logger: false,
    bodyLimit: limits.bodyBytes,
    // Queries are read through our own table (query.ts) only.
    routerOptions: {
      maxParamLength: headerBytes,
      ignoreTrailingSlash: false,
      caseSensitive: true,
      querystringParser: () => noQuery,
    },
    http: { maxHeaderSize: headerBytes, requireHostHeader: false },
    keepAliveTimeout: 75_000,
    requestTimeout: 60_000,
    forceCloseConnections: 'idle',
    // Fastify's own 503 has another shape; a request that still arrives while the service stops is answered.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    genReqId: () => app.random.uuid(),
    frameworkErrors: (error, request, reply) => sendError(app, error, request, reply),
    rewriteUrl: (request) => plainTarget(request.url ?? '/'),
    clientErrorHandler: (error, socket) => refuseConnection(error as NodeJS.ErrnoException, socket),
  });
  fastify.decorateRequest('caller', null);
  fastify.decorateRequest('action', '');
  fastify.decorateRequest('resource', null);
  fastify.decorateRequest('startedMs', 0);
  fastify.setErrorHandler((error, request, reply) => sendError(app, error, request, reply));
  fastify.setNotFoundHandler((request, reply) => sendError(app, new ApiError('not_found'), request, reply));
  fastify.addHook('onRequest', (request, _reply, done) => {
    request.startedMs = app.clock.monotonicMs();
    // Node would refuse it too, but without a body.
    done(
      request.headers.host === undefined && request.raw.httpVersion === '1.1'
        ? new ApiError('bad_request', 'The request has no Host header.')
        : undefined,
    );
  });
  // A connection that was in use when the service began to stop would hold it up until it had been idle for long.
  let stopping = false;
  fastify.addHook('preClose', (done) => {
    stopping = true;
    done();
  });
  fastify.addHook('onSend', (_request, reply, payload, done) => {
    if (stopping) reply.header('connection', 'close');
    done(null, payload);
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    if (stopping) setImmediate(() => fastify.server.closeIdleConnections());
    logAnswer(
      app,
      request.startedMs,
      request.id,
      request.action === '' ? `${request.method} (page)` : request.action,
      reply.statusCode,
      request.caller,
    );
    done();
  });

  // Text stays text until the route reads it, so that credentials and route are checked before the body.
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(/^application\/json\s*(;|$)/i, { parseAs: 'buffer' }, (_request, body, done) =>
    done(null, body),
  );
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (request, body, done) =>
    done(null, request.is404 ? body : unsupported),
  );

  const audit = auditor(app.db.dedicated());
  const admit = admitter(app, app.db.dedicated({ synchronousCommit: false }), app.db.dedicated());
  const reads = new RepeatedReads();
  const admissions: Admissions = new WeakMap();
  await fastify.register(async (api) => registerApi(app, api, admit, admissions, audit, reads), { prefix: apiBase });
  await pages(fastify);
  answerRepeatedReads(app, fastify.server, reads, admit, admissions, () => stopping);
  // Node would answer other expectations than 100-continue with an empty 417; they are ignored instead (RFC 9110, 10.1.1).
  fastify.server.on('checkExpectation', (request, reply) => {
    fastify.server.emit('request', request, reply);
  });
  return { fastify };
}

/** Admissions that were asked for before the request came to its route. */
type Admissions = WeakMap<IncomingMessage, Promise<Admission | null>>;

/**
 * Takes reads that repeat one out before Fastify sees them: router and hooks would be half of their time, and further
 * statements the other half. All that can't be answered so goes the way of every other request.
 */
function answerRepeatedReads(
  app: App,
  server: Server,
  reads: RepeatedReads,
  admit: Admit,
  admissions: Admissions,
  stopping: () => boolean,
): void {
  const [everyOther] = server.listeners('request') as [RequestListener];
  server.removeAllListeners('request').on('request', (request, response) => {
    const unchanged = stopping() ? null : reads.find(request);
    if (unchanged === null) {
      everyOther(request, response);
      return;
    }
    const startedMs = app.clock.monotonicMs();
    const requestId = app.random.uuid();
    const admission = admit({ ...credentialsOf(request.headers), read: { unchanged, requestId } });
    const proceed = () => {
      admissions.set(request, admission);
      everyOther(request, response);
    };
    admission.then((caller) => {
      if (caller === null || !caller.answered) {
        proceed();
        return;
      }
      response
        .writeHead(unchanged.status, [
          ...unchanged.headers,
          ...rateHeaders(app, caller),
          ...(stopping() ? ['connection', 'close'] : []),
        ])
        .end(unchanged.body);
      logAnswer(app, startedMs, requestId, unchanged.action, unchanged.status, caller);
    }, proceed);
  });
}

/** Missing credentials go the same way as wrong ones, so that they can't be told apart by time. */
function credentialsOf(headers: IncomingHttpHeaders): { keyId: string; secret: string } {
  const keyId = headers['x-access-key-id'];
  const secret = headers['x-secret-access-key'];
  return {
    keyId: typeof keyId === 'string' ? keyId.slice(0, 200) : '',
    secret: typeof secret === 'string' ? secret.slice(0, 500) : '',
  };
}

/** Names and values in turn (draft-ietf-httpapi-ratelimit-headers). */
function rateHeaders(app: App, { remaining, resetSeconds }: Admission): [string, string, string, string] {
  return [
    'ratelimit-policy',
    `"default";q=${app.settings.rateLimit};w=${limits.rateWindowMs / 1000}`,
    'ratelimit',
    `"default";r=${remaining};t=${resetSeconds}`,
  ];
}

function logAnswer(
  app: App,
  startedMs: number,
  requestId: string,
  action: string,
  status: number,
  caller: Admission | null,
): void {
  const failed = status >= 500;
  if (failed || app.settings.log === 'all')
    app.log[failed ? 'error' : 'info']('request', {
      request_id: requestId,
      action,
      status,
      key: caller?.keyId,
      ms: Math.round((app.clock.monotonicMs() - startedMs) * 100) / 100,
    });
}

/**
 * A request's target as routes and handlers read it. A proxy's absolute form is the same request (RFC 9112, 3.2.2), and
 * so are letters, digits and - . _ ~ in percent-encoding (RFC 3986, 6.2.2.2). Broken percent-encoding in a path becomes
 * text that names nothing, so that such a request takes the ordinary way: credentials, rate limit and audit come before
 * its 404.
 */
function plainTarget(target: string): string {
  const url = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*\/?/i, '/');
  if (!url.includes('%')) return url;
  const question = url.indexOf('?');
  const path = question < 0 ? url : url.slice(0, question);
  const query = url.slice(path.length);
  try {
    decodeURIComponent(path);
    return (
      path.replace(/%[2-7][0-9a-f]/gi, (code) =>
        /[\w.~-]/.test(decodeURIComponent(code)) ? decodeURIComponent(code) : code,
      ) + query
    );
  } catch {
    return path.replaceAll('%', '%25') + query;
  }
}

/** Stands for a body of another media type than JSON. */
const unsupported = Symbol('unsupported media type');

function registerApi(
  app: App,
  api: FastifyInstance,
  admit: Admit,
  admissions: Admissions,
  audit: Audit,
  reads: RepeatedReads,
): void {
  const sets = new SetCache();
  const failed = new FailedAttempts(app.clock);

  api.addHook('onRequest', async (request, reply) => {
    request.action = request.routeOptions.config.action ?? `${request.method} (no route)`;
    const caller = await (admissions.get(request.raw) ?? admit({ ...credentialsOf(request.headers), read: null }));
    if (caller === null) {
      const wait = failed.count(request.socket.remoteAddress ?? '');
      if (wait > 0) throw new ApiError('rate_limited', undefined, { 'retry-after': String(wait) });
      throw new ApiError('invalid_credentials', undefined, { 'www-authenticate': 'AccessKey realm="api"' });
    }
    request.caller = caller;
    const [policyName, policy, remainingName, remaining] = rateHeaders(app, caller);
    reply.header(policyName, policy).header(remainingName, remaining);
    if (!caller.granted) throw new ApiError('rate_limited', undefined, { 'retry-after': String(caller.resetSeconds) });
    // Before the body is read: what names nothing is told so, whatever was sent to it.
    if (request.is404) throw noRoute(request.raw.url ?? '');
  });

  // Answered means audited: no byte of the reply leaves before its row is committed.
  api.addHook('onSend', async (request, reply, payload) => {
    if (reply.statusCode === 503) return payload;
    try {
      await audit({
        organisationId: request.caller?.organisationId ?? 0,
        atMs: app.clock.nowMs(),
        requestId: request.id,
        actor: request.caller?.keyId ?? '-',
        action: request.action,
        resource: request.resource,
        status: reply.statusCode,
      });
      return payload;
    } catch (error) {
      app.log.error('audit.failed', errorFields(error));
      for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name);
      const unavailable = new ApiError('service_unavailable');
      reply.code(503).headers({ 'content-type': jsonType, 'retry-after': '1' });
      return errorBody(unavailable.code, unavailable.message);
    }
  });

  for (const route of routes) {
    const wildcard = route.path.includes('{ref}');
    const path = wildcard ? route.path.replace('{ref}', '*') : route.path.replace(/\{(\w+)\}/g, ':$1');
    const methods = route.method === 'GET' ? (['GET', 'HEAD'] as const) : [route.method];
    api.route({
      method: [...methods],
      url: path,
      bodyLimit: limits.bodyBytes,
      config: { action: `${route.method} ${route.path}` },
      // A promise returned here would make Fastify watch the end of every reply.
      handler: (request, reply) => {
        handle(app, sets, reads, route, request, reply).catch((error: unknown) => reply.send(error));
      },
    });
  }
  // Without one of its own, what is unknown under the API's base would pass the hooks above by.
  api.setNotFoundHandler((request, reply) => sendError(app, noRoute(request.raw.url ?? ''), request, reply));
}

const patterns = routes.map((route) => ({
  method: route.method,
  pattern: new RegExp(`^${apiBase}${route.path.replace('{ref}', '.+').replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/** 405 where the path has other methods, otherwise 404. */
function noRoute(url: string): ApiError {
  const path = url.split('?', 1)[0]!;
  const methods = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method as string);
  if (methods.length === 0) return new ApiError('not_found');
  if (methods.includes('GET')) methods.push('HEAD');
  return new ApiError('method_not_allowed', undefined, { allow: [...new Set(methods)].sort().join(', ') });
}

const noFields = new Body({});
const noParameters: readonly Parameter[] = [];

async function handle(
  app: App,
  sets: SetCache,
  reads: RepeatedReads,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const caller = request.caller!;
  const url = request.raw.url!;
  const question = url.indexOf('?');
  const path = (question < 0 ? url : url.slice(0, question)).slice(apiBase.length);
  const rawQuery = question < 0 ? '' : url.slice(question + 1);

  if (route.query === undefined || route.query.length === 0) readQuery(rawQuery, noParameters, { paged: false });
  const isPost = route.method === 'POST';
  let fields = noFields;
  let text = '';
  if (route.body !== undefined) {
    if (request.body === unsupported) throw new ApiError('unsupported_media_type');
    if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
      throw new ApiError('unsupported_media_type', 'The body must be sent without a Content-Encoding.');
    const bytes = request.body instanceof Buffer ? request.body : Buffer.alloc(0);
    text = bytes.toString('utf8');
    if (text.includes('\uFFFD') && !Buffer.from(text).equals(bytes))
      throw new ApiError('invalid_json', 'The body must be encoded in UTF-8.');
    fields = new Body(readJsonObject(text));
  }
  const kept = isPost ? await startIdempotent(app, request, caller, `${path}\n${text}`) : null;
  if (kept !== null && 'status' in kept) {
    send(reply, request, { ...kept, headers: { ...kept.headers, 'idempotency-replayed': 'true' } });
    return;
  }

  const claim = kept as Claim | null;
  const call: Call = {
    app,
    sets,
    caller,
    params: pathParams(route, path),
    rawQuery,
    path: route.path.includes('{') ? path : route.path,
    body: fields,
    ifNoneMatch: request.headers['if-none-match'],
    range: request.method === 'GET' ? request.headers.range : undefined,
    ifRange: request.headers['if-range'] as string | undefined,
    change: changer(app, claim === null ? null : (work, outcome) => claim.keep(work.tx, outcome)),
  };
  try {
    const answer = await route.handle(call);
    if (answer.repeatable === true) {
      const { status, headers, body, resource } = answer;
      reads.keep(request.raw, {
        organisationId: caller.organisationId,
        position: caller.feedPosition,
        action: request.action,
        resource: resource ?? null,
        status,
        body: body as Buffer | null,
        headers: Object.entries({
          ...headers,
          ...(body === null ? {} : { 'content-length': String(body.length) }),
        }).flat(),
      });
    }
    send(reply, request, answer);
  } catch (error) {
    if (claim !== null) await settle(app, claim, error);
    throw error;
  }
}

/** A refusal is the first reply too, and is kept; a fault of ours is not, so that the request can be repeated. */
async function settle(app: App, claim: Claim, error: unknown): Promise<void> {
  try {
    if (error instanceof ApiError)
      await claim.keep(app.db, {
        status: error.status,
        body: errorBody(error.code, error.message),
        headers: error.headers,
      });
    else await claim.release();
  } catch (failure) {
    app.log.error('idempotency.unsettled', errorFields(failure));
  }
}

async function startIdempotent(
  app: App,
  request: FastifyRequest,
  caller: Admission,
  requestText: string,
): Promise<KeptReply | Claim | null> {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (
    typeof key !== 'string' ||
    key.length > limits.idempotencyKeyChars ||
    !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key) ||
    holdsNationalInsuranceNumber(key)
  )
    throw new ApiError('invalid_idempotency_key');
  return claimKey(app, caller.organisationId, key, requestText);
}

/** Parameters out of the raw path, decoded once; broken percent-encoding names nothing. */
function pathParams(route: Route, path: string): Record<string, string> {
  const found = /\{(\w+)\}/.exec(route.path);
  if (found === null) return {};
  const before = route.path.slice(0, found.index);
  const after = route.path.slice(found.index + found[0].length);
  const raw = path.slice(before.length, after === '' ? undefined : -after.length);
  try {
    return { [found[1]!]: decodeURIComponent(raw) };
  } catch {
    throw new ApiError('not_found');
  }
}

function send(reply: FastifyReply, request: FastifyRequest, answer: Reply): void {
  if (answer.resource !== undefined) request.resource = answer.resource;
  reply.code(answer.status);
  if (answer.headers !== undefined) reply.headers(answer.headers);
  if (typeof answer.body === 'string') reply.header('content-type', jsonType);
  if (request.method === 'HEAD' && answer.body !== null) {
    reply.header('content-length', Buffer.byteLength(answer.body));
    reply.send();
    return;
  }
  reply.send(answer.body ?? undefined);
}

type Failure = Error & { statusCode?: number; code?: string };

/** Whatever went wrong, in the one error shape. Nothing of the error's own text goes out unless we wrote it. */
function sendError(app: App, error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const answer = asApiError(app, error as Failure, request);
  reply.code(answer.status).headers({ ...answer.headers, 'content-type': jsonType });
  if (answer.status === 401 || answer.status >= 500) reply.header('cache-control', 'no-store');
  return reply.send(request.method === 'HEAD' ? undefined : errorBody(answer.code, answer.message));
}

function asApiError(app: App, error: Failure, request: FastifyRequest): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DatabaseUnavailable) {
    app.log.error('database.unavailable', { request_id: request.id, code: error.code });
    return new ApiError('service_unavailable', undefined, { 'retry-after': '1' });
  }
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new ApiError('payload_too_large', `The body may have at most ${limits.bodyBytes} bytes.`);
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' || error.statusCode === 415)
    return new ApiError('unsupported_media_type');
  if (error.code === 'FST_ERR_BAD_URL') return new ApiError('not_found');
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return new ApiError('bad_request');
  app.log.error('request.failed', { request_id: request.id, action: request.action, ...errorFields(error) });
  return new ApiError('internal_error');
}

/** HTTP that couldn't be read as a request: the one error shape, then the connection ends. */
function refuseConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const refusal = new ApiError(
    'bad_request',
    error.code === 'HPE_HEADER_OVERFLOW' ? "The request's headers are too large." : undefined,
  );
  const body = errorBody(refusal.code, refusal.message);
  socket.end(
    `HTTP/1.1 400 Bad Request\r\nContent-Type: ${jsonType}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
