import { type Markup, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isUuid } from '../../../platform/crypto/random.ts';

/** Reads the query of a list, and links to its other pages. */

/** @param changes null removes a parameter */
export function withQuery(path: string, query: URLSearchParams, changes: Record<string, string | null>): string {
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes))
    if (value === null) changed.delete(name);
    else changed.set(name, value);
  const text = changed.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** Reads `?sort=`. The first of `known` is the default. */
export function readSort<By extends string>(query: URLSearchParams, known: readonly [By, ...By[]]) {
  const text = query.get('sort') ?? '';
  const descending = text.startsWith('-');
  const by = known.find((one) => one === (descending ? text.slice(1) : text));
  return by === undefined ? { by: known[0], descending: false } : { by, descending };
}

/** The number in a query parameter; 0 if it is missing or malformed. */
export function readCount(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? '';
  return /^\d{1,6}$/.test(text) ? Number(text) : 0;
}

/** Reads one row more than a page shows. `last`: the last row of this page, if a next page exists. */
export async function readPage<Row>(
  read: (limit: number) => Promise<readonly Row[]>,
  max: number = limits.consoleRows,
): Promise<{ rows: Row[]; last: Row | undefined }> {
  const found = await read(max + 1);
  const rows = found.slice(0, max);
  return { rows, last: found.length > max ? rows.at(-1) : undefined };
}

const tokenParts = {
  int4: (part: string) => /^\d{1,9}$/.test(part),
  // 13 digits reach the year 2286. With many more digits, the date would be too late for PostgreSQL.
  ms: (part: string) => /^\d{1,13}$/.test(part),
  int8: (part: string) => /^\d{1,16}$/.test(part),
  uuid: isUuid,
};

export type TokenPart = keyof typeof tokenParts;

/** The parts of a page token, such as `MICROSECONDS.ID`; null if it is missing or malformed. */
export function readToken(token: string | null, ...of: readonly TokenPart[]): string[] | null {
  const parts = (token ?? '').toLowerCase().split('.');
  return parts.length === of.length && of.every((kind, i) => tokenParts[kind](parts[i]!)) ? parts : null;
}

/** The UUID in a query parameter; null if it is missing or malformed. */
export const uuidIn = (query: URLSearchParams, parameter = 'after'): string | null =>
  readToken(query.get(parameter), 'uuid')?.[0] ?? null;

/** Links to other pages of a list. A URL is null if the page does not exist. */
export function pages({
  first,
  previous = null,
  next,
}: Record<'first' | 'next', string | null> & { previous?: string | null }): Markup | null {
  if (first === null && previous === null && next === null) return null;
  return html`<nav class="pager" aria-label="More rows"><ul>${first && html`<li><a href="${first}">First page</a></li>`}${previous && html`<li><a rel="prev" href="${previous}">Previous page</a></li>`}${next && html`<li><a rel="next" href="${next}">Next page</a></li>`}</ul></nav>`;
}

/** @param next the page token; null on the last page @param kept the query parameters that the links repeat */
export function pager(
  { path, query }: { path: string; query: URLSearchParams },
  next: string | null | undefined,
  kept = query,
): Markup | null {
  const to = (after: string | null) => withQuery(path, kept, { after, did: null });
  return pages({ first: query.has('after') ? to(null) : null, next: next == null ? null : to(next) });
}
