import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { callerAddress } from '../../api/caller-address.ts';
import type { App } from '../../platform/app.ts';
import { DatabaseUnavailable } from '../../platform/db/connection/unavailable.ts';
import { WriteQueueRefusal } from '../../platform/db/write-queue.ts';
import { type UnitOfWork, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { UnderHold } from '../../governance/legal-holds/holds.ts';
import { compressed } from '../../api/http/coding.ts';
import { readFields } from '../../api/http/form-fields.ts';
import { limits } from '../../platform/config/limits.ts';
import { auditInside } from '../../platform/audit/audit.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { errorFields } from '../../platform/observability/log.ts';
import { html } from '../../platform/html/html.ts';
import { registerAssets } from '../../platform/html/assets.ts';
import { PasswordsBusy } from '../../organisations/users/password.ts';
import { needsSecondFactor } from '../../organisations/users/roles.ts';
import { useMembership } from '../../organisations/users/members.ts';
import type { Session } from '../../organisations/users/sessions.ts';
import {
  type SessionOwner,
  clientName,
  findSession,
  findSessionOwner,
  touchSession,
} from '../../organisations/users/sessions.ts';
import { safeAddress, wantedPage } from './kit/browser.ts';
import { maxKeptBytes, openForm, pageAt, sealForm } from './sign-in/kept-form.ts';
import { type Frame, consoleScript, consoleStyle, documentOf, noFrame, pageHeaders } from './kit/frame.ts';
import type { Answer, ConsoleRoute, OpenVisit, Visit, Resource } from './kit/route.ts';
import { act, actionOf, addressOf, isFor, NoSuchPage, statusOf } from './kit/route.ts';
import { noteWhatIsShown } from './learners/access-log.ts';
import { menuFor, pagesFor } from './menu.ts';
import { consoleRoutes } from './routes.ts';
import { messagePage } from './kit/page.ts';
import { Form } from '../../api/http/form.ts';
import {
  comesFromUs,
  cookieHeader,
  cookieName,
  isSafeOrigin,
  isUnprompted,
  readCookie,
} from '../../api/http/browser.ts';

const touchMs = 60_000;

const keptPaths = ['/console/sign-in', '/console/sign-in/code', '/console/confirm'];

export function registerConsole(app: App, fastify: FastifyInstance): void {
  registerAssets(fastify, [consoleStyle, consoleScript]);
  void fastify.register(
    async (pages) => {
      // Forms arrive unparsed. The handler parses a form after it has checked the sender (see Form.read).
      pages.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
        done(null, body),
      );
      pages.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, (_request, body, done) =>
        done(null, body),
      );
      pages.addHook('onRequest', async (request) => {
        // The log contains the route's pattern in place of the URL, because the token of an invitation is a secret.
        request.action = `${request.method} ${(request.routeOptions.url ?? '/console').replace(/:(\w+)/g, '{$1}')}`;
      });
      pages.addHook('onSend', (request, reply, payload) => smaller(request, reply, payload));
      pages.setErrorHandler((error, request, reply) => failure(app, error as Failure, request, reply));
      pages.setNotFoundHandler((_request, reply) => send(app, reply, notFound, noFrame));
      for (const route of consoleRoutes)
        pages.route({
          method: route.method === 'GET' ? ['GET', 'HEAD'] : ['POST'],
          url: addressOf(route)
            .replace(/^\/console/, '')
            .replace(/\{(\w+)\}/g, ':$1'),
          bodyLimit: route.for === 'anyone' ? limits.publicFormBytes : (route.upload ?? limits.formBytes),
          // This hook refuses a person without access before the body is read.
          onRequest: (request, reply) => enter(app, route, request, reply),
          handler: (request, reply) => answer(app, route, request, reply),
        });
    },
    { prefix: '/console' },
  );
}

/** Compresses a page, unless another site asked for it: the compressed length could betray the content (BREACH). */
async function smaller(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  const isPage = request.method !== 'POST' && reply.statusCode === 200 && typeof payload === 'string';
  if (!isUnprompted(request.headers) || !isPage) return payload;
  const found = await compressed(payload, request.headers['accept-encoding']);
  if (found === null) return payload;
  reply.headers({ 'content-encoding': found.coding, vary: 'Accept-Encoding, Sec-Fetch-Site' });
  reply.removeHeader('content-length');
  return found.bytes;
}

/** An unknown page, a page of another organisation and a page for other roles get the same 404. */
const notFound: Answer = {
  status: 404,
  ...messagePage('Page not found', 'There is no such page, or your role can’t open it. Ask an owner or admin.'),
};

const refused = (title: string, text: string): Answer => ({ status: 403, ...messagePage(title, text) });

/** `asks`: the page that comes first, such as sign-in, and can keep a form. `denied`: the person lacks the right. */
type Refused = { answered: Answer; frame: Frame; asks?: string; denied?: boolean };
type Admitted = { frame: Frame; go(form: Form): Answer | Promise<Answer> };
type Entered = { visit: OpenVisit; found: Admitted | Refused };
const entered = new WeakMap<FastifyRequest, Entered>();

/** Reads the session, and refuses a visitor who may not open the page. */
async function enter(app: App, route: ConsoleRoute, request: FastifyRequest, reply: FastifyReply) {
  const { baseUrl } = app.settings;
  const refuse = (answered: Answer, frame = noFrame) => send(app, reply, answered, frame);
  if (!isSafeOrigin(baseUrl))
    return refuse(
      refused('This needs https', 'The console never sends passwords unencrypted. Set ARS_BASE_URL to an https URL.'),
    );
  if (route.method === 'POST' && !comesFromUs(request.headers, baseUrl))
    return refuse(
      refused('This did not come from our pages', 'Nothing was changed. Go back to the page, and send the form again.'),
    );
  const session = await sessionOf(app, request);
  const url = request.raw.url ?? '/';
  const question = url.indexOf('?');
  const path = question < 0 ? url : url.slice(0, question);
  const visit: OpenVisit = {
    app,
    requestId: request.id,
    address: callerAddress(request.raw, app.settings.trustedProxies),
    client: clientName(request.headers['user-agent'] ?? ''),
    path,
    params: { ...(request.params as Record<string, string>) },
    query: readFields(question < 0 ? '' : url.slice(question + 1), limits.queryFields),
    form: new Form(),
    session,
    unprompted: isUnprompted(request.headers),
    sealed: readCookie(request.headers, cookieName(baseUrl, 'errand')),
    device: readCookie(request.headers, cookieName(baseUrl, 'device')),
  };
  // PostgreSQL cannot store the character U+0000, so no record can match.
  if ([...Object.values(visit.params), ...visit.query.values()].some((text) => text.includes('\0')))
    return refuse(notFound);
  const found = admitted(route, visit);
  if ('answered' in found && found.denied === true) await auditDenial(route, visit);
  if ('answered' in found && (await keeperOf(app, found, request, session)) === null)
    return refuse(found.answered, found.frame);
  entered.set(request, { visit, found });
  return undefined;
}

/** The person whose small form is kept during a sign-in; null if the form is not kept. */
async function keeperOf(
  app: App,
  { asks }: Refused,
  { method, headers }: FastifyRequest,
  session: Session | null,
): Promise<SessionOwner | null> {
  const bytes = Number(headers['content-length'] ?? 0);
  if (method !== 'POST' || asks === undefined || !(bytes > 0 && bytes <= maxKeptBytes)) return null;
  const token = readCookie(headers, cookieName(app.settings.baseUrl, 'session'));
  return session ?? (token === null ? null : findSessionOwner(app.db, token));
}

/** The page that asks the person to sign in, with their form sealed in it. */
async function keep(app: App, route: ConsoleRoute, request: FastifyRequest, visit: OpenVisit, found: Refused) {
  const keeper = await keeperOf(app, found, request, visit.session);
  if (keeper === null) return found.answered;
  const kept = sealForm(route, visit, keeper, await Form.read(request.body, request.headers['content-type']));
  if (kept === null || !('to' in found.answered)) return found.answered;
  const query = new URLSearchParams(found.answered.to.split('?')[1] ?? '');
  const page = await askWithForm({ ...visit, query }, found.asks!, kept);
  return { ...page, status: 401, says: 'The form keeps your entries. Passwords and files are left out.' };
}

function askWithForm(visit: OpenVisit, asks: string, kept: string): Answer | Promise<Answer> {
  const form = Form.of([
    ['to', wantedPage(visit)],
    ['kept', kept],
  ]);
  const found = admitted(pageAt(asks)!, { ...visit, path: asks });
  return 'answered' in found ? found.answered : found.go(form);
}

/** After a sign-in: the page with the kept form, filled again. The form is not sent. */
async function refill(app: App, visit: OpenVisit, kept: string, token: string) {
  const session = (await findSession(app.db, token, app.clock.nowMs())) ?? null;
  if (session === null) return null;
  if (session.stage === 'code') {
    const page = await askWithForm({ ...visit, session }, '/console/sign-in/code', kept);
    return { answered: { ...page, token }, frame: noFrame };
  }
  const { page, form, ...at } = openForm(app, session.user_id, kept) ?? { page: null };
  if (page === null) return null;
  const found = admitted(page, { ...visit, ...at, session });
  if ('answered' in found) return null;
  const answered = await found.go(form!);
  if (!('main' in answered)) return null;
  const note = html`<div class="done" role="status"><p>You are signed in. The form has your entries, and nothing was sent. Check them, and send the form again.</p></div>`;
  return { answered: { ...answered, main: [note, answered.main], token }, frame: found.frame };
}

async function sessionOf(app: App, request: FastifyRequest): Promise<Session | null> {
  const token = readCookie(request.headers, cookieName(app.settings.baseUrl, 'session'));
  return token === null ? null : ((await findSession(app.db, token, app.clock.nowMs())) ?? null);
}

async function answer(app: App, route: ConsoleRoute, request: FastifyRequest, reply: FastifyReply) {
  const { visit, found: before } = entered.get(request)!;
  // The body may take a minute to arrive, so the session and the role are checked again.
  const session = route.method === 'POST' ? await sessionOf(app, request) : visit.session;
  const found = route.method === 'POST' ? admitted(route, { ...visit, session }) : before;
  if ('answered' in found) {
    if (found.denied === true) await auditDenial(route, { ...visit, session });
    return send(app, reply, await keep(app, route, request, { ...visit, session }, found), found.frame);
  }
  const { frame, go } = found;
  if (session !== null) await noteUse(app, session, visit.params.organisation);
  try {
    const form = await Form.read(request.body, request.headers['content-type']);
    const answered = await go(form);
    const { token, device, errand, kept = keptPaths.includes(route.path) ? form.raw('kept') : '' } = answered;
    const isKept = kept !== '' && 'to' in answered && typeof token === 'string';
    const filled = isKept ? await refill(app, visit, kept, token) : null;
    if (filled === null) return send(app, reply, answered, frame);
    return send(app, reply, { ...filled.answered, ...{ device, errand } } as Answer, filled.frame);
  } catch (error) {
    // The response has the same bytes as for a page of another organisation, so it does not reveal which IDs exist.
    if (!(error instanceof NoSuchPage)) throw error;
    await auditDenial(route, { ...visit, session });
    return send(app, reply, notFound, noFrame);
  }
}

/** Records the use of the session and the membership, at most once a minute. */
async function noteUse(app: App, session: Session, publicId: string | undefined): Promise<void> {
  const isDue = (ms: number | null) => ms === null || app.clock.nowMs() - ms > touchMs;
  const here = session.stage === 'full' ? session.memberships.find((one) => one.public_id === publicId) : undefined;
  const usesHere = here !== undefined && isDue(here.last_used_ms);
  const isSeen = isDue(session.last_seen_at.getTime());
  if (!usesHere && !isSeen) return;
  await withUnitOfWork(app, null, async (work) => {
    if (isSeen) await touchSession(work, session.session_id);
    if (usesHere) await useMembership(work, here.home_id, session.user_id);
  });
}

/** Decides whether the visitor may open the page, must first sign in or prove their identity, or gets the 404. */
function admitted(route: ConsoleRoute, visit: OpenVisit): Refused | Admitted {
  const { session } = visit;
  if (route.for === 'anyone') return { frame: frameOf(session), go: (sent) => route.handle({ ...visit, form: sent }) };
  const sentTo = (through: string, frame = noFrame) => {
    const asks = keptPaths.includes(through) ? { asks: through } : {};
    return { answered: { to: detour(through, route, visit) }, frame, ...asks };
  };
  if (session === null) return sentTo('/console/sign-in');
  if (session.stage === 'code') return sentTo('/console/sign-in/code');
  const isUnproved = route.proof === true && !isProved(session, visit.app.clock.nowMs());
  if (route.for === 'person') {
    if (route.own === true && session.sso_organisation_id !== null)
      return { answered: notFound, frame: noFrame, denied: true };
    if (isUnproved) return sentTo('/console/confirm', frameOf(session));
    return { frame: frameOf(session), go: (sent) => route.handle({ ...visit, session, form: sent }) };
  }
  const id = visit.params.organisation!.toLowerCase();
  const organisation = session.memberships.find((one) => one.public_id === id);
  if (organisation === undefined || !isFor(route, organisation))
    return { answered: notFound, frame: noFrame, denied: true };
  const isEnough = session.has_second_factor || session.sso_organisation_id !== null;
  if (needsSecondFactor(organisation) && !isEnough) return sentTo('/console/account/second-factor');
  const base = `/console/${organisation.public_id}`;
  const frame: Frame = {
    session,
    organisation,
    menu: menuFor(base, visit.path, organisation),
    search: `${base}/search`,
  };
  if (isUnproved) return sentTo('/console/confirm', frame);
  const { organisation_id: organisationId, time_zone: zone, role } = organisation;
  const { user_id: userId, session_id: sessionId } = session;
  const by = { organisationId, userId, sessionId, action: actionOf(route), requestId: visit.requestId };
  const change: Visit['change'] = <T>(inside: (work: UnitOfWork) => Promise<T>, resource?: Resource<T>) =>
    act(visit.app, by, inside, resource);
  return {
    frame,
    async go(sent) {
      const of = { organisation, organisationId, zone, role, userId, session, base, change };
      const within: Visit = { ...visit, ...of, pages: pagesFor(base, organisation), form: sent };
      const answered = await route.handle(within);
      await noteWhatIsShown(route, within, answered);
      return answered;
    },
  };
}

/**
 * Records that a signed-in person asked for a page without the right to it. The row is in the log of requests without
 * valid credentials (organisation 0), so that only the operator reads it.
 */
async function auditDenial(route: ConsoleRoute, { app, requestId, address, params, session }: OpenVisit) {
  if (session === null) return;
  const { organisation = '' } = params;
  await auditInside(app.db, {
    organisationId: 0,
    atMs: app.clock.nowMs(),
    requestId,
    actor: '-',
    action: actionOf(route),
    resource: null,
    status: 404,
    detail: JSON.stringify({
      code: 'not_allowed',
      user: session.user_id,
      organisation: isUuid(organisation) ? organisation : undefined,
    }),
    address: app.secrets.mac('address', address, 16),
  });
}

/** Whether the person has entered a password or code within the last 10 minutes. */
export const isProved = (session: Session, nowMs: number): boolean =>
  nowMs - session.proved_at.getTime() < limits.stepUpMs;

const frameOf = (session: Session | null): Frame => ({
  session: session?.stage === 'full' ? session : null,
  organisation: null,
  menu: [],
  search: null,
});

/** The URL of the page that must come first, such as sign-in. It leads back to a page, but never sends a form again. */
function detour(through: string, route: ConsoleRoute, { path, query, app }: OpenVisit): string {
  const readable = consoleRoutes.some((one) => one.method === 'GET' && addressOf(one) === addressOf(route));
  const text = query.toString();
  const wanted = readable ? safeAddress(text === '' ? path : `${path}?${text}`, app.settings.baseUrl) : '/console';
  return wanted === '/console' ? through : `${through}?${new URLSearchParams({ to: wanted }).toString()}`;
}

function send(app: App, reply: FastifyReply, answered: Answer, frame: Frame): FastifyReply {
  reply.headers(pageHeaders);
  const { baseUrl } = app.settings;
  const { token, errand, device } = answered;
  const cookies = [
    token !== undefined && cookieHeader(baseUrl, 'session', token),
    errand !== undefined && cookieHeader(baseUrl, 'errand', errand, limits.sessionCodeMs / 1000),
    device !== undefined && cookieHeader(baseUrl, 'device', device, limits.deviceMs / 1000),
  ].filter((cookie) => cookie !== false);
  if (cookies.length > 0) reply.header('set-cookie', cookies);
  if ('to' in answered) return reply.code(303).header('location', answered.to).send('');
  if ('file' in answered) {
    const { type, name, body } = answered.file;
    return reply.headers({ 'content-type': type, 'content-disposition': `attachment; filename="${name}"` }).send(body);
  }
  return reply
    .code(statusOf(answered))
    .headers(answered.headers ?? {})
    .send(documentOf(answered, frame));
}

type Failure = Error & { statusCode?: number; status?: number; headers?: Record<string, string> };

function failure(app: App, error: Failure, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const say = (status: number, title: string, text: string) =>
    send(app, reply, { status, ...messagePage(title, text) }, noFrame);
  // Another person may delete the record between the page and its form.
  const isGone = error instanceof ApiError && error.code === 'not_found';
  if (error instanceof NoSuchPage || isGone) return send(app, reply, notFound, noFrame);
  if (error instanceof DatabaseUnavailable || error instanceof WriteQueueRefusal || error instanceof PasswordsBusy) {
    const why =
      error instanceof WriteQueueRefusal ? error.why : error instanceof DatabaseUnavailable ? error.code : 'passwords';
    app.log.error('console.unavailable', { request_id: request.id, why });
    reply.header('retry-after', '10');
    // If the connection breaks during a commit, the service cannot know whether the change was made.
    const says =
      error instanceof DatabaseUnavailable && request.method === 'POST'
        ? 'The database could not be reached. Check first whether your change was saved.'
        : 'Nothing was changed.';
    return say(503, 'Please try again in a minute', says);
  }
  // Many pages delete data, so the refusal by a legal hold is handled here for all of them.
  if (error instanceof UnderHold) return say(409, 'A legal hold is in force', error.message);
  const status = error.status ?? error.statusCode ?? 500;
  if (status === 429) {
    reply.headers(error.headers ?? {});
    return say(429, 'Too many requests', 'Wait for a minute, and try again.');
  }
  if (status === 413) {
    const kb = (request.routeOptions.bodyLimit ?? limits.publicFormBytes) / 1024;
    const max = kb < 1024 ? `${kb} KB` : `${kb / 1024} MB`;
    const why = error instanceof ApiError ? error.message : `A form may have at most ${max}.`;
    return say(413, 'The form is too large', `${why} Nothing was changed. Go back, and send the data in parts.`);
  }
  if (status >= 400 && status < 500) return say(status, 'We could not read the form', 'Go back, and try again.');
  app.log.error('request.failed', { request_id: request.id, action: request.action, ...errorFields(error) });
  return say(500, 'Something went wrong', 'The fault is ours. Go back, and check whether your change was saved.');
}
