import type { Readable } from 'node:stream';
import type { App } from '../../../platform/app.ts';
import { auditInside } from '../../../platform/audit/audit.ts';
import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { feedQueue, withUnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { errorFields } from '../../../platform/observability/log.ts';
import type { Role } from '../../../organisations/users/roles.ts';
import type { Membership, Session } from '../../../organisations/users/sessions.ts';
import { holdSession } from '../../../organisations/users/sessions.ts';
import { isUuid } from '../../../platform/crypto/uuid.ts';
import type { Form } from './form.ts';
import type { Page } from './frame.ts';

/** What a page's handler answers: a page, or where to go on to (303, so that loading again sends nothing twice). */
export type Answer = (
  | (Page & { status?: number | undefined; headers?: Record<string, string> })
  | { to: string }
  | { file: { type: string; name: string; body: string | Buffer | Readable } }
) & {
  /** The session's new token, or null when it ended. */
  token?: string | null;
  /** A learner of whom this is and whom its address doesn't name, or a result of theirs: for the list of who looked at whom. */
  about?: { of: 'learner' | 'result'; id: string };
  /** What the browser keeps while its person is at a provider of sign-ins, sealed; null when they are back. */
  errand?: string | null;
};

/** The status of a page; of a form with faults 422. */
export const statusOf = ({ status, faults = {} }: Pick<Extract<Answer, Page>, 'status' | 'faults'>): number =>
  status ?? (Object.keys(faults).length === 0 ? 200 : 422);

/** What every handler gets; before somebody has signed in, nothing more. */
export type OpenVisit = {
  app: App;
  requestId: string;
  /** Where the request comes from, for throttling. */
  address: string;
  /** Browser and system in a few words. */
  client: string;
  path: string;
  params: Record<string, string>;
  query: URLSearchParams;
  form: Form;
  session: Session | null;
  /** No other site led here, as far as the browser says. */
  unprompted: boolean;
  /** What the browser kept while its person was at a provider of sign-ins. */
  sealed: string | null;
};

/** Somebody is signed in. */
export type PersonVisit = OpenVisit & { session: Session };

/** Somebody is signed in, belongs to the organisation of the address, and their role may open the page. */
export type Visit = PersonVisit & {
  organisation: Membership;
  organisationId: number;
  /** By whose clocks times are shown. */
  zone: string;
  role: Role;
  userId: string;
  /** Where the organisation's pages are: `/console/ID`. */
  base: string;
  /**
   * Makes a change in one unit of work, with its row in the audit log under the person's id. No row is written where
   * `resource` is left out: then nothing was done.
   */
  change<T>(inside: (work: UnitOfWork) => Promise<Acted<T>>): Promise<T>;
};

/** What came of an act, and the id of what was acted on. */
export type Acted<T> = { result: T; resource?: string | null };

/** The parts of the navigation: the working day, what platforms need, and the organisation itself. */
export type Section = 'day' | 'integration' | 'organisation';

/** `upload`: how many bytes a form may have that carries a file or a pasted table. */
type Handled<V> = {
  method: 'GET' | 'POST';
  path: string;
  upload?: number;
  handle(visit: V): Answer | Promise<Answer>;
};

/**
 * One row of the table of pages. `for` says who may open it: anyone, any person who has signed in, or the people of an
 * organisation in these roles; paths of the last are under `/console/ID`. `proof`: only within ten minutes of a password
 * or a code. `menu`: the word under which it stands in the navigation, in the part that `section` names; without it, in
 * that of the working day. `live`: not in an organisation's own sandbox.
 * `own`: not for sessions that began at an organisation's provider, because the account may belong to others as well.
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

/** A page. */
export const get = <For extends Audience>(path: string, who: For, handle: Handler<For>, more?: More<For>) =>
  ({ for: who, method: 'GET', path, handle, ...more }) as ConsoleRoute;

/** What a form does. */
export const post = <For extends Audience>(path: string, who: For, handle: Handler<For>, more?: More<For>) =>
  ({ for: who, method: 'POST', path, handle, ...more }) as ConsoleRoute;

/** A page with a form, and what that form does. */
export function formRoutes<For extends Audience>(
  path: string,
  who: For,
  show: Handler<For>,
  send: Handler<For>,
  more?: More<For>,
): ConsoleRoute[] {
  return [get(path, who, show, more), post(path, who, send, more)];
}

/** Whether somebody may open a page of the organisation, by their role there. */
export function isFor(route: ConsoleRoute, { role, is_sandbox }: Membership): boolean {
  return typeof route.for !== 'string' && route.for.includes(role) && !(route.live === true && is_sandbox);
}

/** A page that isn't there: raised for ids that name nothing, too, so that all of them look alike. */
export class NoSuchPage extends Error {}

/** Under which an act stands in the audit log: method and address, parameters by their names. */
export const actionOf = ({ for: who, method, path }: ConsoleRoute): string =>
  `${method} /console${Array.isArray(who) ? path : path.replace(/^\/console/, '')}`;

/** Whoever ends the session waits until the transaction is over. @throws NoSuchPage */
export async function mustBeSignedIn(work: UnitOfWork, sessionId: string): Promise<void> {
  if (!(await holdSession(work, sessionId))) throw new NoSuchPage();
}

/**
 * An act of somebody in an organisation: what it changes and its audit row are one transaction. Whoever was signed out
 * while it waited for its turn does nothing any more; a new role, and being removed, sign out, too.
 * @throws NoSuchPage
 */
export function act<T>(
  app: App,
  by: { organisationId: number; userId: string; sessionId: string; action: string; requestId: string },
  inside: (work: UnitOfWork) => Promise<Acted<T>>,
): Promise<T> {
  return withUnitOfWork(app, feedQueue(by.organisationId), async (work) => {
    await mustBeSignedIn(work, by.sessionId);
    const { result, resource } = await inside(work);
    if (resource !== undefined) await auditAct(work, { ...by, resource });
    return result;
  });
}

/**
 * An act of somebody on themselves, in one unit of work: nothing once their session has ended.
 * @throws NoSuchPage
 */
export function actAlone<T>({ app, session }: PersonVisit, inside: (work: UnitOfWork) => Promise<T>): Promise<T> {
  return withUnitOfWork(app, null, async (work) => {
    await mustBeSignedIn(work, session.session_id);
    return inside(work);
  });
}

/** What an id of the address names here: all else is the same page that isn't there. @throws NoSuchPage */
export async function named<T>(
  { app, organisationId, params }: Visit,
  parameter: string,
  find: (tx: App['db'], organisationId: number, id: string) => Promise<T | undefined>,
): Promise<T> {
  const id = params[parameter]!.toLowerCase();
  const found = isUuid(id) ? await find(app.db, organisationId, id) : undefined;
  if (found === undefined) throw new NoSuchPage();
  return found;
}

/** The id that a form carries, so that it is one act however often it is sent; null where it has none. */
export function onceOf({ form }: Pick<OpenVisit, 'form'>): string | null {
  const once = form.text('once').toLowerCase();
  return isUuid(once) ? once : null;
}

/** What came of a verb that says false, null or nothing where there was nothing to do. */
export const ifDone = <T>(result: T, resource: string): Acted<T> =>
  result === false || result === null || result === undefined ? { result } : { result, resource };

/** What came of a verb that says why it refuses, or null. */
export const unlessRefused = <T>(result: T | null, resource: string): Acted<T | null> =>
  result === null ? { result, resource } : { result };

/** Begun at once; if this process ends before it is done, another goes on within a minute. */
export const inBackground = ({ log }: App, failed: string, run: Promise<unknown>): void =>
  void run.catch((error: unknown) => log.error(failed, errorFields(error)));

export function auditAct(
  work: UnitOfWork,
  by: { organisationId: number; userId: string; action: string; requestId: string; resource: string | null },
): Promise<void> {
  return auditInside(work.tx, {
    organisationId: by.organisationId,
    atMs: work.nowMs,
    requestId: by.requestId,
    actor: by.userId,
    action: by.action,
    resource: by.resource,
    status: null,
  });
}
