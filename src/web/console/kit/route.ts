import type { Readable } from 'node:stream';
import type { App } from '../../../platform/app.ts';
import { auditInside } from '../../../platform/audit/audit.ts';
import { type UnitOfWork, feedQueue, withUnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { errorFields } from '../../../platform/observability/log.ts';
import type { Role } from '../../../organisations/users/roles.ts';
import { type Membership, type Session, holdSession } from '../../../organisations/users/sessions.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import type { Form } from './form.ts';
import type { Page } from './frame.ts';

/** A page, a redirect (303, so that reloading sends no form again), or a file. */
export type Answer = (
  | (Page & { status?: number | undefined; headers?: Record<string, string> })
  | { to: string }
  | { file: { type: string; name: string; body: string | Buffer | Readable } }
) & {
  /** The new session token; null ends the session. */
  token?: string | null;
  /** The learner or result on the page, for the access log, if the URL does not name it. */
  about?: { of: 'learner' | 'result'; id: string };
  /** Sealed state of a sign-in at an identity provider; null deletes it. */
  errand?: string | null;
};

/** A page with faults is a 422. */
export const statusOf = ({ status, faults = {} }: Pick<Extract<Answer, Page>, 'status' | 'faults'>): number =>
  status ?? (Object.keys(faults).length === 0 ? 200 : 422);

export type OpenVisit = {
  app: App;
  requestId: string;
  /** For throttling. */
  address: string;
  client: string;
  path: string;
  params: Record<string, string>;
  query: URLSearchParams;
  form: Form;
  session: Session | null;
  /** False if another site led here (see isUnprompted). */
  unprompted: boolean;
  /** The sealed state of a sign-in at an identity provider, from its cookie. */
  sealed: string | null;
};

export type PersonVisit = OpenVisit & { session: Session };

export type Visit = PersonVisit & {
  organisation: Membership;
  organisationId: number;
  /** The organisation's time zone. */
  zone: string;
  role: Role;
  userId: string;
  /** `/console/ID` */
  base: string;
  /** Changes data with its audit row. Without a result nothing was done: no row is written. A function can decide. */
  change<T>(inside: (work: UnitOfWork) => Promise<T>, resource: Resource<T>): Promise<T>;
  /** The result is the ID of what was changed. */
  change<T extends string | null | false>(inside: (work: UnitOfWork) => Promise<T>): Promise<T>;
};

/** The ID of what was changed. A function without a result has to name it by a function. */
export type Resource<T> = ((result: T) => string | null | false | undefined) | ([T] extends [void] ? never : string);

export type Section = 'day' | 'integration' | 'organisation';

/** `upload`: the maximum size in bytes of a form with a file or a pasted table. */
type Handled<V> = { method: 'GET' | 'POST'; path: string; upload?: number; handle(visit: V): Answer | Promise<Answer> };

/**
 * A row of the table of pages. `for`: who may open it; paths for roles are under `/console/ID`. `proof`: needs a
 * password or code within the last 10 minutes. `menu`, `section`: its entry in the menu. `live`: not in a sandbox.
 * `own`: not in sessions of an identity provider, because the account may belong to other organisations too.
 */
export type ConsoleRoute =
  | ({ for: 'anyone' } & Handled<OpenVisit>)
  | ({ for: 'person'; proof?: true; own?: true } & Handled<PersonVisit>)
  | ({ for: readonly Role[]; proof?: true; menu?: string; section?: Section; live?: true } & Handled<Visit>);

type Audience = ConsoleRoute['for'];
type VisitOf<For> = For extends 'anyone' ? OpenVisit : For extends 'person' ? PersonVisit : Visit;
type Handler<For> = (visit: VisitOf<For>) => Answer | Promise<Answer>;
type Named = 'for' | 'method' | 'path' | 'handle';
type More<For> = Partial<Omit<Extract<ConsoleRoute, { for: For extends string ? For : readonly Role[] }>, Named>>;

export const get = <For extends Audience>(path: string, who: For, handle: Handler<For>, more?: More<For>) =>
  ({ for: who, method: 'GET', path, handle, ...more }) as ConsoleRoute;

export const post = <For extends Audience>(path: string, who: For, handle: Handler<For>, more?: More<For>) =>
  ({ for: who, method: 'POST', path, handle, ...more }) as ConsoleRoute;

export function formRoutes<For extends Audience>(
  path: string,
  who: For,
  show: Handler<For>,
  send: Handler<For>,
  more?: More<For>,
): ConsoleRoute[] {
  return [get(path, who, show, more), post(path, who, send, more)];
}

export function isFor(route: ConsoleRoute, { role, is_sandbox }: Membership): boolean {
  return typeof route.for !== 'string' && route.for.includes(role) && !(route.live === true && is_sandbox);
}

/** A 404. IDs that name nothing raise it too, so that all of them look alike. */
export class NoSuchPage extends Error {}

/** The action in the audit log: method and path, with parameter names in place of values. */
export const actionOf = ({ for: who, method, path }: ConsoleRoute): string =>
  `${method} /console${Array.isArray(who) ? path : path.replace(/^\/console/, '')}`;

/** Ending the session waits for this transaction. @throws NoSuchPage */
export async function mustBeSignedIn(work: UnitOfWork, sessionId: string): Promise<void> {
  if (!(await holdSession(work, sessionId))) throw new NoSuchPage();
}

/** One transaction with the audit row; nothing is done if the session has ended. @throws NoSuchPage */
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
    if (typeof changed === 'string') await auditAct(work, { ...by, resource: changed });
    return result;
  });
}

/** A change of the person's own account; it does nothing once the session has ended. @throws NoSuchPage */
export function actAlone<T>({ app, session }: PersonVisit, inside: (work: UnitOfWork) => Promise<T>): Promise<T> {
  return withUnitOfWork(app, null, async (work) => {
    await mustBeSignedIn(work, session.session_id);
    return inside(work);
  });
}

/** Finds the record whose ID is in the URL. @throws NoSuchPage also for records of other organisations */
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

/** The ID that a form carries, so that sending it twice does one thing. */
export function onceOf({ app, form }: OpenVisit): string {
  const once = form.text('once').toLowerCase();
  return isUuid(once) ? once : app.random.uuid();
}

/** The job starts now. If the process ends, another one continues it within a minute. */
export const inBackground = ({ log }: App, failed: string, run: Promise<unknown>): void =>
  void run.catch((error: unknown) => log.error(failed, errorFields(error)));

export function auditAct(
  work: UnitOfWork,
  by: { organisationId: number; userId: string; action: string; requestId: string; resource: string },
): Promise<void> {
  const { organisationId, userId: actor, action, requestId, resource } = by;
  return auditInside(work.tx, { organisationId, atMs: work.nowMs, requestId, actor, action, resource, status: null });
}
