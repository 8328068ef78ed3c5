import { isUuid } from '../src/uuid.ts';
import { auditInside } from '../src/audit/audit.ts';
import type { App } from '../src/app.ts';
import type { Work } from '../src/db/work.ts';
import { feedLane, inWork } from '../src/db/work.ts';
import { ApiError } from '../src/errors.ts';
import { parseLowerBound } from '../src/feed/time.ts';
import { limits } from '../src/limits.ts';
import type { OpenApp } from '../src/open-app.ts';
import { openApp } from '../src/open-app.ts';
import type { Organisation } from '../src/organisations/organisations.ts';
import { findOrganisation } from '../src/organisations/organisations.ts';
import { isStorableText } from '../src/personal-data.ts';
import { readSettings } from '../src/settings.ts';
import type { Call } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { terminal } from './terminal.ts';

/** The name under which the command line stands in audit logs and change records. */
export const operator = 'operator';

/** @throws Failure where nothing can be mailed */
export function needsMailServer({ settings }: Pick<App, 'settings'>): void {
  if (settings.mailServer === null)
    throw new Failure('no mail server is set: set ARS_SMTP_URL and ARS_MAIL_FROM, or hand the link over yourself');
}

/**
 * Opens the app for one command and lets go of it at the end; the command's own output is all that it prints. A command that
 * was told of no database, or of another folder, would find nothing in a new one and say that all is well.
 * @param given `mayBegin`: an embedded database is made where none is
 */
export async function withApp<T>(
  run: (app: App, opened: OpenApp) => Promise<T>,
  given: { mayBegin?: boolean; restoredBy?: string; shownMs?: number } = {},
): Promise<T> {
  const { mayBegin = false, ...restored } = given;
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

/** A text option; undefined when it was not given. */
export function option(call: Call, name: string): string | undefined {
  const value = call.options[name];
  return typeof value === 'string' ? value : undefined;
}

/** The option as one of these words; undefined when it was not given. @throws Misuse */
export function wordOption<T extends string>(call: Call, name: string, known: readonly T[]): T | undefined {
  const given = option(call, name);
  if (given === undefined) return undefined;
  const found = known.find((one) => one === given);
  if (found === undefined) throw new Misuse(`--${name} must be one of ${known.join(', ')}`);
  return found;
}

/** @throws Misuse when the option is missing or empty */
export function requiredOption(call: Call, name: string): string {
  const value = option(call, name);
  if (value === undefined || value === '') throw new Misuse(`--${name} is required`);
  return value;
}

/** A whole number option. @throws Misuse */
export function numberOption(call: Call, name: string, fallback: number, least: number, most: number): number {
  const text = option(call, name);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most)
    throw new Misuse(`--${name} must be a whole number from ${least} to ${most}`);
  return value;
}

/** A date-time option, as microseconds since 1970; a day alone begins at midnight UTC. @throws Misuse */
export function timeOption(call: Call, name: string): number | null {
  const text = option(call, name);
  if (text === undefined) return null;
  const us = parseLowerBound(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (us === null)
    throw new Misuse(`--${name} must be a day or a date-time with a zone, such as 2026-01-31 or 2026-01-31T09:00:00Z`);
  return us;
}

/** The organisation of `--organisation ID`. @throws Failure when there is none */
export async function organisationOf(app: App, id: string): Promise<Organisation> {
  const found = isUuid(id) ? await findOrganisation(app.db, id) : undefined;
  if (found === undefined) throw missing('organisation', id, { hint: '; ars organisation list shows them', where: '' });
  return found;
}

/** One act of the operator: what it changes and its audit row are one transaction. */
export function act<T>(
  app: App,
  organisationId: number | null,
  action: string,
  inside: (work: Work) => Promise<{ result: T; resource: string | null; organisationId?: number }>,
): Promise<T> {
  return inWork(app, organisationId === null ? null : feedLane(organisationId), async (work) => {
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

/** What is said of a key that isn't there. */
export const unknownKey = (keyId: string): Failure => missing('key', keyId, { hint: '; ars key list shows them' });

/** Says what was looked for, where a verb says that there is nothing. @throws Failure */
export function orMissing(...what: Parameters<typeof missing>): (error: unknown) => never {
  return (error) => {
    if (error instanceof ApiError && error.code === 'not_found') throw missing(...what);
    throw error;
  };
}

/** Columns aligned for people; the first row is the head. */
export function table(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => [...(row[column] ?? '')].length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell + ' '.repeat(widths[column]! - [...cell].length))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Text that is kept, where it is given. @throws Misuse */
export function textOption(call: Call, name: string, mostChars: number): string | undefined {
  const text = option(call, name);
  if (text !== undefined && !isStorableText(text, mostChars))
    throw new Misuse(
      `--${name} must be text of 1 to ${mostChars} characters on one line without a National Insurance number`,
    );
  return text;
}

/** The same where it must be given. @throws Misuse */
export function requiredText(call: Call, name: string, mostChars: number): string {
  requiredOption(call, name);
  return textOption(call, name, mostChars)!;
}

/** Why something was done: kept with what was done. @throws Misuse */
export function readReason(call: Call): string {
  return requiredText(call, 'reason', limits.reasonChars);
}
