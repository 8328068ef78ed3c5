import type { Content, Markup } from '../html.ts';
import { attributes, html } from '../html.ts';
import { limits } from '../limits.ts';
import { form } from './form.ts';
import type { Page } from './frame.ts';

/** What the console's pages are built of, beside forms. */

export const number = (value: number): string => value.toLocaleString('en-GB');

/** `1 result`, `1,200 results`. */
export const count = (value: number, one: string, many = `${one}s`): string =>
  `${number(value)} ${value === 1 ? one : many}`;

/** One column of a table. */
export type Column<Row> = {
  head: string;
  cell(row: Row): Content;
  /** Numbers stand at the right, one under the other. */
  number?: boolean;
  /** The name under which `?sort=` knows it; a minus before it turns the order round. */
  sort?: string;
};

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

function headCell<Row>({ head, number, sort }: Column<Row>, sorting: Sorting | undefined): Markup {
  const cls = number === true ? 'number' : null;
  if (sort === undefined || sorting === undefined)
    return html`<th scope="col"${attributes({ class: cls })}>${head}</th>`;
  const here = sorting.by === sort;
  const to = withQuery(sorting.path, sorting.query, {
    sort: here && !sorting.descending ? `-${sort}` : sort,
    after: null,
  });
  return html`<th scope="col"${attributes({ class: cls, 'aria-sort': here ? (sorting.descending ? 'descending' : 'ascending') : null })}><a href="${to}">${head}${here ? html`<span aria-hidden="true"> ${sorting.descending ? '▾' : '▴'}</span>` : null}</a></th>`;
}

/** A table that becomes a list of cards where there is no room for it. The first column names the row. */
export function table<Row>(given: {
  caption: Content;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  sorting?: Sorting;
  /** Its headings stay in sight of a long list. */
  sticky?: boolean;
}): Markup {
  const { caption, columns, rows, sorting, sticky } = given;
  return html`<table class="rows${sticky === true ? ' sticky' : ''}"><caption>${caption}</caption><thead><tr>${columns.map((column) => headCell(column, sorting))}</tr></thead><tbody>${rows.map(
    (row) =>
      html`<tr>${columns.map((column, i) => {
        const cell = html`<span>${column.cell(row)}</span>`;
        const more = attributes({ class: column.number === true ? 'number' : null, 'data-head': column.head });
        return i === 0 ? html`<th scope="row"${more}>${cell}</th>` : html`<td${more}>${cell}</td>`;
      })}</tr>`,
  )}</tbody></table>`;
}

/** Stands where a table would: why there is nothing, and what to do. */
export function empty(sentence: Content, action: Content = null): Markup {
  return html`<div class="empty"><p>${sentence}</p>${action === null ? null : html`<p>${action}</p>`}</div>`;
}

/** How many rows of a short list were shown before the page that an address asks for. */
export function readFrom(query: URLSearchParams): number {
  const given = query.get('from') ?? '';
  return /^\d{1,5}$/.test(given) ? Number(given) : 0;
}

/** Links to the pages before and after; each null where there is none. */
export function pager(to: { first: string | null; previous?: string | null; next: string | null }): Markup | null {
  const { previous = null } = to;
  if (to.first === null && previous === null && to.next === null) return null;
  return html`<nav class="pager" aria-label="More rows"><ul>${to.first === null ? null : html`<li><a href="${to.first}">First page</a></li>`}${previous === null ? null : html`<li><a rel="prev" href="${previous}">Previous page</a></li>`}${to.next === null ? null : html`<li><a rel="next" href="${to.next}">Next page</a></li>`}</ul></nav>`;
}

/** A bar in a cell, for the eye: its number stands beside it. */
export const bar = (value: number, most: number): Content =>
  html`<progress${attributes({ class: 'bar', value, max: Math.max(1, most), 'aria-hidden': 'true', tabindex: '-1' })}></progress>`;

/** Names and values, one under the other. */
export function facts(rows: readonly (readonly [string, Content])[]): Markup {
  return html`<dl class="facts">${rows.map(([head, value]) => html`<div><dt>${head}</dt><dd>${value}</dd></div>`)}</dl>`;
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
export function confirmPage(given: {
  title: string;
  heading?: Content;
  says: readonly Content[];
  action: string;
  button: string;
  cancel: string;
  fields?: Content;
  danger?: boolean;
}): Page {
  const { title, heading, says, action, button, cancel, fields = null, danger = true } = given;
  return {
    title,
    ...(heading === undefined ? {} : { heading }),
    back: { to: cancel, label: 'Back' },
    main: html`${says.map((one) => html`<p>${one}</p>`)}${form(action, fields, button, { danger, cancel })}`,
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

/** `22 November 2026 at 09:45` by the clocks of a zone, with the exact instant for machines. */
export function moment(at: Date, zone: string): Markup {
  return html`<time datetime="${at.toISOString()}">${formatOf(zone, true)
    .format(at)
    .replace(/(?:,| at)? (?=\d\d:\d\d$)/, ' at ')}</time>`;
}

/** To the second, for what is compared with other logs: `22 Nov 2026, 09:45:07`. */
export function instant(at: Date, zone: string): Markup {
  const text = at.toLocaleString('en-GB', { timeZone: zone, dateStyle: 'medium', timeStyle: 'medium' });
  return html`<time datetime="${at.toISOString()}">${text}</time>`;
}

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
export const dayWords = (at: Date, zone: string) => formatOf(zone, false).format(at);

export function day(at: Date, zone: string): Markup {
  return html`<time datetime="${at.toISOString()}">${dayWords(at, zone)}</time>`;
}

/** Links of a list that `readFrom` goes through. */
export function shortPager(path: string, query: URLSearchParams, from: number, isMore: boolean): Markup | null {
  return pager({
    first: from === 0 ? null : withQuery(path, query, { from: null, did: null }),
    next: isMore ? withQuery(path, query, { from: String(from + limits.consoleRows), did: null }) : null,
  });
}

/** An error code of the API, leading to what it means and how to mend what caused it. */
export const codeLink = (code: string): Markup => html`<a href="/docs/errors.html#${code}"><code>${code}</code></a>`;
