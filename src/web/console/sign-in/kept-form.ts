import type { App } from '../../../platform/app.ts';
import { type KeptForm, readKept, sealKept } from '../../../integrations/kept-form.ts';
import type { SessionOwner } from '../../../organisations/users/sessions.ts';
import { type ConsoleRoute, type OpenVisit, addressOf } from '../kit/route.ts';
import { consoleRoutes } from '../routes.ts';
import { Form } from '../../../api/http/form.ts';

/**
 * A session may end while a person fills in a form. The page that asks them to sign in keeps the fields, sealed for
 * this person. Afterwards the same person gets the form filled again, and sends it themselves.
 */

/** With more, the sealed fields would not fit into the form of the sign-in (limits.publicFormBytes). */
export const maxKeptBytes = 10_000;
const maxSealedChars = 14_000;
/** Fields that the person enters again, and the fields of the sign-in. */
const leftOut = new Set(['password', 'present', 'client_secret', 'code', 'to', 'kept']);

export const pageAt = (pattern: string): ConsoleRoute | undefined =>
  consoleRoutes.find((one) => one.method === 'GET' && addressOf(one) === pattern);

/** Seals the fields with the page that shows the form: the page of the same path, or the nearest page above it. */
export function sealForm(route: ConsoleRoute, visit: OpenVisit, keeper: SessionOwner, sent: Form): string | null {
  const fields = sent.entries().filter(([name]) => !leftOut.has(name));
  let [pattern, path] = [addressOf(route), visit.path];
  while (pattern !== '' && pageAt(pattern) === undefined)
    [pattern, path] = [pattern, path].map((one) => one.slice(0, one.lastIndexOf('/'))) as [string, string];
  if (fields.length === 0 || pattern === '') return null;
  const isOwn = path === visit.path;
  const query = isOwn ? visit.query.toString() : '';
  const { user_id, session_id } = keeper;
  const kept: KeptForm = { user_id, session_id, pattern, path, params: visit.params, query, isOwn, fields };
  const sealed = sealKept(visit.app, kept);
  return sealed.length > maxSealedChars ? null : sealed;
}

/** @returns null if the fields were sealed for another person, or more than an hour ago */
export function openForm(app: App, userId: string, sealed: string) {
  const kept = readKept(app, sealed);
  if (kept?.user_id !== userId) return null;
  const { pattern, path, params, query, isOwn, fields } = kept;
  const page = pageAt(pattern);
  const form = Form.of(fields, isOwn ? 'own' : 'above');
  return page === undefined ? null : { page, form, path, params, query: new URLSearchParams(query) };
}
