import { isUuid } from '../../src/platform/crypto/random.ts';
import { auditInside } from '../../src/platform/audit/audit.ts';
import type { App } from '../../src/platform/app.ts';
import { type UnitOfWork, feedQueue, withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { ApiError } from '../../src/platform/errors/errors.ts';
import { type OpenApp, openApp } from '../../src/server/open-app.ts';
import { type Organisation, findOrganisation } from '../../src/organisations/organisations.ts';
import { readSettings } from '../../src/platform/config/settings.ts';
import type { Call, Command, Declaration, Option, Options, Output, Values } from './command.ts';
import { command, Failure } from './command.ts';
import { required, text } from './options.ts';
import { terminal } from './terminal.ts';

/** The actor of commands in audit logs and change records. */
export const operator = 'operator';

/** @throws Failure if no mail server is set */
export function needsMailServer({ settings }: Pick<App, 'settings'>): void {
  if (settings.mailServer === null)
    throw new Failure('no mail server is set: set ARS_SMTP_URL and ARS_MAIL_FROM, or hand the link over yourself');
}

/**
 * Opens the app for one command. By default, a command creates no database, so that a wrong data folder is an error.
 * @param options `mayBegin`: the command may create an embedded database
 */
export async function withApp<T>(
  run: (app: App, opened: OpenApp) => Promise<T>,
  options: { mayBegin?: boolean; restoredBy?: string; shownMs?: number; acceptSecret?: boolean } = {},
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

/** @throws Failure if there is no such organisation */
export async function organisationOf(app: App, id: string): Promise<Organisation> {
  const words = { hint: '; ars organisation list shows them', where: '' };
  return foundById('organisation', id, (uuid) => findOrganisation(app.db, uuid), words);
}

/** Refers to the field of a change's result that contains the value, such as the ID of a new object. */
type Field<T> = { of: keyof T };

const valueOf = <T, V>(value: V | Field<T>, result: T): V =>
  typeof value === 'object' && value !== null ? (result[(value as Field<T>).of] as V) : (value as V);

/**
 * Runs a change by the operator and writes its audit row, in one transaction.
 * @param organisationId null: the change is about no organisation
 */
export function act<T>(
  app: App,
  organisationId: number | null | Field<T>,
  action: string,
  resource: string | null | Field<T>,
  inside: (work: UnitOfWork) => Promise<T>,
): Promise<T> {
  return withUnitOfWork(app, typeof organisationId === 'number' ? feedQueue(organisationId) : null, async (work) => {
    const result = await inside(work);
    await auditInside(work.tx, {
      organisationId: valueOf(organisationId, result) ?? 0,
      atMs: work.nowMs,
      requestId: work.uuid(),
      actor: operator,
      action,
      resource: valueOf(resource, result),
      status: null,
    });
    return result;
  });
}

export const note = (app: App, organisationId: number | null, action: string, resource: string | null): Promise<void> =>
  act(app, organisationId, action, resource, async () => {});

export type Inside = {
  app: App;
  organisation: Organisation;
  organisationId: number;
  /** Runs a change and writes its audit row. The command's name is the action. */
  act<T>(resource: string | null | Field<T>, inside: (work: UnitOfWork) => Promise<T>): Promise<T>;
  note(resource: string | null): Promise<void>;
};

/** `prepare` reads and checks the input before the database is opened. */
type Within<O extends Options, P> = Omit<Declaration<O>, 'run'> & {
  prepare?(call: Call<Values<O>>): P | Promise<P>;
  run(call: Call<Values<O>> & Inside & { prepared: P }): Promise<Output>;
};

/** A command inside the organisation of `--organisation`, or of its only positional `ID`. */
export function organisationCommand<O extends Options, P = undefined>(declared: Within<O, P>): Command {
  const { name, takes, prepare, run } = declared;
  const isNamed = takes === 'ID';
  return command<Record<string, Option<any>>>({
    ...declared,
    options: isNamed ? declared.options! : { organisation: required(text('ID')), ...declared.options },
    about: { organisation: "The organisation's ID", ...declared.about },
    async run(call: Call<any>) {
      const prepared = (await prepare?.(call)) as P;
      const id: string = isNamed ? call.positionals[0] : call.options.organisation;
      return withApp(async (app) => {
        const organisation = await organisationOf(app, id);
        const { organisation_id: organisationId } = organisation;
        return run({
          ...call,
          ...{ app, organisation, organisationId, prepared },
          act: (resource, inside) => act(app, organisationId, name, resource, inside),
          note: (resource) => note(app, organisationId, name, resource),
        });
      });
    },
  });
}

export async function allOf<Row>(pageFrom: (from: number, limit: number) => Promise<Row[]>): Promise<Row[]> {
  const limit = 1000;
  for (const rows: Row[] = []; ;) {
    const page = await pageFrom(rows.length, limit);
    rows.push(...page);
    if (page.length < limit) return rows;
  }
}

/**
 * `by`: the kind of ID. `where` replaces "in this organisation". `hint` ends the sentence and begins with a separator.
 */
type Missing = { by?: string; where?: string; hint?: string };

/** Errors repeat only IDs of this form, because other text may be a name or contain line breaks. */
const repeatable = /^[\w.:-]{1,80}$/;

export function missing(what: string, id: string, { by = 'ID', where, hint = '' }: Missing = {}): Failure {
  const named = repeatable.test(id) ? `the ${by} ${id}` : `this ${by}`;
  return new Failure(`No ${what} with ${named}${where ?? ' in this organisation'}${hint}.`);
}

/** @throws Failure if there is no object with the ID */
export async function foundById<T>(
  what: string,
  id: string,
  find: (id: string) => Promise<T | undefined>,
  words: Missing = {},
): Promise<T> {
  const found = isUuid(id) ? await find(id.toLowerCase()) : undefined;
  if (found === undefined) throw missing(what, id, words);
  return found;
}

/** Makes an error handler that replaces a `not_found` of the service with the Failure of `missing`. @throws Failure */
export function orMissing(...what: Parameters<typeof missing>): (error: unknown) => never {
  return (error) => {
    if (error instanceof ApiError && error.code === 'not_found') throw missing(...what);
    throw error;
  };
}
