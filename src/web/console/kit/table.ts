import { type Content, type Markup, attributes, html } from '../../../platform/html/html.ts';
import { readSort, withQuery } from './paging.ts';
import { number } from './blocks.ts';

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

export const wideOnly = <Row>(column: Cell<Row> | Column<Row>): Column<Row> => ({
  ...(typeof column === 'function' ? { cell: column } : column),
  phone: 'hidden',
});

const phoneClasses = { plain: 'plain', sentence: 'plain sentence', hidden: 'wide-only' };

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
  const to = withQuery(sorting.path, sorting.query, { sort: order, after: null, before: null, did: null });
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

/**
 * A table that becomes a list on phones: heading and state in the first line. The first column is the row's heading. A
 * column that is blank in all rows is left out, unless the table can be sorted by it.
 */
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
  const cells = rows.map((row) => all.map(([, { cell }]) => cell(row)));
  const isShown = all.map(([, { sort }], i) => i === 0 || sort !== undefined || cells.some((row) => !isBlank(row[i])));
  return html`<table class="rows${sticky === true ? ' sticky' : ''}"><caption>${caption}</caption><thead><tr>${all.map(([head, column], i) => isShown[i] && headCell(head, column, sorting))}</tr></thead><tbody>${cells.map(
    (row) =>
      html`<tr>${all.map(([head, { isNumber, phone }], i) => {
        if (!isShown[i]) return null;
        const value = row[i];
        const shown = html`<span>${typeof value === 'number' ? number(value) : value}</span>`;
        const cls = [isNumber && 'number', phone && phoneClasses[phone]].filter((one) => one).join(' ') || null;
        const more = attributes({ class: cls, 'data-head': head });
        return i === 0 ? html`<th scope="row"${more}>${shown}</th>` : html`<td${more}>${shown}</td>`;
      })}</tr>`,
  )}</tbody></table>`;
}

const isBlank = (content: Content): boolean => content == null || content === false || content === '';

export function empty(sentence: Content, action: Content = null): Markup {
  return html`<div class="empty"><p>${sentence}</p>${action === null ? null : html`<p>${action}</p>`}</div>`;
}

export const bar = (value: number, max: number): Content =>
  html`<progress${attributes({ class: 'bar', value, max: Math.max(1, max), 'aria-hidden': 'true', tabindex: '-1' })}></progress>`;
