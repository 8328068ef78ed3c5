import type { Readable } from 'node:stream';
import type { App } from '../../../platform/app.ts';
import { auditRequest } from '../../../platform/audit/act.ts';
import { type UnitOfWork, feedQueue, withUnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { errorFields } from '../../../platform/observability/log.ts';
import type { Role } from '../../../organisations/users/roles.ts';
import { type Membership, type Session, holdSession } from '../../../organisations/users/sessions.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import type { Faults } from './form.ts';
import type { Page } from './frame.ts';
import type { Form } from '../../../api/http/form.ts';

/** A page, a file, or a redirect with status 303, so that reloading the next page does not send the form again. */
export type Answer = (
  | (Page & { status?: number | undefined; headers?: Record<string, string> })
  | { to: string }
  | { file: { type: string; name: string; body: string | Buffer | Readable } }
) & {
  /** The new session token; null ends the session. */
  token?: string | null;
  /** The learner or result that the page shows, for the access log, if the URL does not name the record. */
  about?: { of: 'learner' | 'result'; id: string };
  /** The sealed state of a sign-in at an identity provider, for its cookie; null deletes the cookie. */
  errand?: string | null;
  /** The sealed form that the person gets again after the sign-in (kept-form.ts). */
  kept?: string | undefined;
  /** The sealed cookie of a browser in which the person has signed in. */
  device?: string;
};

/** What a form answers. With faults, its page is shown again. */
type Sent = Answer | { again: Faults };
export const again = (faults: Faults = {}) => ({ again: faults });

/** The status of a page: by default 422 if it has faults, otherwise 200. */
export const statusOf = ({ status, faults = {} }: Pick<Extract<Answer, Page>, 'status' | 'faults'>): number =>
  status ?? (Object.keys(faults).length === 0 ? 200 : 422);

export type OpenVisit = {
  app: App;
  requestId: string;
  address: string;
  client: string;
  path: string;
  params: Record<string, string>;
  query: URLSearchParams;
  form: Form;
  /** The faults of the form that was sent, when its page is shown again. */
  faults?: Faults;
  session: Session | null;
  /** False if another site led here (see isUnprompted). */
  unprompted: boolean;
  /** The sealed state of a sign-in at an identity provider, from its cookie. */
  sealed: string | null;
  device: string | null;
};

export type PersonVisit = OpenVisit & { session: Session };

export type Visit = PersonVisit & {
  organisation: Membership;
  organisationId: number;
  zone: string;
  role: Role;
  userId: string;
  /** `/console/ID` */
  base: string;
  /** The pages that the person may open and find by name. */
  pages: readonly { to: string; label: string }[];
  /**
   * Changes data and writes the audit row in one transaction. No row is written if the function returns null or false.
   * `resource` names what was changed; as a function it decides whether a row is written.
   */
  change<T>(inside: (work: UnitOfWork) => Promise<T>, resource: Resource<T>): Promise<T>;
  /** Without `resource`, the result of the function is the ID of what was changed. */
  change<T extends string | null | false>(inside: (work: UnitOfWork) => Promise<T>): Promise<T>;
};

/** The ID of the changed record, or a function that returns the ID for a result. A void result needs a function. */
export type Resource<T> = ((result: T) => string | null | false | undefined) | ([T] extends [void] ? never : string);

export type Section = 'day' | 'integration' | 'organisation';

/** `upload`: the maximum size in bytes of a form that contains a file or a pasted table. */
type Handled<V> = { method: 'GET' | 'POST'; path: string; upload?: number; handle(visit: V): Answer | Promise<Answer> };

/**
 * A row of the table of pages. `for`: who may open the page; pages for roles are under `/console/ID`. `proof`: the
 * person must have given a password or code within the last 10 minutes. `menu`, `section`: the entry in the menu.
 * `live`: sandboxes do not have the page. `own`: a session of an identity provider cannot open the page, because the
 * account may belong to other organisations too.
 */
export type ConsoleRoute =
  | ({ for: 'anyone' } & Handled<OpenVisit>)
  | ({ for: 'person'; proof?: true; own?: true } & Handled<PersonVisit>)
  | ({ for: readonly Role[]; proof?: true; menu?: string; section?: Section; live?: true } & Handled<Visit>);

type Audience = ConsoleRoute['for'];
type VisitOf<For> = For extends 'anyone' ? OpenVisit : For extends 'person' ? PersonVisit : Visit;
type Handler<For> = (visit: VisitOf<For>) => Answer | Promise<Answer>;
type Sender<For> = (visit: VisitOf<For>) => Sent | Promise<Sent>;
type Named = 'for' | 'method' | 'path' | 'handle';
type More<For> = Partial<Omit<Extract<ConsoleRoute, { for: For extends string ? For : readonly Role[] }>, Named>>;

export const get = <For extends Audience>(path: string, who: For, handle: Handler<For>, more?: More<For>) =>
  ({ for: who, method: 'GET', path, handle, ...more }) as ConsoleRoute;

export const post = <For extends Audience>(path: string, who: For, handle: Handler<For>, more?: More<For>) =>
  ({ for: who, method: 'POST', path, handle, ...more, menu: undefined }) as ConsoleRoute;

export function formRoutes<For extends Audience>(
  path: string,
  who: For,
  show: Handler<For>,
  send: Sender<For>,
  more?: More<For>,
): ConsoleRoute[] {
  const handle: Handler<For> = async (visit) => {
    const sent = await send(visit);
    return 'again' in sent ? show({ ...visit, faults: sent.again }) : sent;
  };
  return [get(path, who, show, more), post(path, who, handle, more)];
}

type Roles = readonly Role[];

/** The routes of pages about one record, which `find` reads from the URL before a page is shown or a form is read. */
export function routesOf<One>(find: (visit: Visit) => Promise<One>) {
  type Handle<A = Answer> = (visit: Visit, one: One) => A | Promise<A>;
  const on =
    <A>(handle: Handle<A>) =>
    async (visit: Visit) =>
      handle(visit, await find(visit));
  return {
    get: (path: string, who: Roles, handle: Handle, more?: More<Roles>) => get(path, who, on(handle), more),
    post: (path: string, who: Roles, handle: Handle, more?: More<Roles>) => post(path, who, on(handle), more),
    form: (path: string, who: Roles, show: Handle, send: Handle<Sent>, more?: More<Roles>) =>
      formRoutes(path, who, on(show), on(send), more),
  };
}

export function isFor(route: ConsoleRoute, { role, is_sandbox }: Membership): boolean {
  return typeof route.for !== 'string' && route.for.includes(role) && !(route.live === true && is_sandbox);
}

/** Raised to answer with a 404. Unknown IDs and IDs that the person may not see get the same response. */
export class NoSuchPage extends Error {}

/** The URL pattern of a route, with parameters in braces. */
export const addressOf = (route: ConsoleRoute): string =>
  Array.isArray(route.for) ? `/console/{organisation}${route.path}` : route.path;

/** The action in the audit log: the method and the path, with parameters by name (`{learner_id}`). */
export const actionOf = ({ for: who, method, path }: ConsoleRoute): string =>
  `${method} /console${Array.isArray(who) ? path : path.replace(/^\/console/, '')}`;

/** Locks the session, so that sign-out waits for this transaction. @throws NoSuchPage if the session has ended */
export async function mustBeSignedIn(work: UnitOfWork, sessionId: string): Promise<void> {
  if (!(await holdSession(work, sessionId))) throw new NoSuchPage();
}

/** Runs a change and its audit row in one transaction. @throws NoSuchPage if the session has ended */
export function act<T>(
  app: App,
  by: { organisationId: number; userId: string; sessionId: string; action: string; requestId: string },
  inside: (work: UnitOfWork) => Promise<T>,
  resource?: Resource<T>,
): Promise<T> {
  return withUnitOfWork(app, feedQueue(by.organisationId), async (work) => {
    await mustBeSignedIn(work, by.sessionId);
    const result = await inside(work);
    const isDone = result !== null && result !== undefined && result !== false;
    const changed = typeof resource === 'function' ? resource(result) : isDone && (resource ?? result);
    if (typeof changed === 'string') await auditRequest(work, { ...by, resource: changed });
    return result;
  });
}

/** Changes the person's own account in one transaction. @throws NoSuchPage if the session has ended */
export function actAlone<T>({ app, session }: PersonVisit, inside: (work: UnitOfWork) => Promise<T>): Promise<T> {
  return withUnitOfWork(app, null, async (work) => {
    await mustBeSignedIn(work, session.session_id);
    return inside(work);
  });
}

/** Finds the record whose ID is in the URL. @throws NoSuchPage if the organisation has no such record */
export async function findOr404<T>(
  { app, organisationId, params }: Visit,
  parameter: string,
  find: (tx: App['db'], organisationId: number, id: string) => Promise<T | undefined>,
): Promise<T> {
  const id = params[parameter]!.toLowerCase();
  const found = isUuid(id) ? await find(app.db, organisationId, id) : undefined;
  if (found === undefined) throw new NoSuchPage();
  return found;
}

/** The ID that the form contains. A form that is sent twice has the same ID, so the action happens once. */
export function onceOf({ app, form }: OpenVisit): string {
  const once = form.text('once').toLowerCase();
  return isUuid(once) ? once : app.random.uuid();
}

/** Creates the record that a form describes, once. @returns null if the form was sent before */
export const createOnce = <Made>(
  { organisationId, change }: Visit,
  id: string,
  find: (tx: UnitOfWork['tx'], organisationId: number, id: string) => Promise<unknown>,
  make: (work: UnitOfWork) => Promise<Made>,
): Promise<{ made: Made } | null> =>
  change(async (work) => {
    const isThere = (await find(work.tx, organisationId, id)) !== undefined;
    return isThere ? null : { made: await make(work) };
  }, id);

/** Answers an error that the person can correct; any other error is thrown. */
export const unless = <Done, Kind extends Error, Instead>(
  done: Promise<Done>,
  kind: abstract new (...args: never[]) => Kind,
  instead: (error: Kind) => Instead,
): Promise<Done | Awaited<Instead>> =>
  done.catch((error: unknown) => {
    if (error instanceof kind) return instead(error);
    throw error;
  }) as Promise<Done | Awaited<Instead>>;

/** Starts a job, and logs its failure as `failed`. If this process ends, another process continues the job. */
export const inBackground = ({ log }: App, failed: string, run: Promise<unknown>): void =>
  void run.catch((error: unknown) => log.error(failed, errorFields(error)));
