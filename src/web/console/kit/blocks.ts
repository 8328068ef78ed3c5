import { type Content, type Markup, attributes, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { errorPage } from '../../../platform/errors/errors.ts';
import { isUuid } from '../../../platform/crypto/random.ts';

export const number = (value: number): string => value.toLocaleString('en-GB');

export const count = (value: number, one: string, many = `${one}s`): string =>
  `${number(value)} ${value === 1 ? one : many}`;

/** @param max the number at which counting stopped */
export const countWords = (value: number, max: number): string =>
  value > max ? `more than ${number(max)}` : number(value);

export type Cell<Row> = (row: Row) => Content;

/**
 * `sort`: the value of `?sort=` that sorts by this column. A minus before the value sorts in descending order.
 * `phone`: on phones `plain` shows the cell in one line without its heading, `sentence` in full, `hidden` not at all.
 */
type Column<Row> = { cell: Cell<Row>; isNumber?: true; sort?: string; phone?: 'plain' | 'sentence' | 'hidden' };

export type Columns<Row> = Readonly<Record<string, Cell<Row> | Column<Row>>>;

export const numeric = <Row>(cell: Cell<Row>): Column<Row> => ({ cell, isNumber: true });

export const sorted = <Row>(sort: string, cell: Cell<Row>, phone?: Column<Row>['phone']): Column<Row> => ({
  ...{ cell, sort },
  ...(phone && { phone }),
});

export const plain = <Row>(cell: Cell<Row>): Column<Row> => ({ cell, phone: 'plain' });

export const wideOnly = <Row>(cell: Cell<Row>): Column<Row> => ({ cell, phone: 'hidden' });

const phoneClasses = { plain: 'plain', sentence: 'plain sentence', hidden: 'wide-only' };

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

/** The page's URL and the current order, from which the links in a table's head are made. */
type Sorting = { path: string; query: URLSearchParams; by: string; descending: boolean };

/** Sorts a list that is shown in full by any column, as people read it. The value of `?sort=` is the column's heading. */
function sortedByCell<Row>(rows: readonly Row[], columns: [string, Column<Row>][], query: URLSearchParams) {
  const heads = columns.map(([head]) => head);
  if (query.get('sort') === null) return { rows, by: '', descending: false };
  const { by, descending } = readSort(query, heads as [string]);
  const { cell } = columns.find(([head]) => head === by)![1];
  const keys = new Map(rows.map((row) => [row, sortText(cell(row))]));
  const sign = descending ? -1 : 1;
  const compare = (a: Row, b: Row) => sign * collator.compare(keys.get(a)!, keys.get(b)!);
  return { rows: rows.toSorted(compare), by, descending };
}

const collator = new Intl.Collator('en-GB', { numeric: true });

/** The text of a cell, with times in a form that sorts. */
const sortText = (content: Content): string =>
  html`${content}`.text.replace(/<time datetime="([^"]+)">[^<]*/g, '$1').replace(/<[^<>]*>/g, '');

function headCell<Row>(head: string, { isNumber, sort }: Column<Row>, sorting: Sorting | undefined): Markup {
  const cls = isNumber === true ? 'number' : null;
  if (sort === undefined || sorting === undefined)
    return html`<th scope="col"${attributes({ class: cls })}>${head}</th>`;
  const here = sorting.by === sort;
  const order = here && !sorting.descending ? `-${sort}` : sort;
  const to = withQuery(sorting.path, sorting.query, { sort: order, after: null });
  return html`<th scope="col"${attributes({ class: cls, 'aria-sort': here ? (sorting.descending ? 'descending' : 'ascending') : null })}><a href="${to}">${head}${here ? html`<span aria-hidden="true"> ${sorting.descending ? '▾' : '▴'}</span>` : null}</a></th>`;
}

export type TableWords = {
  caption: Content;
  /** Replaces a table without rows; null shows nothing. */
  none?: Content;
  /** Of a list that the page shows in full only `path` and `query` are given: the table sorts the rows. */
  sorting?: Sorting | { path: string; query: URLSearchParams };
  sticky?: true;
};

/** A table that becomes a list on phones: heading and state in the first line. The first column is the row's heading. */
export function table<Row>(words: string | TableWords, rows: readonly Row[], columns: Columns<Row>): Markup | null {
  const { caption, none, sorting, sticky }: TableWords = typeof words === 'string' ? { caption: words } : words;
  if (none !== undefined && rows.length === 0) return none === null ? null : empty(none);
  const all = Object.entries(columns).map(([head, column]): [string, Column<Row>] => [
    head,
    typeof column === 'function' ? { cell: column } : column,
  ]);
  if (sorting !== undefined && !('by' in sorting)) {
    const { rows: ordered, ...order } = sortedByCell(rows, all, sorting.query);
    const sortable = all.map(([head, column]) => [head, { ...column, sort: head }] as const);
    return table({ caption, sticky, sorting: { ...sorting, ...order } }, ordered, Object.fromEntries(sortable));
  }
  return html`<table class="rows${sticky === true ? ' sticky' : ''}"><caption>${caption}</caption><thead><tr>${all.map(([head, column]) => headCell(head, column, sorting))}</tr></thead><tbody>${rows.map(
    (row) =>
      html`<tr>${all.map(([head, { cell, isNumber, phone }], i) => {
        const value = cell(row);
        const shown = html`<span>${typeof value === 'number' ? number(value) : value}</span>`;
        const cls = [isNumber && 'number', phone && phoneClasses[phone]].filter((one) => one).join(' ') || null;
        const more = attributes({ class: cls, 'data-head': head });
        return i === 0 ? html`<th scope="row"${more}>${shown}</th>` : html`<td${more}>${shown}</td>`;
      })}</tr>`,
  )}</tbody></table>`;
}

export function empty(sentence: Content, action: Content = null): Markup {
  return html`<div class="empty"><p>${sentence}</p>${action === null ? null : html`<p>${action}</p>`}</div>`;
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
  name = 'after',
  kept = query,
): Markup | null {
  const to = (place: string | null) => withQuery(path, kept, { [name]: place, did: null });
  return pages({ first: query.has(name) ? to(null) : null, next: next == null ? null : to(next) });
}

export const bar = (value: number, max: number): Content =>
  html`<progress${attributes({ class: 'bar', value, max: Math.max(1, max), 'aria-hidden': 'true', tabindex: '-1' })}></progress>`;

/** A list of names and values. Entries without a value are left out. */
export function facts(entries: Readonly<Record<string, Content>> | readonly (readonly [string, Content])[]): Markup {
  const rows = Array.isArray(entries) ? (entries as readonly (readonly [string, Content])[]) : Object.entries(entries);
  return html`<dl class="facts">${rows
    .filter(([, value]) => value !== null && value !== undefined && value !== false)
    .map(([head, value]) => html`<div><dt>${head}</dt><dd>${value}</dd></div>`)}</dl>`;
}

export const yesOrNo = (text: string | null): boolean | null => (text === 'yes' ? true : text === 'no' ? false : null);

/** The form puts its fields into the URL, so no field may hold a person's name. Phones fold the filters of a list. */
export function filters(action: string, fields: Content, verb = 'Filter'): Markup {
  const isFilter = verb === 'Filter';
  const form = html`<form class="filters" method="get" action="${action}">${fields}<div class="actions"><button class="second">${verb}</button>${isFilter && html`<a href="${action}">Show all</a>`}</div></form>`;
  return isFilter ? html`<details class="narrow"><summary>${verb}</summary>${form}</details>` : form;
}

export function progress(label: string, done: number, total: number, here: string): Markup {
  return html`<div class="field"><label for="progress">${label}</label><progress${attributes({ id: 'progress', value: done, max: Math.max(1, total) })}>${done} of ${total}</progress><p class="hint">${number(done)} of ${number(total)}. <a href="${here}">Reload</a>, or leave this page. The work continues.</p></div>`;
}

/** Shows the page's sentence for the `did` parameter of the redirect. An unknown value shows nothing. */
export function notice(query: URLSearchParams, sentences: Record<string, Content>): Markup | null {
  const did = query.get('did') ?? '';
  return Object.hasOwn(sentences, did) ? html`<div class="done" role="status"><p>${sentences[did]}</p></div>` : null;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string, withTime: boolean, month: 'short' | 'long' = 'long'): Intl.DateTimeFormat {
  const key = `${zone} ${withTime} ${month}`;
  let found = formats.get(key);
  if (found === undefined) {
    found = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      day: 'numeric',
      month,
      year: 'numeric',
      ...(withTime ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } : {}),
    });
    formats.set(key, found);
  }
  return found;
}

/** A date, or a feed position in microseconds since 1970. */
type Instant = Date | number;

const dateOf = (at: Instant): Date => (typeof at === 'number' ? new Date(at / 1000) : at);

const timeTag = (at: Instant, text: string): Markup =>
  html`<time datetime="${dateOf(at).toISOString()}">${text}</time>`;

/** `22 November 2026 at 09:45` in a time zone. The `datetime` attribute contains the exact instant for programs. */
export function moment(at: Instant, zone: string): Markup;
export function moment(at: Instant | null, zone: string): Markup | null;
export function moment(at: Instant | null, zone: string): Markup | null {
  if (at === null) return null;
  const text = formatOf(zone, true).format(dateOf(at));
  return timeTag(at, text.replace(/(?:,| at)? (?=\d\d:\d\d$)/, ' at '));
}

/** `22 Nov 2026, 09:45:07`. The seconds let a person compare the time with other logs. */
export function instant(at: Instant, zone: string): Markup;
export function instant(at: Instant | null, zone: string): Markup | null;
export function instant(at: Instant | null, zone: string): Markup | null {
  if (at === null) return null;
  return timeTag(at, dateOf(at).toLocaleString('en-GB', { timeZone: zone, dateStyle: 'medium', timeStyle: 'medium' }));
}

export function withLocalTimes(sentence: string, zone: string): Content {
  const parts = sentence.split(/(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{3})?(?: UTC|Z))/);
  return parts.map((part, i) =>
    i % 2 === 0 ? part : instant(new Date(part.replace(' UTC', 'Z').replace(' ', 'T')), zone),
  );
}

/** The day as plain text, because attributes and titles cannot contain markup. */
export const dayWords = (at: Instant, zone: string): string => formatOf(zone, false).format(dateOf(at));

/** `22 Nov 2026`, short enough for a table. */
export const day = (at: Instant, zone: string): Markup =>
  timeTag(at, formatOf(zone, false, 'short').format(dateOf(at)));

export const code = (text: string | null | undefined, none: Content = null): Content =>
  text == null ? none : html`<code>${text}</code>`;

/** What a state means to the reader: done, waiting, needs action, in progress, or over. */
export type LabelKind = 'good' | 'wait' | 'bad' | 'info' | 'off';

export const label = (kind: LabelKind, text: string): Markup => html`<span class="label ${kind}">${text}</span>`;

/** The beginning of a UUID. The script adds a button that copies all of it. */
export const shortId = (id: string): Markup => html`<code data-copy="${id}" title="${id}">${id.slice(0, 8)}</code>`;

export const codeLink = (code: string): Markup => html`<a href="${errorPage(code)}"><code>${code}</code></a>`;
