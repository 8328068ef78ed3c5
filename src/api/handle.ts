import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../platform/app.ts';
import { auditInside } from '../platform/audit/audit.ts';
import { feedQueue, withUnitOfWork } from '../platform/db/unit-of-work.ts';
import { ApiError, errorBody, helpLink } from '../platform/errors/errors.ts';
import type { SetCache } from '../feed/group-sets.ts';
import { encoded } from './http/coding.ts';
import { readJsonObject } from './http/body.ts';
import { readQuery } from './http/query.ts';
import { type Call, type KeptReply, type Reply, type Route, jsonType } from './http/route.ts';
import type { Recorded } from '../platform/audit/log.ts';
import { isKeyGood } from '../integrations/access-keys/keys.ts';
import { limits } from '../platform/config/limits.ts';
import { errorFields } from '../platform/observability/log.ts';
import { holdsNationalInsuranceNumber } from '../platform/validation/personal-data.ts';
import { apiBase } from '../platform/config/settings.ts';
import { invalidCredentials } from './admission.ts';
import { type Claim, claimKey } from './idempotency.ts';
import { routes } from './route-table.ts';
import { payloadSamples, responseVersion } from './response-version.ts';
import type { ConditionalReadCache } from './conditional-read-cache.ts';

/** Replaces the body of a request whose media type is not JSON. */
export const unsupported = Symbol('unsupported media type');

const currentVersion = responseVersion(routes, payloadSamples());

/** `stopping` is aborted when the service stops. */
export type Handling = { app: App; sets: SetCache; cache: ConditionalReadCache; stopping: AbortSignal };

export async function handle(
  handling: Handling,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  // 1. Parse path, query and body.
  const { text, ...parsed } = parse(route, request);

  // 2. Find the response that is kept under the Idempotency-Key, or claim the key.
  const kept = route.method === 'POST' ? await keptOrClaim(handling.app, request, `${parsed.path}\n${text}`) : null;
  if (kept !== null && 'status' in kept) {
    if (kept.status >= 400) request.code = (JSON.parse(kept.body) as { error: { code: string } }).error.code;
    const help = kept.status >= 400 ? helpLink(handling.app.settings.baseUrl, request.code) : {};
    send(reply, request, { ...kept, headers: { ...kept.headers, ...help, 'idempotency-replayed': 'true' } });
    return;
  }

  // 3. Run the route.
  const answer = await run(handling, route, request, reply, parsed, kept);

  // 4. Cache a read that the next poll may repeat.
  if (answer.repeatable === true) remember(handling.cache, request, answer);

  // 5. Send.
  send(reply, request, await encoded(answer, request.headers['accept-encoding'] as string | undefined));
}

type Parsed = Pick<Call, 'params' | 'rawQuery' | 'query' | 'path' | 'body'>;

function parse(route: Route, request: FastifyRequest): Parsed & { text: string } {
  const [rawPath = '', ...rest] = request.raw.url!.split('?');
  const rawQuery = rest.join('?');
  const query = readQuery(rawQuery, route.query ?? noParameters, { paged: route.paged === true });
  const params = pathParams(route, rawPath.slice(apiBase.length));
  const path = route.path.replace(/\{(\w+)\}/, (_all, name: string) => encodeURIComponent(params[name]!));
  const text = route.body === undefined ? '' : bodyText(request);
  return { params, rawQuery, query, path, text, body: route.body === undefined ? noFields : readJsonObject(text) };
}

const noParameters: NonNullable<Route['query']> = [];
const noFields: Record<string, unknown> = {};

/**
 * Decodes the path parameter and converts UUIDs to lower case.
 * @throws ApiError not_found for broken percent-encoding
 */
function pathParams(route: Route, path: string): Record<string, string> {
  const found = /\{(\w+)\}/.exec(route.path);
  if (found === null) return {};
  const name = found[1]!;
  const after = route.path.length - found.index - found[0].length;
  const isId = route.params?.[name]?.schema.format === 'uuid';
  try {
    const text = decodeURIComponent(path.slice(found.index, path.length - after));
    return { [name]: isId ? text.toLowerCase() : text };
  } catch {
    throw new ApiError('not_found');
  }
}

function bodyText(request: FastifyRequest): string {
  if (request.body === unsupported) throw new ApiError('unsupported_media_type');
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
    throw new ApiError('unsupported_media_type', 'The body has a Content-Encoding. Send it without compression.');
  const bytes = request.body instanceof Buffer ? request.body : Buffer.alloc(0);
  const text = bytes.toString('utf8');
  if (text.includes('\uFFFD') && !Buffer.from(text).equals(bytes))
    throw new ApiError('invalid_json', 'The body is not encoded in UTF-8. Send it in UTF-8.');
  return text;
}

async function keptOrClaim(app: App, request: FastifyRequest, requestText: string): Promise<KeptReply | Claim | null> {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return null;
  if (
    typeof key !== 'string' ||
    key.length > limits.idempotencyKeyChars ||
    !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key) ||
    holdsNationalInsuranceNumber(key)
  )
    throw new ApiError('invalid_idempotency_key');
  return claimKey(app, request.caller!.organisationId, key, requestText);
}

async function run(
  { app, sets, stopping }: Handling,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  parsed: Parsed,
  claim: Claim | null,
): Promise<Reply> {
  try {
    return await route.handle({
      ...parsed,
      app,
      sets,
      caller: request.caller!,
      responseVersion: currentVersion,
      ifNoneMatch: request.headers['if-none-match'],
      range: request.method === 'GET' ? request.headers.range : undefined,
      ifRange: request.headers['if-range'] as string | undefined,
      get over() {
        return AbortSignal.any([stopping, closedOf(reply)]);
      },
      change: changing(app, request, reply, claim),
    });
  } catch (error) {
    if (claim !== null) await settle(app, claim, error);
    throw error;
  }
}

/**
 * Commits a change, its response under the Idempotency-Key and its audit row in one transaction. If one of them fails,
 * nothing is changed, so the client can repeat the call.
 */
function changing(app: App, request: FastifyRequest, reply: FastifyReply, claim: Claim | null): Call['change'] {
  const { organisationId, keyId } = request.caller!;
  return async (inside) => {
    const made = await withUnitOfWork(
      app,
      feedQueue(organisationId),
      async (work) => {
        // The key may end while the body is read or the change waits in the write queue.
        const isOld = app.clock.monotonicMs() - request.startedMs >= limits.admittedMs;
        if (isOld && !(await isKeyGood(work.tx, organisationId, keyId, work.nowMs))) throw invalidCredentials();
        const answer = await inside(work);
        const { status, body, headers = {}, resource, recorded = null } = answer;
        work.beforeCommit(async () => {
          await claim?.keep(work.tx, { status, body: String(body), headers, resource });
          const bytes = body === null ? 0 : Buffer.byteLength(body);
          await auditInside(work.tx, {
            organisationId,
            atMs: app.clock.nowMs(),
            requestId: request.id,
            actor: keyId,
            action: request.action,
            resource: resource ?? null,
            status,
            detail: detailOf(app, request.startedMs, { recorded, code: '', bytes }),
          });
        });
        return answer;
      },
      closedOf(reply),
    );
    request.committed = made.status;
    return made;
  };
}

/** The JSON text in the `detail` column of an audit row. */
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

/** A signal that is aborted when the response has been sent or its connection has closed. */
function closedOf(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  if (reply.raw.destroyed) closed.abort();
  reply.raw.once('close', () => closed.abort());
  return closed.signal;
}

/** A call that was refused like this may succeed later, for example when credits are bought (docs/decisions/0004). */
const passing = [401, 402, 409];
const passingCodes: string[] = ['group_autocreate_disabled'];

/**
 * Stores a final refusal as the response under the Idempotency-Key. Any other error releases the key, so that the
 * client can try again.
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

function remember(cache: ConditionalReadCache, request: FastifyRequest, answer: Reply): void {
  const { status, headers, resource = null, recorded } = answer;
  const body = answer.body as Buffer | null;
  const size = body === null ? {} : { 'content-length': String(body.length) };
  const { organisationId, feed } = request.caller!;
  cache.keep(request.raw, {
    organisationId,
    feed,
    action: request.action,
    resource,
    status,
    detail: JSON.stringify({ ...recorded, bytes: body?.length }),
    body,
    headers: Object.entries({ ...headers, ...size }).flat(),
  });
}

function send(reply: FastifyReply, request: FastifyRequest, answer: Reply): void {
  const isHead = request.method === 'HEAD';
  if (answer.resource !== undefined) request.resource = answer.resource;
  if (answer.recorded !== undefined) request.recorded = answer.recorded;
  reply.code(answer.status);
  if (answer.headers !== undefined) reply.headers(answer.headers);
  if (answer.body !== null && reply.getHeader('content-type') === undefined) reply.header('content-type', jsonType);
  if (isHead && answer.body !== null) reply.header('content-length', Buffer.byteLength(answer.body));
  if (isHead) answer.stream?.destroy();
  reply.send(isHead ? undefined : (answer.stream ?? answer.body ?? undefined));
}
