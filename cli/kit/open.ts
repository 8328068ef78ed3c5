import { isUuid } from '../../src/platform/crypto/random.ts';
import { auditInside } from '../../src/platform/audit/audit.ts';
import type { App } from '../../src/platform/app.ts';
import type { UnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { feedQueue, withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { ApiError } from '../../src/platform/errors/errors.ts';
import type { OpenApp } from '../../src/server/open-app.ts';
import { openApp } from '../../src/server/open-app.ts';
import type { Organisation } from '../../src/organisations/organisations.ts';
import { findOrganisation } from '../../src/organisations/organisations.ts';
import { readSettings } from '../../src/platform/config/settings.ts';
import type { Call, Command, Declaration, Option, Options, Output, Values } from './command.ts';
import { command, Failure } from './command.ts';
import { required, text } from './options.ts';
import { terminal } from './terminal.ts';

/** The name under which the command line stands in audit logs and change records. */
export const operator = 'operator';

/** @throws Failure where nothing can be mailed */
export function needsMailServer({ settings }: Pick<App, 'settings'>): void {
  if (settings.mailServer === null)
    throw new Failure('no mail server is set: set ARS_SMTP_URL and ARS_MAIL_FROM, or hand the link over yourself');
}

/**
 * Opens the app for one command and closes it at the end. A command without a database, or with another data folder, would
 * find nothing in a new database and say that all is well, so none is made.
 * @param options `mayBegin`: an embedded database is made where none is
 */
export async function withApp<T>(
  run: (app: App, opened: OpenApp) => Promise<T>,
  options: { mayBegin?: boolean; restoredBy?: string; shownMs?: number } = {},
): Promise<T> {
  const { mayBegin = false, ...restored } = options;
  const opened = await openApp(
    { ...readSettings(terminal().environment), log: 'none' },
    { mustExist: !mayBegin, ...restored, logTo: terminal().errors },
  );
  const { settings } = opened.app;
  if (settings.baseUrl === '') settings.baseUrl = `http://${settings.host}:${settings.port}`;
  try {
    return await run(opened.app, opened);
  } finally {
    await opened.close();
  }
}

/** The organisation with this ID. @throws Failure when there is none */
export async function organisationOf(app: App, id: string): Promise<Organisation> {
  const words = { hint: '; ars organisation list shows them', where: '' };
  return foundById('organisation', id, (uuid) => findOrganisation(app.db, uuid), words);
}

/** One act of the operator: what it changes and its audit row are one transaction. */
export function act<T>(
  app: App,
  organisationId: number | null,
  action: string,
  inside: (work: UnitOfWork) => Promise<{ result: T; resource: string | null; organisationId?: number }>,
): Promise<T> {
  return withUnitOfWork(app, organisationId === null ? null : feedQueue(organisationId), async (work) => {
    const { result, resource, organisationId: made } = await inside(work);
    await auditInside(work.tx, {
      organisationId: made ?? organisationId ?? 0,
      atMs: work.nowMs,
      requestId: work.uuid(),
      actor: operator,
      action,
      resource,
      status: null,
    });
    return result;
  });
}

/** What a command has that works inside one organisation. */
export type Inside = {
  app: App;
  organisation: Organisation;
  organisationId: number;
  /**
   * An act with its audit row, which names the resource. The command's name is the action.
   * `about` names a resource that is known only inside.
   */
  act<T>(
    resource: string | null,
    inside: (work: UnitOfWork, about: (resource: string) => void) => Promise<T>,
  ): Promise<T>;
  /** Writes into the audit log that something was read. */
  note(resource: string | null): Promise<void>;
};

/** Opens the app and finds the organisation. */
function insideOf<T>(id: string, action: string, run: (inside: Inside) => Promise<T>): Promise<T> {
  return withApp(async (app) => {
    const organisation = await organisationOf(app, id);
    const organisationId = organisation.organisation_id;
    const acts: Inside['act'] = (given, inside) =>
      act(app, organisationId, action, async (work) => {
        let resource = given;
        const result = await inside(work, (made) => (resource = made));
        return { result, resource };
      });
    return run({ app, organisation, organisationId, act: acts, note: (resource) => acts(resource, async () => {}) });
  });
}

/** `prepare` checks and reads what needs no database, before that is opened. */
type Within<O extends Options, P> = Omit<Declaration<O>, 'run'> & {
  prepare?(call: Call<Values<O>>): P | Promise<P>;
  run(call: Call<Values<O>> & Inside & { prepared: P }): Promise<Output>;
};

/** A command that works inside an organisation: that of `--organisation`, or whose ID is all that it takes. */
export function organisationCommand<O extends Options, P = undefined>(declared: Within<O, P>): Command {
  const { name, takes, prepare, run } = declared;
  const isNamed = takes === 'ID';
  return command<Record<string, Option<any>>>({
    ...declared,
    options: isNamed ? declared.options! : { organisation: required(text('ID')), ...declared.options },
    async run(call: Call<any>) {
      const prepared = (await prepare?.(call)) as P;
      const id: string = isNamed ? call.positionals[0] : call.options.organisation;
      return insideOf(id, name, (inside) => run({ ...call, ...inside, prepared }));
    },
  });
}

/** Every row of a list that is read by pages. */
export async function allOf<Row>(pageFrom: (from: number, limit: number) => Promise<Row[]>): Promise<Row[]> {
  const limit = 1000;
  for (const rows: Row[] = []; ;) {
    const page = await pageFrom(rows.length, limit);
    rows.push(...page);
    if (page.length < limit) return rows;
  }
}

/** What `missing` says after the id; `hint` begins with its own separator. */
type Missing = { by?: string; where?: string; hint?: string };

/** An id that is repeated to whoever gave it; a name or several lines in its place are not. */
const repeatable = /^[\w.:-]{1,80}$/;

/** The one sentence for what was looked for and isn't there. */
export function missing(what: string, id: string, { by = 'id', where, hint = '' }: Missing = {}): Failure {
  const named = repeatable.test(id) ? `the ${by} ${id}` : `this ${by}`;
  return new Failure(`No ${what} with ${named}${where ?? ' in this organisation'}${hint}.`);
}

/** What has an ID. @throws Failure when there is none */
export async function foundById<T>(
  what: string,
  given: string,
  find: (id: string) => Promise<T | undefined>,
  words: Missing = {},
): Promise<T> {
  const found = isUuid(given) ? await find(given.toLowerCase()) : undefined;
  if (found === undefined) throw missing(what, given, words);
  return found;
}

/** Says what was looked for, where a verb says that there is nothing. @throws Failure */
export function orMissing(...what: Parameters<typeof missing>): (error: unknown) => never {
  return (error) => {
    if (error instanceof ApiError && error.code === 'not_found') throw missing(...what);
    throw error;
  };
}
