import { type Content, html } from '../../../platform/html/html.ts';
import { filters, number } from './blocks.ts';
import { type Fields, type FormOptions, type Shown, fieldsOf, filtersOf } from './form.ts';
import type { Page } from './frame.ts';
import type { Visit } from './route.ts';
import { chosenColumns, columnsIn, keptColumns, listTools } from './views.ts';
import { pager } from './paging.ts';
import { type Columns, type TableWords, table } from './table.ts';

type Head = Omit<Page, 'main'>;

type FormPage = Head &
  FormOptions & { intro?: Content; button: string; shown?: Shown; fields?: (f: Fields) => Content; also?: Content };

export function formPage(visit: Parameters<typeof fieldsOf>[0], page: FormPage): Page {
  const { intro, button, shown, fields, also, to, cancel = page.back?.to, danger, upload, ...head } = page;
  const { faults = visit.faults } = head;
  const f = fieldsOf(visit, faults, shown);
  return { ...head, faults, main: [intro, f.form(button, { to, cancel, danger, upload }, fields?.(f)), also] };
}

type ConfirmPage = Omit<FormPage, 'says' | 'back'> & { says: readonly Content[]; back: { to: string; label?: string } };

/** Asks before an action, and says in numbers what the action will do. */
export function confirmPage(
  visit: Parameters<typeof fieldsOf>[0],
  { says, back: { to, label = 'Back' }, danger = true, intro, ...page }: ConfirmPage,
): Page {
  const paragraphs = says.map((one) => html`<p>${one}</p>`);
  return formPage(visit, { ...page, back: { to, label }, danger, intro: [paragraphs, intro] });
}

type ListPage<Row> = Head &
  TableWords & {
    intro?: Content;
    filters?: (q: Fields) => Content;
    note?: Content;
    rows: readonly Row[];
    columns: Columns<Row>;
    /** Puts the table inside other content, for example a form. */
    around?: (shown: Content) => Content;
    also?: Content;
    /** The token of the next page. `kept`: the query parameters that the links repeat. */
    next?: string | null | undefined;
    /** The number of rows on all pages. Without it, a list that fits on this page shows its number. */
    total?: string | false;
    kept?: URLSearchParams;
  };

/** A list with filters, saved views, a choice of columns, its table and links to further pages. */
export async function listPage<Row>(visit: Visit, page: ListPage<Row>): Promise<Page> {
  const { intro, filters: fields, note, rows, columns, around = (shown) => shown, also, next } = page;
  const { title, heading, says, actions, back, faults } = page;
  const withColumns = (query: URLSearchParams) =>
    new URLSearchParams([...[...query].filter(([name]) => name !== 'column'), ...columnsIn(visit.query)]);
  const sorting = page.sorting ?? ('next' in page ? undefined : visit);
  const isAll = next == null && !visit.query.has('after');
  const total = 'total' in page ? page.total : isAll && number(rows.length);
  const caption = !total ? page.caption : html`${page.caption} <span class="total">Total ${total}</span>`;
  const words = { ...page, caption, sorting: sorting && { ...sorting, query: withColumns(sorting.query) } };
  return {
    ...{ title, heading, says, actions, back, faults },
    main: [
      intro,
      fields && filters(visit.path, [fields(filtersOf(visit)), keptColumns(visit.query)]),
      note,
      rows.length > 0 && (await listTools(visit, columns)),
      around(table(words, rows, chosenColumns(visit.query, columns))),
      'next' in page && pager(visit, next, withColumns(page.kept ?? visit.query)),
      also,
    ],
  };
}

/** Says why a form was refused, if the person must go back to another page. */
export const refusal = (title: string, text: Content, back?: Page['back'], status = 422) => ({
  ...messagePage(title, text),
  ...{ back, status },
});

export const busyPage = (title: string, text: string) => ({
  ...messagePage(title, `Go back, and try again in a minute. ${text}`),
  ...{ status: 429, headers: { 'retry-after': '30' } },
});

export function messagePage(title: string, ...paragraphs: Content[]): Page {
  return { title, main: paragraphs.map((one) => html`<p>${one}</p>`) };
}
