import { type Content, attributes, html } from '../../../platform/html/html.ts';
import { fieldsOf, hiddenField } from './form.ts';
import type { Visit } from './route.ts';
import { listViews } from '../../../organisations/saved-views.ts';
import type { Columns } from './table.ts';

/** A person chooses the columns of a list, and saves its filters, order and columns as a view with a name. */

/** Parameters of a URL that belong to one visit of the list. */
const passing = ['after', 'before', 'did'];

/** The part of the query that a view keeps: filters, order and columns. */
export function keptQuery(query: URLSearchParams): string {
  const kept = new URLSearchParams(query);
  for (const name of passing) kept.delete(name);
  return kept.toString();
}

/** The columns in `?column=`. Without it, all. The first column is the row's heading and is always shown. */
export function chosenColumns<Row>(query: URLSearchParams, columns: Columns<Row>): Columns<Row> {
  const chosen = new Set(query.getAll('column'));
  if (chosen.size === 0) return columns;
  return Object.fromEntries(Object.entries(columns).filter(([head], i) => i === 0 || chosen.has(head)));
}

/** The parameters that choose columns. */
export const columnsIn = (query: URLSearchParams): [string, string][] =>
  [...query].filter(([name]) => name === 'column');

/** The hidden fields with which the form of the filters keeps the chosen columns. */
export const keptColumns = (query: URLSearchParams): Content =>
  columnsIn(query).map(([name, head]) => hiddenField(name, head));

/** The views of the list, and the forms that choose columns and save a view. */
export async function listTools<Row>(visit: Visit, columns: Columns<Row>): Promise<Content> {
  const { app, organisationId, userId, path, query, base } = visit;
  const views = await listViews(app.db, { organisationId, userId }, path.slice(base.length));
  const now = keptQuery(query);
  const [, ...heads] = Object.keys(columns);
  const shown = query.getAll('column');
  const others = [...new URLSearchParams(now)].filter(([name]) => name !== 'column');
  const boxes = fieldsOf(visit).tick(
    'column',
    'Columns',
    heads.map((head) => ({ value: head, label: head })),
    { values: shown.length === 0 ? heads : shown },
  );
  const here = (of: string) => attributes({ 'aria-current': of === now ? 'true' : null });
  const links = views.map((one) => html`<li><a href="${path}?${one.query}"${here(one.query)}>${one.name}</a></li>`);
  const current = views.find((one) => one.query === now);
  const act =
    current === undefined
      ? now !== '' &&
        html`<a href="${base}/views/save?${new URLSearchParams({ list: path.slice(base.length), view: now }).toString()}">Save view</a>`
      : html`<form class="alone" method="post" action="${base}/views/${current.view_id}/delete"><button class="plain">Delete view</button></form>`;
  return html`<div class="tools">${links.length > 0 && html`<ul aria-label="Views"><li><a href="${path}"${here('')}>All</a></li>${links}</ul>`}${act}<details><summary>Columns</summary><form method="get" action="${path}">${others.map(([name, value]) => hiddenField(name, value))}${boxes}<button class="second">Show columns</button></form></details></div>`;
}
