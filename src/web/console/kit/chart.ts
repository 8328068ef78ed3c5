import { type Content, type Markup, attributes, html } from '../../../platform/html/html.ts';
import { number } from './blocks.ts';
import { table } from './table.ts';

/** Values of one kind, one for each label of the chart. Null: no value. At most four kinds have a colour. */
export type Series = { name: string; values: readonly (number | null)[] };

type Chart = {
  caption: string;
  /** The texts of the horizontal axis, such as weeks. The table shows each, the axis as many as have room. */
  labels: readonly string[];
  series: readonly Series[];
  /** Writes a value in the table. */
  words?: (value: number) => string;
  /** The heading of the labels in the table. */
  of?: string;
  /** For each label the page with the rows behind it. */
  links?: readonly (string | null)[];
};

const width = 640;
const height = 200;
const left = 56;
const bottom = 24;

/** The smallest of 1, 2, 5, 10, 20 … that is not below the value, so that the scale has round numbers. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 2, 5, 10].map((one) => one * power).find((one) => one >= value)!;
}

function frame(chart: Chart, max: number, drawn: Content): Markup {
  const { caption, labels, series, words = number, of = 'Period', links } = chart;
  const y = (value: number) => height - bottom - (value / max) * (height - bottom - 10);
  const grid = [0, max / 2, max].map(
    (value) =>
      html`<line${attributes({ class: 'rung', x1: left, x2: width, y1: y(value), y2: y(value) })}/><text${attributes({ x: left - 6, y: y(value) + 4, 'text-anchor': 'end' })}>${words(value)}</text>`,
  );
  const step = Math.ceil(labels.length / 6);
  const axis = labels.map((label, i) =>
    i % step === 0
      ? html`<text${attributes({ x: middleOf(chart, i), y: height - 6, 'text-anchor': 'middle' })}>${label}</text>`
      : null,
  );
  const legend =
    series.length > 1 &&
    html`<ul class="legend">${series.map((one, i) => html`<li class="s${String(i)}">${one.name}</li>`)}</ul>`;
  const rows = labels.map((label, i) => ({ label, i }));
  const columns = Object.fromEntries([
    [
      of,
      (row: (typeof rows)[number]) =>
        links?.[row.i] == null ? row.label : html`<a href="${links[row.i]!}">${row.label}</a>`,
    ],
    ...series.map(({ name, values }) => [
      name,
      { isNumber: true as const, cell: ({ i }: (typeof rows)[number]) => (values[i] == null ? '' : words(values[i])) },
    ]),
  ]);
  return html`<figure class="figure"><figcaption>${caption}</figcaption>${legend}<svg class="chart" viewBox="0 0 ${width} ${height}" role="img" aria-label="${caption}. The table below has the values.">${grid}${drawn}${axis}</svg><details><summary>Table</summary>${table(caption, rows, columns)}</details></figure>`;
}

const middleOf = ({ labels }: Chart, i: number): number => left + ((i + 0.5) * (width - left)) / labels.length;

const yOf = (value: number, max: number): number => height - bottom - (value / max) * (height - bottom - 10);

/** Columns, one for each label, in which the series are stacked. */
export function columnChart(chart: Chart): Markup {
  const sums = chart.labels.map((_, i) => chart.series.reduce((sum, { values }) => sum + (values[i] ?? 0), 0));
  const max = roundUp(Math.max(...sums, 1));
  const wide = Math.min(48, ((width - left) / Math.max(1, chart.labels.length)) * 0.7);
  const drawn = chart.labels.map((label, i) => {
    let below = 0;
    return chart.series.map(({ name, values }, s) => {
      const value = values[i] ?? 0;
      if (value === 0) return null;
      const y = yOf(below + value, max);
      const tall = yOf(below, max) - y;
      below += value;
      return html`<rect${attributes({ class: `s${s}`, x: middleOf(chart, i) - wide / 2, y, width: wide, height: tall })}><title>${label}, ${name}: ${number(value)}</title></rect>`;
    });
  });
  return frame(chart, max, drawn);
}

/** A line for each series. A missing value interrupts the line. */
export function lineChart(chart: Chart): Markup {
  const max = roundUp(Math.max(...chart.series.flatMap(({ values }) => values.map((value) => value ?? 0)), 1));
  const drawn = chart.series.map(({ values }, s) => {
    const path = values
      .map((value, i) =>
        value === null ? '' : `${(values[i - 1] ?? null) === null ? 'M' : 'L'}${middleOf(chart, i)} ${yOf(value, max)}`,
      )
      .join('');
    return html`<path${attributes({ class: `course s${s}`, d: path })}/>`;
  });
  return frame(chart, max, drawn);
}

/** Horizontal bars on one scale, such as learners at each level. */
export function barChart({
  caption,
  of,
  value: head,
  rows,
  words = number,
}: {
  caption: string;
  of: string;
  value: string;
  rows: readonly { label: string; value: number; to?: string }[];
  words?: (value: number) => string;
}): Markup | null {
  const max = Math.max(...rows.map((row) => row.value), 1);
  return html`<div class="bars figure">${table<(typeof rows)[number]>(caption, rows, {
    [of]: ({ label, to }) => (to === undefined ? label : html`<a href="${to}">${label}</a>`),
    [head]: { isNumber: true, cell: (row) => words(row.value), phone: 'plain' },
    Share: {
      phone: 'plain',
      cell: (row) =>
        html`<svg class="level" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect${attributes({ class: 's0', width: (row.value / max) * 100, height: 6, rx: 1 })}/></svg>`,
    },
  })}</div>`;
}
