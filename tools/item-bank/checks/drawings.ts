import type { Drawing } from '../../../src/engine/item-bank/drawings.ts';
import type { Figure, RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import type { Chart } from '../../../src/web/player/drawings/charts.ts';
import { axisStep } from '../../../src/web/player/drawings/charts.ts';

/** Whether a page draws the figure. A table, a notice and a diagram are words. */
export const isDrawn = (item: RenderedItem | { type: 'template' }): boolean =>
  'figure' in item && item.figure !== undefined && !['table', 'notice', 'diagram'].includes(item.figure.kind);

const isMultiple = (value: number, step: number): boolean => Math.abs(value / step - Math.round(value / step)) < 1e-6;

/** Whether a typed answer can be read off the chart: each value lies on a line or a mark, or is in half symbols. */
function isReadable(chart: Chart): boolean {
  const { kind, points } = chart;
  const values = points.map(({ value }) => value);
  if (kind === 'tally_chart') return values.every((value) => Number.isInteger(value) && value <= 20);
  if (kind === 'pictogram') return values.every((value) => isMultiple(value, (chart.per_symbol ?? 1) / 2));
  if (kind !== 'pie_chart') return values.every((value) => isMultiple(value, axisStep(values)));
  const total = values.reduce((sum, value) => sum + value, 0);
  return chart.marks !== undefined && values.every((value) => isMultiple(value, total / chart.marks!));
}

type Scale = Extract<Drawing, { kind: 'scales' }>['scales'][number];
type Graph = Extract<Drawing, { kind: 'graphs' }>['graphs'][number];

function* scaleFaults({ look, from, to, mark, label, value, start }: Scale): Generator<string> {
  if (from >= to || !isMultiple(to - from, mark)) yield 'a scale does not end on a mark';
  if (!isMultiple(label, mark) || !isMultiple(from, label)) yield 'a scale has a number that is not at a mark';
  for (const at of [value, start ?? from]) {
    if (at < from || at > to) yield 'a scale shows a value outside its range';
    else if (!isMultiple(at - from, mark)) yield 'a scale shows a value between two marks';
  }
  if ((look === 'ruler') !== (start !== undefined)) yield 'a ruler needs a start, and no other scale has one';
}

function* graphFaults({ x, y, line, dots = [], reads = [] }: Graph, isTyped: boolean): Generator<string> {
  for (const axis of [x, y])
    if (!isMultiple(axis.to, axis.mark) || !isMultiple(axis.label, axis.mark))
      yield 'an axis has a number off its marks';
  const onMarks = ([across, up]: number[]) => isMultiple(across!, x.mark) && isMultiple(up!, y.mark);
  const isInside = ([across, up]: number[]) => across! <= x.to && up! <= y.to;
  if (![...(line ?? []), ...dots].every(isInside)) yield 'a graph has a point outside its axes';
  if (isTyped && (!dots.every(onMarks) || (line !== undefined && reads.length === 0)))
    yield 'a typed answer needs points on marks: name the points of the line that are read in `reads`';
  for (const at of reads) {
    if (!onMarks(at)) yield 'a point that is read off a graph lies between its marks';
    const [[x1, y1], [x2, y2]] = line as [[number, number], [number, number]];
    if (Math.abs((at[1]! - y1) * (x2 - x1) - (y2 - y1) * (at[0]! - x1)) > 1e-6)
      yield 'a point that is read is not on the line';
  }
}

/** Faults of a drawing that would make an answer unreadable. */
export function* drawingFaults(figure: Figure, isTyped: boolean): Generator<string> {
  if (figure.kind === 'scales') for (const scale of figure.scales) yield* scaleFaults(scale);
  if (figure.kind === 'graphs') for (const graph of figure.graphs) yield* graphFaults(graph, isTyped);
  if (isTyped && 'points' in figure && !isReadable(figure))
    yield `the chart “${figure.caption}” has a value off its lines`;
}
