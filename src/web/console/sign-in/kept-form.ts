import type { App } from '../../../platform/app.ts';
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
const keptMs = 3600_000;
/** Fields that the person enters again, and the fields of the sign-in. */
const leftOut = new Set(['password', 'present', 'client_secret', 'code', 'to', 'kept']);

type Kept = {
  userId: string;
  untilMs: number;
  /** The page that shows the form: the URL pattern, and the path with its parameters. */
  pattern: string;
  path: string;
  params: Record<string, string>;
  query: string;
  isOwn: boolean;
  fields: [string, string][];
};

export const pageAt = (pattern: string): ConsoleRoute | undefined =>
  consoleRoutes.find((one) => one.method === 'GET' && addressOf(one) === pattern);

/** Seals the fields with the page that shows the form: the page of the same path, or the nearest page above it. */
export function sealForm(route: ConsoleRoute, visit: OpenVisit, userId: string, sent: Form): string | null {
  const { secrets, random, clock } = visit.app;
  const fields = sent.entries().filter(([name]) => !leftOut.has(name));
  let [pattern, path] = [addressOf(route), visit.path];
  while (pattern !== '' && pageAt(pattern) === undefined)
    [pattern, path] = [pattern, path].map((one) => one.slice(0, one.lastIndexOf('/'))) as [string, string];
  if (fields.length === 0 || pattern === '') return null;
  const isOwn = path === visit.path;
  const query = isOwn ? visit.query.toString() : '';
  const untilMs = clock.nowMs() + keptMs;
  const kept: Kept = { userId, untilMs, pattern, path, params: visit.params, query, isOwn, fields };
  const sealed = secrets.seal('form', JSON.stringify(kept), random).toString('base64url');
  return sealed.length > maxSealedChars ? null : sealed;
}

/** @returns null if the fields were sealed for another person, or more than an hour ago */
export function openForm({ secrets, clock }: App, userId: string, sealed: string) {
  const text = secrets.open('form', Buffer.from(sealed, 'base64url'));
  const kept = text === null ? null : (JSON.parse(text) as Kept);
  if (kept === null || kept.userId !== userId || kept.untilMs < clock.nowMs()) return null;
  const { pattern, path, params, query, isOwn, fields } = kept;
  const page = pageAt(pattern);
  const form = Form.of(fields, isOwn ? 'own' : 'above');
  return page === undefined ? null : { page, form, path, params, query: new URLSearchParams(query) };
}
