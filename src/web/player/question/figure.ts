import { type Markup, html } from '../../../platform/html/html.ts';
import type { Figure } from '../../../engine/item-bank/schema.ts';
import { drawingHtml, isDrawing } from '../drawings/drawing.ts';
import { type Chart, chartSvg, chartTable } from '../drawings/charts.ts';
import { dataTable, marked } from './text.ts';

/** Shows a figure. Each chart comes with a table of what it shows. */
export function figureHtml(figure: Figure): Markup {
  if (isDrawing(figure)) return drawingHtml(figure);
  switch (figure.kind) {
    case 'table':
      return dataTable(
        figure.caption,
        figure.header.map(marked),
        figure.rows.map((row) => row.map(marked)),
        { rowHeads: true },
      );
    case 'notice':
      return html`<figure class="notice"><figcaption>${marked(figure.caption)}</figcaption>${figure.lines.map((line) => html`<p>${marked(line)}</p>`)}</figure>`;
    case 'diagram':
      return html`<figure class="notice"><figcaption>${marked(figure.caption)}</figcaption><p>${marked(figure.description)}</p>${
        figure.lines === undefined ? null : html`<ul>${figure.lines.map((line) => html`<li>${marked(line)}</li>`)}</ul>`
      }</figure>`;
    default:
      return chartHtml(figure);
  }
}

function chartHtml(figure: Chart): Markup {
  const { summary, header, rows } = chartTable(figure);
  return html`<figure class="chart"><figcaption>${marked(figure.caption)}</figcaption>${chartSvg(figure)}
<details><summary>${summary}</summary>${dataTable(`${figure.caption}: ${figure.kind === 'bar_chart' || figure.kind === 'line_graph' ? 'values' : 'what it shows'}`, header, rows, { rowHeads: true })}</details></figure>`;
}
