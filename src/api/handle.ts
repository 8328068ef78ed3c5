import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../platform/app.ts';
import { auditInside } from '../platform/audit/audit.ts';
import { ApiError, errorBody } from '../platform/errors/errors.ts';
import type { SetCache } from '../feed/group-sets.ts';
import { encoded } from './http/coding.ts';
import { readJsonObject } from './http/json.ts';
import type { Parameter } from './http/query.ts';
import { readQuery } from './http/query.ts';
import type { Call, KeptReply, Reply, Route } from './http/route.ts';
import type { Recorded } from '../platform/audit/log.ts';
import { changer, jsonType } from './http/route.ts';
import { isKeyGood } from '../integrations/access-keys/keys.ts';
import { limits } from '../platform/config/limits.ts';
import { errorFields } from '../platform/observability/log.ts';
import { holdsNationalInsuranceNumber } from '../platform/validation/personal-data.ts';
import { apiBase } from '../platform/config/settings.ts';
import type { Admission } from './admission.ts';
import { notLetIn } from './admission.ts';
import type { Claim } from './idempotency.ts';
import { claimKey } from './idempotency.ts';
import { routes } from './route-table.ts';
import { shapeVersion, splicedSamples } from './shape-version.ts';
import type { RepeatedReads } from './conditional-read-cache.ts';

/** Stands for a body of another media type than JSON. */
export const unsupported = Symbol('unsupported media type');

/** Of everything that reads answer. */
export const shapes = shapeVersion(routes, splicedSamples());
const noFields: Record<string, unknown> = {};
const noParameters: readonly Parameter[] = [];

export async function handle(
  app: App,
  sets: SetCache,
  reads: RepeatedReads,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  stopping: AbortSignal,
): Promise<void> {
  const caller = request.caller!;
  const url = request.raw.url!;
  const question = url.indexOf('?');
  const path = (question < 0 ? url : url.slice(0, question)).slice(apiBase.length);
  const rawQuery = question < 0 ? '' : url.slice(question + 1);

  if (route.query === undefined || route.query.length === 0) readQuery(rawQuery, noParameters, { paged: false });
  const params = pathParams(route, path);
  const canonical = route.path.replace(/\{(\w+)\}/, (_all, name: string) => encodeURIComponent(params[name]!));
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
    fields = readJsonObject(text);
  }
  const kept = isPost ? await startIdempotent(app, request, caller, `${canonical}\n${text}`) : null;
  if (kept !== null && 'status' in kept) {
    request.resource = kept.resource ?? null;
    if (kept.status >= 400) request.code = (JSON.parse(kept.body) as { error: { code: string } }).error.code;
    send(reply, request, { ...kept, headers: { ...kept.headers, 'idempotency-replayed': 'true' } });
    return;
  }

  const claim = kept as Claim | null;
  const call: Call = {
    app,
    sets,
    caller,
    shapeVersion: shapes,
    params,
    rawQuery,
    path: canonical,
    body: fields,
    ifNoneMatch: request.headers['if-none-match'],
    range: request.method === 'GET' ? request.headers.range : undefined,
    ifRange: request.headers['if-range'] as string | undefined,
    get over() {
      return AbortSignal.any([stopping, closedOf(reply)]);
    },
    change: changing(app, caller, route, request, reply, claim),
  };
  try {
    const answer = await route.handle(call);
    if (answer.repeatable === true) {
      const { status, headers, body, resource, recorded } = answer;
      reads.keep(request.raw, {
        organisationId: caller.organisationId,
        feed: caller.feed,
        action: request.action,
        resource: resource ?? null,
        status,
        detail: JSON.stringify(body === null ? (recorded ?? {}) : { ...recorded, bytes: body.length }),
        body: body as Buffer | null,
        headers: Object.entries({
          ...headers,
          ...(body === null ? {} : { 'content-length': String(body.length) }),
        }).flat(),
      });
    }
    send(reply, request, await encoded(answer, request.headers['accept-encoding'] as string | undefined));
  } catch (error) {
    if (claim !== null) await settle(app, claim, error);
    throw error;
  }
}

/**
 * A change, its reply kept under the Idempotency-Key and its row of the audit log are one transaction: whoever is told
 * to repeat a call finds nothing done, and nothing is done that the log doesn't name.
 */
function changing(
  app: App,
  caller: Admission,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  claim: Claim | null,
): Call['change'] {
  const change = changer(app, caller.organisationId, {
    left: route.method === 'GET' ? undefined : leftOf(reply),
    stands: async (work) => {
      if (app.clock.monotonicMs() - request.startedMs < limits.admittedMs) return;
      if (!(await isKeyGood(work.tx, caller.organisationId, caller.keyId, work.nowMs))) throw notLetIn();
    },
    keep: async (work, { status, body, headers = {}, resource = null, recorded }) => {
      await claim?.keep(work.tx, { status, body: String(body), headers, ...(resource === null ? {} : { resource }) });
      const bytes = body === null ? 0 : Buffer.byteLength(body);
      await auditInside(work.tx, {
        organisationId: caller.organisationId,
        atMs: app.clock.nowMs(),
        requestId: request.id,
        actor: caller.keyId,
        action: request.action,
        resource,
        status,
        detail: detailOf(app, request.startedMs, { recorded: recorded ?? null, code: '', bytes }),
      });
    },
  });
  return async (inside) => {
    const made = await change(inside);
    request.committed = made.status;
    return made;
  };
}

/** What the audit log keeps of a call beside its columns. */
export function detailOf(
  app: App,
  startedMs: number,
  { recorded, code, bytes }: { recorded: Recorded | null; code: string; bytes: number },
): string {
  return JSON.stringify({
    ...recorded,
    ...(code === '' ? {} : { code }),
    ...(bytes === 0 ? {} : { bytes }),
    ms: Math.round(app.clock.monotonicMs() - startedMs),
  });
}

/** Aborted once the reply is sent, or its connection has closed before. */
function closedOf(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  if (reply.raw.destroyed) closed.abort();
  reply.raw.once('close', () => closed.abort());
  return closed.signal;
}

/** Aborted once the connection has closed before the reply was sent. */
function leftOf(reply: FastifyReply): AbortSignal {
  const left = new AbortController();
  if (reply.raw.destroyed) left.abort();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) left.abort();
  });
  return left.signal;
}

/**
 * What can pass without any change of the request: an organisation is no longer suspended, credits are bought, a group
 * is archived or made, the other request ends (docs/decisions/0004).
 */
const passing = [401, 402, 409];
const passingCodes: string[] = ['group_autocreate_disabled'];

/**
 * A refusal is the first response too, and is kept. What can pass is not kept, and neither is any 5xx, so that the
 * client can repeat the request under its key.
 */
async function settle(app: App, claim: Claim, error: unknown): Promise<void> {
  try {
    const isFinal =
      error instanceof ApiError &&
      error.status < 500 &&
      !passing.includes(error.status) &&
      !passingCodes.includes(error.code);
    if (isFinal)
      await claim.keep(app.db, {
        status: error.status,
        body: errorBody(error.code, error.message),
        headers: { ...error.headers, 'cache-control': 'no-store' },
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

/**
 * Parameters out of the raw path, decoded once; ids in lower case, as they are shown. Broken percent-encoding names
 * nothing.
 */
function pathParams(route: Route, path: string): Record<string, string> {
  const found = /\{(\w+)\}/.exec(route.path);
  if (found === null) return {};
  const before = route.path.slice(0, found.index);
  const after = route.path.slice(found.index + found[0].length);
  const raw = path.slice(before.length, after === '' ? undefined : -after.length);
  const name = found[1]!;
  const isId = route.params?.[name]?.schema.format === 'uuid';
  try {
    const text = decodeURIComponent(raw);
    return { [name]: isId ? text.toLowerCase() : text };
  } catch {
    throw new ApiError('not_found');
  }
}

function send(reply: FastifyReply, request: FastifyRequest, answer: Reply): void {
  if (answer.resource !== undefined) request.resource = answer.resource;
  if (answer.recorded !== undefined) request.recorded = answer.recorded;
  reply.code(answer.status);
  if (answer.headers !== undefined) reply.headers(answer.headers);
  if (answer.body !== null && reply.getHeader('content-type') === undefined) reply.header('content-type', jsonType);
  if (answer.stream !== undefined) {
    if (request.method === 'HEAD') answer.stream.destroy();
    reply.send(request.method === 'HEAD' ? undefined : answer.stream);
    return;
  }
  if (request.method === 'HEAD' && answer.body !== null) {
    reply.header('content-length', Buffer.byteLength(answer.body));
    reply.send();
    return;
  }
  reply.send(answer.body ?? undefined);
}
