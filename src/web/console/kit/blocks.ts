import type { Content, Markup } from '../../../platform/html/html.ts';
import { attributes, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import type { Faults, Form } from './form.ts';
import { fieldsOf } from './form.ts';
import type { Page } from './frame.ts';

/** What the console's pages are built of, beside forms. */

export const number = (value: number): string => value.toLocaleString('en-GB');

/** `1 result`, `1,200 results`. */
export const count = (value: number, one: string, many = `${one}s`): string =>
  `${number(value)} ${value === 1 ? one : many}`;

/** How many, where no more than so many were counted. */
export const countWords = (value: number, max: number): string =>
  value > max ? `more than ${number(max)}` : number(value);

type Cell<Row> = (row: Row) => Content;

/** One column of a table. `sort`: the name under which `?sort=` knows it; a minus before it turns the order round. */
type Column<Row> = { cell: Cell<Row>; isNumber?: true; sort?: string };

export type Columns<Row> = Readonly<Record<string, Cell<Row> | Column<Row>>>;

/** Numbers stand at the right, one under the other. */
export const numeric = <Row>(cell: Cell<Row>): Column<Row> => ({ cell, isNumber: true });

export const sorted = <Row>(sort: string, cell: Cell<Row>): Column<Row> => ({ cell, sort });

/** The address of the same page with some of its query changed; null takes a parameter away. */
export function withQuery(path: string, query: URLSearchParams, changes: Record<string, string | null>): string {
  const changed = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes))
    if (value === null) changed.delete(name);
    else changed.set(name, value);
  const text = changed.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The order that the address asks for, where it is one of those; otherwise the first. */
export function readSort<By extends string>(
  query: URLSearchParams,
  known: readonly [By, ...By[]],
): { by: By; descending: boolean } {
  const given = query.get('sort') ?? '';
  const descending = given.startsWith('-');
  const by = known.find((one) => one === (descending ? given.slice(1) : given));
  return by === undefined ? { by: known[0], descending: false } : { by, descending };
}

/** Where a table stands and how it is ordered, for the links in its head. */
type Sorting = { path: string; query: URLSearchParams; by: string; descending: boolean };

function headCell<Row>(head: string, { isNumber, sort }: Column<Row>, sorting: Sorting | undefined): Markup {
  const cls = isNumber === true ? 'number' : null;
  if (sort === undefined || sorting === undefined)
    return html`<th scope="col"${attributes({ class: cls })}>${head}</th>`;
  const here = sorting.by === sort;
  const to = withQuery(sorting.path, sorting.query, {
    sort: here && !sorting.descending ? `-${sort}` : sort,
    after: null,
  });
  return html`<th scope="col"${attributes({ class: cls, 'aria-sort': here ? (sorting.descending ? 'descending' : 'ascending') : null })}><a href="${to}">${head}${here ? html`<span aria-hidden="true"> ${sorting.descending ? '▾' : '▴'}</span>` : null}</a></th>`;
}

type Words = {
  caption: Content;
  /** What stands there where no row does. */
  none?: Content;
  sorting?: Sorting;
  /** Its headings stay in sight of a long list. */
  sticky?: true;
};

/**
 * A table that becomes a list of cards where there is no room for it. The first column names the row.
 * @param words its caption, and what else there is to say
 * @param columns by their heads
 */
export function table<Row>(words: string | Words, rows: readonly Row[], columns: Columns<Row>): Markup | null {
  const { caption, none, sorting, sticky }: Words = typeof words === 'string' ? { caption: words } : words;
  if (none !== undefined && rows.length === 0) return none === null ? null : empty(none);
  const all = Object.entries(columns).map(
    ([head, column]) => [head, typeof column === 'function' ? { cell: column } : column] as const,
  );
  return html`<table class="rows${sticky === true ? ' sticky' : ''}"><caption>${caption}</caption><thead><tr>${all.map(([head, column]) => headCell(head, column, sorting))}</tr></thead><tbody>${rows.map(
    (row) =>
      html`<tr>${all.map(([head, { cell, isNumber }], i) => {
        const value = cell(row);
        const shown = html`<span>${typeof value === 'number' ? number(value) : value}</span>`;
        const more = attributes({ class: isNumber === true ? 'number' : null, 'data-head': head });
        return i === 0 ? html`<th scope="row"${more}>${shown}</th>` : html`<td${more}>${shown}</td>`;
      })}</tr>`,
  )}</tbody></table>`;
}

/** Stands where a table would: why there is nothing, and what to do. */
export function empty(sentence: Content, action: Content = null): Markup {
  return html`<div class="empty"><p>${sentence}</p>${action === null ? null : html`<p>${action}</p>`}</div>`;
}

/** A number of rows that an address says; none otherwise. */
export function readCount(query: URLSearchParams, name: string): number {
  const given = query.get(name) ?? '';
  return /^\d{1,6}$/.test(given) ? Number(given) : 0;
}

/** A page of a list of which one row more was read than it shows. @returns its last row, where there are more */
export function pageOf<Row>(
  found: readonly Row[],
  max: number = limits.consoleRows,
): { rows: Row[]; last: Row | undefined } {
  const rows = found.slice(0, max);
  return { rows, last: found.length > max ? rows.at(-1) : undefined };
}

/** Links to the pages before and after; each null where there is none. */
export function pages({
  first,
  previous = null,
  next,
}: Record<'first' | 'next', string | null> & { previous?: string | null }): Markup | null {
  if (first === null && previous === null && next === null) return null;
  return html`<nav class="pager" aria-label="More rows"><ul>${first && html`<li><a href="${first}">First page</a></li>`}${previous && html`<li><a rel="prev" href="${previous}">Previous page</a></li>`}${next && html`<li><a rel="next" href="${next}">Next page</a></li>`}</ul></nav>`;
}

/**
 * The same for a list that is read onward only.
 * @param next where the next page begins, as its address says it under `name`; null or undefined where there is none
 * @param kept what else the links keep of the query
 */
export function pager(
  { path, query }: { path: string; query: URLSearchParams },
  next: string | null | undefined,
  name = 'after',
  kept = query,
): Markup | null {
  const to = (place: string | null) => withQuery(path, kept, { [name]: place, did: null });
  return pages({ first: query.has(name) ? to(null) : null, next: next == null ? null : to(next) });
}

/** A bar in a cell, for the eye: its number stands beside it. */
export const bar = (value: number, max: number): Content =>
  html`<progress${attributes({ class: 'bar', value, max: Math.max(1, max), 'aria-hidden': 'true', tabindex: '-1' })}></progress>`;

/** Names and values, one under the other; what has no value is left out. */
export function facts(given: Readonly<Record<string, Content>> | readonly (readonly [string, Content])[]): Markup {
  const rows = Array.isArray(given) ? (given as readonly (readonly [string, Content])[]) : Object.entries(given);
  return html`<dl class="facts">${rows
    .filter(([, value]) => value !== null && value !== undefined && value !== false)
    .map(([head, value]) => html`<div><dt>${head}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** What a filter with two sides asks for; null: neither. */
export const yesOrNo = (given: string | null): boolean | null =>
  given === 'yes' ? true : given === 'no' ? false : null;

/** Filters that stand in the address. Names of people never do. */
export function filters(action: string, fields: Content, verb = 'Filter'): Markup {
  return html`<form class="filters" method="get" action="${action}">${fields}<div class="actions"><button class="second">${verb}</button>${verb === 'Filter' && html`<a href="${action}">Show all</a>`}</div></form>`;
}

/** How far long work has come; the page can be left and found again. */
export function progress(label: string, done: number, total: number, here: string): Markup {
  return html`<div class="field"><label for="progress">${label}</label><progress${attributes({ id: 'progress', value: done, max: Math.max(1, total) })}>${done} of ${total}</progress><p class="hint">${number(done)} of ${number(total)}. <a href="${here}">Look again</a>, or leave this page: the work goes on.</p></div>`;
}

/**
 * What has just been done, by the word that the redirect put into `?did=`; only words of the page's own table count.
 */
export function notice(query: URLSearchParams, sentences: Record<string, Content>): Markup | null {
  const did = query.get('did') ?? '';
  return Object.hasOwn(sentences, did) ? html`<div class="done" role="status"><p>${sentences[did]}</p></div>` : null;
}

/** A page of its own that says, in numbers, what an act will do before it is done. */
export function confirmPage(
  visit: { form: Form; path: string },
  given: {
    title: string;
    heading?: Content;
    says: readonly Content[];
    button: string;
    cancel: string;
    /** Where it is sent; to its own page otherwise. */
    to?: string;
    fields?: Content;
    danger?: boolean;
    faults?: Faults;
  },
): Page {
  const { says, button, cancel, to, fields, danger = true, ...page } = given;
  const options = { danger, cancel, ...(to === undefined ? {} : { to }) };
  return {
    ...page,
    back: { to: cancel, label: 'Back' },
    main: html`${says.map((one) => html`<p>${one}</p>`)}${fieldsOf(visit, given.faults).form(button, options, fields)}`,
  };
}

/** A page that says what happened, and what to do. */
export function messagePage(title: string, ...paragraphs: Content[]): Page {
  return { title, main: paragraphs.map((one) => html`<p>${one}</p>`) };
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string, withTime: boolean): Intl.DateTimeFormat {
  const key = `${zone} ${withTime}`;
  let found = formats.get(key);
  if (found === undefined) {
    found = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      day: 'numeric',
      month: 'long',
      year: 'numeric',
      ...(withTime ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } : {}),
    });
    formats.set(key, found);
  }
  return found;
}

/** An instant, or the microseconds of one, as positions are counted. */
type Instant = Date | number;

const dateOf = (at: Instant): Date => (typeof at === 'number' ? new Date(at / 1000) : at);

const timeTag = (at: Instant, text: string): Markup =>
  html`<time datetime="${dateOf(at).toISOString()}">${text}</time>`;

/** `22 November 2026 at 09:45` by the clocks of a zone, with the exact instant for machines. */
export function moment(at: Instant, zone: string): Markup {
  const text = formatOf(zone, true).format(dateOf(at));
  return timeTag(at, text.replace(/(?:,| at)? (?=\d\d:\d\d$)/, ' at '));
}

/** To the second, for what is compared with other logs: `22 Nov 2026, 09:45:07`. */
export const instant = (at: Instant, zone: string): Markup =>
  timeTag(at, dateOf(at).toLocaleString('en-GB', { timeZone: zone, dateStyle: 'medium', timeStyle: 'medium' }));

/**
 * A sentence in which times stand as the service writes them, in UTC: here each is shown by the clocks of a zone.
 */
export function told(sentence: string, zone: string): Content {
  const parts = sentence.split(/(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d{3})?(?: UTC|Z))/);
  return parts.map((part, i) =>
    i % 2 === 0 ? part : instant(new Date(part.replace(' UTC', 'Z').replace(' ', 'T')), zone),
  );
}

/** The same as text, where no element may stand. */
export const dayWords = (at: Instant, zone: string): string => formatOf(zone, false).format(dateOf(at));

export const day = (at: Instant, zone: string): Markup => timeTag(at, dayWords(at, zone));

/** An error code of the API, leading to what it means and how to mend what caused it. */
export const codeLink = (code: string): Markup => html`<a href="/docs/errors.html#${code}"><code>${code}</code></a>`;
