import { type Markup, html } from '../../../platform/html/html.ts';
import type { Figure } from '../../../engine/item-bank/schema.ts';
import { dataTable, marked } from './text.ts';

type Chart = Extract<Figure, { kind: 'bar_chart' | 'line_graph' | 'pie_chart' | 'pictogram' }>;

/** Shows a figure. Each chart comes with a table of its values. */
export function figureHtml(figure: Figure): Markup {
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
      return html`<figure class="chart"><figcaption>${marked(figure.caption)}</figcaption>${
        figure.kind === 'pictogram' ? pictogram(figure) : figure.kind === 'pie_chart' ? pie(figure) : axes(figure)
      }
<details><summary>See the values in a table</summary>${valueTable(figure)}</details></figure>`;
  }
}

function valueTable(figure: Chart): Markup {
  const unit = figure.unit === undefined ? '' : ` (${figure.unit})`;
  return dataTable(
    `${figure.caption}: values`,
    [figure.x_label ?? 'Name', `${figure.y_label ?? 'Value'}${unit}`],
    figure.points.map((point) => [point.label, point.value]),
    { rowHeads: true },
  );
}

/** The step between two lines of an axis: 1, 2 or 5 times a power of 10, so that there are at most 6 steps. */
function stepFor(span: number): number {
  const power = 10 ** Math.floor(Math.log10(span / 5));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => span / step <= 6)!;
}

/** The step between the lines of a bar chart or line graph with these values. */
export function axisStep(values: readonly number[]): number {
  return stepFor(Math.max(...values) - Math.min(0, ...values) || 1);
}

const round = (value: number): number => Math.round(value * 100) / 100;
const short = (value: number): string => String(round(value));

/** Draws a bar chart or line graph. A width of 320 units keeps its text readable on a phone. */
function axes(figure: Chart): Markup {
  const values = figure.points.map((point) => point.value);
  const min = Math.min(0, ...values);
  const step = axisStep(values);
  const low = Math.floor(min / step) * step;
  const high = Math.ceil(Math.max(...values, 0) / step) * step;
  const slot = 268 / figure.points.length;
  const slanted = figure.points.some((point) => point.label.length * 6.2 > slot);
  const bottom = slanted ? 150 : 170;
  const x = (i: number) => round(46 + slot * (i + 0.5));
  const y = (value: number) => round(bottom - ((value - low) / (high - low)) * (bottom - 26));
  const ticks = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, i) => low + i * step);
  const unit = figure.unit === undefined ? '' : ` (${figure.unit})`;
  return html`<svg viewBox="0 0 320 ${slanted ? 214 : 206}" role="img" aria-label="${kindName(figure)}. Its values stand in the table below.">
<text x="4" y="12" class="axis">${figure.y_label ?? ''}${unit}</text>
${ticks.map((tick) => html`<line x1="46" x2="314" y1="${y(tick)}" y2="${y(tick)}" class="${tick === low ? 'base' : 'grid'}"/><text x="40" y="${y(tick) + 4}" text-anchor="end">${short(tick)}</text>`)}
${
  figure.kind === 'bar_chart'
    ? figure.points.map(
        (point, i) =>
          html`<rect x="${round(x(i) - slot * 0.32)}" width="${round(slot * 0.64)}" y="${Math.min(y(point.value), y(0))}" height="${round(Math.abs(y(0) - y(point.value)))}" class="mark"/>`,
      )
    : html`<polyline points="${figure.points.map((point, i) => `${x(i)},${y(point.value)}`).join(' ')}" class="line"/>${figure.points.map((point, i) => html`<circle cx="${x(i)}" cy="${y(point.value)}" r="4" class="mark"/>`)}`
}
${figure.points.map((point, i) =>
  slanted
    ? html`<text x="${x(i)}" y="${bottom + 14}" text-anchor="end" transform="rotate(-35 ${x(i)} ${bottom + 14})">${point.label}</text>`
    : html`<text x="${x(i)}" y="${bottom + 16}" text-anchor="middle">${point.label}</text>`,
)}
<text x="180" y="${slanted ? 210 : 202}" text-anchor="middle" class="axis">${figure.x_label ?? ''}</text></svg>`;
}

function kindName(figure: Chart): string {
  return { bar_chart: 'Bar chart', line_graph: 'Line graph', pie_chart: 'Pie chart', pictogram: 'Picture chart' }[
    figure.kind
  ];
}

/** Draws a pictogram. Each symbol means `per_symbol`, and a narrower symbol means a part of it. */
function pictogram(figure: Chart): Markup {
  const per = figure.per_symbol ?? 1;
  const max = Math.max(...figure.points.map((point) => Math.ceil(point.value / per)));
  const size = Math.min(22, 210 / max);
  const height = figure.points.length * 30 + 26;
  return html`<svg viewBox="0 0 320 ${height}" role="img" aria-label="${kindName(figure)}. Its values stand in the table below.">
${figure.points.map(
  (point, row) =>
    html`<text x="88" y="${row * 30 + 20}" text-anchor="end">${point.label}</text>${Array.from(
      { length: Math.ceil(point.value / per) },
      (_, i) => {
        const share = Math.min(1, point.value / per - i);
        return html`<rect x="${round(98 + i * size)}" y="${row * 30 + 5}" width="${round((size - 4) * share)}" height="${round(Math.min(20, size - 2))}" class="mark"/>`;
      },
    )}`,
)}
<rect x="98" y="${height - 18}" width="12" height="12" class="mark"/><text x="116" y="${height - 7}">= ${short(per)}${figure.unit === undefined ? '' : ` ${figure.unit}`}</text></svg>`;
}

function pie(figure: Chart): Markup {
  const total = figure.points.reduce((sum, point) => sum + point.value, 0);
  let from = 0;
  const slices = figure.points.map((point, i) => {
    const to = from + point.value / total;
    const at = (share: number) =>
      `${round(90 + 80 * Math.sin(2 * Math.PI * share))} ${round(90 - 80 * Math.cos(2 * Math.PI * share))}`;
    const path = `M90 90 L${at(from)} A80 80 0 ${to - from > 0.5 ? 1 : 0} 1 ${at(to)} Z`;
    const middle = (from + to) / 2;
    const label = {
      x: round(90 + 52 * Math.sin(2 * Math.PI * middle)),
      y: round(94 - 52 * Math.cos(2 * Math.PI * middle)),
    };
    from = to;
    return html`<path d="${path}" class="slice slice-${i % 6}"/><text x="${label.x}" y="${label.y}" text-anchor="middle" class="letter">${String.fromCharCode(65 + i)}</text>
<text x="190" y="${30 + i * 20}">${String.fromCharCode(65 + i)}  ${point.label}</text>`;
  });
  return html`<svg viewBox="0 0 320 ${Math.max(184, 40 + figure.points.length * 20)}" role="img" aria-label="${kindName(figure)}. Its values stand in the table below.">${slices}</svg>`;
}
