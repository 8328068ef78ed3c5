import { type Markup, html } from '../../../platform/html/html.ts';
import type { Figure } from '../../../engine/item-bank/schema.ts';
import { line, onCircle, round, short } from './parts.ts';

export type Chart = Extract<Figure, { points: unknown }>;

export function chartSvg(figure: Chart): Markup {
  switch (figure.kind) {
    case 'pictogram':
      return pictogram(figure);
    case 'tally_chart':
      return tallies(figure);
    case 'pie_chart':
      return pie(figure);
    default:
      return axes(figure);
  }
}

/**
 * The table of a chart. A bar chart or line graph shows its values. The other charts show what is drawn (symbols, marks,
 * angles), because the table must not do the reading for the learner.
 */
export function chartTable(figure: Chart): { summary: string; header: string[]; rows: (string | number)[][] } {
  const { points } = figure;
  const name = figure.x_label ?? 'Name';
  const total = points.reduce((sum, { value }) => sum + value, 0);
  const per = figure.per_symbol ?? 1;
  const table = (summary: string, heads: string[], cells: (value: number) => (string | number)[]) => ({
    summary,
    header: [name, ...heads],
    rows: points.map(({ label, value }) => [label, ...cells(value)]),
  });
  switch (figure.kind) {
    case 'pictogram':
      return table(
        'See the symbols in a table',
        [`Symbols, each ${short(per)} ${figure.unit ?? ''}`.trim()],
        (value) => [short(value / per)],
      );
    case 'tally_chart':
      return table('See the marks in a table', ['Bundles of five', 'Other marks'], (value) => [
        Math.floor(value / 5),
        value % 5,
      ]);
    case 'pie_chart':
      return table('See the angles in a table', ['Angle of the slice'], (value) => [
        `${short((360 * value) / total)}°`,
      ]);
    default: {
      const unit = figure.unit === undefined ? '' : ` (${figure.unit})`;
      return table('See the values in a table', [`${figure.y_label ?? 'Value'}${unit}`], (value) => [value]);
    }
  }
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
  return {
    bar_chart: 'Bar chart',
    line_graph: 'Line graph',
    pie_chart: 'Pie chart',
    pictogram: 'Picture chart',
    tally_chart: 'Tally chart',
  }[figure.kind];
}

const inTable = (figure: Chart): string => `${kindName(figure)}. The table below says what it shows.`;

/** Draws a pictogram. Each circle means `per_symbol`, and a part of a circle means that part of it. */
function pictogram(figure: Chart): Markup {
  const per = figure.per_symbol ?? 1;
  const max = Math.max(...figure.points.map((point) => Math.ceil(point.value / per)));
  const size = Math.min(26, 212 / max);
  const radius = round(Math.min(11, size / 2 - 1.5));
  const height = figure.points.length * 30 + 30;
  const symbol = (x: number, y: number, share: number) => {
    if (share >= 1) return html`<circle cx="${x}" cy="${y}" r="${radius}" class="mark"/>`;
    const end = onCircle(x, y, radius, 1 - share);
    return html`<path d="M${x} ${y} V${round(y - radius)} A${radius} ${radius} 0 ${share > 0.5 ? 1 : 0} 0 ${end.x} ${end.y} Z" class="mark"/>`;
  };
  return html`<svg viewBox="0 0 320 ${height}" role="img" aria-label="${inTable(figure)}">
${figure.points.map(
  (point, row) =>
    html`<text x="92" y="${row * 30 + 20}" text-anchor="end">${point.label}</text>${Array.from(
      { length: Math.ceil(point.value / per) },
      (_, at) => symbol(round(102 + (at + 0.5) * size), row * 30 + 16, point.value / per - at),
    )}`,
)}
${line(98, 4, 98, height - 30, 'base')}${symbol(113, height - 13, 1)}<text x="130" y="${height - 9}">= ${short(per)}${figure.unit === undefined ? '' : ` ${figure.unit}`}</text></svg>`;
}

/** Draws tally marks. The fifth mark of a bundle crosses the other four. */
function tallies({ points, ...figure }: Chart): Markup {
  const height = points.length * 34 + 4;
  const rows = points.map(({ label, value }, row) => {
    const y = row * 34 + 6;
    const marks = Array.from({ length: value }, (_, at) => {
      const left = 118 + Math.floor(at / 5) * 44;
      const x = left + (at % 5) * 8;
      return at % 5 === 4 ? line(left - 5, y + 20, left + 29, y + 2, 'tally') : line(x, y, x, y + 22, 'tally');
    });
    return html`<text x="98" y="${y + 16}" text-anchor="end">${label}</text>${marks}${line(4, y + 28, 316, y + 28, 'grid')}`;
  });
  return html`<svg viewBox="0 0 320 ${height}" role="img" aria-label="${inTable({ ...figure, points })}">${rows}${line(104, 2, 104, height - 2, 'base')}</svg>`;
}

/** Draws a pie chart with the names in its slices or, where a slice is narrow, beside it. */
function pie(figure: Chart): Markup {
  const total = figure.points.reduce((sum, point) => sum + point.value, 0);
  let from = 0;
  const slices = figure.points.map((point, at) => {
    const to = from + point.value / total;
    const [first, last, middle] = [
      onCircle(160, 128, 96, from),
      onCircle(160, 128, 96, to),
      onCircle(160, 128, 60, (from + to) / 2),
    ];
    const isWide = to - from > 0.5;
    from = to;
    return {
      path: html`<path d="M160 128 L${first.x} ${first.y} A96 96 0 ${isWide ? 1 : 0} 1 ${last.x} ${last.y} Z" class="slice slice-${at % 6}"/>`,
      name: html`<text x="${middle.x}" y="${middle.y + 4}" text-anchor="middle" class="letter">${point.label}</text>`,
    };
  });
  const marks = Array.from({ length: figure.marks ?? 0 }, (_, at) => {
    const [inner, outer] = [onCircle(160, 128, 97, at / figure.marks!), onCircle(160, 128, 106, at / figure.marks!)];
    return line(inner.x, inner.y, outer.x, outer.y, 'base');
  });
  return html`<svg viewBox="0 0 320 256" role="img" aria-label="${inTable(figure)}">${slices.map(({ path }) => path)}<circle cx="160" cy="128" r="96" class="contour"/>${marks}${slices.map(({ name }) => name)}</svg>`;
}
